import NIOCore
import SwiftProtobuf

/// Splits a stream of bytes into frames. It checks a frame's length before it waits for the frame's bytes, so that a peer
/// cannot make it buffer more than the limit.
struct FrameDecoder: NIOSingleStepByteToMessageDecoder {
  typealias InboundOut = Sheaf_Frame

  /// The longest frame that is accepted now.
  private(set) var limit: Int
  private let limitAfter: (Sheaf_Frame) -> Int
  private var hasSeenFirst = false

  /// - Parameters:
  ///   - first: The limit of the first frame, in bytes.
  ///   - limitAfter: The limit of all other frames, given the first one.
  init(first: Int, limitAfter: @escaping (Sheaf_Frame) -> Int) {
    limit = first
    self.limitAfter = limitAfter
  }

  mutating func decode(buffer: inout ByteBuffer) throws -> Sheaf_Frame? {
    guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return nil }
    guard Int(length) <= limit else {
      throw WireError(.violation, "a frame of \(length) bytes is longer than the \(limit) that are allowed here")
    }
    guard let body = buffer.readLengthPrefixedSlice(as: UInt32.self) else { return nil }
    let frame = try Sheaf_Frame(body: body)
    if !hasSeenFirst {
      hasSeenFirst = true
      limit = limitAfter(frame)
    }
    return frame
  }

  mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> Sheaf_Frame? {
    if let frame = try decode(buffer: &buffer) { return frame }
    if buffer.readableBytes > 0 { throw WireError(.closed, "the connection was closed in the middle of a frame") }
    return nil
  }
}

extension Sheaf_Frame {
  /// The frame as it is sent: a big-endian length of four bytes, then the message.
  func framed() throws(WireError) -> ByteBuffer {
    do {
      let bytes: FrameBytes = try serializedBytes()
      return bytes.buffer
    } catch {
      throw WireError(.violation, "a frame could not be encoded: \(error)")
    }
  }

  init(body: ByteBuffer) throws(WireError) {
    do {
      try self.init(serializedBytes: FrameBytes(body: body))
    } catch {
      throw WireError(.violation, "a frame is not a message of this protocol")
    }
    guard message != nil else { throw WireError(.violation, "a frame contains no message of this protocol version") }
  }
}

/// The bytes of a frame in a `ByteBuffer`, which protobuf reads and writes without a copy.
private struct FrameBytes: SwiftProtobufContiguousBytes {
  static let prefix = 4

  /// Includes the four bytes of length where `isPrefixed`.
  private(set) var buffer: ByteBuffer
  private let isPrefixed: Bool

  /// The body of a received frame.
  init(body: ByteBuffer) {
    buffer = body
    isPrefixed = false
  }

  init(repeating byte: UInt8, count: Int) {
    buffer = ByteBuffer()
    buffer.reserveCapacity(Self.prefix + count)
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
