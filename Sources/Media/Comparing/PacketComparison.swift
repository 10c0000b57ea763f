internal import CMedia
import CompositionModel
import Digest
internal import Glibc

/// Compares the packets of two tracks that are not decoded: captions, data, and pictures that are attached.
struct PacketComparison {
  private(set) var difference: FilmComparison.Difference?
  private(set) var faults: [String] = []

  /// - Returns: How many packets the first track has, and the SHA-256 of all of them.
  mutating func compare(
    _ film: PacketStream, _ other: PacketStream?
  ) throws(MediaError) -> (count: Int64, digest: String) {
    var hasher = SHA256Hasher()
    var (number, otherCount): (Int64, Int64) = (0, 0)
    while true {
      let (own, others) = (try film.next(), try other?.next())
      if own == nil, others == nil { break }
      if let own { own.withBytes { hasher.update($0) } }
      if other != nil, !Self.areEqual(own, film.tick, others, other?.tick ?? 0) {
        let time = own.map { Double($0.pts) * film.tick } ?? others.map { Double($0.pts) * (other?.tick ?? 0) } ?? 0
        difference = difference ?? FilmComparison.Difference(count: 0, first: max(number, otherCount), seconds: time)
        difference?.count += 1
      }
      if own != nil { number += 1 }
      if others != nil { otherCount += 1 }
    }
    if other != nil, number != otherCount { faults.append("has \(number) packets, and not \(otherCount)") }
    return (number, hasher.finalize().hex)
  }

  private static func areEqual(_ own: Packet?, _ tick: Double, _ other: Packet?, _ otherTick: Double) -> Bool {
    guard let own, let other, own.byteCount == other.byteCount, own.hasSameBytes(as: other) else { return false }
    guard own.hasPresentationTime, other.hasPresentationTime else {
      return own.hasPresentationTime == other.hasPresentationTime
    }
    return (Double(own.pts) * tick - Double(other.pts) * otherTick).magnitude <= max(tick, otherTick) * 1.000_1
  }
}

/// The packets of a track, in the order in which they are stored.
final class PacketStream {
  /// Seconds a tick.
  let tick: Double
  let stream: UnsafeMutablePointer<AVStream>
  private let demuxer: Demuxer
  private let track: Int

  /// - Parameters:
  ///   - track: The stream's index in the file.
  ///   - liveness: Advanced with every packet.
  init(_ source: any ByteSource, name: String, track: Int, liveness: Liveness?) throws(MediaError) {
    demuxer = try Demuxer(source, name: name, liveness: liveness)
    let own = try demuxer.stream(track)
    demuxer.select { $0 == own }
    (stream, tick, self.track) = (own, av_q2d(own.pointee.time_base), track)
  }

  /// Nil after the last.
  func next() throws(MediaError) -> Packet? {
    let packet = try Packet()
    return try demuxer.read(into: packet, ofTrack: track) ? packet : nil
  }
}

extension Packet {
  func hasSameBytes(as other: Packet) -> Bool {
    withBytes { own in
      other.withBytes { others in
        own.count == others.count && (own.isEmpty || memcmp(own.baseAddress!, others.baseAddress!, own.count) == 0)
      }
    }
  }
}
