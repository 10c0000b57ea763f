public import CompositionModel
import Media
import Renderer
import Runtime
import SheafCompositing

/// Reads the samples of a file: AVFoundation's `AVAssetReader` with track outputs.
///
/// The file is read **in the caller's process**, by libavcodec's decoders: this is for media that you trust. What
/// strangers upload belongs into an `ExportSession`, whose decoders run in confined processes.
///
///     let reader = try await AssetReader(Asset(url))
///     guard let track = reader.contents.defaultTrack(.video) else { return }
///     for try await sample in try reader.pictures(of: track, as: .yuv420p) {
///       print(sample.presentationTime, sample.buffer[.luma, 0, 0])
///     }
public struct AssetReader: Sendable {
  public let path: String
  /// What the file contains.
  public let contents: AssetDescription

  /// Loads the asset's description, which is made in a confined process.
  public init(_ asset: Asset) async throws(SheafError) {
    self.init(path: asset.path, try await asset.contents)
  }

  /// - Parameters:
  ///   - path: The path of a file on this machine. It is not opened before a track is read.
  ///   - contents: What the file contains, from an earlier probe of it.
  public init(path: String, _ contents: AssetDescription) {
    self.path = path
    self.contents = contents
  }

  /// What the stored samples of a track are. An `AssetWriter` takes it with the samples, to store them as they are.
  public func storedFormat(of track: TrackDescription) async throws(SheafError) -> StoredFormat {
    let (path, track) = (path, try stored(track))
    return try await sheafErrors {
      do {
        return try await BlockingWork.run { StoredFormat(track, try StoredSource.open(path, track, from: nil).format) }
      } catch {
        throw SheafError(reading: error)
      }
    }
  }

