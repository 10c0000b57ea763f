import CSandbox
import Glibc
import Synchronization

/// Where task processes come from.
protocol ProcessSource: Sendable {
  /// Starts a process that does not outlive the calling thread, `control` its descriptor 0, `messages` its 1 and 2.
  func start(control: OpenFile, messages: OpenFile) throws(SystemError) -> any StartedProcess
}

/// A process that was started.
protocol StartedProcess: Sendable {
  /// Ends it, and its process group, at once; does nothing once it has been reaped.
  func kill()

  /// Waits until it has ended, and reaps it; once. Nil where whoever knew how it ended has ended too.
  func awaitEnd() -> ProcessEnd?
}

/// How a process ended and what it took.
struct ProcessEnd: Sendable, Hashable {
  /// Zero when ended by a signal.
  var exitCode: Int32
  /// Zero when it exited.
  var signal: Int32
  /// User and system.
  var cpuMilliseconds: UInt64
  /// The most memory that it had, in KiB.
  var peakKilobytes: UInt64

  init(_ end: sandbox_end) {
    exitCode = end.exit_code
    signal = end.signal
    cpuMilliseconds = end.cpu_milliseconds
    peakKilobytes = end.peak_kilobytes
  }

  init(exitCode: Int32, signal: Int32, cpuMilliseconds: UInt64, peakKilobytes: UInt64) {
    self.exitCode = exitCode
    self.signal = signal
    self.cpuMilliseconds = cpuMilliseconds
    self.peakKilobytes = peakKilobytes
  }
}

/// A child of this process.
final class LaunchedProcess: StartedProcess {
  /// Nil once it is reaped, when its number may be another's.
  private let child: Mutex<pid_t?>

  init(_ child: pid_t) {
    self.child = Mutex(child)
  }

  func kill() {
    child.withLock { child in
      if let child { _ = Glibc.kill(-child, SIGKILL) }
    }
  }

  func awaitEnd() -> ProcessEnd? {
    guard let number = child.withLock({ $0 }) else { return nil }
    // It stays a zombie until it is reaped under the lock, so that `kill` cannot hit another.
    _ = sandbox_await_end(number)
    var end = sandbox_end()
    let status = child.withLock { child in
      child = nil
      return sandbox_reap(number, &end)
    }
    return status == 0 ? ProcessEnd(end) : nil
  }
}
