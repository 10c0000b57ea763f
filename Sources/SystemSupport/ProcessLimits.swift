import Glibc

/// Limits of this process, as `ulimit` shows them.
package enum ProcessLimits {
  /// How many descriptors this process may have open.
  package static var descriptors: Int {
    var limit = rlimit()
    return getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0 ? Int(clamping: limit.rlim_cur) : 256
  }

  /// Lets this process open as many descriptors as it is allowed. Called before it opens many: programs begin with a low
  /// limit, because some of them use an old system call that has no place for more.
  package static func raiseDescriptors() {
    var limit = rlimit()
    guard getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    // If it cannot be raised, what needs more fails with a message about it.
    setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
  }
}
