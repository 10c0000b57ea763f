import Client
import CompositionModel
import ContentStorage
import FarmAPI
import Foundation
import TestPrograms
import Testing

@testable import LocalFarm

/// What becomes of a command whose media are gone while it works.
@Suite(.timeLimit(.minutes(10))) struct MediaWatchTests {
  private let folder: TemporaryFolder
  private let contents = FileContentCache()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func watch(_ files: [String: String]) async throws -> MediaWatch {
    var assets: [SubmittedAsset] = []
    for (name, text) in files.sorted(by: { $0.key < $1.key }) {
      let path = try folder.write(Data(text.utf8), name)
      assets.append(try await AssetFile.asset(path, id: name, writtenAs: name, contents).get())
    }
    return MediaWatch(assets: assets, contents: contents)
  }

  @Test func `the files that are gone or have other bytes are named`() async throws {
    let watch = try await watch(["gone": "a", "same": "b", "copied": "c", "other": "d"])
    try await watch.look()
    try FileManager.default.removeItem(atPath: folder.path("gone"))
    // Another file with the same bytes.
    try FileManager.default.removeItem(atPath: folder.path("copied"))
    _ = try folder.write(Data("c".utf8), "copied")
    _ = try folder.write(Data("e".utf8), "other")
    let gone = try #require(await #expect(throws: MediaWatch.Gone.self) { try await watch.look() })
    #expect(gone.assets == ["gone", "other"])
    #expect(gone.problems.map(\.pointer) == ["/assets/gone", "/assets/other"])
    #expect(gone.problems.first?.message == "there is no file \(folder.path("gone"))")
    #expect(gone.problems.last?.message == "the file other has changed since the command began; run it again")
  }

  @Test func `work that waits for them ends`() async throws {
    let watch = try await watch(["a": "a", "b": "b"])
    let (moments, continuation) = AsyncStream.makeStream(of: Void.self)
    continuation.yield()
    let path = folder.path("a")
    let gone = await #expect(throws: MediaWatch.Gone.self) {
      try await watch.run(lookingAt: moments) {
        try FileManager.default.removeItem(atPath: path)
        continuation.yield()
        // As long as nothing cancels it.
        try await Task.sleep(for: .seconds(3600))
      }
    }
    #expect(gone?.assets == ["a"])
  }

  @Test func `work that fails for them is not reported by itself`() async throws {
    let watch = try await watch(["a": "a", "b": "b"])
    let (moments, _) = AsyncStream.makeStream(of: Void.self)
    let path = folder.path("b")
    let failure = CommandFailure(.work, "nothing to read")
    await #expect(throws: failure) { try await watch.run(lookingAt: moments) { throw failure } }
    let gone = await #expect(throws: MediaWatch.Gone.self) {
      try await watch.run(lookingAt: moments) {
        try FileManager.default.removeItem(atPath: path)
        throw failure
      }
    }
    #expect(gone?.assets == ["b"])
  }

  @Test func `work that has ended is done though a file is gone`() async throws {
    let watch = try await watch(["a": "a"])
    let path = folder.path("a")
    let (moments, _) = AsyncStream.makeStream(of: Void.self)
    let result = try await watch.run(lookingAt: moments) {
      try FileManager.default.removeItem(atPath: path)
      return 7
    }
    #expect(result == 7)
  }
}
