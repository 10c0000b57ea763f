import Foundation
import TestPrograms
import Testing

/// One content store for one database: a coordinator with another folder does not start, and says what to do.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(10)))
struct StoreIdentityTests {
  @Test
  func `a coordinator whose store is not the database's says why and leaves the folder as it was`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let farm = try await Farm(workers: 0, slots: 1)
    defer { farm.stop() }
    let path = farm.store + "/identity"
    let identity = try String(contentsOfFile: path, encoding: .utf8)
    let owner = "the database belongs to the content store \(identity)"

    let other = try await farm.serve(store: files.path("other")).run()
    #expect(other.status == 69)
    #expect(other.errors.contains("the folder \(files.path("other")) has no content store, and \(owner): if its disk"))
    #expect(!FileManager.default.fileExists(atPath: files.path("other/identity")))

    // The store itself, which has lost the file.
    try FileManager.default.createDirectory(atPath: farm.store + "/objects/ab", withIntermediateDirectories: true)
    try FileManager.default.removeItem(atPath: path)
    for _ in 0..<2 {
      let unnamed = try await farm.serve(store: farm.store).run()
      #expect(unnamed.status == 69)
      #expect(unnamed.errors.contains("the content store \(farm.store) has lost its file \"identity\", and \(owner)."))
      #expect(unnamed.errors.contains("write the file again: printf %s \(identity) > '\(path)'"))
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }
}
