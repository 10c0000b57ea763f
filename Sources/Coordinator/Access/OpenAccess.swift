import FarmModel
import Jobs
import Logging

/// What is open by tokens that are rows, which is closed once such a token is revoked; or past its time, unless the
/// caller has joined by it.
actor OpenAccess {
  private static let interval = Duration.seconds(1)

  private struct Entry {
    var token: AccessTokenID
    var hasJoined: Bool
    var close: @Sendable () -> Void
  }

  private let store: any JobStore
  private let logger: Logger
  private var open: [Int: Entry] = [:]
  private var next = 0

  init(store: any JobStore, logger: Logger) {
    self.store = store
    self.logger = logger
  }

  /// - Parameter close: Called at most once, if the token is not valid any more. It does not wait.
  /// - Returns: For `remove`. Nil: there is nothing to watch, because the caller needs no such token.
  func add(_ caller: Caller, close: @escaping @Sendable () -> Void) -> Int? {
    guard let token = caller.token else { return nil }
    next += 1
    open[next] = Entry(token: token, hasJoined: caller.hasJoined, close: close)
    return next
  }

  func remove(_ number: Int?) {
    if let number { open[number] = nil }
  }

  /// Looks once a second, until it is cancelled. While the store does not answer, everything stays open.
  func run() async {
    while !Task.isCancelled {
      do {
        try await Task.sleep(for: Self.interval)
        if !open.isEmpty { try await look() }
      } catch is CancellationError {
        return
      } catch {
        logger.debug("open connections not compared with tokens", metadata: ["error": "\(error)"])
      }
    }
  }

  private func look() async throws(JobStoreError) {
    for hasJoined in [false, true] {
      let asked = Set(open.values.lazy.filter { $0.hasJoined == hasJoined }.map(\.token)).sorted()
      if asked.isEmpty { continue }
      let ended = Set(hasJoined ? try await store.left(asked) : try await store.invalid(asked))
      for (number, entry) in open where entry.hasJoined == hasJoined && ended.contains(entry.token) {
        open[number] = nil
        entry.close()
      }
    }
  }
}
