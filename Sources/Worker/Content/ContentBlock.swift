/// Content that comes over the wire comes in blocks: the unit in which it is there or not.
enum ContentBlock {
  /// In bytes.
  static let size: Int64 = 256 << 10

  /// How many blocks content of so many bytes has; the last may be shorter.
  static func count(of size: Int64) -> Int {
    Int((size + Self.size - 1) / Self.size)
  }

  /// The blocks that bytes lie in.
  static func covering(_ bytes: Range<Int64>) -> Range<Int> {
    Int(bytes.lowerBound / size)..<Int((bytes.upperBound + size - 1) / size)
  }

  /// The bytes of blocks of content of `size` bytes.
  static func bytes(of blocks: Range<Int>, size: Int64) -> Range<Int64> {
    (Int64(blocks.lowerBound) * Self.size)..<min(Int64(blocks.upperBound) * Self.size, size)
  }
}
