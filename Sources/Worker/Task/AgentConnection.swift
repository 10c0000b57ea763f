import FoundationEssentials
import Glibc
import Synchronization
import SystemPackage
import SystemSupport

/// A task process's end of the socket to its agent. Everything here blocks. If the agent has ended, the process ends.
final class AgentConnection: Sendable {
  private struct Requests {
    var last: UInt32 = 0
    var failure: String?
  }

  private let socket: OpenFile
  /// Held from a range request to its reply, so that one thread at a time reads the socket.
  private let requests = Mutex(Requests())
  /// Held while a message is sent, so that those of two threads do not mix; whether the result was sent.
  private let sending = Mutex(false)

  init(_ socket: OpenFile) {
    self.socket = socket
  }

  /// Sends a message. After the result nothing more is sent.
  func send(_ message: TaskMessage) {
    let frame = message.frame
    sending.withLock { hasResult in
      if hasResult { return }
      switch message {
      case .finished, .failed: hasResult = true
      case .ready, .progress, .rangeRequest, .blocksRead, .wrongBytes, .damage: break
      }
      do {
        // By write, because the calls for sockets are filtered.
        try socket.write(frame)
      } catch {
        Self.end()
      }
    }
  }

  /// The agent's next message, waiting for it.
  func receive() throws(ControlError) -> Control_AgentMessage {
    do {
      let message = try ControlFrame.receive(
        Control_AgentMessage.self, from: socket, limit: ControlFrame.limitFromAgent)
      if let message { return message }
    } catch let error as ControlError {
      throw error
    } catch {
      // The connection is broken.
    }
    Self.end()
  }

  /// So many descriptors, which the agent sends after a task; the caller owns them.
  func receiveDescriptors(_ count: Int) throws(ControlError) -> [Int32] {
    do {
      return try socket.receiveDescriptors(count)
    } catch {
      if error.code == .brokenPipe { Self.end() }
      throw ControlError("\(error)")
    }
  }

  /// Has bytes of a ranged input put into its file, and waits until they are there. Returns the digests of the blocks
  /// that hold them, or why they cannot be fetched.
  func request(_ range: Range<Int64>, ofInput input: Int) -> Result<Data, ControlError> {
    requests.withLock { requests in
      requests.last &+= 1
      send(.rangeRequest(RangeRequest(request: requests.last, input: UInt32(input), range: range)))
      do throws(ControlError) {
        guard case .rangeReply(let reply) = try receive().message, reply.request == requests.last else {
          throw ControlError("the agent sent another message than the reply to a range request")
        }
        if reply.error.isEmpty { return .success(reply.blocks) }
        throw ControlError(reply.error)
      } catch {
        requests.failure = "the bytes of an input could not be fetched: \(error)"
        return .failure(error)
      }
    }
  }

  /// Reports that bytes of an input's file are not the content's.
  func reportWrong(_ range: Range<Int64>, ofInput input: Int) {
    send(.wrongBytes(input: input, range: range))
    requests.withLock { $0.failure = "bytes \(range.lowerBound)..<\(range.upperBound) of an input are other ones" }
  }

  /// Why bytes of an input are not those of its content; nil if all were. A task fails for this reason, whatever else
  /// has come of it.
  var failure: String? { requests.withLock { $0.failure } }

  /// Without its agent the process has nothing to do.
  private static func end() -> Never {
    _exit(0)
  }
}
