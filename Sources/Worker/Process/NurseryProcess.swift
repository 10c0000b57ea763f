import CSandbox
import Dispatch
import Glibc
import Synchronization

/// The agent's end of one nursery. A thread of its own starts it, so that it lives as long as the agent, and hears which
/// of its processes have ended.
final class NurseryProcess: Sendable {
  private struct State {
    /// The nursery's own ends of its socket and of its standard error, until it has them.
    var ends: (control: OpenFile, messages: OpenFile)?
    var greeting: NurseryGreeting?
    var failure: SystemError?
    var isOver = false
    var nextNumber: UInt32 = 1
    var processes: [UInt32: NurseryChild] = [:]
  }

  private let state: Mutex<State>
  private let socket: OpenFile
  private let messages: OpenFile
  private let speech = Mutex(())
  /// Signalled once, when the nursery is ready or will not be.
  private let settled = DispatchSemaphore(value: 0)

  /// Starts a nursery and waits until it is ready.
  static func start(_ launcher: ProcessLauncher) throws(SystemError) -> NurseryProcess {
    // Waited for out here, where nothing holds the nursery's own ends open.
    let process = try NurseryProcess(launcher)
    process.settled.wait()
    if let failure = process.state.withLock({ $0.failure }) { throw failure }
    return process
  }

  private init(_ launcher: ProcessLauncher) throws(SystemError) {
    let (ours, theirs) = try OpenFile.socketPair()
    let messages = try OpenFile.pipe()
    socket = ours
    self.messages = messages.reading
    state = Mutex(State(ends: (theirs, messages.writing)))
    try startThread { self.attend(launcher) }
  }

  var isAlive: Bool { state.withLock { !$0.isOver } }

  var greeting: NurseryGreeting {
    get throws(SystemError) {
      guard let greeting = state.withLock({ $0.greeting }) else { throw Self.death }
      return greeting
    }
  }

  /// Has a process forked for a task.
  func fork(control: OpenFile, messages: OpenFile) throws(SystemError) -> any StartedProcess {
    let child = try state.withLock { state throws(SystemError) in
      guard !state.isOver else { throw Self.death }
      let child = NurseryChild(number: state.nextNumber, nursery: self)
      state.processes[state.nextNumber] = child
      state.nextNumber += 1
      return child
    }
    let isSent = speech.withLock { _ in
      socket.writeAll(NurseryRequest.fork(child.number).bytes)
        && sandbox_send_descriptors(socket.descriptor, [control.descriptor, messages.descriptor], 2) == 0
    }
    guard isSent else { throw Self.death }
    return child
  }

  /// Ends it, and with it all that it forked.
  func kill() {
    shutdown(socket.descriptor, Int32(SHUT_RDWR))
  }

  func kill(_ number: UInt32) {
    // A nursery that has died has taken its processes along.
    _ = speech.withLock { _ in socket.writeAll(NurseryRequest.kill(number).bytes) }
  }

  private static let death = SystemError(ECHILD, "forking a task process")

  // MARK: - On the nursery's own thread

  private func attend(_ launcher: ProcessLauncher) {
    let process: any StartedProcess
    do {
      process = try start(launcher)
    } catch {
      end(error)
      settled.signal()
      return
    }
    var frames = ControlFrameBuffer()
    var buffer = [UInt8](repeating: 0, count: 4096)
    var isSettled = false
    while true {
      let count = recv(socket.descriptor, &buffer, buffer.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      frames.append(buffer[..<count])
      do throws(ControlError) {
        while let frame = try frames.next() { hear(try NurseryReport(frame)) }
      } catch {
        break
      }
      if !isSettled, state.withLock({ $0.greeting != nil }) {
        isSettled = true
        settled.signal()
      }
    }
    process.kill()
    let code = process.awaitEnd()?.exitCode ?? 0
    end(isSettled ? nil : SystemError(ECHILD, "starting task processes (code \(code)\(lastWords))"))
    if !isSettled { settled.signal() }
  }

  private func start(_ launcher: ProcessLauncher) throws(SystemError) -> any StartedProcess {
    // The nursery's own ends must not stay open here, or its end would not be seen: they go with this scope.
    let ends = state.withLock { state in
      defer { state.ends = nil }
      return state.ends
    }
    guard let ends else { throw SystemError(EINVAL, "starting a nursery twice") }
    return try launcher.start(control: ends.control, messages: ends.messages)
  }

  private func hear(_ report: NurseryReport) {
    switch report {
    case .ready(let greeting): state.withLock { $0.greeting = greeting }
    case .ended(let number, let end): state.withLock { $0.processes.removeValue(forKey: number) }?.conclude(end)
    }
  }

  private func end(_ failure: SystemError?) {
    let orphans = state.withLock { state in
      state.isOver = true
      state.failure = failure
      defer { state.processes = [:] }
      return state.processes
    }
    for orphan in orphans.values { orphan.conclude(nil) }
  }

  /// What the nursery wrote to its standard error.
  private var lastWords: String {
    var buffer = [UInt8](repeating: 0, count: 2048)
    let count = read(messages.descriptor, &buffer, buffer.count)
    let text = String(decoding: buffer[..<max(0, count)], as: UTF8.self).split(whereSeparator: \.isNewline)
    return text.isEmpty ? "" : ": " + text.joined(separator: "; ")
  }
}

/// A task process that the nursery forked.
private final class NurseryChild: StartedProcess {
  let number: UInt32
  private let nursery: NurseryProcess
  private let end = Mutex<ProcessEnd?>(nil)
  private let arrival = DispatchSemaphore(value: 0)

  init(number: UInt32, nursery: NurseryProcess) {
    self.number = number
    self.nursery = nursery
  }

  func kill() { nursery.kill(number) }

  func awaitEnd() -> ProcessEnd? {
    arrival.wait()
    return end.withLock { $0 }
  }

  /// Nil where the nursery has died and taken the process along.
  func conclude(_ end: ProcessEnd?) {
    self.end.withLock { $0 = end }
    arrival.signal()
  }
}
