import CompositionModel
internal import SystemSupport

/// A movie that libavformat has written, whose index is changed.
struct WrittenMovie {
  /// Of a box at the file's top level or in the index.
  struct Place {
    var type: String
    var offset: Int64
    var size: Int64
    var end: Int64 { offset + size }
  }

  let descriptor: Int32
  /// The place of the file's first byte in that of the descriptor.
  var origin: Int64 = 0
  /// Of the file, in bytes.
  let size: Int64
  let name: String

  func read(_ offset: Int64, _ count: Int) throws(MediaError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let done = try mapErrors(to: MediaError.during("reading", name)) { () throws(SystemError) in
      try bytes.withUnsafeMutableBufferPointer { buffer throws(SystemError) in
        try readAll(descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: origin + offset, name: name)
      }
    }
    bytes.removeLast(count - done)
    return bytes
  }

  func write(_ bytes: [UInt8], _ offset: Int64) throws(MediaError) {
    try mapErrors(to: MediaError.during("writing", name)) { () throws(SystemError) in
      try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
        try writeAll(descriptor, UnsafeRawBufferPointer(buffer), at: origin + offset, name: name)
      }
    }
  }

  func boxes(from start: Int64, to end: Int64) throws(MediaError) -> [Place] {
    var found: [Place] = []
    var offset = start
    while offset + 8 <= end {
      let head = try read(offset, Int(min(16, end - offset)))
      var size = Int64(bigEndian(head[0..<4]))
      if size == 1, head.count == 16 { size = Int64(clamping: bigEndian(head[8..<16])) }
      guard size >= 8, size <= end - offset else { throw failure("it has a box of \(size) bytes at \(offset)") }
      found.append(Place(type: String(decoding: head[4..<8], as: UTF8.self), offset: offset, size: size))
      offset += size
    }
    return found
  }

  /// The index, and what stands behind it.
  func index() throws(MediaError) -> (index: Place, next: Place?) {
    let top = try boxes(from: 0, to: size)
    guard let place = top.firstIndex(where: { $0.type == "moov" }) else { throw failure("it has no index") }
    return (top[place], place + 1 < top.count ? top[place + 1] : nil)
  }

  func failure(_ message: String) -> MediaError {
    MediaError(.unsupported, operation: "changing the index of", subject: name, message: message)
  }
}

/// Adds artwork to the metadata of a movie that libavformat has written.
///
/// libavformat writes it beside the usual names of metadata alone, and not in QuickTime files. Its metadata are in the
/// last box of the index (`udta`), and the index is either the file's last box or has room behind it.
enum MovieMetadata {
  /// - Returns: The file's size.
  static func add(_ artwork: ArtworkFile, to movie: WrittenMovie) throws(MediaError) -> Int64 {
    let (index, room) = try movie.index()
    let last = try movie.boxes(from: index.offset + 8, to: index.end).last
    var start = index.end
    var contents: [UInt8] = []
    if let last, last.type == "udta" {
      start = last.offset
      contents = try movie.read(last.offset + 8, Int(last.size) - 8)
    }
    let made = Box("udta", userData(contents, with: artwork)).bytes
    let growth = Int64(made.count) - (index.end - start)
    guard index.size + growth <= Int64(UInt32.max) else { throw movie.failure("its index is too long") }
    if let room {
      guard room.type == "free", room.size == growth || room.size >= growth + 8 else {
        throw movie.failure("there is no room for \(growth) bytes behind its index")
      }
      if room.size > growth {
        try movie.write(bigEndian(UInt64(room.size - growth), 4) + Box.type("free"), index.end + growth)
      }
    }
    try movie.write(made, start)
    try movie.write(bigEndian(UInt64(index.size + growth), 4), index.offset)
    return room == nil ? index.end + growth : movie.size
  }

  /// The contents of the box `udta` with artwork in its metadata, which are of iTunes' kind if it has none.
  private static func userData(_ contents: [UInt8], with artwork: ArtworkFile) -> [UInt8] {
    var boxes = Box.boxes(in: contents)
    if let index = boxes.firstIndex(where: { $0.type == Box.type("meta") }) {
      boxes[index].contents = metadata(boxes[index].contents, with: artwork)
    } else {
      // Version and flags, the handler's type, its maker, two reserved numbers, and an empty name.
      let handler = Box(
        "hdlr", bigEndian(0, 8) + Box.type("mdir") + Box.type("appl") + bigEndian(0, 8) + [0])
      let none = bigEndian(0, 4) + handler.bytes + Box("ilst", []).bytes
      boxes.append(Box("meta", metadata(none, with: artwork)))
    }
    return boxes.flatMap(\.bytes)
  }

  private static func metadata(_ contents: [UInt8], with artwork: ArtworkFile) -> [UInt8] {
    var boxes = Box.boxes(in: contents.dropFirst(4))
    // iTunes' items have types, QuickTime's have the numbers of keys.
    var type = Box.type("covr")
    let isQuickTime = boxes.contains {
      $0.type == Box.type("hdlr") && $0.contents.dropFirst(8).starts(with: Box.type("mdta"))
    }
    if isQuickTime, let keys = boxes.firstIndex(where: { $0.type == Box.type("keys") }) {
      let count = bigEndian(boxes[keys].contents[4..<8]) + 1
      let key = Box("mdta", Array("com.apple.quicktime.artwork".utf8))
      boxes[keys].contents = bigEndian(0, 4) + bigEndian(count, 4) + boxes[keys].contents.dropFirst(8) + key.bytes
      type = bigEndian(count, 4)
    }
    let kind: UInt64 = artwork.format == .png ? 14 : 13
    let item = Box(type: type, contents: Box("data", bigEndian(kind, 4) + bigEndian(0, 4) + artwork.bytes).bytes)
    for index in boxes.indices where boxes[index].type == Box.type("ilst") { boxes[index].contents += item.bytes }
    return contents.prefix(4) + boxes.flatMap(\.bytes)
  }
}

/// A box of a movie in memory.
private struct Box {
  var type: [UInt8]
  var contents: [UInt8]

  init(type: [UInt8], contents: [UInt8]) {
    self.type = type
    self.contents = contents
  }

  init(_ type: String, _ contents: [UInt8]) {
    self.init(type: Self.type(type), contents: contents)
  }

  static func type(_ name: String) -> [UInt8] { Array(name.utf8) }

  var bytes: [UInt8] { bigEndian(UInt64(contents.count + 8), 4) + type + contents }

  static func boxes(in contents: some RandomAccessCollection<UInt8>) -> [Box] {
    var rest = contents[...]
    var boxes: [Box] = []
    while rest.count >= 8 {
      let size = Int(bigEndian(rest.prefix(4)))
      guard size >= 8, size <= rest.count else { break }
      boxes.append(Box(type: Array(rest.dropFirst(4).prefix(4)), contents: Array(rest.prefix(size).dropFirst(8))))
      rest = rest.dropFirst(size)
    }
    return boxes
  }
}
