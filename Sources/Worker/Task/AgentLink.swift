import CSandbox
import Glibc
import Synchronization

/// A task process's end of the socket to its agent. Everything here blocks; if the agent is gone, so is the process.
final class AgentLink: Sendable {
  private let descriptor: Int32
  /// One question at a time: whoever asks reads the answer.
  private let question = Mutex(Question())

  private struct Question {
    var next: UInt32 = 0
    var loss: String?
  }

  init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  func send(_ message: TaskMessage) {
    let frame = ControlCodec.encode(message)
    var done = 0
    while done < frame.count {
      let count = frame.withUnsafeBytes { write(descriptor, $0.baseAddress! + done, frame.count - done) }
      if count > 0 { done += count } else if errno != EINTR { Self.abandoned() }
    }
  }

  /// The agent's next message; waits for it.
  func receive() throws(ControlError) -> AgentMessage {
    let length = read(4).reduce(0) { $0 << 8 | Int($1) }
    guard length <= ControlCodec.agentFrameLimit else { throw ControlError("a frame of \(length) bytes") }
    return try ControlCodec.agentMessage(read(length))
  }

  /// So many descriptors, which the agent sends after an order.
  func receiveDescriptors(_ count: Int) throws(ControlError) -> [Int32] {
    var all: [Int32] = []
    while all.count < count {
      var part = [Int32](repeating: -1, count: Int(SANDBOX_DESCRIPTORS_MAX))
      let received = sandbox_receive_descriptors(descriptor, &part, part.count)
      if received == -EPIPE { Self.abandoned() }
      guard received > 0 else {
        let reason = String(cString: strerror(-received))
        throw ControlError("\(all.count) of \(count) opened files came: \(reason)")
      }
      all += part[..<Int(received)]
    }
    return all
  }

  /// Has bytes of a ranged input put into its file. Nil when they are there, else why not.
  func need(input: Int, range: Range<Int64>) -> String? {
    question.withLock { question -> String? in
      question.next &+= 1
      send(.need(RangeRequest(request: question.next, input: UInt32(input), range: range)))
      do throws(ControlError) {
        switch try receive() {
        case .available(let request) where request == question.next: return nil
        case .unavailable(let request, let message) where request == question.next:
          question.loss = message
          return message
        default: throw ControlError("the agent answered something else")
        }
      } catch {
        question.loss = error.description
        return error.description
      }
    }
  }

  /// Why bytes of an input could not be had; nil if all could. Then a task that fails fails for that.
  var loss: String? { question.withLock { $0.loss } }

  private func read(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let received = Glibc.read(descriptor, buffer.baseAddress! + filled, count - filled)
        if received > 0 { filled += received } else if received == 0 || errno != EINTR { Self.abandoned() }
      }
    }
  }

  /// The agent has ended: nobody wants the result.
  private static func abandoned() -> Never {
    _exit(0)
  }
}
