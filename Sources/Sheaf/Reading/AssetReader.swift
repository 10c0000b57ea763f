public import CompositionModel
import Glibc
import Media
import Renderer
import Runtime
import SheafCompositing
import SystemSupport

/// Reads the samples of a file: AVFoundation's `AVAssetReader` with track outputs.
///
/// The file is read **in the caller's process**, by libavcodec's decoders: this is for media that you trust. What
/// strangers upload belongs into an `ExportSession`, whose decoders run in confined processes.
///
///     let reader = try await AssetReader(Asset(url))
///     guard let track = reader.description.defaultTrack(.video) else { return }
///     for try await sample in try reader.pictures(of: track, as: .yuv420p) {
///       print(sample.presentationTime, sample.buffer[.luma, 0, 0])
///     }
public struct AssetReader: Sendable {
  public let path: String
  public let description: AssetDescription

  /// Loads the asset's description, which is made in a confined process.
  public init(_ asset: Asset) async throws(SheafError) {
    self.init(path: asset.path, try await asset.description)
  }

  /// - Parameters:
  ///   - path: The path of a file on this machine. It is not opened before a track is read.
  ///   - description: What the file contains, from an earlier probe of it.
  public init(path: String, _ description: AssetDescription) {
    self.path = path
    self.description = description
  }

  /// What the stored samples of a track are. An `AssetWriter` takes it with the samples, to store them as they are.
  public func storedFormat(of track: TrackDescription) async throws(SheafError) -> StoredFormat {
    let (path, track) = (path, try checked(track))
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
  ///   - track: A track of this asset's description.
  ///   - range: On the asset's timeline. Pictures begin with the keyframe from which the one at the range's start can
  ///     be decoded, and sound with what a decoder needs before the start. They end with the last that is decoded or
  ///     presented before the range's end. Of a range in which the track has nothing there are none. Nil: all.
  public func storedSamples(
    of track: TrackDescription, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<StoredSample> {
    let (path, track) = (path, try checked(track))
    let ticks = try TrackTicks(track, range)
    if ticks.hasNothing { return .none }
    return SampleBuffers { try StoredSource(path, track, ticks) }
  }

  /// The pictures of a video track, decoded, in order of presentation. They are as stored: orientation and pixel aspect
  /// are not applied.
  /// - Parameters:
  ///   - track: A video track of this asset's description.
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
    guard let video = track.video else {
      throw SheafError(.misuse, "track \(track.index) of \(path) is \(track.type), which has no pictures")
    }
    let ticks = try TrackTicks(track, range)
    if ticks.hasNothing { return .none }
    return SampleBuffers { try PictureSource(path, track, video, format, size, ticks) }
  }

  /// The sound of an audio track, decoded to 32-bit floats at its own rate and channels. Where the track has a gap, the
  /// position of the next buffer is later than the end of the one before.
  /// - Parameters:
  ///   - track: An audio track of this asset's description.
  ///   - range: On the asset's timeline, to the nearest sample. Nil: all.
  public func sound(
    of track: TrackDescription, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<AudioSample> {
    let (path, track) = (path, try checked(track))
    guard let audio = track.audio else {
      throw SheafError(.misuse, "track \(track.index) of \(path) is \(track.type), which has no sound")
    }
    // A decoder's padding after the track's end is no part of it.
    var positions = try sampleRange(track.range, rate: audio.sampleRate)
    if let range { positions = positions.clamped(to: try sampleRange(range, rate: audio.sampleRate)) }
    return SampleBuffers { [positions] in try SoundSource(path, track, audio, positions) }
  }

  private func checked(_ track: TrackDescription) throws(SheafError) -> TrackDescription {
    guard description.tracks.contains(where: { $0.index == track.index }) else {
      throw SheafError(.misuse, "\(path) has no track \(track.index)")
    }
    return track
  }
}

/// The positions [round(start · rate), round(end · rate)) of a range's samples.
private func sampleRange(_ range: MediaTimeRange, rate: Int) throws(SheafError) -> Range<Int64> {
  do throws(TimeError) {
    let rate = Rational(rate)
    let start = Int64(clamping: try (range.start.exact * rate).rounded)
    return start..<max(start, Int64(clamping: try (range.end.exact * rate).rounded))
  } catch {
    throw SheafError(.misuse, "\(range): \(error)")
  }
}

/// A range of a track's timeline in its stored timestamps.
private struct TrackTicks {
  let track: TrackDescription
  /// The timestamp of what is shown at the range's start. Nil: from the track's beginning.
  let start: Int64?
  let range: MediaTimeRange?

  init(_ track: TrackDescription, _ range: MediaTimeRange?) throws(SheafError) {
    self.track = track
    self.range = range
    do throws(TimeError) {
      start = try range.map { (range) throws(TimeError) in
        try StoredTime.lastTick(
          dueAt: range.start.exact, timebase: track.timebase, origin: track.origin, isRounded: track.hasRoundedTimes,
          cadence: track.video?.cadence)
      }
    } catch {
      throw SheafError(.misuse, "track \(track.index) has no timestamp for \(range?.start ?? .zero): \(error)")
    }
  }

  /// The exact time on the asset's timeline of a stored timestamp: of rounded times of a constant rate the true one.
  func time(of tick: Int64) throws(TimeError) -> MediaTime {
    let stored = try track.timebase * Rational(tick - track.origin)
    guard track.hasRoundedTimes, let cadence = track.video?.cadence else { return stored }
    let rate = try cadence.rate.exact
    let sinceFirst = try track.timebase.exact * Rational(tick - cadence.first)
    let frame = try (sinceFirst * rate).rounded
    let first = try track.timebase.exact * Rational(cadence.first - track.origin)
    return try MediaTime(first + Rational(frame) / rate)
  }

  func isPast(_ time: MediaTime) -> Bool { range.map { $0.end <= time } ?? false }

  /// Whether nothing of the track is in the range. A still picture has no duration, and is at every time.
  var hasNothing: Bool {
    guard let range else { return false }
    if range.isEmpty { return true }
    return track.video?.isStill != true && (range.end <= track.range.start || track.range.end <= range.start)
  }
}

private func openFile(_ path: String) throws -> FileByteSource {
  let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw SheafError(.invalidMedia, "\(SystemError(errno, "opening \(path)"))") }
  return FileByteSource(descriptor: descriptor)
}

private final class StoredSource: SampleSource {
  private let reader: StoredPackets
  private let ticks: TrackTicks
  private let format: StoredFormat
  /// The sound before the range's start that a decoder needs.
  private var preroll: [Packet] = []
  private var ready: [Packet] = []
  /// The most ticks by which pictures are decoded after their presentation.
  private var lead: Int64 = 0
  private var hasBegun = false

