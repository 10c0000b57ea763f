import SystemSupport

/// The agent's view of one task process: reads its messages and its standard error, on a thread that may block.
struct TaskChannel {
  enum Event {
    /// Another thread wrote to the wake-up pipe.
    case wakeUp
    /// The process has closed its socket or broken the protocol: nothing that it still sends matters.
    case end
  }

  /// The most of a process's standard error that is kept, in bytes.
  static let logLimit = 4096
  /// Progress that follows the last within this time is not reported.
  private static let progressInterval: Duration = .milliseconds(50)
  private static let readSize = 16 << 10

  private let socket: OpenFile
  private let wakeUp: OpenFile
  private let standardError: OpenFile
  private let report: (TaskProcess.Report) -> Void
  private var frames = ControlFrameBuffer()
  private var logTail: [UInt8] = []
  private var isLogOpen = true
  private var lastProgress: ContinuousClock.Instant?

  private(set) var isReady = false
  /// The damaged media that the output shows, as the process has reported them; empty if it has reported none.
  private(set) var damage: [UInt8] = []
  /// `finished` or `failed`, once the process has sent it.
  private(set) var result: TaskMessage?
  /// How the process broke the protocol; the first way counts.
  var violation: ControlError?

  /// - Parameters:
  ///   - wakeUp: The reading end of a pipe; a byte in it ends the wait of `next`.
  ///   - report: Called with what the process sends, in order, by `next`. `ended` is left to the caller.
  init(socket: OpenFile, wakeUp: OpenFile, standardError: OpenFile, report: @escaping (TaskProcess.Report) -> Void) {
    self.socket = socket
    self.wakeUp = wakeUp
    self.standardError = standardError
    self.report = report
  }

  /// Reads and reports what comes until there is something for the caller to do. Blocks.
  mutating func next() throws(SystemError) -> Event {
    while true {
      let ready = try waitForInput([
        socket.descriptor, wakeUp.descriptor, isLogOpen ? standardError.descriptor : -1,
      ])
      if ready[2] { try readLog() }
      if ready[0], try !readFrames() {
        while isLogOpen, try waitForInput([standardError.descriptor], milliseconds: 0)[0] { try readLog() }
        return .end
      }
      if ready[1] {
        _ = try wakeUp.readSome(1)
        return .wakeUp
      }
    }
  }

  /// False if no more will come.
  private mutating func readFrames() throws(SystemError) -> Bool {
    let bytes: [UInt8]
    do {
      guard let received = try socket.receiveWithoutWaiting(Self.readSize) else { return true }
      bytes = received
    } catch {
      // A connection that the process reset, such as with replies that it had not read.
      return false
    }
    if bytes.isEmpty { return false }
    frames.append(bytes)
    do throws(ControlError) {
      while let frame = try frames.next() { try receive(try TaskMessage(frame)) }
    } catch {
      violation = error
      return false
    }
    return true
  }

  private mutating func receive(_ message: TaskMessage) throws(ControlError) {
    guard result == nil else { throw ControlError("a message after the result") }
    if case .ready(let confinement) = message {
      guard !isReady else { throw ControlError("it is ready twice") }
      isReady = true
      return report(.ready(confinement))
    }
    guard isReady else { throw ControlError("a message before it is ready") }
    switch message {
    case .ready: break
    case .progress(let done, let moved):
      let now = ContinuousClock.now
      if let lastProgress, now - lastProgress < Self.progressInterval { return }
      lastProgress = now
      report(.progress(done: done, moved: moved))
    case .rangeRequest(let request): report(.rangeRequest(request))
    case .blocksRead(let read): report(.blocksRead(read))
    case .wrongBytes(let input, let range): report(.wrongBytes(input: input, range: range))
    case .damage(let report): damage = report
    case .finished, .failed: result = message
    }
  }

  // MARK: - Standard error

  /// The end of what the process wrote to its standard error: printable characters, tabs and line feeds.
  var log: String {
    // The first bytes may be the rest of a character whose start was dropped.
    let text = String(decoding: logTail.drop { $0 & 0xc0 == 0x80 }, as: UTF8.self).unicodeScalars
      .filter { $0 == "\n" || $0 == "\t" || ($0.value >= 0x20 && !(0x7f...0x9f).contains($0.value)) }
    // Malformed bytes have become characters of three bytes each, so the text may be too long again.
    var size = text.reduce(0) { $0 + UTF8.width($1) }
    let kept = text.drop { scalar in
      defer { size -= UTF8.width(scalar) }
      return size > Self.logLimit
    }
    return String(String.UnicodeScalarView(kept))
  }

  /// The last lines of the log, for the end of an error message; empty if there are none.
  var excerpt: String {
    let lines = log.split(whereSeparator: \.isNewline).suffix(3).joined(separator: "; ")
    return lines.isEmpty ? "" : ": \(lines)"
  }

  private mutating func readLog() throws(SystemError) {
    let bytes = try standardError.readSome(Self.readSize)
    logTail = Array((logTail + bytes).suffix(Self.logLimit))
    if bytes.isEmpty { isLogOpen = false }
  }
}
