import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

@testable import ContentStorage

struct ContentLocatorTests {
  private let folder: TemporaryFolder
  private let root: String
  private let locator: ContentLocator
  private let film = content("the film")

  init() throws {
    folder = try TemporaryFolder()
    root = folder.path("media")
    try Directories.make(root + "/2024/june")
    locator = try ContentLocator(
      store: ContentStore(directory: folder.path("store")), mediaRoot: root, contents: FileContentCache())
  }

  private func write(_ text: String, _ name: String) throws -> String { try folder.write(Data(text.utf8), name) }

  @Test(arguments: ["/mnt/studio/2024/june/film.mov", "2024/june/film.mov", "june/../2024/june/film.mov"])
  func aFileIsFoundByTheEndOfItsPath(hint: String) throws {
    _ = try write("the film", "media/2024/june/film.mov")
    let isFound = locator.has(film, hint: hint)
    // A path with `..` is not searched for.
    #expect(isFound == !hint.contains(".."))
    #expect(locator.sharedPath(of: film) == (isFound ? "2024/june/film.mov" : nil))
    if isFound { #expect(try locator.read(film.digest, offset: 4, length: 100) == Data("film".utf8)) }
  }

  @Test func onlyTheSameBytesCount() throws {
    let file = try write("the cat!", "media/film.mov")
    #expect(!locator.has(film, hint: file))
    _ = try write("the film, longer", "media/film.mov")
    #expect(!locator.has(film, hint: file))
    _ = try write("the film", "media/film.mov")
    #expect(locator.has(film, hint: file))
    // A file that has changed is read again.
    _ = try write("the cat, longer", "media/film.mov")
    #expect(!locator.has(film))
    #expect(throws: ContentStoreError.self) { try locator.read(film.digest, offset: 0, length: 8) }
  }

  @Test func nothingOutsideTheRootIsServed() throws {
    let secret = try write("the film", "secret")
    #expect(!locator.has(film, hint: secret))
    #expect(symlink(secret, root + "/link.mov") == 0)
    #expect(!locator.has(film, hint: root + "/link.mov"))
    #expect(mkfifo(root + "/pipe", 0o600) == 0)
    #expect(!locator.has(film, hint: root + "/pipe"))
  }

  @Test func piecesInAStoreUnderTheRootAreShared() throws {
    let locator = try ContentLocator(
      store: ContentStore(directory: root + "/store"), mediaRoot: folder.url.path, contents: FileContentCache())
    let upload = try locator.store.upload(film)
    try upload.write(Data("the film".utf8))
    try upload.finish()
    let hex = film.digest.hex
    #expect(locator.sharedPath(of: film) == "media/store/objects/\(hex.prefix(2))/\(hex)")
  }

  @Test func theRootOfTheFileSystemMayBeTheMediaRoot() throws {
    let file = try write("the film", "film.mov")
    let locator = try ContentLocator(
      store: ContentStore(directory: folder.path("store")), mediaRoot: "/", contents: FileContentCache())
    #expect(locator.has(film, hint: file))
    #expect(locator.sharedPath(of: film) == String(file.dropFirst()))
  }
}
