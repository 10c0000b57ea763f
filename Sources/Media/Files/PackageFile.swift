import CompositionModel
package import Digest
internal import SystemSupport

// Packages as files: the format is `ContentPackage`'s.

/// Makes a package of parts that are written at the same time, such as the pieces of several encoders.
///
/// What is appended to a part is written behind everything else at once, and the parts are put in order when all are
/// complete. So the package's bytes depend on those of its parts alone, and not on the order in which they came. What
/// is in order already, such as the one piece of a film with one output, is not copied.
package final class PackageParts {
  private static let name = "a package"
  /// The most bytes that are copied at a time.
  private static let step = 1 << 20

  private let descriptor: Int32
  /// The places of each part's bytes, in their order.
  private var places: [[Range<Int64>]]
  private var end: Int64 = 0

  /// - Parameter descriptor: A descriptor of an empty file that can be read. The caller closes it.
  package init(descriptor: Int32, count: Int) {
    self.descriptor = descriptor
    places = Array(repeating: [], count: count)
  }

  /// Appends bytes to a part.
  package func append(_ bytes: UnsafeRawBufferPointer, to part: Int) throws(MediaError) {
    try Self.write(bytes, descriptor, at: end)
    let range = end..<(end + Int64(bytes.count))
    if let last = places[part].last, last.upperBound == range.lowerBound {
      places[part][places[part].count - 1] = last.lowerBound..<range.upperBound
    } else {
      places[part].append(range)
    }
    end = range.upperBound
  }

  /// Forgets what was appended to a part that is made again.
  package func clear(_ part: Int) {
    places[part] = []
    end = places.joined().map(\.upperBound).max() ?? 0
  }

  /// Puts the parts in order, and writes the index, in which they are named by their numbers.
  package func finish() throws(MediaError) {
    try putInOrder()
    var start: Int64 = 0
    var files: [(name: String, range: Range<Int64>)] = []
    for (number, place) in places.enumerated() {
      let size = place.reduce(0) { $0 + Int64($1.count) }
      files.append(("\(number)", start..<(start + size)))
      start += size
    }
    try ContentPackage.complete(descriptor, files)
  }

  /// Copies everything from the first range that is not in its place on: behind the rest, in order, and from there to
  /// its place.
  private func putInOrder() throws(MediaError) {
    let ranges = Array(places.joined())
    var start: Int64 = 0
    var ordered = 0
    while ordered < ranges.count, ranges[ordered].lowerBound == start {
      start = ranges[ordered].upperBound
      ordered += 1
    }
    var position = end
    for range in ranges[ordered...] {
      try copy(range, to: position)
      position += Int64(range.count)
    }
    try copy(end..<position, to: start)
  }

  /// Copies bytes of the file to another place of it, which does not begin within them.
  private func copy(_ range: Range<Int64>, to target: Int64) throws(MediaError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.step, alignment: 4096)
    defer { buffer.deallocate() }
    var done: Int64 = 0
    while done < Int64(range.count) {
      let count = Int(min(Int64(Self.step), Int64(range.count) - done))
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count))
      try Self.read(part, descriptor, at: range.lowerBound + done)
      try Self.write(UnsafeRawBufferPointer(part), descriptor, at: target + done)
      done += Int64(count)
    }
  }

  fileprivate static func read(
    _ buffer: UnsafeMutableRawBufferPointer, _ descriptor: Int32, at offset: Int64
  ) throws(MediaError) {
    let count = try mapErrors(to: MediaError.during("reading", name)) { () throws(SystemError) in
      try readAll(descriptor, into: buffer, at: offset, name: name)
    }
    guard count == buffer.count else {
      throw MediaError(.io, operation: "reading", subject: name, message: "it ends before byte \(offset)")
    }
  }

  fileprivate static func write(
    _ bytes: UnsafeRawBufferPointer, _ descriptor: Int32, at offset: Int64
  ) throws(MediaError) {
    try mapErrors(to: MediaError.during("writing", name)) { () throws(SystemError) in
      try writeAll(descriptor, bytes, at: offset, name: name)
    }
  }
}

extension ContentPackage {
  /// Writes the index of files that are in a descriptor's file from its first byte on, one after the other, and removes
  /// what is behind.
  package static func complete(
    _ descriptor: Int32, _ files: [(name: String, range: Range<Int64>)]
  ) throws(MediaError) {
    var contents: [(name: String, content: Content)] = []
    for (name, range) in files { contents.append((name, try content(descriptor, range))) }
    let made = try mapErrors(
      to: { (fault: Fault) in
        MediaError(.invalidRequest, operation: "writing", subject: "a package", message: fault.description)
      },
      { () throws(Fault) in try ContentPackage(contents) })
    let end = made.encodedEnd
    try end.withUnsafeBufferPointer { bytes throws(MediaError) in
      try PackageParts.write(UnsafeRawBufferPointer(bytes), descriptor, at: made.byteCount)
    }
    let size = made.byteCount + Int64(end.count)
    try mapErrors(to: MediaError.during("writing", "a package")) { () throws(SystemError) in
      try truncateFile(descriptor, to: size, name: "a package")
    }
  }

  /// Writes a file of a package behind those before it.
  package static func append(_ bytes: [UInt8], _ descriptor: Int32, at offset: Int64) throws(MediaError) {
    try bytes.withUnsafeBufferPointer { bytes throws(MediaError) in
      try PackageParts.write(UnsafeRawBufferPointer(bytes), descriptor, at: offset)
    }
  }

  private static func content(_ descriptor: Int32, _ range: Range<Int64>) throws(MediaError) -> Content {
    var hasher = SHA256Hasher()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = Int(min(Int64(buffer.count), range.upperBound - offset))
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count))
      try PackageParts.read(part, descriptor, at: offset)
      hasher.update(UnsafeRawBufferPointer(part))
      offset += Int64(count)
    }
    return Content(digest: hasher.finalize(), size: Int64(range.count))
  }

  /// Reads the index of a package.
  /// - Parameter name: The name of the package, for messages.
  /// - Throws: `.invalidPiece` if it is none.
  package static func read(_ source: any ByteSource, name: String) throws(MediaError) -> ContentPackage {
    let count = Int(min(Int64(greatestEnd), source.byteCount))
    let end = try source.bytes(at: source.byteCount - Int64(count), count: count)
    return try mapErrors(
      to: { (fault: Fault) in
        MediaError(.invalidPiece, operation: "reading", subject: name, message: fault.description)
      },
      { () throws(Fault) in try ContentPackage(end: end, of: source.byteCount) })
  }
}

/// A range of another source, such as a file of a package.
package final class PartByteSource: ByteSource {
  package let byteCount: Int64
  private let whole: any ByteSource
  private let start: Int64

  /// - Parameter range: Within the whole.
  package init(_ whole: any ByteSource, _ range: Range<Int64>) {
    self.whole = whole
    start = range.lowerBound
    byteCount = Int64(range.count)
  }

  package convenience init(_ whole: any ByteSource, _ file: ContentPackage.File) {
    self.init(whole, file.offset..<(file.offset + file.content.size))
  }

  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    guard offset >= 0, offset < byteCount else { return 0 }
    let count = Int(min(Int64(buffer.count), byteCount - offset))
    return try whole.read(at: start + offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)))
  }
}
