import Glibc
import NIOPosix
import Synchronization

/// The `sheaf-worker` of a local farm: started, watched, started again where it dies, ended with this process. It ends
/// when its standard input does, so not even a SIGKILL of this process leaves it behind.
final class WorkerChild: Sendable {
  static let maximumStarts = 3

  private let executable: String
  private let arguments: [String]
  private let environment: [String]
  private let isOver = Mutex(false)

  init(executable: String, arguments: [String], environment: [String: String]) {
    self.executable = executable
    self.arguments = arguments
    var merged: [String: String] = [:]
    for entry in ProcessEnvironment.all { merged[entry.name] = entry.value }
    merged.merge(environment) { $1 }
    self.environment = merged.map { "\($0)=\($1)" }.sorted()
  }

  /// Beside this executable, or where SHEAF_WORKER_EXECUTABLE says. Throws with exit code 1 where there is none.
  static func find() throws -> String {
    if let named = ProcessEnvironment.value("SHEAF_WORKER_EXECUTABLE") {
      guard access(named, X_OK) == 0 else {
        throw CommandFailure(.work, "SHEAF_WORKER_EXECUTABLE names \(named), which cannot be run")
      }
      return named
    }
    guard let resolved = realpath("/proc/self/exe", nil) else {
      throw CommandFailure(.work, "this executable's own place cannot be found")
    }
    defer { free(resolved) }
    let own = String(cString: resolved)
    let beside = own[..<(own.lastIndex(of: "/") ?? own.startIndex)] + "/sheaf-worker"
    guard access(String(beside), X_OK) == 0 else {
      throw CommandFailure(
        .work, "sheaf-worker is not at \(beside); install it there or name it in SHEAF_WORKER_EXECUTABLE")
    }
    return String(beside)
  }

  /// Keeps a worker running until the task is cancelled; throws when it cannot, with its last words.
  func supervise() async throws {
    // A thread of its own: it waits all the time.
    let thread = NIOThreadPool(numberOfThreads: 1)
    thread.start()
    defer { thread.shutdownGracefully { _ in } }
    try await withTaskCancellationHandler {
      for _ in 0..<Self.maximumStarts {
        let words = try await thread.runIfActive { try self.runOnce() }
        if isOver.withLock({ $0 }) { return }
        lastWords.withLock { $0 = words }
      }
      throw CommandFailure(
        .work, "the worker died \(Self.maximumStarts) times, at last saying: \(lastWords.withLock { $0 })")
    } onCancel: {
      isOver.withLock { $0 = true }
    }
  }

  private let lastWords = Mutex("")

  /// Starts the worker and waits for its end, or ends it; gives the end of what it said on standard error. Blocks.
  private func runOnce() throws -> String {
    var input = try makePipe()
    defer { for end in input where end >= 0 { close(end) } }
    var errors = try makePipe()
    defer { for end in errors where end >= 0 { close(end) } }
    let child = try spawn(input: input[0], errors: errors[1])
    close(input[0])
    input[0] = -1
    close(errors[1])
    errors[1] = -1

    var words: [UInt8] = []
    var status: Int32 = 0
    var deadline: Int?
    while true {
      var waiting = pollfd(fd: errors[0], events: Int16(POLLIN), revents: 0)
      if poll(&waiting, 1, 50) > 0 {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(errors[0], &buffer, buffer.count)
        if count > 0 { words = Array((words + buffer[..<count]).suffix(4096)) } else { usleep(10_000) }
      }
      let ended = waitpid(child, &status, WNOHANG)
      if ended == child || (ended < 0 && errno == ECHILD) { break }
      guard isOver.withLock({ $0 }) else { continue }
      if input[1] >= 0 {
        close(input[1])
        input[1] = -1
        deadline = time(nil) + 3
      }
      if let limit = deadline, time(nil) > limit {
        kill(child, SIGKILL)
        deadline = nil
      }
    }
    let said = String(decoding: words, as: UTF8.self).split(separator: "\n").suffix(5).joined(separator: "\n")
    if !said.isEmpty { return said }
    return status & 0x7f == 0 ? "nothing (exit code \(status >> 8 & 0xff))" : "nothing (signal \(status & 0x7f))"
  }

  /// Neither end is inherited by a program that is started.
  private func makePipe() throws -> [Int32] {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw VaultError.system("making a pipe", errno: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return ends
  }

  private func spawn(input: Int32, errors: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, errors, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A group of its own, so that Ctrl-C reaches this process alone, which then ends the worker in order. NIO ignores
    // and masks no signal that the child would need; what this process catches is reset.
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    posix_spawnattr_setpgroup(&attributes, 0)
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGINT, SIGTERM, SIGPIPE] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let argv = ([executable] + arguments).map { strdup($0) } + [nil]
    let envp = environment.map { strdup($0) } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, executable, &actions, &attributes, argv, envp)
    guard code == 0 else {
      throw CommandFailure(.work, "\(executable) cannot be started: \(String(cString: strerror(code)))")
    }
    return child
  }
}
