import CZlib
import NIOCore
import SwiftProtobuf

/// Splits a stream of bytes into frames. It checks a frame's length before it waits for the frame's bytes, so that a
/// peer cannot make it buffer more than the limit, and asks for room before it takes the bytes of a long frame. Pure.
struct FrameDecoder {
  /// What comes next.
  enum Step {
    /// The message, without the length before it.
    case frame(ByteBuffer)
    /// A frame is not complete, or there is none.
    case needsBytes
    /// The frame needs room for this many bytes. `grantRoom` lets it go on.
    /// - Parameter growing: Whether these are not all bytes of the frame.
    case needsRoom(Int, growing: Bool)
  }

  /// Frames of up to this many bytes need no room, so that heartbeats always get through.
  static let smallFrame = 64 << 10
  /// A longer frame gets room for this many bytes at a time. A chunk of content gets room at once.
  static let step = FrameLimits.fromWorker.later

  /// The number of bytes of the length before a frame.
  private static let prefix = 4

  /// The longest frame that is accepted now, in bytes.
  var limit: Int
  /// Whether what is too long has been damaged on its way, because the peer has sent a frame of the protocol before.
  var peerIsKnown = false
  private var buffer = ByteBuffer()
  /// The bytes of the frame that there is room for.
  private var room = 0

  /// - Parameter limit: The most bytes of the first frame.
  init(limit: Int) {
    self.limit = limit
  }

  /// Whether a part of a frame has arrived.
  var isWithinFrame: Bool { buffer.readableBytes > 0 }

  mutating func append(_ bytes: consuming ByteBuffer) {
    if buffer.readableBytes == 0 { buffer = bytes } else { buffer.writeImmutableBuffer(bytes) }
  }

  mutating func grantRoom(_ bytes: Int) {
    room += bytes
    buffer.reserveCapacity(minimumWritableBytes: max(0, Self.prefix + room - buffer.readableBytes))
  }

  /// Throws `.violation` if a frame is too long, or `.damaged` if the peer is known.
  mutating func next() throws(WireError) -> Step {
    guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self).map(Int.init) else {
      compact()
      return .needsBytes
    }
    guard length <= limit else {
      throw WireError(
        peerIsKnown ? .damaged : .violation,
        "a frame of \(length) bytes is longer than the \(limit) that are allowed here")
    }
    // The first step is granted before the frame's bytes are taken, the others when the one before is filled.
    if length > Self.smallFrame, room < length, room == 0 || buffer.readableBytes >= Self.prefix + room {
      compact()
      return .needsRoom(min(length - room, Self.step), growing: length > Self.step)
    }
    guard let body = buffer.readLengthPrefixedSlice(as: UInt32.self) else {
      compact()
      return .needsBytes
    }
    room = 0
    return .frame(body)
  }

  /// Frees the memory of frames that were taken out.
  private mutating func compact() {
    guard buffer.readerIndex > 0 else { return }
    var rest = ByteBuffer()
    rest.writeImmutableBuffer(buffer)
    buffer = rest
  }
}

extension Sheaf_Frame {
  /// The frame as it is sent: a big-endian length of four bytes, then the message, whose last field is its checksum.
  func framed() throws(WireError) -> ByteBuffer {
    do {
      let bytes: FrameBytes = try serializedBytes()
      var buffer = bytes.buffer
      buffer.appendChecksum()
      return buffer
    } catch {
      throw WireError(.violation, "a frame could not be encoded: \(error)")
    }
  }

  /// - Parameter body: A frame without its length.
  init(body: ByteBuffer) throws(WireError) { try self.init(message: body.withoutChecksum()) }

  /// - Parameter message: A frame without its length and its checksum.
  init(message: ByteBuffer) throws(WireError) {
    do {
      try self.init(serializedBytes: FrameBytes(body: message))
    } catch {
      throw WireError(.violation, "a frame is not a message of this protocol")
    }
    guard self.message != nil else {
      throw WireError(.violation, "a frame contains no message of this protocol version")
    }
  }
}

/// The checksum is the last field of a frame, so that a version without checksums can read the message all the same.
extension ByteBuffer {
  /// The field's number and type, one byte, before its four bytes.
  private static let checksumTag: UInt8 = 14 << 3 | 5
  fileprivate static let checksumSize = 5

  /// Adds the checksum to a frame that begins with its length.
  mutating func appendChecksum() {
    let message = readableBytesView.dropFirst(FrameBytes.prefix)
    let checksum = Self.checksum(of: message)
    setInteger(UInt32(message.count + Self.checksumSize), at: readerIndex)
    writeInteger(Self.checksumTag)
    writeInteger(checksum, endianness: .little)
  }

  /// Where the checksum is in a frame without its length. Nil if it has none.
  fileprivate var checksumField: Int? {
    let field = readerIndex + readableBytes - Self.checksumSize
    return field >= readerIndex && getInteger(at: field, as: UInt8.self) == Self.checksumTag ? field : nil
  }

