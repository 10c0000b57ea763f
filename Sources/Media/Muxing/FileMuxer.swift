package import Composition

/// Writes the output file: packets of finished pieces and sound into mp4, mov or mkv, on an opened descriptor that can
/// seek. Same headers, packets and order: the same bytes.
package final class FileMuxer {
  package struct Track: Sendable {
    package var header: PieceHeader
    /// Exactly as many as will be written; bounds the index where it comes first.
    package var packetCount: Int
    /// Seconds that are seen or heard, from time zero: what lies beyond in the last packet is not.
    package var duration: MediaTime

    package init(header: PieceHeader, packetCount: Int, duration: MediaTime) {
      self.header = header
      self.packetCount = packetCount
      self.duration = duration
    }
  }

  /// The descriptor stays the caller's; the file must be empty.
  /// - Parameters:
  ///   - indexFirst: Room for the index is kept before the data, so that a player can start with the file's first bytes.
  ///   - metadata: By libavformat's key, such as `title`.
  package init(
    descriptor: Int32, name: String, container: Container, tracks: [Track], indexFirst: Bool,
    metadata: [String: String]
  ) throws(MediaError) {
    throw MediaError(.unsupported, operation: "writing", subject: name, message: "not there yet")
  }

  /// Takes a packet over. Its pts and dts are on the whole film's time in ticks of its track's header's timebase: the
  /// first frame seen has pts 0 (dts may be negative), sound starts at minus its initial padding. Each track's packets
  /// come in order of dts; the muxer interleaves the tracks, holding packets back until every track has one, so they
  /// should come about in time order.
  package func write(_ packet: Packet, track: Int) throws(MediaError) {}

  /// Writes what is held back, and the index.
  package func finish() throws(MediaError) {}

  /// Bytes in the file so far.
  package private(set) var byteCount: Int64 = 0
}
