internal import FoundationEssentials

/// Reads a piece. What it says is not believed: every size is checked, and a piece that was cut off is refused.
package final class PieceReader {
  package let header: PieceHeader
  private let name: String
  private var cursor: ByteCursor
  private var packetCount: Int64 = 0
  private var isAtEnd = false

  /// - Parameter name: What messages call the piece.
  package init(source: any ByteSource, name: String) throws(MediaError) {
    self.name = name
    var cursor = ByteCursor(source)
    header = try PieceReader.readHeader(&cursor, name)
    self.cursor = cursor
  }

  /// The next packet in the order written; nil after the last, once the end record has been found and agrees.
  package func next() throws(MediaError) -> Packet? {
    if isAtEnd { return nil }
    let at = cursor.offset
    guard let kind = try cursor.take(UInt8.self) else { throw cutOff(at) }
    switch kind {
    case PieceFormat.packetRecord: return try packet(at)
    case PieceFormat.endRecord:
      guard let count = try cursor.take(Int64.self) else { throw cutOff(at) }
      guard count == packetCount else {
        throw invalid("it ends after \(packetCount) packets and says that it has \(count)")
      }
      guard cursor.remaining == 0 else { throw invalid("\(cursor.remaining) bytes follow its end") }
      isAtEnd = true
      return nil
    default: throw invalid("there is a record of the unknown kind \(kind) at byte \(at)")
    }
  }

  private func packet(_ at: Int64) throws(MediaError) -> Packet {
    guard let pts = try cursor.take(Int64.self), let dts = try cursor.take(Int64.self),
      let duration = try cursor.take(Int64.self), let flags = try cursor.take(UInt32.self),
      let size = try cursor.take(UInt32.self)
    else { throw cutOff(at) }
    guard flags & ~PieceFormat.keyframeFlag == 0 else { throw invalid("unknown flags \(flags) at byte \(at)") }
    guard size > 0, size <= PieceFormat.packetLimit else { throw invalid("a packet of \(size) bytes at byte \(at)") }
    guard Int64(size) <= cursor.remaining else { throw cutOff(at) }
    let packet = try Packet(byteCount: Int(size))
    packet.pts = pts
    packet.dts = dts
    packet.duration = duration
    packet.isKeyframe = flags & PieceFormat.keyframeFlag != 0
    let isWhole = try packet.withMutableBytes { bytes throws(MediaError) in try cursor.take(into: bytes) }
    guard isWhole else { throw cutOff(at) }
    packetCount += 1
    return packet
  }

  private static func readHeader(_ cursor: inout ByteCursor, _ name: String) throws(MediaError) -> PieceHeader {
    func invalid(_ message: String) -> MediaError {
      MediaError(.invalidPiece, operation: "reading", subject: name, message: message)
    }
    var magic = [UInt8](repeating: 0, count: PieceFormat.magic.count)
    guard try cursor.take(into: &magic), magic == PieceFormat.magic else { throw invalid("it is no piece") }
    guard let version = try cursor.take(UInt32.self), let length = try cursor.take(UInt32.self) else {
      throw invalid("it is cut off in its header")
    }
    guard version == PieceFormat.version else {
      throw invalid("it has version \(version) of the format; this build reads \(PieceFormat.version)")
    }
    guard length <= PieceFormat.headerLimit, Int64(length) <= cursor.remaining else {
      throw invalid("its header of \(length) bytes is too long or cut off")
    }
    var json = [UInt8](repeating: 0, count: Int(length))
    guard try cursor.take(into: &json) else {
      throw invalid("it is cut off in its header")
    }
    do {
      return try JSONDecoder().decode(PieceHeader.self, from: Data(json))
    } catch {
      throw invalid("its header cannot be understood: \(error)")
    }
  }

  private func invalid(_ message: String) -> MediaError {
    MediaError(.invalidPiece, operation: "reading", subject: name, message: message)
  }

  private func cutOff(_ at: Int64) -> MediaError {
    invalid("it is cut off in the record at byte \(at), after \(packetCount) packets")
  }
}