  /// The message of a frame without its length. Throws `.damaged` if the checksum is not that of the message.
  func withoutChecksum() throws(WireError) -> ByteBuffer {
    guard let field = checksumField, let message = getSlice(at: readerIndex, length: field - readerIndex),
      getInteger(at: field + 1, endianness: .little) == Self.checksum(of: message.readableBytesView)
    else { throw WireError(.damaged, "a frame was damaged on its way: connect again and repeat it") }
    return message
  }

  private static func checksum(of bytes: ByteBufferView) -> UInt32 {
    bytes.withUnsafeBytes { UInt32(truncatingIfNeeded: crc32_z(0, $0.baseAddress, $0.count)) }
  }
}

extension ReceivedFrame {
  /// About how much memory a field of a message takes when it is decoded, in bytes, such as one element of a list.
  private static let fieldCost = 256
  /// The most fields of a message. A client's list has up to 10,000 elements, a worker's up to 4096.
  private static let maximumFields: [MemoryBudget.Share: Int] = [.client: 1 << 16, .worker: 1 << 13]

  /// About how much memory the message takes when it is decoded, beside its bytes. Throws `.violation` if it has too
  /// many fields.
  func decodedSize(for share: MemoryBudget.Share) throws(WireError) -> Int {
    let fields = body.withUnsafeReadableBytes { Self.fields(of: $0, depth: 1) }
    let limit = Self.maximumFields[share, default: 0]
    guard fields <= limit else {
      throw WireError(.violation, "a message has \(fields) fields, more than the \(limit) that are allowed here")
    }
    return fields * Self.fieldCost
  }

  /// Whether the message is carried out though the connection that brought it is closed: it has an effect besides its
  /// answer.
  var outlivesConnection: Bool {
    var index = 0
    let tag = body.withUnsafeReadableBytes { Self.varint($0, &index) }
    return tag.map { Self.outliving.contains($0 >> 3) } ?? false
  }

  /// The fields of `Sheaf_Frame`: Refusal, Publish, Failure, UploadChunk, Submit, CancelJob, RetryJob, DeleteJob,
  /// Fetched.
  private static let outliving: Set<UInt64> = [3, 11, 12, 23, 31, 34, 37, 38, 39]

  /// The number of a message's fields and of those of its parts, to a depth. Bytes that are not a message have any
  /// number.
  private static func fields(of bytes: UnsafeRawBufferPointer, depth: Int) -> Int {
    var count = 0
    var index = 0
    while let tag = varint(bytes, &index) {
      count += 1
      switch tag & 7 {
      case 0: _ = varint(bytes, &index)
      case 1: index += 8
      case 5: index += 4
      case 2:
        guard let length = varint(bytes, &index), length <= UInt64(bytes.count - index) else { return count }
        let end = index + Int(length)
        if depth > 0 { count += fields(of: UnsafeRawBufferPointer(rebasing: bytes[index..<end]), depth: depth - 1) }
        index = end
      default: break
      }
    }
    return count
  }

  /// Nil at the end of the bytes, or if it is not complete.
  private static func varint(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while index < bytes.count, shift < 64 {
      let byte = bytes[index]
      index += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }
}

/// The bytes of a frame in a `ByteBuffer`, which protobuf reads and writes without a copy.
private struct FrameBytes: SwiftProtobufContiguousBytes {
  static let prefix = 4

  /// Includes the four bytes of length if `isPrefixed`.
  private(set) var buffer: ByteBuffer
  private let isPrefixed: Bool

  /// The body of a received frame.
  init(body: ByteBuffer) {
    buffer = body
    isPrefixed = false
  }

  init(repeating byte: UInt8, count: Int) {
    buffer = ByteBuffer()
    buffer.reserveCapacity(Self.prefix + count + ByteBuffer.checksumSize)
    buffer.writeInteger(UInt32(count))
    buffer.writeRepeatingByte(byte, count: count)
    isPrefixed = true
  }

  init(_ sequence: some Sequence<UInt8>) {
    let bytes = [UInt8](sequence)
    buffer = ByteBuffer()
    buffer.writeInteger(UInt32(bytes.count))
    buffer.writeBytes(bytes)
    isPrefixed = true
  }

  private var skipped: Int { isPrefixed ? Self.prefix : 0 }

  var count: Int { buffer.readableBytes - skipped }

  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try buffer.withUnsafeReadableBytes { try body(UnsafeRawBufferPointer(rebasing: $0[skipped...])) }
  }

  mutating func withUnsafeMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R {
    let skipped = skipped
    return try buffer.withUnsafeMutableReadableBytes {
      try body(UnsafeMutableRawBufferPointer(rebasing: $0[skipped...]))
    }
  }
}
