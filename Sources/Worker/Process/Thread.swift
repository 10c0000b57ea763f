import Glibc

/// Runs `body` on a thread of its own, for work that blocks.
func startThread(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
  let box = Unmanaged.passRetained(ThreadBody(run: body))
  var thread = pthread_t()
  let status = pthread_create(
    &thread, nil,
    { argument in
      guard let argument else { return nil }
      Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
      return nil
    }, box.toOpaque())
  guard status == 0 else {
    box.release()
    throw SystemError(status, "starting a thread")
  }
  pthread_detach(thread)
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void

  init(run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}
