import Glibc

/// What a task process says, on its socket and, when it goes wrong, on its standard error.
struct TaskConversation {
  enum Step {
    /// Another thread left something to do.
    case wake
    /// The process has closed its end or broken the protocol: it will say no more that counts.
    case over
  }

  /// Progress that comes faster than this is not passed on.
  private static let progressInterval: Duration = .milliseconds(50)

  private let socket: OpenFile
  private let wake: OpenFile
  private let messages: OpenFile
  private let report: (TaskProcess.Report) -> Void
  private var frames = ControlFrameBuffer()
  private var buffer = [UInt8](repeating: 0, count: 16 << 10)
  private var tail: [UInt8] = []
  private var hasMessages = true
  private var lastProgress: ContinuousClock.Instant?

  private(set) var isReady = false
  /// The result, once there is one.
  private(set) var lastWord: TaskMessage?
  private(set) var violation: ControlError?

  init(socket: OpenFile, wake: OpenFile, messages: OpenFile, report: @escaping (TaskProcess.Report) -> Void) {
    self.socket = socket
    self.wake = wake
    self.messages = messages
    self.report = report
  }

  /// The end of what it wrote to its standard error, for an error message; empty if nothing.
  var said: String {
    let text = String(decoding: tail, as: UTF8.self).split(whereSeparator: \.isNewline).suffix(3)
      .joined(separator: "; ").filter { !$0.isASCII || ($0 >= " " && $0 != "\u{7f}") }
    return text.isEmpty ? "" : ": \(text)"
  }

  /// Listens, reporting what comes, until something is to be done. Blocks.
  mutating func next() -> Step {
    while true {
      var watched = [
        pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: hasMessages ? messages.descriptor : -1, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&watched, 3, -1) >= 0 else {
        if errno == EINTR { continue }
        return .over
      }
      if watched[2].revents != 0 { readMessages() }
      if watched[0].revents != 0, !readFrames() {
        while hasMessages, poll(&watched[2], 1, 0) > 0 { readMessages() }
        return .over
      }
      if watched[1].revents != 0 {
        var byte: UInt8 = 0
        if read(wake.descriptor, &byte, 1) == 1 { return .wake }
      }
    }
  }

  /// False when no more will come.
  private mutating func readFrames() -> Bool {
    let count = recv(socket.descriptor, &buffer, buffer.count, SocketFlags.noWait)
    if count < 0 { return errno == EAGAIN || errno == EINTR }
    if count == 0 { return false }
    frames.append(buffer[..<count])
    do throws(ControlError) {
      while let frame = try frames.next() { try hear(try ControlCodec.taskMessage(frame)) }
    } catch {
      violation = error
      return false
    }
    return true
  }

  private mutating func hear(_ message: TaskMessage) throws(ControlError) {
    guard lastWord == nil else { throw ControlError("it speaks after its result") }
    guard isReady || message.isReady else { throw ControlError("it speaks before it is ready") }
    switch message {
    case .ready(let confinement):
      guard !isReady else { throw ControlError("it is ready twice") }
      isReady = true
      report(.ready(confinement: confinement))
    case .progress(let done):
      let now = ContinuousClock.now
      if let lastProgress, now - lastProgress < Self.progressInterval { return }
      lastProgress = now
      report(.progress(done))
    case .need(let request): report(.need(request))
    case .finished, .failed: lastWord = message
    }
  }

  private mutating func readMessages() {
    let count = read(messages.descriptor, &buffer, buffer.count)
    if count > 0 {
      tail = Array((tail + buffer[..<count]).suffix(2048))
    } else if count == 0 || errno != EINTR {
      hasMessages = false
    }
  }
}

extension TaskMessage {
  fileprivate var isReady: Bool {
    if case .ready = self { true } else { false }
  }
}

extension OpenFile {
  /// Sends all of it, waiting where it must; false when the other end is closed.
  func writeAll(_ bytes: [UInt8]) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        send(descriptor, bytes.baseAddress! + done, bytes.count - done, SocketFlags.noSignal)
      }
      if count > 0 {
        done += count
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }
}
