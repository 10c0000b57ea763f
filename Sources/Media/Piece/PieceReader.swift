/// Reads a piece. What it says is not believed: every size is checked, and a piece that was cut off is refused.
package final class PieceReader {
  package let header: PieceHeader

  package init(source: any ByteSource, name: String) throws(MediaError) {
    throw MediaError(.unsupported, operation: "reading", subject: name, message: "not there yet")
  }

  /// The next packet in the order written; nil after the last, once the end record has been found and agrees.
  package func next() throws(MediaError) -> Packet? { nil }
}
