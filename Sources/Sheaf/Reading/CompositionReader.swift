public import CompositionModel
import EditDocument
import FoundationEssentials
import Media
import Renderer
import SystemSupport

/// Reads the pictures and the sound of an edit: AVFoundation's `AVAssetReader` with a video composition output and an
/// audio mix output.
///
/// They come from the compositor and the mixer that make a film, in confined processes: the edit is rendered without
/// loss to temporary files, which are read in the caller's process. Sound has 24 bits.
///
/// Pictures are rendered while they are read. The first part is a second long and later ones are longer, and one part
/// is rendered ahead of the one that is read: the first picture is there long before the last is rendered, a reader
/// that stops leaves the rest of the film unrendered, and of a range only its own frames are rendered. The mix is
/// rendered as a whole when its first samples are read, because a sample of it may depend on all others.
public final class CompositionReader: Sendable {
  /// Of every frame, in pixels.
  public let renderSize: PixelSize
  /// Seconds from one frame to the next.
  public let frameDuration: MediaTime
  /// Of the composition, in seconds, whatever part of it the edit exports.
  public let duration: MediaTime
  private let edit: Edit
  private let renderer: LocalRenderer
  private let video: VideoSettings?
  private let audio: AudioSettings?
  private let frameCount: Int128

  /// Probes the media and checks the edit. Nothing is rendered yet. Throws with every problem of the edit.
  /// - Parameters:
  ///   - edit: What is read, as it is now.
  ///   - renderer: Where the edit is rendered.
  public init(_ edit: Edit, renderer: LocalRenderer = LocalRenderer()) async throws(SheafError) {
    let film: CompositionModel.Edit
    (film, frameCount) = try await sheafErrors {
      let descriptions = try await Self.descriptions(of: edit, renderer)
      let film = try Document.parse(edit.document(), output: "film.mkv").lower(
        assets: descriptions, output: "film.mkv")
      return (film, try (film.composition.duration / film.videoComposition.frameDuration).ceiling)
    }
    let exports = [film.export] + (film.outputs ?? []).map(\.export)
    (self.edit, self.renderer) = (edit, renderer)
    video = exports.lazy.compactMap(\.video).first
    audio = exports.lazy.compactMap(\.audio).first
    renderSize = film.videoComposition.renderSize
    frameDuration = film.videoComposition.frameDuration
    duration = film.composition.duration
  }

  /// The film's frames, in the pixel format of the film.
  /// - Parameter range: Begins with the frame that is shown at its start. Nil: all.
  public func pictures(in range: MediaTimeRange? = nil) throws(SheafError) -> SampleBuffers<VideoSample> {
    let format = try videoSettings().pixelFormat
    let converter = { @Sendable in PictureConverter(as: FrameFormat(format), size: nil) }
    return try frames(in: range, converter) { frame, time, duration in
      VideoSample(presentationTime: time, duration: duration, buffer: PixelBuffer(frame, format))
    }
  }

