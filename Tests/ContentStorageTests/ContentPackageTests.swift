import Digest
import Testing

/// The index of several files in one content, which may come from anywhere.
@Suite struct ContentPackageTests {
  private static let parts: [(name: String, bytes: [UInt8])] = [
    ("high.mp4", [1, 2, 3, 4, 5]), ("empty", []), ("low-1_a.mkv", [UInt8](repeating: 7, count: 1000)),
  ]

  /// The files one after the other, and the index.
  private static func whole() throws -> [UInt8] {
    let package = try ContentPackage(
      parts.map { ($0.name, Content(digest: .of($0.bytes), size: Int64($0.bytes.count))) })
    return parts.flatMap(\.bytes) + package.encodedEnd
  }

  private static func read(_ bytes: [UInt8], size: Int? = nil) throws -> ContentPackage {
    try ContentPackage(end: bytes.suffix(ContentPackage.greatestEnd), of: Int64(size ?? bytes.count))
  }

  @Test func `a package is read as it was written`() throws {
    let bytes = try Self.whole()
    let package = try Self.read(bytes)
    #expect(package.files.map(\.name) == Self.parts.map(\.name))
    #expect(package.files.map(\.offset) == [0, 5, 5] && package.byteCount == 1005)
    for (file, part) in zip(package.files, Self.parts) {
      #expect(file.content == Content(digest: .of(part.bytes), size: Int64(part.bytes.count)))
    }
  }

  @Test func `any change of the index and any truncation is refused`() throws {
    let bytes = try Self.whole()
    for place in 1005..<bytes.count {
      var wrong = bytes
      wrong[place] ^= 0x10
      #expect(throws: ContentPackage.Fault.self, "byte \(place)") { try Self.read(wrong) }
    }
    for count in 0..<bytes.count where count % 7 == 0 || count > 1000 {
      #expect(throws: ContentPackage.Fault.self, "\(count) bytes") { try Self.read(Array(bytes.prefix(count))) }
    }
    #expect(throws: ContentPackage.Fault.self) { try Self.read([9] + bytes) }
  }

  /// An index that is whole and says what cannot be.
  @Test(
    arguments: [
      (["a"], [Int64.max], "index"), (["a"], [-1], "impossible"), (["a", "b"], [Int64.max, 1], "impossible"),
      (["a"], [5], "5 bytes together"), (["../a"], [0], "not allowed"), ([".a"], [0], "not allowed"),
      (["a/b"], [0], "not allowed"), ([""], [0], "not allowed"), (["a", "A"], [0, 0], "two files"),
      (Array(repeating: "a", count: 65), Array(repeating: 0, count: 65), "65 files"), ([], [], "0 files"),
    ] as [([String], [Int64], String)])
  func `a hostile index is refused with the reason`(names: [String], sizes: [Int64], reason: String) throws {
    var index: [UInt8] = []
    for (name, size) in zip(names, sizes) {
      index.append(UInt8(name.utf8.count))
      index += Array(name.utf8)
      index += withUnsafeBytes(of: size.littleEndian) { Array($0) }
      index += [UInt8](repeating: 0, count: 32)
    }
    func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(value).littleEndian) { Array($0) } }
    let bytes =
      index + SHA256Digest.of(index).bytes + number(names.count) + number(index.count) + Array("SHEAFPK1".utf8)
    let fault = #expect(throws: ContentPackage.Fault.self) { try Self.read(bytes) }
    #expect(fault?.description.contains(reason) == true, "\(fault?.description ?? "")")
  }
}
