/// Several files in one content, such as the films of a job with several outputs: the files one after the other, from
/// the first byte on and without gaps, and then an index. All integers are little-endian.
///
///     files   their bytes, in the index's order
///     index   for each file: length of the name: UInt8, name, size: Int64, SHA-256: 32 bytes
///     end     SHA-256 of the index: 32 bytes, number of files: UInt32, length of the index: UInt32, "SHEAFPK1"
///
/// The index comes last, so a package can be written before the sizes are known. What `init` returns is checked: the
/// sizes add up to the whole, and names are unique and safe as names of files.
package struct ContentPackage: Sendable, Hashable {
  /// A file of a package.
  package struct File: Sendable, Hashable {
    /// The name, of letters, digits, `-`, `_` and `.`, which is not first.
    package var name: String
    /// The place of its first byte in the package.
    package var offset: Int64
    package var content: Content
  }

  /// In the order of their bytes. Never empty.
  package let files: [File]

  package static let greatestFileCount = 64
  /// The most bytes of a name.
  package static let greatestName = 80
  /// How many bytes at the end of any package are enough to read its index.
  package static let greatestEnd = greatestFileCount * (1 + greatestName + 8 + 32) + endSize

  private static let magic = Array("SHEAFPK1".utf8)
  private static let endSize = 32 + 4 + 4 + 8

  /// The bytes of all files together, without the index.
  package var byteCount: Int64 { files.last.map { $0.offset + $0.content.size } ?? 0 }

  /// Why bytes are no package, or files cannot be in one.
  package struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
  }

  /// A package of these files, in this order.
  package init(_ files: [(name: String, content: Content)]) throws(Fault) {
    guard (1...Self.greatestFileCount).contains(files.count) else {
      throw Fault("it has \(files.count) files; it should have 1 to \(Self.greatestFileCount)")
    }
    var placed: [File] = []
    var seen: Set<String> = []
    var offset: Int64 = 0
    for (name, content) in files {
      guard Self.isSafe(name) else { throw Fault("a file of it has a name that is not allowed") }
      guard seen.insert(name.lowercased()).inserted else { throw Fault("it has two files with the name \(name)") }
      placed.append(File(name: name, offset: offset, content: content))
      let (end, overflow) = offset.addingReportingOverflow(content.size)
      guard content.size >= 0, !overflow else { throw Fault("the size of \(name) is impossible") }
      offset = end
    }
    self.files = placed
  }

  /// Reads the index of a package.
  /// - Parameters:
  ///   - end: Its last `greatestEnd` bytes, or all of it if it is shorter.
  ///   - size: The size of the whole package, in bytes.
  package init(end: [UInt8], of size: Int64) throws(Fault) {
    let tail = end.suffix(Self.endSize)
    guard tail.count == Self.endSize, tail.suffix(8).elementsEqual(Self.magic) else {
      throw Fault("it is not a package: its end is not one's")
    }
    let count = Int(Self.number(tail.dropFirst(32).prefix(4)))
    let length = Int(Self.number(tail.dropFirst(36).prefix(4)))
    let index = end.dropLast(Self.endSize).suffix(length)
    guard index.count == length, length <= Self.greatestEnd else {
      throw Fault("its index of \(length) bytes is truncated or too long")
    }
    guard SHA256Digest.of(index).bytes.elementsEqual(tail.prefix(32)) else { throw Fault("its index is damaged") }
    var rest = index
    func take(_ count: Int) throws(Fault) -> ArraySlice<UInt8> {
      guard rest.count >= count else { throw Fault("its index is too short") }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    var files: [(name: String, content: Content)] = []
    guard count <= Self.greatestFileCount else {
      throw Fault("it has \(count) files; it should have 1 to \(Self.greatestFileCount)")
    }
    for _ in 0..<count {
      let name = String(decoding: try take(Int(try take(1).first ?? 0)), as: UTF8.self)
      let size = Int64(bitPattern: Self.number(try take(8)))
      guard let digest = SHA256Digest(bytes: try take(32)) else { throw Fault("its index is too short") }
      files.append((name, Content(digest: digest, size: size)))
    }
    guard rest.isEmpty else { throw Fault("its index has \(rest.count) bytes too many") }
    try self.init(files)
    guard byteCount == size - Int64(length) - Int64(Self.endSize) else {
      throw Fault("its files have \(byteCount) bytes together, and it has \(size) with an index of \(length)")
    }
  }

  /// What follows the files: the index and the end.
  package var encodedEnd: [UInt8] {
    var index: [UInt8] = []
    for file in files {
      index.append(UInt8(file.name.utf8.count))
      index += Array(file.name.utf8)
      index += Self.bytes(file.content.size)
      index += file.content.digest.bytes
    }
    return index + SHA256Digest.of(index).bytes + Self.bytes(UInt32(files.count)) + Self.bytes(UInt32(index.count))
      + Self.magic
  }

  /// Whether a name can be that of a file in any folder.
  package static func isSafe(_ name: String) -> Bool {
    let others = Array("-_.".utf8)
    return (1...greatestName).contains(name.utf8.count) && !name.hasPrefix(".")
      && name.utf8.allSatisfy { byte in
        let letter = byte | 0x20
        return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || others.contains(byte)
      }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }
}
