import Glibc
import Synchronization

/// A thread of its own for one actor that blocks, so that nobody in the cooperative pool waits for a database.
final class SerialThread: SerialExecutor {
  private struct Queue {
    var jobs: [UnownedJob] = []
    var isStopped = false
  }

  private let queue = Mutex(Queue())
  // A semaphore is made to be used by several threads; it is freed when neither the thread nor the actor is left.
  private nonisolated(unsafe) let arrivals: UnsafeMutablePointer<sem_t>

  init() throws(JobStoreError) {
    arrivals = .allocate(capacity: 1)
    sem_init(arrivals, 0, 0)
    try startThread { self.run() }
  }

  deinit {
    sem_destroy(arrivals)
    arrivals.deallocate()
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.withLock { $0.jobs.append(job) }
    sem_post(arrivals)
  }

  /// Lets the thread end when it has run what it was given. To be called by the actor's `deinit`.
  func stop() {
    queue.withLock { $0.isStopped = true }
    sem_post(arrivals)
  }

  private func run() {
    while true {
      // An interrupted wait finds nothing, and waits again.
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

/// Starts a thread that nobody joins.
func startThread(_ body: @escaping @Sendable () -> Void) throws(JobStoreError) {
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
    throw JobStoreError(.internal, "cannot start a thread: \(String(cString: strerror(status)))")
  }
  pthread_detach(thread)
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void

  init(run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}