  init(_ path: String, _ track: TrackDescription, _ ticks: TrackTicks) throws {
    self.ticks = ticks
    reader = try Self.open(
      path, track, from: ticks.start.flatMap { start in track.video?.keyframes.last { $0.pts <= start } })
    format = StoredFormat(track, reader.format)
    if ticks.range != nil, track.video != nil { (ready, lead) = try reader.lookAhead() }
  }

  static func open(_ path: String, _ track: TrackDescription, from keyframe: Keyframe?) throws -> StoredPackets {
    try StoredPackets(
      openFile(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
      discontinuities: track.discontinuities, from: keyframe, liveness: nil)
  }

  func next() throws -> StoredSample? {
    while let packet = try nextPacket() {
      guard let shown = packet.statedTime, let decoded = packet.statedDecodingTime else { continue }
      if ticks.isPast(try ticks.time(of: decoded - lead)) { return nil }
      return StoredSample(
        presentationTime: try ticks.time(of: shown), decodingTime: try ticks.time(of: decoded),
        duration: try ticks.track.timebase * Rational(packet.duration), isKeyframe: packet.isKeyframe,
        bytes: packet.withBytes { Array($0) }, format: format, marks: packet.marks)
    }
    return nil
  }

  /// The next packet of the range. A track of sound has no keyframes to begin with.
  private func nextPacket() throws -> Packet? {
    if !ready.isEmpty { return ready.removeFirst() }
    guard !hasBegun, ticks.track.video == nil, let start = ticks.start else { return try reader.next() }
    while let packet = try reader.next() {
      if let shown = packet.statedTime, shown + packet.duration <= start {
        preroll = (preroll + [packet]).suffix(reader.format.prerollPackets)
      } else {
        hasBegun = true
        ready = preroll + [packet]
        preroll = []
        return ready.removeFirst()
      }
    }
    return nil
  }
}

private final class PictureSource: SampleSource {
  private let reader: VideoReader
  private let ticks: TrackTicks
  private let format: PixelFormat
  private let size: PixelSize?
  private var scaler: (side: FrameScaler.Side, scaler: FrameScaler)?
  private var held: (frame: Frame, time: MediaTime)?
  private var isAtEnd = false

