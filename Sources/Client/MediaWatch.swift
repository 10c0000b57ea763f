import CompositionModel
import ContentStorage
import Digest
import Wire

/// The media of what a local farm does. A farm waits for media that are gone, because another machine may have them or
/// somebody may put them back. Here nothing else has them, and a command would wait for ever.
struct MediaWatch: Sendable {
  let assets: [Sheaf_SubmittedAsset]
  let contents: FileContentCache
  /// Whether the files are assets of a document, in which a problem has its place.
  var hasDocument = true

  /// A problem for each file that is gone, or has other bytes than when it was submitted. A file with other times and
  /// the same bytes has none.
  func problems() async throws -> [Problem] {
    var problems: [Problem] = []
    for asset in assets {
      let message: String
      switch try await AssetFile.asset(asset.content.path, id: asset.id, writtenAs: asset.path, contents) {
      case .success(let now) where now.content.digest == asset.content.digest: continue
      case .success: message = "the file \(asset.path) has changed since the command began; run it again"
      case .failure(let error): message = "\(error), and there was one when the command began"
      }
      problems.append(
        hasDocument ? Problem(asset: asset.id, message: message) : Problem(pointer: "", message: message))
    }
    return problems
  }

  /// Runs `body`, and looks at the files at some moments meanwhile. Throws what `body` throws, or with every problem of
  /// the files, which ends `body`.
  /// - Parameter moments: When `body` may be waiting for them.
  func run<R: Sendable>(
    lookingAt moments: AsyncStream<Void>, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        for await _ in moments {
          let problems = try await problems()
          guard problems.isEmpty else { throw CommandFailure(problems: problems) }
        }
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
