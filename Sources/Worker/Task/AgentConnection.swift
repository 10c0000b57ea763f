import Glibc
import Media
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
      case .ready, .progress, .rangeRequest: break
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

  /// Has bytes of a ranged input put into its file, and waits until they are there. Nil if they are, else why not.
  func request(_ range: Range<Int64>, ofInput input: Int) -> String? {
    requests.withLock { requests -> String? in
      requests.last &+= 1
      send(.rangeRequest(RangeRequest(request: requests.last, input: UInt32(input), range: range)))
      do throws(ControlError) {
        guard case .rangeReply(let reply) = try receive().message, reply.request == requests.last else {
          throw ControlError("the agent sent another message than the reply to a range request")
        }
        if reply.error.isEmpty { return nil }
        requests.failure = reply.error
      } catch {
        requests.failure = error.description
      }
      return requests.failure
    }
  }

  /// Why bytes of an input could not be fetched; nil if all could. A task that fails after that fails for this reason.
  var failure: String? { requests.withLock { $0.failure } }

  /// Without its agent the process has nothing to do.
  private static func end() -> Never {
    _exit(0)
  }
}

/// An input whose file the agent fills while the task reads it: requests the bytes that are not there yet, then reads
/// the file.
final class RangedByteSource: ByteSource {
  let byteCount: Int64
  private let file: OpenFile
  private let input: Int
  private let name: String
  private let agent: AgentConnection
  /// Whether each block is known to be in the file.
  private let present: Mutex<[Bool]>

  /// - Parameters:
  ///   - input: Its index in the task's inputs.
  ///   - size: Of the complete content, in bytes.
  ///   - name: What messages call the file.
  init(file: OpenFile, input: Int, size: Int64, name: String, agent: AgentConnection) {
    byteCount = size
    self.file = file
    self.input = input
    self.name = name
    self.agent = agent
    present = Mutex(Array(repeating: false, count: ContentBlock.count(of: size)))
  }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    let end = min(byteCount, offset + Int64(buffer.count))
    guard offset < end else { return 0 }
    try fetch(ContentBlock.covering(offset..<end))
    let count: Int
    do {
      count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(end - offset)]), at: offset)
    } catch {
      throw MediaError(.io, operation: "reading", subject: name, message: "\(error)")
    }
    guard count > 0 else {
      throw MediaError(
        .io, operation: "reading", subject: name, message: "the cache file is shorter than its content")
    }
    return count
  }

  private func fetch(_ blocks: Range<Int>) throws(MediaError) {
    let missing = present.withLock { present in blocks.filter { !present[$0] } }
    guard let first = missing.first, let last = missing.last else { return }
    let range = ContentBlock.bytes(of: first..<(last + 1), size: byteCount)
    if let failure = agent.request(range, ofInput: input) {
      throw MediaError(.io, operation: "fetching", subject: name, message: failure)
    }
    present.withLock { present in
      for block in first...last { present[block] = true }
    }
  }
}
