import Digest
import Glibc
import SystemSupport
import Testing

struct DigestTests {
  /// The examples of FIPS 180-4.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func `the digest is SHA-256`(text: String, hex: String) {
    #expect(SHA256Digest.of(text.utf8).hex == hex)
    #expect(SHA256Digest(hex: hex) == SHA256Digest.of(text.utf8))
  }

  @Test func `parts make the same digest as the whole`() {
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var hasher = SHA256Hasher()
    hasher.update(bytes[..<1])
    hasher.update(bytes[1..<4097])
    hasher.update(bytes[4097...])
    #expect(hasher.finalize() == SHA256Digest.of(bytes))
  }

  @Test func `an open file is digested from its start, whatever its offset`() throws {
    let file = OpenFile(owning: try #require(tmpfile().map(fileno)), name: "a temporary file")
    let bytes = [UInt8](repeating: 0x5A, count: 3_000_001)
    try file.write(bytes)
    #expect(try file.content() == Content(digest: SHA256Digest.of(bytes), size: 3_000_001))
    #expect(lseek(file.descriptor, 0, SEEK_CUR) == 3_000_001)
  }

  @Test func `a file that cannot be read has a reason`() {
    let file = OpenFile(owning: -1, name: "no file")
    #expect(throws: SystemError(EBADF, "reading no file")) { try file.content() }
  }

  @Test(arguments: ["", "abc", String(repeating: "G", count: 64), String(repeating: "A", count: 64)])
  func `text that is not a digest is rejected`(text: String) {
    #expect(SHA256Digest(hex: text) == nil)
  }
}
