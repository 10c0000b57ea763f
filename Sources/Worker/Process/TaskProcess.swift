import CSandbox
import Glibc
import Synchronization

/// The agent's end of one task process: a fresh one for every task (DESIGN 3). A thread of its own starts it, listens to
/// it, reaps it and digests what it made, so that nothing of the agent's waits for it, and so that it dies with the
/// agent however the agent ends.
final class TaskProcess: Sendable {
  /// Requests for bytes that a process may leave unanswered; one that reads as it should has a few.
  private static let requestLimit = 64

  /// What is heard from a process, in order, on its own thread. `ended` comes once, and last.
  enum Report: Sendable {
    case ready(confinement: UInt8)
    case progress(UInt64)
    case need(RangeRequest)
    case ended(TaskEnd)
  }

  private struct State {
    /// The process's own ends of its socket and of its standard error, until it has them.
    var ends: (control: OpenFile, messages: OpenFile)?
    var child: (any StartedProcess)?
    var isKilled = false
    var assignment: Assignment?
    /// Requests for bytes that are not answered.
    var requests = 0
  }

  /// What the process is to do, until its thread has told it.
  private struct Assignment {
    var frame: [UInt8]
    var files: [OpenFile]
    var output: OpenFile
  }

  private let state: Mutex<State>
  private let messages: OpenFile
  private let socket: OpenFile
  /// A byte in it says that there is an assignment.
  private let wake: (reading: OpenFile, writing: OpenFile)
  private let speech = Mutex(())
  private let listener = Mutex(Listener())

  /// Who hears the reports, or what was said before there was anybody.
  private struct Listener {
    var hear: (@Sendable (Report) -> Void)?
    var early: [Report] = []
  }

  /// Starts a process; where that fails, its end is reported.
  init(_ source: any ProcessSource) throws(SystemError) {
    let (ours, theirs) = try OpenFile.socketPair()
    let messages = try OpenFile.pipe()
    wake = try OpenFile.pipe()
    socket = ours
    self.messages = messages.reading
    state = Mutex(State(ends: (theirs, messages.writing)))
    try startThread { self.attend(source) }
  }

  /// Hands over all that the process has said and will say. It holds the lock meanwhile, so that the order is kept:
  /// `hear` must not call back.
  func report(to hear: @escaping @Sendable (Report) -> Void) {
    listener.withLock { listener in
      for report in listener.early { hear(report) }
      listener = Listener(hear: hear)
    }
  }

  private func report(_ report: Report) {
    listener.withLock { listener in
      if let hear = listener.hear { hear(report) } else { listener.early.append(report) }
    }
  }

  /// Gives the process its one task. `output` is the file that it writes; it is digested when the process has ended.
  func assign(_ order: TaskOrder, inputs: [OpenFile], output: OpenFile) {
    let frame = ControlCodec.encode(.task(order))
    state.withLock { $0.assignment = Assignment(frame: frame, files: [output] + inputs, output: output) }
    // One byte a life: the pipe has room for it.
    var byte: UInt8 = 1
    _ = write(wake.writing.descriptor, &byte, 1)
  }

  /// Answers a request for bytes.
  func answer(_ message: AgentMessage) {
    state.withLock { $0.requests -= 1 }
    let frame = ControlCodec.encode(message)
    let sent = speech.withLock { _ in
      send(socket.descriptor, frame, frame.count, SocketFlags.noSignal | SocketFlags.noWait)
    }
    // A process that asks and does not listen is not one that goes on; one that has ended needs no answer.
    if sent != frame.count { kill() }
  }

  /// Ends the process at once. Its end is reported when it has been reaped; nothing that it made is kept.
  func kill() {
    let child = state.withLock { state in
      state.isKilled = true
      return state.child
    }
    child?.kill()
  }

  // MARK: - On the process's own thread

  private func attend(_ source: any ProcessSource) {
    let child: any StartedProcess
    do {
      child = try start(source)
    } catch {
      report(.ended(TaskEnd(outcome: .failed(TaskFailure(cause: .infrastructure, message: "\(error)")))))
      return
    }
    var conversation = TaskConversation(socket: socket, wake: wake.reading, messages: messages) { report in
      if case .need = report, !self.admitRequest() { return }
      self.report(report)
    }
    listen(&conversation)
    conclude(child, conversation)
  }

  private func start(_ source: any ProcessSource) throws(SystemError) -> any StartedProcess {
    // The process's own ends must not stay open here, or its end would not be seen: they go with this scope.
    let ends = state.withLock { state in
      defer { state.ends = nil }
      return state.ends
    }
    guard let ends else { throw SystemError(EINVAL, "starting a task process twice") }
    let child = try source.start(control: ends.control, messages: ends.messages)
    let isKilled = state.withLock { state in
      state.child = child
      return state.isKilled
    }
    if isKilled { child.kill() }
    return child
  }

  /// Until the process has closed its end.
  private func listen(_ conversation: inout TaskConversation) {
    while true {
      switch conversation.next() {
      case .wake:
        let assignment = state.withLock { state in
          defer { state.assignment?.files = [] }
          return state.assignment
        }
        if let assignment { tell(assignment) }
      case .over: return
      }
    }
  }

  private func tell(_ assignment: Assignment) {
    // Fails only where the process has ended, which is noticed by itself.
    speech.withLock { _ in
      guard socket.writeAll(assignment.frame) else { return }
      var rest = assignment.files.map(\.descriptor)[...]
      while !rest.isEmpty {
        let part = Array(rest.prefix(Int(SANDBOX_DESCRIPTORS_MAX)))
        guard sandbox_send_descriptors(socket.descriptor, part, part.count) == 0 else { return }
        rest = rest.dropFirst(part.count)
      }
    }
  }

  private func admitRequest() -> Bool {
    let isAdmitted = state.withLock { state in
      state.requests += 1
      return state.requests <= Self.requestLimit
    }
    if !isAdmitted { kill() }
    return isAdmitted
  }

  private func conclude(_ child: any StartedProcess, _ conversation: TaskConversation) {
    // It has said all that it will say, whether it knows or not.
    child.kill()
    let end = child.awaitEnd()
    let (isKilled, output) = state.withLock { state in
      state.child = nil
      defer { state.assignment = nil }
      return (state.isKilled, state.assignment?.output)
    }
    let outcome = isKilled ? .killed : conversation.outcome(end, output: output)
    report(
      .ended(
        TaskEnd(
          outcome: outcome, cpuMilliseconds: end?.cpuMilliseconds ?? 0, peakKilobytes: end?.peakKilobytes ?? 0)))
  }
}
