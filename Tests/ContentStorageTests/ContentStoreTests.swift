import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

@testable import ContentStorage

/// The content of a text.
func content(_ text: String) -> Content {
  Content(digest: SHA256Digest.of(text.utf8), size: Int64(text.utf8.count))
}

struct ContentStoreTests {
  private let folder: TemporaryFolder
  private let store: ContentStore

  init() throws {
    folder = try TemporaryFolder()
    store = try ContentStore(directory: folder.path("store"))
  }

  private func temporaries() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: store.directory + "/temporary")
  }

  private func put(_ text: String) throws -> SHA256Digest {
    let upload = try store.upload(content(text))
    try upload.write(Data(text.utf8))
    try upload.finish()
    return upload.content.digest
  }

  @Test func `an object with other bytes than its name is removed`() throws {
    let digest = SHA256Digest.of("whole".utf8)
    #expect(try !store.removeIfDamaged(digest), "it does not exist")
    try Directories.make(Directories.parent(of: store.path(of: digest)))
    try Data("whole".utf8).write(to: URL(fileURLWithPath: store.path(of: digest)))
    #expect(try !store.removeIfDamaged(digest))
    #expect(store.size(of: digest) == 5)
    try Data("whale".utf8).write(to: URL(fileURLWithPath: store.path(of: digest)))
    #expect(try store.removeIfDamaged(digest))
    #expect(store.size(of: digest) == nil)
  }

  @Test func `uploads go on after the folder of temporary files is removed`() throws {
    try FileManager.default.removeItem(atPath: store.directory + "/temporary")
    #expect(try store.size(of: put("abc")) == 3)
    try FileManager.default.removeItem(atPath: store.directory + "/temporary")
    try store.write("a note", to: store.entry("notes", SHA256Digest.of([1])))
    // Without the store, as when its disk is away, nothing is made in its place.
    try FileManager.default.removeItem(atPath: store.directory)
    #expect(throws: ContentStoreError.self) { try store.upload(content("def")) }
    #expect(!FileManager.default.fileExists(atPath: store.directory))
  }

  @Test func `a store that is away is not replaced`() throws {
    let bytes = Data(count: 600_000)
    let large = Content(digest: SHA256Digest.of(bytes), size: 600_000)
    let upload = try store.upload(large)
    try upload.write(bytes)
    #expect(store.absence == nil)
    try FileManager.default.moveItem(atPath: store.directory, toPath: folder.path("away"))
    #expect(store.absence == "the content store \(store.directory) is not there: No such file or directory")
    #expect(throws: ContentStoreError.self) { try upload.finish() }
    #expect(throws: ContentStoreError.self) {
      try store.write("a note", to: store.entry("notes", SHA256Digest.of([1])))
    }
    #expect(store.explained(ContentStoreError(.missing, "gone")).code == .away)
    #expect(!FileManager.default.fileExists(atPath: store.directory))
    // Another store at the same path.
    _ = try ContentStore(directory: store.directory)
    #expect(store.absence == "the folder \(store.directory) has another content store now")
    try FileManager.default.removeItem(atPath: store.directory)
    try FileManager.default.moveItem(atPath: folder.path("away"), toPath: store.directory)
    #expect(store.absence == nil && store.explained(ContentStoreError(.missing, "gone")).code == .missing)
  }

  @Test func `where an identity comes from is known`() throws {
    #expect(store.origin == .new)
    let again = try ContentStore(directory: store.directory)
    #expect(again.origin == .recorded && again.identity == store.identity)
    again.forgetIdentity()
    #expect(FileManager.default.fileExists(atPath: store.directory + "/identity"))
    _ = try put("abc")
    unlink(store.directory + "/identity")
    let unnamed = try ContentStore(directory: store.directory)
    #expect(unnamed.origin == .unnamed && unnamed.identity != store.identity)
    unnamed.forgetIdentity()
    #expect(!FileManager.default.fileExists(atPath: store.directory + "/identity"))
  }

  @Test func `an object exists only when it is complete`() throws {
    let digest = SHA256Digest.of("abc".utf8)
    let upload = try store.upload(content("abc"))
    try upload.write(Data("ab".utf8))
    #expect(store.size(of: digest) == nil)
    try upload.write(Data("c".utf8))
    #expect(store.size(of: digest) == nil)
    try upload.finish()
    #expect(store.size(of: digest) == 3)
    #expect(try store.read(digest, limit: 10) == Array("abc".utf8))
    #expect(throws: ContentStoreError.self) { try store.read(digest, limit: 2) }
    #expect(try temporaries().isEmpty)
    #expect(
      store.path(of: digest)
        == "\(store.directory)/objects/ba/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    // Nobody but its user and its group reads it.
    let attributes = try FileManager.default.attributesOfItem(atPath: store.path(of: digest))
    #expect(attributes[.posixPermissions] as? Int == 0o640)
  }

  @Test func `an upload that is not as announced is rejected`() throws {
    let short = try store.upload(content("abc"))
    try short.write(Data("ab".utf8))
    #expect(throws: ContentStoreError(.mismatch, "the upload has 2 bytes instead of the announced 3")) {
      try short.finish()
    }
    short.discard()
    let long = try store.upload(content("abc"))
    #expect(throws: ContentStoreError(.mismatch, "the upload is longer than the announced 3 bytes")) {
      try long.write(Data("abcd".utf8))
    }
    long.discard()
    let other = try store.upload(content("abc"))
    try other.write(Data("abd".utf8))
    #expect(throws: ContentStoreError(.mismatch, "the upload does not have the announced digest")) {
      try other.finish()
    }
    other.discard()
    #expect(!store.contains(content("abc")))
    #expect(try temporaries().isEmpty)
  }

  @Test func `many may upload the same content at once`() async throws {
    let text = String(repeating: "sheaf ", count: 100_000)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { [store] in
          let upload = try store.upload(content(text))
          for part in stride(from: 0, to: text.utf8.count, by: 50_000) {
            try upload.write(Data(Array(text.utf8)[part..<min(part + 50_000, text.utf8.count)]))
          }
          try upload.finish()
        }
      }
      try await group.waitForAll()
    }
    #expect(store.size(of: content(text).digest) == 600_000)
    #expect(try temporaries().isEmpty)
  }

  @Test func `an upload that is dropped leaves nothing`() throws {
    do {
      let upload = try store.upload(content("abc"))
      try upload.write(Data("ab".utf8))
      #expect(try temporaries().count == 1)
    }
    #expect(try temporaries().isEmpty)
  }

  @Test func `only old temporary files are removed at the start`() throws {
    let old = try folder.write(Data("old".utf8), "store/temporary/1-old")
    _ = try folder.write(Data("young".utf8), "store/temporary/2-young")
    var times = [timespec(tv_sec: time(nil) - 7200, tv_nsec: 0), timespec(tv_sec: time(nil) - 7200, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, old, &times, 0) == 0)
    _ = try ContentStore(directory: store.directory)
    #expect(try temporaries() == ["2-young"])
  }

  @Test func `a result is found while its object exists`() throws {
    let results = ResultCache(store)
    let fingerprint = SHA256Digest.of("a task".utf8)
    let digest = try put("a piece")
    #expect(results.result(of: fingerprint) == nil)
    try results.record(content("a piece"), for: fingerprint)
    #expect(results.result(of: fingerprint)?.content == content("a piece"))
    let maker = ResultMaker("anna/a machine", quarantines: 1)
    try results.record(content("a piece"), for: fingerprint, maker: maker)
    #expect(results.result(of: fingerprint) == KnownResult(content("a piece"), maker: maker))
    for (least, isUsed) in [(nil, false), (2, false), (1, true)] as [(Int64?, Bool)] {
      results.distrust(["anna/a machine": least, "other": nil])
      #expect((results.result(of: fingerprint) != nil) == isUsed)
    }
    // It is truncated, or removed.
    #expect(truncate(store.path(of: digest), 6) == 0)
    #expect(results.result(of: fingerprint) == nil)
    store.remove(digest)
    #expect(results.result(of: fingerprint) == nil)
  }

  /// The store of a farm outlives the farm's version.
  @Test func `the files of a store in use are read`() throws {
    let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    let fingerprint = SHA256Digest.of("a task".utf8)
    for name in ["objects/ba", "fingerprints/\(fingerprint.hex.prefix(2))", "places/ba"] {
      try Directories.make(folder.path("store/\(name)"))
    }
    _ = try folder.write(Data("abc".utf8), "store/objects/ba/\(hex)")
    let entry = "store/fingerprints/\(fingerprint.hex.prefix(2))/\(fingerprint.hex)"
    _ = try folder.write(Data("\(hex) 3".utf8), entry)
    #expect(ResultCache(store).result(of: fingerprint)?.content == content("abc"))
    store.remove(content("abc").digest)
    // A place that was recorded before makes a path unnecessary.
    try Directories.make(folder.path("media"))
    let film = try folder.write(Data("abc".utf8), "media/film.mov")
    _ = try folder.write(Data(film.utf8), "store/places/ba/\(hex)")
    let locator = try ContentLocator(store: store, mediaRoot: folder.path("media"), contents: FileContentCache())
    #expect(locator.sharedPath(of: content("abc")) == "film.mov")
  }

  @Test(arguments: ["", "nonsense", "abc -1 x", "../../etc/passwd 5"])
  func `a damaged entry is ignored`(entry: String) throws {
    let results = ResultCache(store)
    let fingerprint = SHA256Digest.of("a task".utf8)
    try results.record(content(""), for: fingerprint)
    _ = try folder.write(
      Data(entry.utf8), "store/fingerprints/\(fingerprint.hex.prefix(2))/\(fingerprint.hex)")
    #expect(results.result(of: fingerprint) == nil)
  }

  @Test func `a folder that cannot be made is reported`() throws {
    let file = try folder.write(Data(), "file")
    let error = #expect(throws: ContentStoreError.self) { try ContentStore(directory: file + "/store") }
    #expect(error?.description == "making the folder \(file)/store failed: Not a directory")
  }

  @Test func `a full disk is reported as such`() {
    for code in [ENOSPC, EDQUOT, EFBIG] {
      let error = ContentStoreError(SystemError(code, "writing to the content store"))
      #expect(error.code == .outOfSpace && error.description.hasPrefix("no space left on the device"))
    }
  }
}
