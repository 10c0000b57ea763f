import FoundationEssentials

/// Where the packets of a piece are, and when they are presented: what is known of it without its media.
package struct PieceIndex: Sendable, Hashable {
  package struct Packet: Sendable, Hashable {
    /// In ticks of the header's timebase, as the piece has them.
    package var pts: Int64
    package var dts: Int64
    package var duration: Int64
    package var isKeyframe: Bool
    /// The bytes of its data in the piece.
    package var data: Range<Int64>
  }

  /// Why bytes are no piece that can be read.
  package struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
  }

  package let header: PieceHeader
  /// In the order of decoding.
  package let packets: [Packet]

  /// How much is read at a time, in bytes.
  private static let chunk: Int64 = 256 << 10
  private static let greatestPacketCount = 1 << 24

  /// Reads a piece from its first byte to its last, but for most of the packets' data. Nothing of it is trusted.
  /// - Parameters:
  ///   - size: Of the piece, in bytes.
  ///   - read: Returns so many bytes from a place of the piece on, which are in it.
  /// - Throws: `Fault`, and what `read` throws.
  package init(size: Int64, read: @escaping (_ offset: Int64, _ count: Int) throws -> [UInt8]) throws {
    var bytes = Bytes(size: size, read: read)
    header = try Self.header(&bytes)
    var packets: [Packet] = []
    records: while true {
      let start = bytes.offset
      switch try bytes.take(1).first {
      case PieceFormat.packetRecord:
        let (pts, dts, duration) = (try bytes.long(), try bytes.long(), try bytes.long())
        let (flags, count) = (try bytes.word(), Int64(try bytes.word()))
        guard flags & ~PieceFormat.keyframeFlag == 0, count > 0, count <= PieceFormat.packetLimit,
          packets.count < Self.greatestPacketCount
        else { throw Fault("the record at byte \(start) of the piece is no packet") }
        let data = bytes.offset..<(bytes.offset + count)
        try bytes.skip(count)
        packets.append(
          Packet(
            pts: pts, dts: dts, duration: duration, isKeyframe: flags & PieceFormat.keyframeFlag != 0, data: data))
      case PieceFormat.damageRecord: try bytes.skip(Int64(try bytes.word()))
      case PieceFormat.endRecord:
        guard try bytes.long() == Int64(packets.count), bytes.offset == size else {
          throw Fault("the end of the piece is not that of its \(packets.count) packets")
        }
        break records
      default: throw Fault("there is a record of an unknown kind at byte \(start) of the piece")
      }
    }
    self.packets = packets
  }

  /// The header alone of a piece.
  package static func header(
    size: Int64, read: @escaping (_ offset: Int64, _ count: Int) throws -> [UInt8]
  ) throws -> PieceHeader {
    var bytes = Bytes(size: size, read: read)
    return try header(&bytes)
  }

  private static func header(_ bytes: inout Bytes) throws -> PieceHeader {
    guard try bytes.take(PieceFormat.magic.count).elementsEqual(PieceFormat.magic),
      try bytes.word() == PieceFormat.version
    else {
      throw Fault("it is no piece of version \(PieceFormat.version)")
    }
    let length = Int(try bytes.word())
    guard length <= PieceFormat.headerLimit else { throw Fault("the header of the piece is too long") }
    let json = try bytes.take(length)
    do {
      return try JSONDecoder().decode(PieceHeader.self, from: Data(json))
    } catch {
      throw Fault("the header of the piece cannot be read: \(error)")
    }
  }

  /// Reads from a place to another, through a buffer.
  private struct Bytes {
    let size: Int64
    let read: (Int64, Int) throws -> [UInt8]
    /// Of the next byte.
    private(set) var offset: Int64 = 0
    private var buffer: [UInt8] = []
    private var bufferStart: Int64 = 0

    init(size: Int64, read: @escaping (Int64, Int) throws -> [UInt8]) {
      (self.size, self.read) = (size, read)
    }

    mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
      guard Int64(count) <= size - offset else { throw Fault("the piece is truncated at byte \(offset)") }
      if offset < bufferStart || offset + Int64(count) > bufferStart + Int64(buffer.count) {
        buffer = try read(offset, Int(min(max(PieceIndex.chunk, Int64(count)), size - offset)))
        bufferStart = offset
        guard buffer.count >= count else { throw Fault("the piece is truncated at byte \(offset)") }
      }
      let first = Int(offset - bufferStart)
      offset += Int64(count)
      return buffer[first..<(first + count)]
    }

    mutating func skip(_ count: Int64) throws {
      guard count <= size - offset else { throw Fault("the piece is truncated at byte \(offset)") }
      offset += count
    }

    mutating func word() throws -> UInt32 { try take(4).reversed().reduce(0) { $0 << 8 | UInt32($1) } }

    mutating func long() throws -> Int64 {
      Int64(bitPattern: try take(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }
  }
}
