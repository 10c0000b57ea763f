import CompositionModel
import FoundationEssentials
import Glibc
import Media
import PieceFiles
import Renderer
import SheafCompositing
import SystemSupport

extension OpenFile {
  /// The bytes of a file that is written.
  func source() throws -> any ByteSource {
    let descriptor = dup(descriptor)
    guard descriptor >= 0 else { throw SystemError(errno, "opening a track that waits on the disk") }
    return FileByteSource(descriptor: descriptor)
  }
}

/// What is encoded of one track until the film is joined: a file without a name, which is gone with its descriptor.
final class TrackPiece {
  private let file: OpenFile
  private let writer: PieceWriter

  init(_ header: PieceHeader) throws {
    file = try OpenFile.unnamed()
    writer = try PieceWriter(descriptor: file.descriptor, header: header)
  }

  func write(_ packet: Packet) throws { try writer.write(packet) }

  func finish() throws { try writer.finish() }

  /// The bytes, once finished.
  func source() throws -> any ByteSource { try file.source() }
}

/// How many seconds a film may wait for its next sample. What waits longer has times of another clock, and would fill
/// the disk with what is shown meanwhile.
private enum LongestGap {
  static let beforeFirst = Rational(3600)
  static let betweenSamples = Rational(86400)

  /// Throws `.misuse` if a sample is too late.
  /// - Parameter earlier: The end of the sample before. Nil: it is the first.
  static func check(_ time: MediaTime, _ sample: String, after earlier: MediaTime?, start: MediaTime) throws {
    let gap = try time.exact - max(earlier ?? start, start).exact
    if earlier == nil, beforeFirst < gap {
      throw SheafError(
        .misuse,
        "the first \(sample) is at \(time) s, and the session starts at \(start) s: call startSession(at:) with the "
          + "time at which the film starts")
    }
    if let earlier, betweenSamples < gap {
      throw SheafError(
        .misuse, "a \(sample) at \(time) s was appended after one at \(earlier) s; at most a day may be between them")
    }
  }
}

/// What writes a track of pictures or of sound.
enum TrackWriter {
  case video(VideoTrackWriter)
  case audio(AudioTrackWriter)
  case stored(StoredTrackWriter)

  var type: MediaType {
    switch self {
    case .video: .video
    case .audio: .audio
    case .stored(let track): track.type
    }
  }

  var isEmpty: Bool {
    switch self {
    case .video(let track): track.isEmpty
    case .audio(let track): track.isEmpty
    case .stored(let track): track.isEmpty
    }
  }

  /// Whether a session can still end at a time: nothing that is encoded is later.
  func canEnd(at end: MediaTime, start: MediaTime) throws -> Bool {
    switch self {
    case .video(let track): try track.canEnd(at: end, start: start)
    case .audio(let track): try track.canEnd(at: end, start: start)
    case .stored: true
    }
  }

  /// Whether a film of tracks is joined of what was encoded: it has at most one of a type, and none that is stored.
  static func areJoined(_ tracks: [TrackWriter]) -> Bool {
    let isStored = tracks.contains { if case .stored = $0 { true } else { false } }
    return !isStored && Set(tracks.map(\.type)).count == tracks.count
  }
}

/// Encodes the pictures of a film at a constant rate.
final class VideoTrackWriter {
  let settings: VideoSettings
  let size: PixelSize
  let frameDuration: MediaTime
  /// Degrees clockwise. Nil: none.
  let rotation: Int?
  /// Nil: all of the pictures.
  let cleanAperture: PixelRect?
  /// Nil: none.
  let label: TrackLabel?
  let piece: TrackPiece
  private let encoder: VideoEncoder
  private(set) var frameCount = 0
  /// The latest picture, which is shown until the next one.
  private var shown: VideoSample?
  /// Its frame, made once for all frames that show it.
  private var frame: Frame?

  /// - Parameter export: What the film states of its pictures.
  init(
    _ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime, _ export: CompositionModel.ExportSettings
  ) throws {
    (self.settings, self.size, self.frameDuration) = (settings, size, frameDuration)
    (label, cleanAperture) = (export.videoLabel, export.cleanAperture)
    rotation = export.rotation == 0 ? nil : export.rotation
    encoder = try VideoEncoder(settings, size: size, frameDuration: frameDuration)
    piece = try TrackPiece(encoder.header)
  }

