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
    let limits = status == EAGAIN ? " (the limit of processes and threads, ulimit -u, or of memory may be reached)" : ""
    throw SystemError(status, "starting a thread\(limits)")
  }
  pthread_detach(thread)
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void

  init(run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}

/// A counting semaphore, for threads that block. Tasks must not wait on it: they would take a thread of the cooperative
/// pool.
package final class Semaphore: @unchecked Sendable {
  // Sendable: the operations of a semaphore are made for several threads.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  package init(_ value: UInt32) {
    sem_init(semaphore, 0, value)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  package func post() { sem_post(semaphore) }

  /// Returns when the value is positive, and lowers it.
  package func wait() {
    // A wait that a signal interrupts starts again.
    while sem_wait(semaphore) != 0 {}
  }
}

/// The thread of one actor whose work blocks, so that the cooperative pool never waits for a database or a disk. It
/// runs the actor's jobs one after the other, in the order in which they were enqueued.
package final class SerialThread: SerialExecutor {
  private struct Queue {
    var jobs: [UnownedJob] = []
    var isStopped = false
  }

  private let queue = Mutex(Queue())
  private let arrivals = Semaphore(0)

  package init() throws(SystemError) {
    try startThread { self.run() }
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.withLock { $0.jobs.append(job) }
    arrivals.post()
  }

  /// Ends the thread after the jobs that are enqueued. The actor's `deinit` calls it.
  package func stop() {
    queue.withLock { $0.isStopped = true }
    arrivals.post()
  }

  private func run() {
    while true {
      arrivals.wait()
      let (jobs, isStopped) = queue.withLock { queue in
        defer { queue.jobs = [] }
        return (queue.jobs, queue.isStopped)
      }
      for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
      if isStopped { return }
    }
  }
}
