/// Writes a piece, a packet at a time, to an opened descriptor from its present position on. The descriptor stays the
/// caller's, and only writing is asked of it: it may be a pipe.
package final class PieceWriter {
  package init(descriptor: Int32, header: PieceHeader) throws(MediaError) {
    throw MediaError(.unsupported, operation: "writing", subject: "a piece", message: "not there yet")
  }

  /// Appends a packet, whose timestamps are in ticks of the header's timebase.
  package func write(_ packet: Packet) throws(MediaError) {}

  /// Says that the piece is whole. Without it a reader refuses the piece.
  package func finish() throws(MediaError) {}

  /// So far.
  package private(set) var packetCount: Int64 = 0
  package private(set) var byteCount: Int64 = 0
}
