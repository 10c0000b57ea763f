import Dispatch
import FarmModel
import FoundationEssentials
import Glibc
import SwiftProtobuf
import Synchronization
import SystemSupport

/// The agent's end of one task process; every task has a process of its own. A thread starts the process, reads what it
/// sends, reaps it and digests its output, so that no other work of the agent waits for it, and so that the process
/// ends with the agent however the agent ends.
final class TaskProcess: Sendable {
  /// Range requests that a process may leave unanswered. One that waits for each reply has one for each thread that
  /// reads.
  private static let requestLimit = 64
  /// How often the digesting of the output is reported.
  private static let reportInterval: Duration = .milliseconds(200)

  /// What a process reports, in order, on its own thread. `ended` comes once, and last.
  enum Report: Sendable {
    case ready(Confinement)
    case progress(done: UInt64, moved: UInt64)
    /// The process has ended, and its output is being digested.
    case moved
    case rangeRequest(RangeRequest)
    case blocksRead(BlocksRead)
    case wrongBytes(input: Int, range: Range<Int64>)
    case ended(TaskEnd)
  }

  private struct State {
    /// The process's own ends of its socket and of its standard error, until the process has them.
    var childEnds: (control: OpenFile, standardError: OpenFile)?
    var child: (any StartedProcess)?
    var isKilled = false
    var violation: ControlError?
    var assignment: Assignment?
    var unansweredRequests = 0
  }

  /// The process's task, until the thread has sent it.
  private struct Assignment {
    var frame: [UInt8]
    var files: [OpenFile]
    var output: OpenFile
  }

  /// The receiver of the reports, or the reports that came before there was one.
  private struct Receiver {
    var receive: (@Sendable (Report) -> Void)?
    var early: [Report] = []
  }

  private let state: Mutex<State>
  private let standardError: OpenFile
  private let socket: OpenFile
  private let closingTime: DispatchTimeInterval
  /// A byte in it signals the thread that there is an assignment.
  private let wakeUp: (reading: OpenFile, writing: OpenFile)
  /// Held while a message is sent, so that two do not mix.
  private let sending = Mutex(())
  private let receiver = Mutex(Receiver())

  /// Starts a process. If starting it fails, that is reported as its end; throws if there is no thread or
  /// descriptor left.
  /// - Parameter closingTime: How long the process may go on after it has closed its socket. The kernel may take
  ///   seconds to end a process that has used much memory on a busy machine.
  init(_ source: any ProcessSource, closingTime: DispatchTimeInterval = .seconds(30)) throws(SystemError) {
    self.closingTime = closingTime
    let (parentEnd, childEnd) = try OpenFile.socketPair()
    let standardError = try OpenFile.pipe()
    wakeUp = try OpenFile.pipe()
    socket = parentEnd
    self.standardError = standardError.reading
    state = Mutex(State(childEnds: (childEnd, standardError.writing)))
    try startThread { self.run(source) }
  }

  /// Sets the receiver of all reports, those before this call included. The lock that is held meanwhile keeps their
  /// order, so `receive` must not call `report(to:)`.
  func report(to receive: @escaping @Sendable (Report) -> Void) {
    receiver.withLock { receiver in
      for report in receiver.early { receive(report) }
      receiver = Receiver(receive: receive)
    }
  }

  private func report(_ report: Report) {
    receiver.withLock { receiver in
      if let receive = receiver.receive { receive(report) } else { receiver.early.append(report) }
    }
  }

  /// Gives the process its one task.
  /// - Parameters:
  ///   - inputs: As many as the task has, in its order.
  ///   - output: The file that the process writes; it is digested when the process has ended.
  func assign(_ task: Control_Task, inputs: [OpenFile], output: OpenFile) {
    let frame = ControlFrame.encode(Control_AgentMessage.with { $0.task = task })
    state.withLock { $0.assignment = Assignment(frame: frame, files: [output] + inputs, output: output) }
    do {
      // The only byte that is ever written to this pipe, so there is room for it.
      try wakeUp.writing.write([1])
    } catch {
      kill()
    }
  }

  /// Replies to a range request.
  /// - Parameters:
  ///   - blocks: The digests of the blocks that hold some of the bytes, 32 bytes each.
  ///   - error: Why the bytes are not available; nil if they are in the input's file.
  func reply(to request: RangeRequest, blocks: some Sequence<UInt8> = [], error: String? = nil) {
    state.withLock { $0.unansweredRequests -= 1 }
    let frame = ControlFrame.encode(
      Control_AgentMessage.with {
        $0.rangeReply = .with {
          $0.request = request.request
          $0.error = error ?? ""
          $0.blocks = Data(blocks)
        }
      })
    do {
      let sent = try sending.withLock { _ throws(SystemError) in try socket.sendWithoutWaiting(frame) }
      if sent < frame.count { end(for: ControlError("it requests bytes and does not read the replies")) }
    } catch {
      // The process has ended, and its thread reports that.
    }
  }

