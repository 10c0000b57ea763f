import Glibc

/// Limits of this process, as `ulimit` shows them.
package enum ProcessLimits {
  /// How many descriptors this process may have open.
  package static var descriptors: Int {
    var limit = rlimit()
    return getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0 ? Int(clamping: limit.rlim_cur) : 256
  }

  /// Lets this process open as many descriptors as it is allowed. Called before it opens many: programs begin with a
  /// low limit, because some of them use an old system call that has no place for more.
  package static func raiseDescriptors() {
    var limit = rlimit()
    guard getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    // If it cannot be raised, what needs more fails with a message about it.
    setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Why this process could not work: its limits of address space or of threads are too low. Nil if they are not known
  /// to be. Asked before anything else is done: what a library does without a thread that it needs is to wait for ever.
  package static func shortage() -> String? {
    let processors = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    if let space = soft(RLIMIT_AS), space < addressSpace(processors: processors) {
      return "the limit of address space, ulimit -v, is \(space >> 20) MiB, and this program needs "
        + "\(addressSpace(processors: processors) >> 20) MiB on this machine: raise it"
    }
    if let processes = soft(__RLIMIT_NPROC), processes < manyProcesses, !canStart(threads: 24 + processors) {
      return "the limit of processes and threads, ulimit -u, is \(processes) for all programs of the user, and this "
        + "program needs \(24 + processors) threads: raise it"
    }
    return nil
  }

  /// Most of it is only reserved: stacks, and areas in which the allocator serves each thread.
  private static func addressSpace(processors: Int) -> Int { (2048 + 96 * processors) << 20 }

  /// With so many, threads are not tried.
  private static let manyProcesses = 8192

  /// The limit that is in force. Nil without one.
  private static func soft(_ resource: __rlimit_resource) -> Int? {
    var limit = rlimit()
    guard getrlimit(Int32(resource.rawValue), &limit) == 0, limit.rlim_cur < rlim_t(Int.max) else { return nil }
    return Int(limit.rlim_cur)
  }

  private static func canStart(threads count: Int) -> Bool {
    let (gate, ends) = (Semaphore(0), Semaphore(0))
    var started = 0
    do {
      while started < count {
        try startThread {
          gate.wait()
          ends.post()
        }
        started += 1
      }
    } catch {
      // Those that were started end all the same.
    }
    for _ in 0..<started { gate.post() }
    for _ in 0..<started { ends.wait() }
    return started == count
  }
}
