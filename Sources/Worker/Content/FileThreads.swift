import NIOPosix

/// Threads for reading, writing and digesting files: what blocks must not stand on the cooperative pool.
enum FileThreads {
  /// Two: while one digests a long film, the other goes on with what comes from the coordinator.
  static let pool: NIOThreadPool = {
    let pool = NIOThreadPool(numberOfThreads: 2)
    pool.start()
    return pool
  }()

  static func run<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await pool.runIfActive(body)
  }
}
