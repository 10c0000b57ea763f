import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

@testable import ContentStorage

struct TrimTests {
  private let folder: TemporaryFolder
  private let store: ContentStore
  private let now = Double(time(nil))

  init() throws {
    folder = try TemporaryFolder()
    store = try ContentStore(directory: folder.path("store"))
  }

  /// Stores 64 KiB that were used last this many hours ago.
  private func put(_ text: String, hoursAgo: Int) throws -> Content {
    let bytes = Data((text + String(repeating: ".", count: 65_536 - text.utf8.count)).utf8)
    let upload = try store.upload(Content(digest: SHA256Digest.of(bytes), size: 65_536))
    try upload.write(bytes)
    try upload.finish()
    try age(store.path(of: upload.content.digest), hours: hoursAgo)
    return upload.content
  }

  private func age(_ path: String, hours: Int) throws {
    let times = Array(repeating: timespec(tv_sec: time(nil) - hours * 3600, tv_nsec: 0), count: 2)
    #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
  }

  private func exists(_ content: Content) -> Bool { store.size(of: content.digest) != nil }

  @Test func `what was not used for longest goes first`() throws {
    let contents = try (1...4).map { try put("\($0)", hoursAgo: $0) }
    #expect(try store.trim(to: .max, keeping: []) == 0)
    #expect(try store.trim(to: 2 * 65_536, keeping: []) == 2 * 65_536)
    #expect(contents.map(exists) == [true, true, false, false])
  }

  @Test func `being found or read is a use`() throws {
    let (found, read, other) = try (put("a", hoursAgo: 9), put("b", hoursAgo: 8), put("c", hoursAgo: 1))
    #expect(store.contains(found))
    let locator = try ContentLocator(store: store, mediaRoot: nil, contents: FileContentCache())
    _ = try locator.read(read.digest, offset: 0, length: 1)
    #expect(try store.trim(to: 0, keeping: []) == 65_536)
    #expect([found, read, other].map(exists) == [true, true, false])
  }

  @Test func `what is needed or has just arrived stays`() throws {
    let (needed, new, old) = try (put("a", hoursAgo: 9), put("b", hoursAgo: 0), put("c", hoursAgo: 1))
    #expect(try store.trim(to: 0, keeping: [needed.digest]) == 65_536)
    #expect([needed, new, old].map(exists) == [true, true, false])
  }

  @Test func `results and places of removed content go`() throws {
    let results = ResultCache(store)
    let (kept, removed) = try (put("a", hoursAgo: 1), put("b", hoursAgo: 2))
    let (first, second) = (SHA256Digest.of("first".utf8), SHA256Digest.of("second".utf8))
    try results.record(kept, for: first)
    try results.record(removed, for: second)
    let film = try folder.write(Data(), "film.mov")
    let away = SHA256Digest.of("away".utf8)
    for (digest, path) in [(first, film), (second, folder.path("gone.mov")), (away, folder.path("gone.mov"))] {
      try store.write(path, to: store.entry("places", digest))
      try age(store.entry("places", digest), hours: 1)
    }
    for fingerprint in [first, second] { try age(store.entry("fingerprints", fingerprint), hours: 1) }
    #expect(try store.trim(to: 65_536, keeping: [away]) == 65_536)
    #expect(access(store.entry("fingerprints", first), F_OK) == 0)
    #expect(access(store.entry("fingerprints", second), F_OK) != 0)
    #expect(access(store.entry("places", first), F_OK) == 0)
    #expect(access(store.entry("places", second), F_OK) != 0)
    #expect(access(store.entry("places", away), F_OK) == 0, "an open job needs it")
  }

  @Test func `an entry without content goes even if nothing else does`() throws {
    let fingerprint = SHA256Digest.of("a task".utf8)
    try ResultCache(store).record(content("removed by hand"), for: fingerprint)
    #expect(try store.trim(to: .max, keeping: []) == 0)
    #expect(access(store.entry("fingerprints", fingerprint), F_OK) == 0, "it is young")
    try age(store.entry("fingerprints", fingerprint), hours: 1)
    #expect(try store.trim(to: .max, keeping: [], at: now + 3700) == 0)
    #expect(access(store.entry("fingerprints", fingerprint), F_OK) != 0)
  }

  @Test func `what interrupted uploads left is kept for a day`() throws {
    let large = Data(count: 2 << 20)
    let partial = store.partialPath(of: SHA256Digest.of(large))
    do { try store.upload(Content(digest: SHA256Digest.of(large), size: 3 << 20)).write(large) }
    try age(partial, hours: 23)
    _ = try store.trim(to: .max, keeping: [])
    _ = try ContentStore(directory: store.directory)
    #expect(access(partial, F_OK) == 0)
    try age(partial, hours: 25)
    _ = try store.trim(to: .max, keeping: [])
    #expect(access(partial, F_OK) != 0)
  }

  @Test func `the identity is one for every coordinator of a folder`() async throws {
    let directory = folder.path("new")
    let identities = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<16 { group.addTask { try ContentStore(directory: directory).identity } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(identities.count == 1 && identities != [store.identity])
    #expect(symlink(directory, folder.path("link")) == 0)
    #expect(try ContentStore(directory: folder.path("link")).identity == identities.first)
    _ = try folder.write(Data("short".utf8), "new/identity")
    #expect(throws: ContentStoreError.self) { try ContentStore(directory: directory) }
  }

  @Test func `the free space is that of the disk`() throws {
    let available = try store.availableBytes()
    let attributes = try FileManager.default.attributesOfFileSystem(forPath: store.directory)
    let expected = try #require(attributes[.systemFreeSize] as? NSNumber).int64Value
    #expect(available > 0 && abs(available - expected) < expected / 2)
  }
}
