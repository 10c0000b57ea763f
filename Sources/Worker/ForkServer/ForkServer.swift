import Dispatch
import FarmModel
import Glibc
import SwiftProtobuf
import Synchronization
import SystemSupport

/// Where the agent's task processes come from: a process that has loaded the codecs, never opens media, and forks one
/// process for each task. So the cost of loading the codecs (some 40 ms of CPU) is paid once and not for each task.
final class ForkServer: ProcessSource {
  /// How a server is watched: it is ended, with all its processes, when it is silent for this long.
  struct Watch: Sendable {
    /// In milliseconds. After this long without a report the server is asked for one.
    var interval: Int32 = 2000
    /// How many intervals in a row the server may be silent.
    var silences = 5
    /// As many before it is ready: it reads libraries, perhaps from a slow disk.
    var silencesAtStart = 60
  }

  private let launcher: ProcessLauncher
  private let watch: Watch
  private let current = Mutex<ForkServerProcess?>(nil)

  init(_ launcher: ProcessLauncher, watch: Watch = Watch()) {
    self.launcher = launcher
    self.watch = watch
  }

  /// The build of the libraries that render here and what confines them, as the fork server reports them when it has
  /// started. Blocks.
  func properties() throws(SystemError) -> ForkServerProperties {
    try process().properties
  }

  func start(control: OpenFile, standardError: OpenFile) throws(SystemError) -> any StartedProcess {
    let process = try process()
    do {
      return try process.fork(control: control, standardError: standardError)
    } catch {
      // It has ended since the task before, and has forked nothing.
      guard !process.isAlive else { throw error }
      return try self.process().fork(control: control, standardError: standardError)
    }
  }

  /// Ends the server's process and with it all processes that it has forked. The next task starts another server.
  func kill() {
    current.withLock { $0 }?.kill()
  }

  /// The server's process; a new one if the last has ended.
  private func process() throws(SystemError) -> ForkServerProcess {
    try current.withLock { current throws(SystemError) in
      if let current, current.isAlive { return current }
      let process = try ForkServerProcess.start(launcher, watch)
      current = process
      return process
    }
  }
}

/// What a fork server is.
struct ForkServerProperties: Sendable, Hashable {
  /// What is in force in it, and so in every task process.
  var confinement: Confinement
  /// The build of libraries and renderer.
  var build: String
}

/// The agent's end of one run of the fork server. A thread starts it, so that it runs as long as the agent, and reads
/// its reports of processes that have ended.
private final class ForkServerProcess: Sendable {
  private struct State {
    /// The server's own ends of its socket and of its standard error, until the server has them.
    var childEnds: (control: OpenFile, standardError: OpenFile)?
    var properties: ForkServerProperties?
    var failure: SystemError?
    var hasEnded = false
    /// It takes no requests any more: it has ended, or is about to.
    var isUnreachable = false
    /// It did not answer in time, and was ended for that.
    var isStuck = false
    var nextNumber: UInt32 = 1
    var processes: [UInt32: ForkedProcess] = [:]
  }

  private static let ended = SystemError(ECHILD, "forking a task process")
  private static let readSize = 16 << 10

  private let watch: ForkServer.Watch
  private let state: Mutex<State>
  private let socket: OpenFile
  private let standardError: OpenFile
  /// Held while a request is sent, so that two do not mix.
  private let sending = Mutex(())
  /// Signalled once, when the server is ready or has failed to start.
  private let startup = DispatchSemaphore(value: 0)

  /// Starts a server and waits until it is ready.
  static func start(_ launcher: ProcessLauncher, _ watch: ForkServer.Watch) throws(SystemError) -> ForkServerProcess {
    let process = try ForkServerProcess(launcher, watch)
    process.startup.wait()
    if let failure = process.state.withLock({ $0.failure }) { throw failure }
    return process
  }

  private init(_ launcher: ProcessLauncher, _ watch: ForkServer.Watch) throws(SystemError) {
    self.watch = watch
    let (parentEnd, childEnd) = try OpenFile.socketPair()
    let standardError = try OpenFile.pipe()
    socket = parentEnd
    self.standardError = standardError.reading
    state = Mutex(State(childEnds: (childEnd, standardError.writing)))
    try startThread { self.run(launcher) }
  }

  /// Whether it can be asked for processes, as far as is known.
  var isAlive: Bool { state.withLock { !$0.hasEnded && !$0.isUnreachable } }

  var properties: ForkServerProperties {
    get throws(SystemError) {
      guard let properties = state.withLock({ $0.properties }) else { throw Self.ended }
      return properties
    }
  }

  /// Has a process forked for a task.
  func fork(control: OpenFile, standardError: OpenFile) throws(SystemError) -> any StartedProcess {
    let child = try state.withLock { state throws(SystemError) in
      guard !state.hasEnded else { throw Self.ended }
      let child = ForkedProcess(number: state.nextNumber, server: self)
      state.processes[state.nextNumber] = child
      state.nextNumber += 1
      return child
    }
    let request = ControlFrame.encode(Control_ForkServerRequest.with { $0.fork = child.number })
    do {
      try sending.withLock { _ throws(SystemError) in
        try socket.send(request)
        try socket.send(descriptorsOf: [control, standardError])
      }
    } catch {
      state.withLock { state in
        state.isUnreachable = true
        state.processes[child.number] = nil
      }
      throw Self.ended
    }
    return child
  }

