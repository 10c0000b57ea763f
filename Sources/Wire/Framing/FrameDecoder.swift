import NIOCore

/// Cuts a stream into frames. Looks at a frame's length before it waits for its bytes, so that nobody can make it
/// collect more than the limit.
struct FrameDecoder: NIOSingleStepByteToMessageDecoder {
  typealias InboundOut = Sheaf_Frame

  /// The longest frame taken now.
  private(set) var limit: Int
  private let limitAfter: (Sheaf_Frame) -> Int
  private var hasSeenFirst = false

  /// - Parameters:
  ///   - first: The limit of the first frame.
  ///   - limitAfter: The limit of all others, given the first.
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