  /// The film's frames in a pixel format of Core Video: what AVFoundation's `AVAssetReaderVideoCompositionOutput` gives
  /// for its `videoSettings`.
  /// - Parameters:
  ///   - settings: The format and the size of the pictures.
  ///   - range: Begins with the frame that is shown at its start. Nil: all.
  public func pictures(
    outputSettings settings: VideoOutputSettings, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<ImageSample> {
    _ = try videoSettings()
    try settings.check()
    let converter = { @Sendable in PictureConverter(settings) }
    return try frames(in: range, converter) { frame, time, duration in
      ImageSample(presentationTime: time, duration: duration, image: ImageBuffer(frame, settings.pixelFormat))
    }
  }

  /// The mix of all audio tracks, with the film's sample rate and channels.
  /// - Parameter range: To the nearest sample. Nil: all.
  public func sound(in range: MediaTimeRange? = nil) throws(SheafError) -> SampleBuffers<AudioSample> {
    let audio = try audioSettings()
    let positions = try positions(in: range, rate: audio.sampleRate)
    return mix { path, track, format in try SoundSource(path, track, format, positions) }
  }

  /// The mix of all audio tracks as linear PCM of a type, a rate and channels: what AVFoundation's
  /// `AVAssetReaderAudioMixOutput` gives for its `audioSettings`. Nil in the settings is the film's.
  /// - Parameters:
  ///   - settings: The type of a sample, the rate and the channels.
  ///   - range: To the nearest sample of the settings' rate. The samples are the same as in a longer range. Nil: all.
  public func sound<Value: LinearPCM>(
    outputSettings settings: AudioOutputSettings<Value>, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<PCMBuffer<Value>> {
    let audio = try audioSettings()
    let film = AudioFormat(sampleRate: audio.sampleRate, channels: audio.channels, layout: "")
    let positions = try positions(in: range, rate: settings.resolved(for: film).sampleRate)
    return mix { path, track, format in try ConvertedSoundSource(path, track, format, settings, positions) }
  }

  // MARK: Settings

  private func videoSettings() throws(SheafError) -> VideoSettings {
    if let video { return video }
    throw SheafError(.misuse, "the edit has no pictures")
  }

  private func audioSettings() throws(SheafError) -> AudioSettings {
    if let audio { return audio }
    throw SheafError(.misuse, "the edit has no sound")
  }

  private func positions(in range: MediaTimeRange?, rate: Int) throws(SheafError) -> Range<Int64> {
    let all: MediaTimeRange
    do { all = try MediaTimeRange(start: .zero, duration: duration) } catch { throw SheafError(error) }
    return try sampleRange(all, rate: rate).clamped(to: sampleRange(range ?? all, rate: rate))
  }

  private static func descriptions(
    of edit: Edit, _ renderer: LocalRenderer
  ) async throws -> [AssetID: AssetDescription] {
    let files = edit.files
    let described = try await renderer.describe(Array(files.values))
    var descriptions: [AssetID: AssetDescription] = [:]
    for (id, path) in files { descriptions[id] = try described[path]?.get() }
    return descriptions
  }

  // MARK: Rendering

  /// The frames of a range, each converted and made a sample with its time and its duration.
  private func frames<Sample: Sendable>(
    in range: MediaTimeRange?, _ converter: @escaping @Sendable () -> PictureConverter,
    _ make: @escaping @Sendable (Frame, MediaTime, MediaTime) -> Sample
  ) throws(SheafError) -> SampleBuffers<Sample> {
    let duration = frameDuration
    let parts: [(frames: Range<Int128>, edit: Edit)]
    do {
      var numbers = 0..<frameCount
      if let range {
        if range.isEmpty { return .none }
        let first = try (range.start / duration).floor
        numbers = numbers.clamped(to: first..<max(first, try (range.end / duration).ceiling))
      }
      parts = try RenderedPart.ranges(of: numbers, lasting: duration, slots: renderer.slots).map { ($0, try part($0)) }
    } catch {
      throw SheafError(error)
    }
    return SampleBuffers(parts: { [renderer] in
      FilmParts(parts.map(\.edit), renderer) { number, part in
        let track = try part.track(.video)
        guard let video = track.video else { throw SheafError(.failed, "a rendered part has no pictures") }
        let converter = converter()
        var frame = parts[number].frames.lowerBound
        let pictures = try PictureSource(part.path, track, video, TrackTicks(track, nil)) { picture, _, _ in
          defer { frame += 1 }
          return make(try converter.convert(picture), try duration * Rational(frame), duration)
        }
        return OwningSource(pictures, part)
      }
    })
  }

  /// The edit whose film is some frames without loss. Their numbers are those of the whole film: a part begins with a
  /// frame.
  private func part(_ frames: Range<Int128>) throws -> Edit {
    var export = ExportSettings(
      video: .settings(ExportSettings.Video(codec: .ffv1, pixelFormat: video?.pixelFormat)), audio: .none)
    let end = try frameDuration * Rational(frames.upperBound)
    export.timeRange = try MediaTimeRange(
      start: frameDuration * Rational(frames.lowerBound), end: min(end, duration))
    return edit.exported(with: export)
  }

  /// Samples of the whole mix.
  private func mix<Sample: Sendable>(
    _ open: @escaping @Sendable (String, TrackDescription, AudioFormat) throws -> any SampleSource<Sample>
  ) -> SampleBuffers<Sample> {
    let settings = ExportSettings.Audio(
      codec: .pcm, sampleRate: audio?.sampleRate, channels: audio?.channels, bitDepth: 24)
    let film = edit.exported(with: ExportSettings(video: .none, audio: .settings(settings)))
    return SampleBuffers(parts: { [renderer] in
      FilmParts([film], renderer) { _, part in
        let track = try part.track(.audio)
        guard let audio = track.audio else { throw SheafError(.failed, "a rendered mix has no sound") }
        return OwningSource(try open(part.path, track, audio), part)
      }
    })
  }
}
