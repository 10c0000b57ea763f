import NIOPosix

/// Work that blocks or computes for long, kept off the threads that serve connections.
package enum BlockingWork {
  /// Runs `body` on a thread of NIO's pool. Throws what `body` throws.
  package static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await NIOThreadPool.singleton.runIfActive(body)
  }
}