  /// Ends the process at once. Its end is reported when it has been reaped, as `killed`, whatever it has made.
  func kill() {
    let child = state.withLock { state in
      state.isKilled = true
      return state.child
    }
    child?.kill()
  }

  /// Ends a process that broke the protocol.
  private func end(for violation: ControlError) {
    let child = state.withLock { state in
      state.violation = state.violation ?? violation
      return state.child
    }
    child?.kill()
  }

  // MARK: - On the process's thread

  private func run(_ source: any ProcessSource) {
    let memoryKills = MemoryKills.current()
    let child: any StartedProcess
    do {
      child = try start(source)
    } catch {
      return report(.ended(TaskEnd(outcome: .failed(TaskFailure(.released, "\(error)")))))
    }
    var channel = TaskChannel(socket: socket, wakeUp: wakeUp.reading, standardError: standardError) { report in
      if case .rangeRequest = report, !self.admitRequest() { return }
      self.report(report)
    }
    while true {
      do {
        if case .end = try channel.next() { break }
      } catch {
        // Without a way to read from the process, its end is all that can be waited for.
        break
      }
      sendAssignment()
    }
    conclude(child, &channel, memoryKills)
  }

  private func start(_ source: any ProcessSource) throws(SystemError) -> any StartedProcess {
    // The child's ends are closed here when this scope ends: while they are open, the child's end cannot be noticed.
    let ends = state.withLock { state in
      defer { state.childEnds = nil }
      return state.childEnds
    }
    guard let ends else { throw SystemError(EINVAL, "starting a task process twice") }
    let child = try source.start(control: ends.control, standardError: ends.standardError)
    let isKilled = state.withLock { state in
      state.child = child
      return state.isKilled
    }
    if isKilled { child.kill() }
    return child
  }

  private func sendAssignment() {
    let assignment = state.withLock { state in
      defer { state.assignment?.files = [] }
      return state.assignment
    }
    guard let assignment else { return }
    do {
      try sending.withLock { _ throws(SystemError) in
        try socket.send(assignment.frame)
        try socket.send(descriptorsOf: assignment.files)
      }
    } catch {
      // The process has ended, which the next read from its socket shows.
    }
  }

  private func admitRequest() -> Bool {
    let isAdmitted = state.withLock { state in
      state.unansweredRequests += 1
      return state.unansweredRequests <= Self.requestLimit
    }
    if !isAdmitted { end(for: ControlError("it has more than \(Self.requestLimit) unanswered requests")) }
    return isAdmitted
  }

  /// - Parameter memoryKills: As they were when the process was started.
  private func conclude(_ child: any StartedProcess, _ channel: inout TaskChannel, _ memoryKills: MemoryKills) {
    if channel.violation != nil { child.kill() }
    var process = awaitEnd(of: child)
    process?.log = channel.log
    let (isKilled, violation, output) = state.withLock { state in
      state.child = nil
      defer { state.assignment = nil }
      return (state.isKilled, state.violation, state.assignment?.output)
    }
    // A process whose end is not known, because the fork server has ended, may have ended long before.
    if process != nil { channel.violation = channel.violation ?? violation }
    if isKilled { return report(.ended(TaskEnd(outcome: .killed, process: process))) }
    let isShortOfMemory = process?.signal == SIGKILL && MemoryKills.current().mayHaveRisen(since: memoryKills)
    var lastReport = ContinuousClock.now
    let end = TaskEnd(channel, process: process, isShortOfMemory: isShortOfMemory, output: output) {
      let now = ContinuousClock.now
      guard now - lastReport >= Self.reportInterval else { return }
      lastReport = now
      self.report(.moved)
    }
    report(.ended(end))
  }

  /// Waits until the process has ended. It has closed its socket; if it goes on all the same, it is ended.
  private func awaitEnd(of child: any StartedProcess) -> ProcessEnd? {
    let hasEnded = DispatchSemaphore(value: 0)
    do {
      try startThread {
        if hasEnded.wait(timeout: .now() + self.closingTime) == .success { return }
        self.end(for: ControlError("it closed its socket and did not end"))
      }
    } catch {
      child.kill()
    }
    defer { hasEnded.signal() }
    return child.awaitEnd()
  }
}
