import ContentStorage
import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

@testable import LocalFarm

struct LocalFarmTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test func `a second command knows the digests of the first`() throws {
    // A file that has not changed for long: one that has just changed is read again.
    let file = try OpenFile.open("/bin/sh")
    let first = try LocalFarm.Configuration(store: folder.path("store"))
    let content = try first.contents.content(of: file)
    let second = try LocalFarm.Configuration(store: folder.path("store"))
    #expect(try second.contents.knownContent(of: file) == content)
    #expect(try LocalFarm.Configuration(store: folder.path("other")).contents.knownContent(of: file) == nil)
  }

  @Test func `the last farm to use a store trims it`() async throws {
    let store = try ContentStore(directory: folder.path("store"))
    let (old, new) = (SHA256Digest.of("old".utf8), SHA256Digest.of("new".utf8))
    for digest in [old, new] {
      let path = store.path(of: digest)
      try Directories.make(Directories.parent(of: path))
      try Data(repeating: 1, count: 4096).write(to: URL(fileURLWithPath: path))
    }
    let lastUse = Date(timeIntervalSinceNow: -86_400)
    try FileManager.default.setAttributes([.modificationDate: lastUse], ofItemAtPath: store.path(of: old))
    let (first, second) = (try StoreUsage(store), try StoreUsage(store))
    await first.end(limit: 0)
    #expect(store.size(of: old) != nil)
    await second.end(limit: 1 << 30)
    #expect(store.size(of: old) != nil)
    await second.end(limit: 0)
    #expect(store.size(of: old) == nil)
    // It was used within the last minutes.
    #expect(store.size(of: new) != nil)
  }
}
