import CSandbox
import Glibc

/// Starts programs, with an environment of nothing but what finding fonts and libraries takes: the farm's token is not
/// in it. The nursery is one such program.
struct ProcessLauncher: ProcessSource {
  /// Followed at each start, so that a running worker whose executable is replaced goes on with its own.
  var executable = "/proc/self/exe"
  var arguments = ["sheaf-worker", NurseryMain.subcommand]
  var environment: [String]
  /// Bytes of address space that a task process may use; zero is no limit.
  var memoryLimit: UInt64

  /// - Parameter inherited: Where the few variables that are handed on come from.
  init(memoryLimit: UInt64 = ProcessLauncher.defaultMemoryLimit, inheriting inherited: (String) -> String?) {
    self.memoryLimit = memoryLimit
    environment = ["LANG=C.UTF-8", "LC_ALL=C.UTF-8", Self.allocator]
    for name in ["LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH"] {
      if let value = inherited(name) { environment.append("\(name)=\(value)") }
    }
  }

  /// Pictures come and go by the megabyte: their memory is kept for the next, not given back and faulted in again with
  /// each frame. Not on large pages: x264 asks for those itself, and elsewhere they zero more than is used.
  private static let allocator =
    "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=67108864:glibc.malloc.trim_threshold=268435456"

  /// Far above what the largest pictures take; below what a runaway codec would ask for.
  static let defaultMemoryLimit: UInt64 = 16 << 30

  func start(control: OpenFile, messages: OpenFile) throws(SystemError) -> any StartedProcess {
    var child: pid_t = 0
    let status = Self.withStrings(arguments) { arguments in
      Self.withStrings(environment) { environment in
        sandbox_spawn(
          executable, arguments, environment, control.descriptor, messages.descriptor, memoryLimit, &child)
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