  init(
    _ path: String, _ track: TrackDescription, _ video: VideoFormat, _ format: PixelFormat, _ size: PixelSize?,
    _ ticks: TrackTicks
  ) throws {
    (self.format, self.size, self.ticks) = (format, size, ticks)
    let keyframe = ticks.start.flatMap { start in video.keyframes.last { $0.pts <= start } }
    reader = try VideoReader(
      source: openFile(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
      discontinuities: track.discontinuities, decodeFrom: keyframe,
      state: keyframe.flatMap { video.decoderState(at: $0) }, starts: video.isStill ? nil : video,
      shownAt: video.isStill ? nil : ticks.start)
    held = try read()
  }

  func next() throws -> VideoSample? {
    guard let current = held else { return nil }
    let following = try read()
    held = following.flatMap { ticks.isPast($0.time) ? nil : $0 }
    let end = following?.time ?? max(current.time, ticks.track.range.end)
    return VideoSample(
      presentationTime: current.time, duration: try end - current.time,
      buffer: PixelBuffer(try converted(current.frame), format))
  }

  private func read() throws -> (frame: Frame, time: MediaTime)? {
    guard !isAtEnd, let frame = try reader.next() else {
      isAtEnd = true
      return nil
    }
    return (frame, try ticks.time(of: frame.pts))
  }

  private func converted(_ frame: Frame) throws -> Frame {
    let wanted = FrameFormat(format)
    let size = self.size ?? frame.size
    if frame.format == wanted, frame.size == size { return frame }
    let side = FrameScaler.Side(size: frame.size, format: frame.format, colour: frame.colour)
    var colour = frame.colour
    if frame.format.isRGB {
      colour = ColourTags(
        primaries: colour.primaries, transfer: colour.transfer, matrix: size.height >= 720 ? "bt709" : "smpte170m")
    }
    if frame.format.name.hasPrefix("yuvj") { colour.isFullRange = true }
    if scaler?.side != side {
      let target = FrameScaler.Side(size: size, format: wanted, colour: colour)
      scaler = (side, try FrameScaler(from: side, to: target))
    }
    let target = try Frame(size: size, format: wanted, colour: colour)
    try scaler?.scaler.scale(frame, into: target)
    return target
  }
}

private final class SoundSource: SampleSource {
  private let reader: AudioReader
  private let rate: Int
  private let positions: Range<Int64>

  init(_ path: String, _ track: TrackDescription, _ audio: AudioFormat, _ positions: Range<Int64>) throws {
    rate = audio.sampleRate
    self.positions = positions
    reader = try AudioReader(
      source: openFile(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
      discontinuities: track.discontinuities, format: audio, from: max(0, positions.lowerBound))
  }

  func next() throws -> AudioSample? {
    while let block = try reader.next() {
      if positions.upperBound <= block.position { return nil }
      let samples = block.samples
      let sample = AudioSample(
        position: block.position, sampleRate: rate,
        channels: (0..<samples.channels).map { channel in
          Array(UnsafeBufferPointer(start: samples.row(channel), count: samples.capacity))
        })
      if let part = sample.clamped(to: positions) { return part }
    }
    return nil
  }
}
