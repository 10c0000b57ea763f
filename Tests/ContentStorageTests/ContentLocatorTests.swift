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
  func `a file is found by the end of its path`(hint: String) throws {
    _ = try write("the film", "media/2024/june/film.mov")
    let isFound = locator.has(film, hint: hint)
    // A path with `..` is not searched for.
    #expect(isFound == !hint.contains(".."))
    #expect(locator.sharedPath(of: film) == (isFound ? "2024/june/film.mov" : nil))
    if isFound {
      let read = try locator.read(film.digest, offset: 4, length: 100, verifying: true)
      #expect(read == Data("film".utf8))
    }
  }

  @Test func `only the same bytes count`() throws {
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

  /// Two films have the same clip, each in its own folder, and one of the folders is removed.
  @Test func `content whose file is gone is read where another client has named it`() throws {
    let first = try write("the film", "media/film.mov")
    let second = try write("the film", "media/2024/june/copy.mov")
    #expect(locator.has(film, hint: first) && locator.has(film, hint: "/mnt/studio/2024/june/copy.mov"))
    #expect(locator.sharedPath(of: film) == "film.mov")
    try FileManager.default.removeItem(atPath: first)
    // Which one is read is decided where a file may be read for its digest, and not while workers wait.
    #expect(locator.sharedPath(of: film) == "film.mov")
    #expect(locator.problem(withShared: film) == nil)
    #expect(locator.sharedPath(of: film) == "2024/june/copy.mov")
    #expect(try locator.read(film.digest, offset: 4, length: 100, verifying: true) == Data("film".utf8))
    // And back, when that one has become another file.
    _ = try write("the film", "media/film.mov")
    #expect(locator.has(film, hint: first))
    _ = try write("the cat, longer", "media/2024/june/copy.mov")
    #expect(locator.problem(withShared: film) == nil && locator.sharedPath(of: film) == "film.mov")
    try FileManager.default.removeItem(atPath: first)
    try FileManager.default.removeItem(atPath: second)
    #expect(locator.problem(withShared: film)?.reason == "is not there")
  }

  @Test func `a file that may not be read says so and may be readable again`() throws {
    let file = try write("the film", "media/film.mov")
    #expect(locator.has(film, hint: file) && locator.problem(withShared: film) == nil)
    #expect(chmod(file, 0) == 0)
    // This thread gives up the superuser's rights on files, if it has them. Glibc's module does not have the function.
    let symbol = try #require(dlsym(nil, "setfsuid"))
    let setUser = unsafeBitCast(symbol, to: (@convention(c) (uid_t) -> Int32).self)
    let user = setUser(65_534)
    defer { _ = setUser(uid_t(user)) }
    let problem = locator.problem(withShared: film)
    #expect(problem?.path == "film.mov" && problem?.reason == "cannot be read: Permission denied")
    #expect(problem?.mayPass == true)
  }

  @Test func `nothing outside the root is served`() throws {
    let secret = try write("the film", "secret")
    #expect(!locator.has(film, hint: secret))
    #expect(symlink(secret, root + "/link.mov") == 0)
    #expect(!locator.has(film, hint: root + "/link.mov"))
    #expect(mkfifo(root + "/pipe", 0o600) == 0)
    #expect(!locator.has(film, hint: root + "/pipe"))
  }

  @Test func `pieces in a store under the root are shared`() throws {
    let locator = try ContentLocator(
      store: ContentStore(directory: root + "/store"), mediaRoot: folder.url.path, contents: FileContentCache())
    let upload = try locator.store.upload(film)
    try upload.write(Data("the film".utf8))
    try upload.finish()
    let hex = film.digest.hex
    #expect(locator.sharedPath(of: film) == "media/store/objects/\(hex.prefix(2))/\(hex)")
  }

  @Test func `the root of the file system may be the media root`() throws {
    let file = try write("the film", "film.mov")
    let locator = try ContentLocator(
      store: ContentStore(directory: folder.path("store")), mediaRoot: "/", contents: FileContentCache())
    #expect(locator.has(film, hint: file))
    #expect(locator.sharedPath(of: film) == String(file.dropFirst()))
  }

  /// A hint costs a few look-ups, however long it is.
  @Test func `only the shortest ends of a long path are searched for`() throws {
    try Directories.make(root + "/a/b")
    _ = try write("the film", "media/a/b/film.mov")
    let long = String(repeating: "x/", count: 2000)
    #expect(locator.has(film, hint: long + "a/b/film.mov"))
    let deep = String(repeating: "a/", count: 40)
    try Directories.make(root + "/" + deep)
    let other = try write("the other film", "media/" + deep + "film.mov")
    #expect(!locator.has(content("the other film"), hint: "mnt/" + deep + "film.mov"))
    #expect(locator.has(content("the other film"), hint: other), "an absolute path is looked at first")
  }

  @Test func `a shared path is looked up without the file`() throws {
    let file = try write("the film", "media/film.mov")
    #expect(locator.sharedPath(of: film) == nil)
    #expect(locator.has(film, hint: file))
    // Whoever reads the file finds out: neither a look at the file nor one at the disk is part of it.
    #expect(unlink(file) == 0)
    #expect(locator.sharedPath(of: film) == "film.mov")
    let other = try ContentLocator(
      store: locator.store, mediaRoot: root, contents: FileContentCache())
    #expect(other.sharedPath(of: film) == "film.mov")
  }

  @Test func `a link to a file under the root is shared by the file's own path`() throws {
    let file = try write("the film", "media/film.mov")
    let link = folder.path("link.mov")
    #expect(symlink(file, link) == 0)
    #expect(locator.has(film, hint: link))
    #expect(locator.sharedPath(of: film) == "film.mov")
  }

  @Test func `a file that was not read yet is verified before it is served`() throws {
    let file = try write("the film", "media/film.mov")
    #expect(locator.has(film, hint: file))
    let later = FileContentCache(directory: nil) { timespec(tv_sec: time(nil) + 10, tv_nsec: 0) }
    let other = try ContentLocator(store: locator.store, mediaRoot: root, contents: later)
    let error = #expect(throws: ContentStoreError.self) { try other.read(film.digest, offset: 0, length: 3) }
    #expect(error?.code == .unverified)
    try other.verify(film.digest)
    #expect(try other.read(film.digest, offset: 0, length: 3) == Data("the".utf8))
    // At once, for a file that changes all the time.
    #expect(try locator.read(film.digest, offset: 0, length: 3, verifying: true) == Data("the".utf8))
    #expect(throws: ContentStoreError.self) { try other.verify(content("nothing").digest) }
  }

  @Test func `one operation at a time runs for a key`() async throws {
    let flights = InFlight<Int>()
    let count = Counter()
    let isOpen = AsyncStream.makeStream(of: Void.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try await flights.run(1) {
            count.add(1)
            for await _ in isOpen.stream {}
          }
        }
      }
      // Another key does not wait for the first.
      for _ in 0..<100 { try await flights.run(2) {} }
      while count.value == 0 { await Task.yield() }
      #expect(count.value == 1)
      isOpen.continuation.finish()
      try await group.waitForAll()
    }
    await #expect(throws: CancellationError.self) { try await flights.run(1) { throw CancellationError() } }
  }
}
