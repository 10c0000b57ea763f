import NIOPosix

/// Work that blocks or computes for long, kept off the threads that serve connections. Each kind of work has threads of
/// its own, so that none of it waits for another kind.
package enum BlockingWork {
  /// The threads for one kind of work.
  package enum Pool: Sendable, CaseIterable {
    /// Operations on files that take milliseconds: opening, looking up, reading or writing a small file.
    case files
    /// Reading whole files for their digest, which takes minutes for a large file.
    case hashing
    /// Computing plans, which takes seconds for a large document.
    case planning
    /// Reading and writing the chunks of content that a connection transfers, which wait for the disk.
    case transfers
    /// Completing uploads: checking what an interrupted one left, and syncing to the disk.
    case storing
    /// Requests to other servers, which wait for those.
    case requests
  }

  private static let files = pool(8)
  private static let hashing = pool(4)
  private static let planning = pool(2)
  private static let transfers = pool(8)
  private static let storing = pool(4)
  private static let requests = pool(16)

  /// Runs `body` on a thread of the pool, behind the work that the pool was given before. Throws what `body` throws, or
  /// `CancellationError` if the task is cancelled before `body` has begun.
  package static func run<Value: Sendable>(
    _ pool: Pool = .files, _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await threads(of: pool).runIfActive(body)
  }

  private static func threads(of pool: Pool) -> NIOThreadPool {
    switch pool {
    case .files: files
    case .hashing: hashing
    case .planning: planning
    case .transfers: transfers
    case .storing: storing
    case .requests: requests
    }
  }

  private static func pool(_ count: Int) -> NIOThreadPool {
    let pool = NIOThreadPool(numberOfThreads: count)
    pool.start()
    return pool
  }
}
