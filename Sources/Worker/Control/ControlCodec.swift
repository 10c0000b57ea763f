/// How control messages lie on the socket: a four-byte length, a byte that says which message, its fields; numbers are
/// big-endian, texts and byte strings have a four-byte length. The agent trusts nothing that a task process sends.
enum ControlCodec {
  /// The longest frame that the agent takes from a task process, in bytes.
  static let taskFrameLimit = 64 << 10
  /// The longest that a task process takes from the agent: a payload of a very long film.
  static let agentFrameLimit = 256 << 20
  /// Longer messages for people are cut.
  static let textLimit = 4096

  static func encode(_ message: AgentMessage) -> [UInt8] {
    var frame = ControlWriter()
    switch message {
    case .task(let order):
      frame.append(UInt8(1))
      frame.append(order.payload)
      frame.append(UInt32(order.inputs.count))
      for input in order.inputs {
        frame.append(input.digest)
        frame.append(UInt64(bitPattern: input.size))
        frame.append(input.name)
        frame.append(UInt8(input.isRanged ? 1 : 0))
      }
    case .available(let request):
      frame.append(UInt8(2))
      frame.append(request)
    case .unavailable(let request, let message):
      frame.append(UInt8(3))
      frame.append(request)
      frame.append(message)
    }
    return frame.finish()
  }

  static func encode(_ message: TaskMessage) -> [UInt8] {
    var frame = ControlWriter()
    switch message {
    case .ready(let confinement):
      frame.append(UInt8(1))
      frame.append(confinement)
    case .progress(let done):
      frame.append(UInt8(2))
      frame.append(done)
    case .need(let need):
      frame.append(UInt8(3))
      frame.append(need.request)
      frame.append(need.input)
      frame.append(UInt64(bitPattern: need.range.lowerBound))
      frame.append(UInt64(bitPattern: need.range.upperBound))
    case .finished:
      frame.append(UInt8(4))
    case .failed(let failure):
      frame.append(UInt8(5))
      frame.append(failure.cause.rawValue)
      frame.append(cut(failure.message))
    }
    return frame.finish()
  }

  /// The message of a frame without its length.
  static func agentMessage(_ frame: some Sequence<UInt8>) throws(ControlError) -> AgentMessage {
    var reader = ControlReader(frame)
    let message: AgentMessage
    switch try reader.byte() {
    case 1:
      let payload = try reader.bytes()
      var inputs: [TaskInput] = []
      for _ in 0..<(try reader.number32()) {
        inputs.append(
          TaskInput(
            digest: try reader.text(), size: try reader.offset(), name: try reader.text(),
            isRanged: try reader.byte() != 0))
      }
      message = .task(TaskOrder(payload: payload, inputs: inputs))
    case 2: message = .available(request: try reader.number32())
    case 3: message = .unavailable(request: try reader.number32(), message: try reader.text())
    case let kind: throw ControlError("no agent message is of kind \(kind)")
    }
    try reader.finish()
    return message
  }

  /// The message of a frame without its length.
  static func taskMessage(_ frame: some Sequence<UInt8>) throws(ControlError) -> TaskMessage {
    var reader = ControlReader(frame)
    let message: TaskMessage
    switch try reader.byte() {
    case 1: message = .ready(confinement: try reader.byte())
    case 2: message = .progress(try reader.number64())
    case 3:
      let request = try reader.number32()
      let input = try reader.number32()
      let start = try reader.offset()
      let end = try reader.offset()
      guard start < end else { throw ControlError("bytes \(start)..<\(end) are none") }
      message = .need(RangeRequest(request: request, input: input, range: start..<end))
    case 4: message = .finished
    case 5:
      let number = try reader.byte()
      guard let cause = TaskFailure.Cause(rawValue: number) else { throw ControlError("\(number) is no cause") }
      message = .failed(TaskFailure(cause: cause, message: cut(try reader.text())))
    case let kind: throw ControlError("no task message is of kind \(kind)")
    }
    try reader.finish()
    return message
  }

  private static func cut(_ text: String) -> String {
    text.utf8.count <= textLimit ? text : String(decoding: text.utf8.prefix(textLimit), as: UTF8.self) + "…"
  }
}

/// The peer broke the control protocol.
struct ControlError: Error, Hashable, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}
