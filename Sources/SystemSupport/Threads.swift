import Glibc
import Synchronization

/// Starts a detached thread, for work that blocks. It ends when `body` returns.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
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

/// The thread of one actor whose work blocks, so that the cooperative pool never waits for a database or a disk. It runs
/// the actor's jobs one after the other, in the order in which they were enqueued.
package final class SerialThread: SerialExecutor {
  private struct Queue {
    var jobs: [UnownedJob] = []
    var isStopped = false
  }

  private let queue = Mutex(Queue())
  // Safe: several threads may use one semaphore, and it is freed when neither the thread nor the actor is left.
  private nonisolated(unsafe) let arrivals: UnsafeMutablePointer<sem_t>

  package init() throws(SystemError) {
    arrivals = .allocate(capacity: 1)
    sem_init(arrivals, 0, 0)
    try startThread { self.run() }
  }

  deinit {
    sem_destroy(arrivals)
    arrivals.deallocate()
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.withLock { $0.jobs.append(job) }
    sem_post(arrivals)
  }

  /// Ends the thread after the jobs that are enqueued. The actor's `deinit` calls it.
  package func stop() {
    queue.withLock { $0.isStopped = true }
    sem_post(arrivals)
  }

  private func run() {
    while true {
      // If a signal interrupts the wait there may be no job; then it waits again.
      sem_wait(arrivals)
      let (jobs, isStopped) = queue.withLock { queue in
        defer { queue.jobs = [] }
        return (queue.jobs, queue.isStopped)
      }
      for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
      if isStopped { return }
    }
  }
}
