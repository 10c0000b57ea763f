import Digest
import FoundationEssentials
import Glibc
import TestPrograms
import Testing

@testable import Coordinator

struct LibraryTests {
  private let folder: TemporaryFolder
  private let root: String
  private let library: Library
  private let digest = SHA256Digest.of("the film".utf8)

  init() throws {
    folder = try TemporaryFolder()
    root = folder.path + "/media"
    try Vault.makeDirectories(root + "/2024/june")
    library = try Library(
      vault: Vault(directory: folder.path + "/vault"), mediaRoot: root, digests: DigestCache())
  }

  @Test(arguments: ["/mnt/studio/2024/june/film.mov", "2024/june/film.mov", "june/../2024/june/film.mov"])
  func aFileIsFoundByTheTailOfItsPath(hint: String) throws {
    _ = try folder.write("the film".utf8, to: "media/2024/june/film.mov")
    let isFound = library.has(digest, size: 8, hint: hint)
    // A path that climbs is nobody's.
    #expect(isFound == !hint.contains(".."))
    #expect(library.sharedPath(of: digest, size: 8) == (isFound ? "2024/june/film.mov" : nil))
    if isFound { #expect(try library.read(digest, offset: 4, length: 100) == Data("film".utf8)) }
  }

  @Test func onlyTheSameBytesCount() throws {
    let file = try folder.write("the cat!".utf8, to: "media/film.mov")
    #expect(!library.has(digest, size: 8, hint: file))
    _ = try folder.write("the film, longer".utf8, to: "media/film.mov")
    #expect(!library.has(digest, size: 8, hint: file))
    _ = try folder.write("the film".utf8, to: "media/film.mov")
    #expect(library.has(digest, size: 8, hint: file))
    // It is looked at again when it has changed.
    _ = try folder.write("the cat, longer".utf8, to: "media/film.mov")
    #expect(!library.has(digest, size: 8))
    #expect(throws: VaultError.self) { try library.read(digest, offset: 0, length: 8) }
  }

  @Test func nothingOutsideTheRootIsServed() throws {
    let secret = try folder.write("the film".utf8, to: "secret")
    #expect(!library.has(digest, size: 8, hint: secret))
    #expect(symlink(secret, root + "/link.mov") == 0)
    #expect(!library.has(digest, size: 8, hint: root + "/link.mov"))
    #expect(mkfifo(root + "/pipe", 0o600) == 0)
    #expect(!library.has(digest, size: 8, hint: root + "/pipe"))
  }

  @Test func piecesInAVaultUnderTheRootAreShared() throws {
    let library = try Library(
      vault: Vault(directory: root + "/vault"), mediaRoot: folder.path, digests: DigestCache())
    let upload = try library.vault.begin(digest: digest, size: 8)
    try upload.write(Data("the film".utf8))
    try upload.finish()
    let hex = digest.hex
    #expect(library.sharedPath(of: digest, size: 8) == "media/vault/objects/\(hex.prefix(2))/\(hex)")
  }

  @Test func theRootOfAllIsARootToo() throws {
    let file = try folder.write("the film".utf8, to: "film.mov")
    let library = try Library(
      vault: Vault(directory: folder.path + "/vault"), mediaRoot: "/", digests: DigestCache())
    #expect(library.has(digest, size: 8, hint: file))
    #expect(library.sharedPath(of: digest, size: 8) == String(file.dropFirst()))
  }
}
