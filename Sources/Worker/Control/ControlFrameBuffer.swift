/// Cuts the bytes that come from a task process into frames, and holds no more than one frame's worth.
struct ControlFrameBuffer {
  private var bytes: [UInt8] = []
  private let limit: Int

  /// `limit` is the longest frame taken, in bytes.
  init(limit: Int = ControlCodec.taskFrameLimit) {
    self.limit = limit
  }

  mutating func append(_ new: some Collection<UInt8>) {
    bytes.append(contentsOf: new)
  }

  /// The next whole frame without its length; nil until more bytes come.
  mutating func next() throws(ControlError) -> ArraySlice<UInt8>? {
    guard bytes.count >= 4 else { return nil }
    let length = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
    guard length <= limit else { throw ControlError("a frame of \(length) bytes; \(limit) are the most") }
    guard bytes.count >= 4 + length else { return nil }
    let frame = bytes[4..<(4 + length)]
    bytes.removeFirst(4 + length)
    return frame
  }
}
