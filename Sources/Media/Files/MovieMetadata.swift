import CompositionModel

/// Adds artwork to the metadata of a movie that libavformat has written.
///
/// libavformat writes it beside the usual names of metadata alone, and not in QuickTime files. Its metadata are in the
/// last box of the index (`udta`), and the index is either the file's last box or has room behind it.
enum MovieMetadata {
  /// - Returns: The file's size.
  static func add(_ artwork: ArtworkFile, to movie: WrittenMovie) throws(MediaError) -> Int64 {
    let (index, room) = try movie.index()
    var start = index.place.upperBound
    var contents: [UInt8] = []
    if let last = try movie.boxes(in: index.contents).last, last.type == "udta" {
      start = last.place.lowerBound
      contents = try movie.bytes(last.contents)
    }
    let made = Box("udta", userData(contents, with: artwork)).bytes
    let growth = Int64(made.count) - (index.place.upperBound - start)
    let size = Int64(index.place.count) + growth
    guard size <= Int64(UInt32.max) else { throw movie.failure("its index is too long") }
    if let room {
      let rest = Int64(room.place.count) - growth
      guard room.type == "free", rest == 0 || rest >= 8 else {
        throw movie.failure("there is no room for \(growth) bytes behind its index")
      }
      if rest > 0 {
        try movie.write(bigEndian(UInt64(rest), 4) + Box.type("free"), at: index.place.upperBound + growth)
      }
    }
    try movie.write(made, at: start)
    try movie.write(bigEndian(UInt64(size), 4), at: index.place.lowerBound)
    return room == nil ? index.place.upperBound + growth : movie.size
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
