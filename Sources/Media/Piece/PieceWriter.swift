internal import FoundationEssentials

/// Writes a piece, a packet at a time, to an opened descriptor from its present position on. The descriptor stays the
/// caller's, and only writing is asked of it: it may be a pipe. A full disk is an error with the code `.outOfSpace`.
package final class PieceWriter {
  private let writer: DescriptorWriter
  package private(set) var packetCount: Int64 = 0

  package init(descriptor: Int32, header: PieceHeader) throws(MediaError) {
    writer = DescriptorWriter(descriptor: descriptor, subject: PieceFormat.subject)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json: [UInt8]
    do {
      json = try Array(encoder.encode(header))
    } catch {
      throw MediaError(
        .invalidRequest, operation: "writing", subject: PieceFormat.subject, message: "its header is no JSON: \(error)")
    }
    guard json.count <= PieceFormat.headerLimit else {
      throw MediaError(
        .tooLarge, operation: "writing", subject: PieceFormat.subject,
        message: "its header takes \(json.count) bytes; at most \(PieceFormat.headerLimit) are read back")
    }
    let length = PieceFormat.bytes(UInt32(json.count))
    try writer.append(PieceFormat.magic + PieceFormat.bytes(PieceFormat.version) + length + json)
  }

  /// So far.
  package var byteCount: Int64 { writer.byteCount }

  /// Appends a packet, whose timestamps are in ticks of the header's timebase.
  package func write(_ packet: Packet) throws(MediaError) {
    var record = [PieceFormat.packetRecord]
    for time in [packet.pts, packet.dts, packet.duration] { record += PieceFormat.bytes(time) }
    record += PieceFormat.bytes(packet.isKeyframe ? PieceFormat.keyframeFlag : 0)
    record += PieceFormat.bytes(UInt32(packet.byteCount))
    try writer.append(record)
    try packet.withBytes { bytes throws(MediaError) in try writer.append(bytes) }
    packetCount += 1
  }

  /// Says that the piece is whole. Without it a reader refuses the piece.
  package func finish() throws(MediaError) {
    try writer.append([PieceFormat.endRecord] + PieceFormat.bytes(packetCount))
    try writer.flush()
  }
}
