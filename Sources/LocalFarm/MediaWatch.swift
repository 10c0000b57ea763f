import Client
import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import Runtime

/// The media of what a local farm does. A farm waits for media that are gone, because another machine may have them or
/// somebody may put them back. Here nothing else has them, and a command would wait for ever.
struct MediaWatch: Sendable {
  /// Files that are gone, or have other bytes than when the command began.
  struct Gone: Error {
    var assets: Set<String>
    /// One for each.
    var problems: [Problem]
  }

  let assets: [SubmittedAsset]
  let contents: FileContentCache

  /// Throws if files are gone. A file with other times and the same bytes is not, nor is one that cannot be read for
  /// another reason: a farm has patience with that. Cancelling ends the call though a file is being read.
  func look() async throws {
    let (assets, contents) = (assets, contents)
    try await abandonable {
      var gone = Gone(assets: [], problems: [])
      for asset in assets {
        let message: String
        switch try await AssetFile.asset(asset.file, id: asset.id, writtenAs: asset.path, contents) {
        case .success(let now) where now.content.digest == asset.content.digest: continue
        case .success: message = "the file \(asset.path) has changed since the command began; run it again"
        case .failure(let error):
          guard error.code == .missing else { continue }
          message = "\(error)"
        }
        gone.assets.insert(asset.id)
        gone.problems.append(Problem(asset: asset.id, message: message))
      }
      if !gone.problems.isEmpty { throw gone }
    }
  }

  /// Runs `body`, and looks at the files at some moments meanwhile, and when it throws. Throws `Gone`, which ends
  /// `body`, or what `body` throws.
  /// - Parameter moments: When `body` may be waiting for them.
  func run<R: Sendable>(
    lookingAt moments: AsyncStream<Void>, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        do {
          return try await body()
        } catch {
          try Task.checkCancellation()
          try await look()
          throw error
        }
      }
      group.addTask {
        for await _ in moments { try await look() }
        return nil
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() {
        if let result = ended { return result }
      }
      throw CancellationError()
    }
  }

  /// Once a second, for work of which nothing is known before it ends.
  static var eachSecond: AsyncStream<Void> {
    // It throws when the task is cancelled, and then nobody looks any more.
    AsyncStream { try? await Task.sleep(for: .seconds(1)) }
  }
}