  /// The packets of a track as they are stored, in order of decoding.
  /// - Parameters:
  ///   - track: A track of this asset's contents.
  ///   - range: On the asset's timeline. Pictures begin with the keyframe from which the one at the range's start can
  ///     be decoded, and sound with what a decoder needs before the start. They end with the last that is decoded or
  ///     presented before the range's end. Of a range in which the track has nothing there are none. Nil: all.
  public func storedSamples(
    of track: TrackDescription, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<StoredSample> {
    let (path, track) = (path, try stored(track))
    let ticks = try TrackTicks(track, range)
    if ticks.hasNothing { return .none }
    return SampleBuffers { try StoredSource(path, track, ticks) }
  }

  /// The pictures of a video track, decoded, in order of presentation. They are as stored: orientation and pixel aspect
  /// are not applied.
  /// - Parameters:
  ///   - track: A video track of this asset's contents.
  ///   - format: The planes and the bits of the buffers. Pictures of another format are converted; transparency is left
  ///     out.
  ///   - size: Pictures are scaled to it. Nil: their own.
  ///   - range: On the asset's timeline: begins with the picture that is shown at its start. Of a range in which the
  ///     track has nothing there are none; a still picture is in every range that is not empty. Nil: all.
  public func pictures(
    of track: TrackDescription, as format: PixelFormat = .yuv420p, size: PixelSize? = nil,
    in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<VideoSample> {
    let (path, track) = (path, try checked(track))
    let video = try videoFormat(of: track)
    let ticks = try TrackTicks(track, range)
    if ticks.hasNothing { return .none }
    return SampleBuffers {
      let converter = PictureConverter(as: FrameFormat(format), size: size)
      return try PictureSource(path, track, video, ticks) { frame, time, duration in
        VideoSample(
          presentationTime: time, duration: duration, buffer: PixelBuffer(try converter.convert(frame), format))
      }
    }
  }

  /// The pictures of a video track, decoded, in a pixel format of Core Video or as they are stored: what AVFoundation's
  /// `AVAssetReaderTrackOutput` gives for its `outputSettings`. They are in order of presentation, with the orientation
  /// and the pixel aspect of the file.
  /// - Parameters:
  ///   - track: A video track of this asset's contents.
  ///   - settings: The format and the size of the pictures.
  ///   - range: As for pictures without settings.
  public func pictures(
    of track: TrackDescription, outputSettings settings: VideoOutputSettings, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<ImageSample> {
    let (path, track) = (path, try checked(track))
    let video = try videoFormat(of: track)
    try settings.check()
    let ticks = try TrackTicks(track, range)
    if ticks.hasNothing { return .none }
    return SampleBuffers {
      let converter = PictureConverter(settings)
      return try PictureSource(path, track, video, ticks) { frame, time, duration in
        ImageSample(
          presentationTime: time, duration: duration,
          image: ImageBuffer(try converter.convert(frame), settings.pixelFormat))
      }
    }
  }

  /// The sound of an audio track, decoded to 32-bit floats at its own rate and channels. Where the track has a gap, the
  /// position of the next buffer is later than the end of the one before.
  /// - Parameters:
  ///   - track: An audio track of this asset's contents.
  ///   - range: On the asset's timeline, to the nearest sample. Nil: all.
  public func sound(
    of track: TrackDescription, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<AudioSample> {
    let (path, track) = (path, try checked(track))
    let audio = try audioFormat(of: track)
    let positions = try positions(of: track, in: range, rate: audio.sampleRate)
    return SampleBuffers { try SoundSource(path, track, audio, positions) }
  }

  /// The sound of an audio track as linear PCM of a type, a rate and channels: what AVFoundation's
  /// `AVAssetReaderTrackOutput` gives for its `outputSettings`. The buffers follow each other without a gap: where the
  /// track has none, there is silence. Samples of another type are rounded to the nearest, without dithering. Of stored
  /// samples of more than 24 bits the highest 24 are kept.
  /// - Parameters:
  ///   - track: An audio track of this asset's contents.
  ///   - settings: The type of a sample, the rate and the channels.
  ///   - range: On the asset's timeline, to the nearest sample of the settings' rate. The samples are the same as in a
  ///     longer range. Nil: all.
  public func sound<Value: LinearPCM>(
    of track: TrackDescription, outputSettings settings: AudioOutputSettings<Value>, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<PCMBuffer<Value>> {
    let (path, track) = (path, try checked(track))
    let audio = try audioFormat(of: track)
    let positions = try positions(of: track, in: range, rate: settings.resolved(for: audio).sampleRate)
    return SampleBuffers { try ConvertedSoundSource(path, track, audio, settings, positions) }
  }

  private func videoFormat(of track: TrackDescription) throws(SheafError) -> VideoFormat {
    if let video = track.video { return video }
    throw SheafError(.misuse, "track \(track.index) of \(path) is \(track.type), which has no pictures")
  }

  private func audioFormat(of track: TrackDescription) throws(SheafError) -> AudioFormat {
    if let audio = track.audio { return audio }
    throw SheafError(.misuse, "track \(track.index) of \(path) is \(track.type), which has no sound")
  }

  /// The samples of a track in a range. A decoder's padding after the track's end is no part of it.
  private func positions(
    of track: TrackDescription, in range: MediaTimeRange?, rate: Int
  ) throws(SheafError) -> Range<Int64> {
    let positions = try sampleRange(track.range, rate: rate)
    guard let range else { return positions }
    return positions.clamped(to: try sampleRange(range, rate: rate))
  }

  /// A track that has packets.
  private func stored(_ track: TrackDescription) throws(SheafError) -> TrackDescription {
    let track = try checked(track)
    guard let pictures = track.pictureTrack else { return track }
    throw SheafError(
      .misuse,
      "track \(track.index) of \(path) is the captions between the pictures of track \(pictures), and has no "
        + "samples of its own")
  }

  private func checked(_ track: TrackDescription) throws(SheafError) -> TrackDescription {
    guard contents.tracks.contains(where: { $0.index == track.index }) else {
      throw SheafError(.misuse, "\(path) has no track \(track.index)")
    }
    return track
  }
}
