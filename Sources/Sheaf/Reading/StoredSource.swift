import CompositionModel
import Media

/// A track's packets as they are stored.
final class StoredSource: SampleSource {
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
