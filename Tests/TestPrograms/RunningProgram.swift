import Foundation
public import Glibc
import Synchronization
import SystemSupport

/// A program that a test has started.
///
/// Foundation's `Process` is not used: on Linux its `run()` reads beyond its own memory about once in ten thousand
/// starts, which ends the test run. The program inherits every descriptor of the test that is not close-on-exec.
public final class RunningProgram: Sendable {
  /// The program's standard streams: descriptors of the caller, or `/dev/null`.
  public struct Streams: Sendable {
    public var input: Int32?
    public var output: Int32?
    public var errors: Int32?

    public init(input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil) {
      self.input = input
      self.output = output
      self.errors = errors
    }
  }

  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  public let id: pid_t
  private let status = Mutex<Int32?>(nil)

  /// - Parameters:
  ///   - program: A path, or a name that is looked up in PATH.
  ///   - environment: Added to the test's own, which it overrides.
  public init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:], streams: Streams = Streams()
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in [streams.input, streams.output, streams.errors].enumerated() {
      if let stream {
        precondition(stream > 2, "the child's own streams would replace this one before it is copied")
        posix_spawn_file_actions_adddup2(&actions, stream, Int32(number))
      } else {
        posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
      }
    }

    // The threads of tests block signals and ignore SIGPIPE, which the program would inherit.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, every) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&every)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &every)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var child: pid_t = 0
    let error = withStrings([program] + arguments) { arguments in
      withStrings(Self.variables(with: environment)) { variables in
        posix_spawnp(&child, program, &actions, &attributes, arguments, variables)
      }
    }
    guard error == 0 else {
      throw Failure(description: "\(program) cannot be started: \(String(cString: strerror(error)))")
    }
    id = child
  }

  public var isRunning: Bool {
    status.withLock { status in
      if status == nil { status = reaped(WNOHANG) }
      return status == nil
    }
  }

  /// Blocks until the program has ended.
  ///
  /// - Returns: Its exit code, or 128 plus the number of the signal that ended it, as in a shell. -1 where other code
  ///   has reaped it.
  @discardableResult
  public func wait() -> Int32 {
    // Other threads may call `isRunning` meanwhile, so this wait neither holds the lock nor reaps.
    var info = siginfo_t()
    // Fails where the program has been reaped already.
    if isRunning { _ = try? retryingOnInterrupt("waiting") { waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) } }
    return status.withLock { status in
      let end = status ?? reaped(0) ?? -1
      status = end
      return end
    }
  }

  /// As `wait`, but blocks no thread that tasks run on: for programs that communicate with the test's own process.
  public func end() async -> Int32 {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: self.wait()) }
    }
  }

  /// Does nothing once the program's end is known: its process id may be another's by then.
  public func send(_ signal: Int32) {
    status.withLock { status in
      if status == nil { kill(id, signal) }
    }
  }

  /// Nil while the program runs.
  private func reaped(_ options: Int32) -> Int32? {
    var status: Int32 = 0
    let found = waitpid(id, &status, options)
    guard found != 0 else { return nil }
    guard found == id else { return -1 }
    let signal = status & 0x7f
    return signal == 0 ? (status >> 8) & 0xff : 128 + signal
  }

  private static func variables(with added: [String: String]) -> [String] {
    ProcessInfo.processInfo.environment.merging(added) { $1 }.map { "\($0)=\($1)" }
  }
}

/// The strings as a C array that ends with a null pointer.
private func withStrings<R>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
  let copies: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
  defer { for copy in copies { free(copy) } }
  return body(copies + [nil])
}