  var isEmpty: Bool { shown == nil }

  /// Seconds of the frames that are encoded.
  var duration: MediaTime { get throws { try frameDuration * Rational(frameCount) } }

  func append(_ sample: VideoSample, start: MediaTime, end: MediaTime?) throws {
    let buffer = sample.buffer
    guard buffer.size == size, buffer.format == settings.pixelFormat else {
      throw SheafError(
        .misuse,
        "a picture of \(buffer.width)x\(buffer.height) \(buffer.format) was appended to a track of "
          + "\(size.width)x\(size.height) \(settings.pixelFormat)")
    }
    guard sample.presentationTime.isNumeric, sample.duration.isNumeric else {
      throw SheafError(.misuse, "a picture has the time \(sample.presentationTime) and the duration \(sample.duration)")
    }
    let until = end.map { min($0, sample.presentationTime) } ?? sample.presentationTime
    try LongestGap.check(until, "picture", after: shown?.presentationTime, start: start)
    if let shown {
      guard shown.presentationTime < sample.presentationTime else {
        throw SheafError(
          .misuse, "a picture at \(sample.presentationTime) was appended after one at \(shown.presentationTime)")
      }
      try encode(until: until.exact, from: start)
    }
    shown = sample
    frame = nil
  }

  /// Encodes the frames before a time, all of which show the latest picture.
  private func encode(until end: Rational, from start: MediaTime) throws {
    while try time(ofFrame: frameCount, from: start) < end {
      guard let shown else { return }
      let frame = try self.frame ?? shown.buffer.copied()
      self.frame = frame
      try encoder.send(frame, pts: Int64(frameCount))
      frameCount += 1
      try writePackets()
    }
  }

  /// Its exact time, whose denominator a `MediaTime` may not have.
  private func time(ofFrame number: Int, from start: MediaTime) throws -> Rational {
    try start.exact + frameDuration.exact * Rational(number)
  }

  /// Whether a session can still end at a time: no frame that is encoded is later.
  func canEnd(at end: MediaTime, start: MediaTime) throws -> Bool {
    try frameCount == 0 || time(ofFrame: frameCount - 1, from: start) < end.exact
  }

  /// The time at which the last frame ends, of what was appended. Throws `.misuse` if there would be none.
  @discardableResult
  func checkEnd(start: MediaTime, end: MediaTime?) throws -> Rational {
    guard let shown else { throw SheafError(.misuse, "no picture was appended to the video track") }
    let lasting = shown.duration > .zero ? shown.duration : frameDuration
    let last = try end?.exact ?? shown.presentationTime.exact + lasting.exact
    guard try frameCount > 0 || start.exact < last else {
      throw SheafError(.misuse, "no picture is within the session")
    }
    return last
  }

  /// - Returns: The number of frames.
  func finish(start: MediaTime, end: MediaTime?) throws -> Int {
    try encode(until: try checkEnd(start: start, end: end), from: start)
    encoder.finish()
    try writePackets()
    try piece.finish()
    return frameCount
  }

  private func writePackets() throws {
    while let packet = try encoder.receive() { try piece.write(packet) }
  }
}

/// Encodes the sound of a film.
final class AudioTrackWriter {
  let settings: AudioSettings
  /// Nil: none.
  let label: TrackLabel?
  let piece: TrackPiece
  private let encoder: AudioEncoder
  /// Samples of each channel that were appended within the session, and encoded or waiting.
  private(set) var sampleCount: Int64 = 0
  private(set) var isEmpty = true
  /// For each channel the samples that do not fill a frame of the encoder yet.
  private var waiting: [[Float]]

  init(_ settings: AudioSettings, label: TrackLabel?) throws {
    self.settings = settings
    self.label = label
    encoder = try AudioEncoder(settings)
    piece = try TrackPiece(encoder.header)
    waiting = Array(repeating: [], count: settings.channels)
  }

  /// Seconds of the samples that were appended.
  var duration: MediaTime { MediaTime(value: sampleCount, timescale: Int32(clamping: settings.sampleRate)) }

  /// The positions of the session's samples.
  private func session(_ start: MediaTime, _ end: MediaTime?) throws -> Range<Int64> {
    let first = try (start.exact * Rational(settings.sampleRate)).rounded
    let last = try end.map { try ($0.exact * Rational(settings.sampleRate)).rounded }
    return Int64(clamping: first)..<max(Int64(clamping: first), last.map { Int64(clamping: $0) } ?? .max / 2)
  }

