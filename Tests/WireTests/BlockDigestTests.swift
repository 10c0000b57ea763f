import Digest
import Glibc
import SystemSupport
import Testing

private let blockSize = Int(ContentBlock.size)

struct BlockDigestTests {
  private static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
  }

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

  @Test(arguments: [0, 1, blockSize - 1, blockSize, blockSize + 1, 4 * blockSize + 17])
  func aListIsMadeInOnePassHoweverTheBytesArrive(count: Int) throws {
    let bytes = Self.bytes(count)
    for part in [1 << 20, blockSize, 100_003] {
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

  /// At the borders of blocks, and in the short one at the end.
  @Test(arguments: [0, 1, blockSize - 1, blockSize, 2 * blockSize - 1, 2 * blockSize, 2 * blockSize + 16])
  func aFlippedBitIsFoundInItsBlock(place: Int) throws {
    var bytes = Self.bytes(2 * blockSize + 17)
    let list = try #require(Self.reference(bytes))
    #expect(Self.mismatch(list, bytes) == nil)
    bytes[place] ^= 1
    #expect(Self.mismatch(list, bytes) == place / blockSize)
    // A range across blocks, from the second block on.
    let wrong = place < blockSize ? nil : place / blockSize
    #expect(Self.mismatch(list, Array(bytes[blockSize...]), from: 1) == wrong)
  }

  @Test func bytesThatAreMissingOrTooManyAreFound() throws {
    let bytes = Self.bytes(2 * blockSize + 17)
    let list = try #require(Self.reference(bytes))
    #expect(Self.mismatch(list, Array(bytes.dropLast())) == 2)
    #expect(Self.mismatch(list, bytes + [0]) == 2)
    #expect(Self.mismatch(list, Array(bytes.prefix(blockSize))) == nil)
    let whole = Self.bytes(2 * blockSize)
    #expect(Self.mismatch(try #require(Self.reference(whole)), whole + [0]) == 2)
  }

  @Test func aListMustFitItsContent() throws {
    let bytes = Self.bytes(blockSize)
    let single = Content(digest: .of(bytes), size: Int64(bytes.count))
    #expect(BlockDigests(single, bytes: single.digest.bytes) == BlockDigests(ofSingleBlock: single))
    // The only block of content is the content.
    #expect(BlockDigests(single, bytes: SHA256Digest.of([1]).bytes) == nil)
    #expect(BlockDigests(Content(digest: single.digest, size: single.size + 1), bytes: single.digest.bytes) == nil)
    #expect(BlockDigests(single, bytes: []) == nil)
  }
}