  /// Ends the server, and with it all that it has forked.
  func kill() {
    socket.shutDown()
  }

  func kill(_ number: UInt32) {
    let request = ControlFrame.encode(Control_ForkServerRequest.with { $0.kill = number })
    // A server that cannot be reached has ended, and its processes with it.
    try? sending.withLock { _ throws(SystemError) in try socket.send(request) }
  }

  // MARK: - On the server's thread

  private func run(_ launcher: ProcessLauncher) {
    var failure: SystemError?
    do {
      let process = try start(launcher)
      readReports()
      process.kill()
      let end = process.awaitEnd()
      if state.withLock({ $0.properties == nil }) {
        let reason = state.withLock { $0.isStuck } ? "no answer" : "code \(end?.exitCode ?? 0)"
        let operation = "starting task processes (\(reason)\(logExcerpt))"
        failure = SystemError(ECHILD, operation)
      }
    } catch {
      failure = error
    }
    conclude(failure)
  }

  private func start(_ launcher: ProcessLauncher) throws(SystemError) -> any StartedProcess {
    // The server's ends are closed here when this scope ends: while they are open, the server's end cannot be noticed.
    let ends = state.withLock { state in
      defer { state.childEnds = nil }
      return state.childEnds
    }
    guard let ends else { throw SystemError(EINVAL, "starting a fork server twice") }
    return try launcher.start(control: ends.control, standardError: ends.standardError)
  }

  /// Until the server has ended, has sent what it may not, or is stuck.
  private func readReports() {
    var frames = ControlFrameBuffer()
    // Silences are counted and not timed: while the agent itself is stopped, no time passes for the server either.
    var silences = 0
    do {
      while silences < (isReady ? watch.silences : watch.silencesAtStart) {
        if try !waitForInput([socket.descriptor], milliseconds: watch.interval)[0] {
          silences += 1
          if isReady { ping() }
          continue
        }
        silences = 0
        guard let bytes = try socket.receiveWithoutWaiting(Self.readSize) else { continue }
        if bytes.isEmpty { return }
        frames.append(bytes)
        while let frame = try frames.next() { try receive(try ControlFrame.decode(frame)) }
      }
    } catch {
      // The connection is broken, or the server broke the protocol: it is ended.
      return
    }
    state.withLock { $0.isStuck = true }
  }

  private var isReady: Bool { state.withLock { $0.properties != nil } }

  private func ping() {
    let request = ControlFrame.encode(Control_ForkServerRequest.with { $0.ping = Control_Ping() })
    // Without waiting: a stuck server does not read. What does not fit was not sent in part, because it is so short.
    _ = try? sending.withLock { _ throws(SystemError) in try socket.sendWithoutWaiting(request) }
  }

  private func receive(_ report: Control_ForkServerReport) throws(ControlError) {
    switch report.report {
    case .ready(let ready):
      let properties = ForkServerProperties(confinement: Confinement(rawValue: ready.confinement), build: ready.build)
      let isFirst = state.withLock { state in
        defer { state.properties = properties }
        return state.properties == nil
      }
      if isFirst { startup.signal() }
    case .ended(let ended):
      let end = ProcessEnd(
        exitCode: ended.exitCode, signal: ended.signal, cpuMilliseconds: Int64(clamping: ended.cpuMilliseconds),
        peakBytes: Int64(clamping: ended.peakBytes))
      state.withLock { $0.processes.removeValue(forKey: ended.process) }?.conclude(end)
    case .pong: break
    case nil: throw ControlError("a report of the fork server is of no known kind")
    }
  }

  private func conclude(_ failure: SystemError?) {
    let (orphans, wasReady) = state.withLock { state in
      state.hasEnded = true
      state.failure = failure
      defer { state.processes = [:] }
      return (state.processes, state.properties != nil)
    }
    for orphan in orphans.values { orphan.conclude(nil) }
    if !wasReady { startup.signal() }
  }

  /// The last lines of what the server wrote to its standard error, for an error message.
  private var logExcerpt: String {
    do {
      let bytes = try standardError.readSome(4096)
      let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).suffix(3)
      return lines.isEmpty ? "" : ": \(lines.joined(separator: "; "))"
    } catch {
      return ""
    }
  }
}

/// A task process that the fork server has forked.
private final class ForkedProcess: StartedProcess {
  let number: UInt32
  private let server: ForkServerProcess
  private let end = Mutex<ProcessEnd?>(nil)
  private let arrival = DispatchSemaphore(value: 0)

  init(number: UInt32, server: ForkServerProcess) {
    self.number = number
    self.server = server
  }

  func kill() { server.kill(number) }

  func awaitEnd() -> ProcessEnd? {
    arrival.wait()
    return end.withLock { $0 }
  }

  /// - Parameter end: Nil if the server has ended, and the process with it.
  func conclude(_ end: ProcessEnd?) {
    self.end.withLock { $0 = end }
    arrival.signal()
  }
}
