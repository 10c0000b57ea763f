/// The boxes of a file of the mov family at its top level or within another box, in order.
package struct MovieBoxes {
  package struct Box: Sendable {
    /// Four characters; empty where the file ends within the box's head.
    package var type: String
    /// In bytes from the file's start.
    package var offset: Int64
    /// In bytes, with the box's head. Nil if the box does not fit the file; then it is the last one.
    package var size: Int64?
    /// The size of the box's head, in bytes.
    fileprivate var headSize: Int64 = 8

    /// The place of what is in it. Nil if the box does not fit the file.
    package var contents: Range<Int64>? {
      size.flatMap { headSize <= $0 ? (offset + headSize)..<(offset + $0) : nil }
    }
  }

  private let source: any ByteSource
  private var offset: Int64
  private let end: Int64

  package init(_ source: any ByteSource) {
    self.init(source, in: 0..<source.byteCount)
  }

  /// - Parameter range: What is in a box.
  package init(_ source: any ByteSource, in range: Range<Int64>) {
    self.source = source
    (offset, end) = (range.lowerBound, range.upperBound)
  }

  /// The next box. Nil after the last. Throws what reading the file throws.
  package mutating func next() throws(MediaError) -> Box? {
    guard offset < end else { return nil }
    let rest = end - offset
    let head = try source.bytes(at: offset, count: Int(min(16, rest)))
    var box = Box(type: "", offset: offset)
    if head.count >= 8 {
      box.type = String(decoding: head[4..<8], as: UTF8.self)
      let size = bigEndian(head[0..<4])
      switch size {
      // It goes on up to the end.
      case 0: box.size = rest
      case 1:
        box.size = head.count == 16 ? Int64(exactly: bigEndian(head[8..<16])) : nil
        box.headSize = 16
      default: box.size = Int64(size)
      }
      box.size = box.size.flatMap { (8...rest).contains($0) ? $0 : nil }
    }
    offset = box.size.map { offset + $0 } ?? end
    return box
  }
}
