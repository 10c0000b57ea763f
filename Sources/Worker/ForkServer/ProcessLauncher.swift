import CSandbox
import FarmModel
import Glibc
import Synchronization
import SystemSupport

/// Starts processes: the fork server starts those of tasks, a launcher starts the fork server.
protocol ProcessSource: Sendable {
  /// Starts a process that does not outlive the calling thread. `control` becomes its descriptor 0, `standardError` its
  /// descriptors 1 and 2.
  func start(control: OpenFile, standardError: OpenFile) throws(SystemError) -> any StartedProcess
}

/// A process that was started.
protocol StartedProcess: Sendable {
  /// Ends it and its process group at once. Does nothing once it has been reaped.
  func kill()

  /// Waits until the process has ended, and reaps it. Called once. Nil if the process that would have reported its
  /// end has ended too.
  func awaitEnd() -> ProcessEnd?
}

/// Starts a program with an environment of no more than finding fonts and libraries needs: the farm's token is not in
/// it.
///
/// The program is started by `sandbox_spawn`, because between fork and exec it must be tied to the life of its parent,
/// lose every descriptor that it was not given, and have its memory limited.
struct ProcessLauncher: ProcessSource {
  /// Resolved at each start, so that a running worker whose executable is replaced goes on with its own; a user's own
  /// worker starts itself.
  var executable = "/proc/self/exe"
  var arguments = ["sheaf-worker", ForkServerMain.subcommand]
  var environment: [String]
  /// Bytes that each process may allocate; zero is no limit.
  var memoryLimit: UInt64

  /// - Parameter inherited: Returns the value of an environment variable; called only for the variables that are passed
  ///   on.
  init(memoryLimit: UInt64 = 0, inheriting inherited: (String) -> String?) {
    self.memoryLimit = memoryLimit
    environment = ["LANG=C.UTF-8", "LC_ALL=C.UTF-8", Self.allocator]
    for name in ["LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH"] {
      if let value = inherited(name) { environment.append("\(name)=\(value)") }
    }
  }

  /// Frames take megabytes each and are short-lived. With these settings their memory is kept for the next frame,
  /// instead of being returned to the kernel and faulted in again. Large pages are not enabled: x264 requests those
  /// itself, and elsewhere the kernel would clear more memory than is used.
  private static let allocator =
    "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=67108864:glibc.malloc.trim_threshold=268435456"

  func start(control: OpenFile, standardError: OpenFile) throws(SystemError) -> any StartedProcess {
    var child: pid_t = 0
    let status = Self.withStrings(arguments) { arguments in
      Self.withStrings(environment) { environment in
        sandbox_spawn(
          executable, arguments, environment, control.descriptor, standardError.descriptor, memoryLimit, &child)
      }
    }
    guard status == 0 else { throw SystemError(-status, "starting \(executable)") }
    return LaunchedProcess(child)
  }

  private static func withStrings<R>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
    let copies: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}

/// A child of this process.
final class LaunchedProcess: StartedProcess {
  /// Nil once the child is reaped, when its process id may be given to another process.
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
    // The child stays a zombie until it is reaped under the lock, so that `kill` cannot reach another process.
    _ = sandbox_await_end(number)
    var end = sandbox_end()
    let status = child.withLock { child in
      child = nil
      return sandbox_reap(number, &end)
    }
    return status == 0 ? ProcessEnd(end) : nil
  }
}

extension ProcessEnd {
  init(_ end: sandbox_end) {
    self.init(
      exitCode: end.exit_code, signal: end.signal, cpuMilliseconds: Int64(clamping: end.cpu_milliseconds),
      peakBytes: Int64(clamping: end.peak_bytes))
  }
}

extension OpenFile {
  /// A pipe whose ends are not inherited by programs that are started.
  static func pipe() throws(SystemError) -> (reading: OpenFile, writing: OpenFile) {
    var pair: [Int32] = [-1, -1]
    let status = sandbox_pipe(&pair)
    guard status == 0 else { throw SystemError(-status, "making a pipe") }
    return (OpenFile(owning: pair[0], name: "a pipe"), OpenFile(owning: pair[1], name: "a pipe"))
  }

  /// Sends the descriptors of files over a socket, which the other end receives as its own.
  func send(descriptorsOf files: [OpenFile]) throws(SystemError) {
    var rest = files.map(\.descriptor)[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Int(SANDBOX_DESCRIPTORS_MAX)))
      let status = sandbox_send_descriptors(descriptor, part, part.count)
      guard status == 0 else { throw SystemError(-status, "sending descriptors") }
      rest = rest.dropFirst(part.count)
    }
  }

  /// Receives exactly `count` descriptors from a socket, waiting for them; the caller owns them. Throws `EPIPE` if the
  /// other end is closed.
  func receiveDescriptors(_ count: Int) throws(SystemError) -> [Int32] {
    var descriptors: [Int32] = []
    while descriptors.count < count {
      var part = [Int32](repeating: -1, count: min(count - descriptors.count, Int(SANDBOX_DESCRIPTORS_MAX)))
      let received = sandbox_receive_descriptors(descriptor, &part, part.count)
      guard received > 0 else {
        let code = received < 0 ? -received : EPROTO
        throw SystemError(code, "receiving descriptor \(descriptors.count + 1) of \(count)")
      }
      descriptors += part[..<Int(received)]
    }
    return descriptors
  }
}
