import NIOCore
import SwiftProtobuf

/// A frame's bytes where they are: lets protobuf read from, and write to, a `ByteBuffer` without a copy between.
struct FrameBytes: SwiftProtobufContiguousBytes {
  static let prefix = 4

  /// With the four bytes of length.
  private(set) var buffer: ByteBuffer

  /// A received frame's body.
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

  private let isPrefixed: Bool
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

extension Sheaf_Frame {
  /// The frame as it goes over the wire: a big-endian length of four bytes, then the message.
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
    guard message != nil else { throw WireError(.violation, "a frame holds no message that this version knows") }
  }
}
