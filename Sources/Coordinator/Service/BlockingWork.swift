import NIOPosix

/// Work that blocks or computes for long, off the threads that serve connections.
enum BlockingWork {
  static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await NIOThreadPool.singleton.runIfActive(body)
  }
}
