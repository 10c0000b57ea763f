import CSandbox
import Glibc

/// How task processes are started: the worker's own executable, with an environment of nothing but what finding fonts
/// and libraries takes. The farm's token is not in it.
struct TaskLauncher: Sendable {
  /// Followed at each start, so that a running worker whose executable is replaced goes on with its own.
  var executable = "/proc/self/exe"
  var arguments = ["sheaf-worker", TaskProcess.subcommand]
  var environment: [String]
  /// Bytes of address space that a task process may use; zero is no limit.
  var memoryLimit: UInt64

  /// - Parameter inherited: Where the few variables that are handed on come from.
  init(memoryLimit: UInt64 = TaskLauncher.defaultMemoryLimit, inheriting inherited: (String) -> String?) {
    self.memoryLimit = memoryLimit
    environment = ["LANG=C.UTF-8", "LC_ALL=C.UTF-8"]
    for name in ["LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH"] {
      if let value = inherited(name) { environment.append("\(name)=\(value)") }
    }
  }

  /// Far above what the largest pictures take; below what a runaway codec would ask for.
  static let defaultMemoryLimit: UInt64 = 16 << 30

  /// Starts a process that ends with the calling thread, `control` its descriptor 0, `messages` its 1 and 2.
  func start(control: OpenFile, messages: OpenFile) throws(SystemError) -> pid_t {
    var child: pid_t = 0
    let status = Self.withStrings(arguments) { arguments in
      Self.withStrings(environment) { environment in
        sandbox_spawn(
          executable, arguments, environment, control.descriptor, messages.descriptor, memoryLimit, &child)
      }
    }
    guard status == 0 else { throw SystemError(-status, "starting a task process") }
    return child
  }

  private static func withStrings<R>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
    let copies: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}
