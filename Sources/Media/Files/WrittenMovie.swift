internal import CompositionModel
internal import Glibc
internal import SystemSupport

/// A movie that libavformat has written, whose index is changed where it stands.
struct WrittenMovie {
  /// A box that fits the file, with the places of its bytes and of those in it.
  struct Box {
    var type: String
    var place: Range<Int64>
    var contents: Range<Int64>
  }

  private let descriptor: Int32
  /// The place of the file's first byte in that of the descriptor.
  private let origin: Int64
  /// The size of the file, in bytes.
  let size: Int64
  private let name: String
  private let source: any ByteSource

  init(descriptor: Int32, from origin: Int64, size: Int64, name: String) throws(MediaError) {
    (self.descriptor, self.origin, self.size, self.name) = (descriptor, origin, size, name)
    let copy = dup(descriptor)
    guard copy >= 0 else { throw MediaError.during("reading", name)(SystemError(errno, "dup")) }
    source = PartByteSource(FileByteSource(descriptor: copy), origin..<(origin + size))
  }

  func bytes(_ range: Range<Int64>) throws(MediaError) -> [UInt8] {
    try source.bytes(at: range.lowerBound, count: range.count)
  }

  func write(_ bytes: [UInt8], at offset: Int64) throws(MediaError) {
    try mapErrors(to: MediaError.during("writing", name)) { () throws(SystemError) in
      try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
        try writeAll(descriptor, UnsafeRawBufferPointer(buffer), at: origin + offset, name: name)
      }
    }
  }

  /// The boxes in a range of the file, in order.
  func boxes(in range: Range<Int64>) throws(MediaError) -> [Box] {
    var boxes = MovieBoxes(source, in: range)
    var found: [Box] = []
    while let box = try boxes.next() {
      guard let size = box.size, let contents = box.contents else {
        throw failure("the box at byte \(box.offset) does not fit the file")
      }
      found.append(Box(type: box.type, place: box.offset..<(box.offset + size), contents: contents))
    }
    return found
  }

  /// The index, and the box behind it.
  func index() throws(MediaError) -> (index: Box, next: Box?) {
    let top = try boxes(in: 0..<size)
    guard let place = top.firstIndex(where: { $0.type == "moov" }) else { throw failure("it has no index") }
    return (top[place], place + 1 < top.count ? top[place + 1] : nil)
  }

  func failure(_ message: String) -> MediaError {
    MediaError(.unsupported, operation: "changing the index of", subject: name, message: message)
  }
}