  func append(_ sample: AudioSample, start: MediaTime, end: MediaTime?) throws {
    guard sample.sampleRate == settings.sampleRate, sample.channels.count == settings.channels,
      sample.channels.allSatisfy({ $0.count == sample.count })
    else {
      throw SheafError(
        .misuse,
        "\(sample.channels.count) channels at \(sample.sampleRate) Hz were appended to a track of \(settings.channels) "
          + "at \(settings.sampleRate) Hz")
    }
    let session = try session(start, end)
    let next = session.lowerBound + sampleCount
    guard let part = sample.clamped(to: next..<max(next, session.upperBound)) else {
      isEmpty = false
      return
    }
    let rate = Int32(clamping: settings.sampleRate)
    let (place, earlier) = (MediaTime(value: part.position, timescale: rate), MediaTime(value: next, timescale: rate))
    try LongestGap.check(place, "sample", after: isEmpty ? nil : earlier, start: start)
    isEmpty = false
    try appendSilence(part.position - next)
    for channel in waiting.indices { waiting[channel] += part.channels[channel] }
    sampleCount += Int64(part.count)
    try encode(all: false)
  }

  private func appendSilence(_ count: Int64) throws {
    var rest = count
    while rest > 0 {
      let part = Int(min(rest, 1 << 16))
      for channel in waiting.indices { waiting[channel] += Array(repeating: 0, count: part) }
      sampleCount += Int64(part)
      rest -= Int64(part)
      try encode(all: false)
    }
  }

  /// Whether a session can still end at a time: no sample that was taken is later.
  func canEnd(at end: MediaTime, start: MediaTime) throws -> Bool {
    let session = try session(start, end)
    return sampleCount <= session.upperBound - session.lowerBound
  }

  /// Throws `.misuse` if there is nothing to finish.
  func checkEnd() throws(SheafError) {
    guard sampleCount > 0 else { throw SheafError(.misuse, "no sound within the session was appended") }
  }

  /// - Parameter duration: With which the sound ends: it is silent until then, and later samples are not presented.
  ///   Nil: it ends with its last sample.
  /// - Returns: The number of samples of each channel.
  func finish(lasting duration: MediaTime? = nil) throws -> Int64 {
    try checkEnd()
    let end = try duration.map { Int64(clamping: try ($0.exact * Rational(settings.sampleRate)).rounded) }
    if let end { try appendSilence(end - sampleCount) }
    try encode(all: true)
    try encoder.finish()
    try writePackets()
    try piece.finish()
    return min(sampleCount, end ?? sampleCount)
  }

  /// - Parameter all: Whether the samples that do not fill a frame are encoded too.
  private func encode(all: Bool) throws {
    let size = encoder.frameSize
    var first = 0
    let count = waiting.first?.count ?? 0
    while count - first >= (all ? 1 : size) {
      let part = min(size, count - first)
      try encoder.send(count: part) { rows in fill(rows, from: first, count: part) }
      first += part
      try writePackets()
    }
    for channel in waiting.indices { waiting[channel].removeFirst(first) }
  }

  private func fill(_ rows: [UnsafeMutableRawPointer], from first: Int, count: Int) {
    let layout = encoder.sampleLayout
    for channel in waiting.indices {
      let (row, offset, stride) = layout.place(ofChannel: channel, of: settings.channels)
      waiting[channel].withUnsafeBufferPointer { samples in
        for index in 0..<count {
          let place = offset + index * stride
          let sample = samples[first + index].isNaN ? 0 : samples[first + index]
          switch layout.type {
          case .float32:
            rows[row].storeBytes(of: min(1, max(-1, sample)), toByteOffset: place * 4, as: Float.self)
          case .int16:
            let code = min(32767, max(-32768, (sample * 32768).rounded()))
            rows[row].storeBytes(of: Int16(code), toByteOffset: place * 2, as: Int16.self)
          case .int32:
            let code = min(8_388_607, max(-8_388_608, (Double(sample) * 8_388_608).rounded()))
            rows[row].storeBytes(of: Int32(code) << 8, toByteOffset: place * 4, as: Int32.self)
          }
        }
      }
    }
  }

  private func writePackets() throws {
    while let packet = try encoder.receive() { try piece.write(packet) }
  }
}
