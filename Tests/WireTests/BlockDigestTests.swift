import Digest
import Glibc
import SystemSupport
import TestPrograms
import Testing

private let blockSize = Int(ContentBlock.size)

struct BlockDigestTests {
  /// The list of bytes, made block by block.
  private static func reference(_ bytes: [UInt8]) -> BlockDigests? {
    let digests = stride(from: 0, to: bytes.count, by: blockSize).flatMap { start in
      SHA256Digest.of(bytes[start..<min(start + blockSize, bytes.count)]).bytes
    }
    return BlockDigests(Content(digest: .of(bytes), size: Int64(bytes.count)), bytes: digests)
  }

  private static func mismatch(_ list: BlockDigests, _ bytes: [UInt8], from block: Int = 0) -> Int? {
    bytes.withUnsafeBytes { list.firstMismatch(in: $0, from: block) }
  }

  @Test(arguments: [0, 1, blockSize - 1, blockSize, blockSize + 1, 4 * blockSize + 17, 33 * blockSize + 1])
  func `a list is made in one pass, however the bytes arrive`(count: Int) throws {
    let bytes = TestBytes.varied(count)
    for part in [1 << 20, blockSize, 100_003, 20 * blockSize + 5] {
      var hasher = BlockHasher()
      for start in stride(from: 0, to: count, by: part) {
        bytes[start..<min(start + part, count)].withUnsafeBytes { hasher.update($0) }
      }
      #expect(hasher.finalize() == Self.reference(bytes))
    }
    let file = OpenFile(owning: try #require(tmpfile().map(fileno)), name: "a temporary file")
    try file.write(bytes)
    #expect(try file.blockDigests() == Self.reference(bytes))
  }

  /// With every number of pieces up to more than two groups, of lengths that can be hashed together and that cannot.
  @Test(arguments: [0, 1, 55, 56, 63, 64, 65, 128, 4096, 100_032, 100_033])
  func `each of many pieces has its own digest`(length: Int) {
    let counts = Array(0...(length > 4096 ? 17 : 35))
    let pieces = counts.map { TestBytes.random(length, seed: UInt64($0)) }
    let buffers = pieces.map { UnsafeMutableRawBufferPointer.allocate(byteCount: $0.count, alignment: 1) }
    defer { for buffer in buffers { buffer.deallocate() } }
    for (buffer, piece) in zip(buffers, pieces) { buffer.copyBytes(from: piece) }
    let parts = buffers.map { UnsafeRawBufferPointer($0) }
    let expected = pieces.map { SHA256Digest.of($0) }
    for count in counts {
      #expect(SHA256Digest.ofEach(Array(parts.prefix(count))) == Array(expected.prefix(count)))
    }
    // A shorter one among them.
    guard length > 64, parts.count > 12 else { return }
    var mixed = parts
    mixed[10] = UnsafeRawBufferPointer(rebasing: parts[10][..<(length - 64)])
    #expect(SHA256Digest.ofEach(mixed) == mixed.map { SHA256Digest.of($0) })
  }

  /// At the borders of blocks, and in the short one at the end.
  @Test(arguments: [0, 1, blockSize - 1, blockSize, 2 * blockSize - 1, 2 * blockSize, 2 * blockSize + 16])
  func `a flipped bit is found in its block`(place: Int) throws {
    var bytes = TestBytes.varied(2 * blockSize + 17)
    let list = try #require(Self.reference(bytes))
    #expect(Self.mismatch(list, bytes) == nil)
    bytes[place] ^= 1
    #expect(Self.mismatch(list, bytes) == place / blockSize)
    // A range across blocks, from the second block on.
    let wrong = place < blockSize ? nil : place / blockSize
    #expect(Self.mismatch(list, Array(bytes[blockSize...]), from: 1) == wrong)
  }

  @Test func `bytes that are missing or too many are found`() throws {
    let bytes = TestBytes.varied(2 * blockSize + 17)
    let list = try #require(Self.reference(bytes))
    #expect(Self.mismatch(list, Array(bytes.dropLast())) == 2)
    #expect(Self.mismatch(list, bytes + [0]) == 2)
    #expect(Self.mismatch(list, Array(bytes.prefix(blockSize))) == nil)
    let whole = TestBytes.varied(2 * blockSize)
    #expect(Self.mismatch(try #require(Self.reference(whole)), whole + [0]) == 2)
  }

  @Test func `a list must fit its content`() throws {
    let bytes = TestBytes.varied(blockSize)
    let single = Content(digest: .of(bytes), size: Int64(bytes.count))
    #expect(BlockDigests(single, bytes: single.digest.bytes) == BlockDigests(ofSingleBlock: single))
    // The only block of content is the content.
    #expect(BlockDigests(single, bytes: SHA256Digest.of([1]).bytes) == nil)
    #expect(BlockDigests(Content(digest: single.digest, size: single.size + 1), bytes: single.digest.bytes) == nil)
    #expect(BlockDigests(single, bytes: []) == nil)
  }
}
