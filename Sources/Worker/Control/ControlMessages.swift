import Digest
import FarmModel
import FoundationEssentials
import SwiftProtobuf
import SystemSupport

/// How the messages of `control.proto` are framed on a socket: a length of four bytes, big-endian, then the message.
///
/// The frames of Wire are not used here: they need an event loop, and a task process has one thread.
enum ControlFrame {
  /// The longest message that the agent accepts from a task process or from the fork server, in bytes.
  static let limitFromTask = 64 << 10
  /// The longest message that a task process accepts from the agent, in bytes: the payload of a very long film.
  static let limitFromAgent = 256 << 20

  /// A message with its length in front.
  static func encode(_ message: some Message) -> [UInt8] {
    do {
      let body: [UInt8] = try message.serializedBytes()
      return withUnsafeBytes(of: UInt32(body.count).bigEndian) { Array($0) } + body
    } catch {
      // Only messages over 2 GiB fail; a grant, which is the longest that is sent here, came in a frame of 64 MiB.
      preconditionFailure("a control message cannot be encoded: \(error)")
    }
  }

  /// The message of a frame without its length. Throws if it is malformed, or has fields or forms that `encode` would
  /// not write: both ends are the same executable.
  static func decode<Content: Message>(_ body: [UInt8], as type: Content.Type = Content.self) throws(ControlError)
    -> Content
  {
    do {
      var options = BinaryDecodingOptions()
      options.discardUnknownFields = true
      let message = try Content(serializedBytes: body, options: options)
      if try message.serializedBytes() == body { return message }
    } catch {
      throw ControlError("a message is malformed: \(error)")
    }
    throw ControlError("a message has more than its fields")
  }

  /// The next message from a socket, waiting for it. Reads no byte beyond it, because descriptors may follow. Nil if
  /// the other end is closed. Throws `ControlError` or `SystemError`.
  static func receive<Content: Message>(_ type: Content.Type, from socket: OpenFile, limit: Int) throws -> Content? {
    guard let prefix = try socket.readExactly(prefixLength) else { return nil }
    guard let body = try socket.readExactly(try length(prefix, limit: limit)) else { return nil }
    return try decode(body)
  }

  fileprivate static let prefixLength = 4

  fileprivate static func length(_ prefix: some Sequence<UInt8>, limit: Int) throws(ControlError) -> Int {
    let length = prefix.reduce(0) { $0 << 8 | Int($1) }
    guard length <= limit else {
      throw ControlError("a message of \(length) bytes is longer than the \(limit) that are allowed")
    }
    return length
  }
}

/// The peer broke the control protocol.
struct ControlError: Error, Hashable, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}

/// Cuts the bytes that come from a task process into frames. Holds no more than one frame and one read.
struct ControlFrameBuffer {
  private var bytes: [UInt8] = []
  private let limit: Int

  /// - Parameter limit: The longest message that is accepted, in bytes.
  init(limit: Int = ControlFrame.limitFromTask) {
    self.limit = limit
  }

  mutating func append(_ new: some Collection<UInt8>) {
    bytes.append(contentsOf: new)
  }

  /// The next whole message without its length; nil until more bytes come. Throws as soon as a length is too large.
  mutating func next() throws(ControlError) -> [UInt8]? {
    let start = ControlFrame.prefixLength
    guard bytes.count >= start else { return nil }
    let end = start + (try ControlFrame.length(bytes[..<start], limit: limit))
    guard bytes.count >= end else { return nil }
    let message = Array(bytes[start..<end])
    bytes.removeFirst(end)
    return message
  }
}

/// A message of a task process, checked: the agent trusts nothing that such a process sends.
enum TaskMessage: Sendable, Hashable {
  /// Confined and waiting for its task.
  case ready(Confinement)
  /// Frames, samples or bytes done so far, and a number that rises with any forward movement.
  case progress(done: UInt64, moved: UInt64)
  /// Bytes of a ranged input that must be in its file before the task goes on.
  case rangeRequest(RangeRequest)
  /// The digests of consecutive blocks that were read of an input.
  case blocksRead(BlocksRead)
  /// A block of an input's file has other bytes than the content.
  case wrongBytes(input: Int, range: Range<Int64>)
  /// The damaged media that the output shows, as JSON of `ShownDamage`.
  case damage([UInt8])
  /// The output is complete.
  case finished
  /// The task failed; `process` is nil.
  case failed(TaskFailure)

  /// Longer messages of failures are cut to this many bytes.
  static let textLimit = 4096

  /// The message of a frame without its length.
  init(_ body: [UInt8]) throws(ControlError) {
    switch try ControlFrame.decode(body, as: Control_TaskMessage.self).message {
    case .ready(let ready): self = .ready(Confinement(rawValue: ready.confinement))
    case .progress(let progress): self = .progress(done: progress.done, moved: progress.moved)
    case .rangeRequest(let request):
      guard 0 <= request.start, request.start < request.end else {
        throw ControlError("the range \(request.start)..<\(request.end) holds no bytes")
      }
      self = .rangeRequest(
        RangeRequest(request: request.request, input: request.input, range: request.start..<request.end))
    case .blocksRead(let read):
      guard !read.digests.isEmpty, read.digests.count % BlockDigests.digestSize == 0 else {
        throw ControlError("\(read.digests.count) bytes are not the digests of blocks")
      }
      self = .blocksRead(BlocksRead(input: Int(read.input), first: Int(read.first), digests: [UInt8](read.digests)))
    case .wrongBytes(let wrong):
      guard 0 <= wrong.start, wrong.start < wrong.end else {
        throw ControlError("the range \(wrong.start)..<\(wrong.end) holds no bytes")
      }
      self = .wrongBytes(input: Int(wrong.input), range: wrong.start..<wrong.end)
    case .damage(let damage): self = .damage([UInt8](damage.report))
    case .finished: self = .finished
    case .failed(let failed):
      let end: AttemptEnd =
        switch failed.end {
        case .released: .released
        case .media: .media
        case .document: .document
        case .exhausted: .exhausted
        case .unspecified, .UNRECOGNIZED: throw ControlError("\(failed.end.rawValue) is not the end of an attempt")
        }
      var failure = TaskFailure(end, Self.cut(String(decoding: failed.message, as: UTF8.self)))
      failure.refusedInput = failed.refusedInput > 0 ? Int(failed.refusedInput) - 1 : nil
      self = .failed(failure)
    case nil: throw ControlError("a message is of no known kind")
    }
  }

  /// The message with its length in front.
  var frame: [UInt8] {
    ControlFrame.encode(
      Control_TaskMessage.with {
        switch self {
        case .ready(let confinement): $0.ready = .with { $0.confinement = confinement.rawValue }
        case .progress(let done, let moved):
          $0.progress = .with {
            $0.done = done
            $0.moved = moved
          }
        case .rangeRequest(let request):
          $0.rangeRequest = .with {
            $0.request = request.request
            $0.input = request.input
            $0.start = request.range.lowerBound
            $0.end = request.range.upperBound
          }
        case .blocksRead(let read):
          $0.blocksRead = .with {
            $0.input = UInt32(read.input)
            $0.first = UInt32(read.first)
            $0.digests = Data(read.digests)
          }
        case .wrongBytes(let input, let range):
          $0.wrongBytes = .with {
            $0.input = UInt32(input)
            $0.start = range.lowerBound
            $0.end = range.upperBound
          }
        case .damage(let report): $0.damage = .with { $0.report = Data(report) }
        case .finished: $0.finished = Control_Finished()
        case .failed(let failure):
          $0.failed = .with {
            $0.end =
              switch failure.end {
              case .released: .released
              // A process that can still report is not one that crashed.
              case .media, .crashed, .hung, .killed: .media
              case .document: .document
              case .exhausted: .exhausted
              }
            $0.message = Data(Self.cut(failure.message).utf8)
            $0.refusedInput = failure.refusedInput.map { UInt32(clamping: $0 + 1) } ?? 0
          }
        }
      })
  }

  private static func cut(_ text: String) -> String {
    text.utf8.count <= textLimit ? text : String(decoding: text.utf8.prefix(textLimit), as: UTF8.self) + "…"
  }
}

/// Consecutive blocks that a task process has read of an input.
struct BlocksRead: Sendable, Hashable {
  /// The most blocks in one message.
  static let limit = 1024

  /// Index in the task's inputs.
  var input: Int
  /// The first of the blocks.
  var first: Int
  /// SHA-256 of the bytes that were read, 32 bytes for each block.
  var digests: [UInt8]
}

/// Bytes of an input that a task process requests.
struct RangeRequest: Sendable, Hashable {
  /// Chosen by the task process; the reply repeats it.
  var request: UInt32
  /// Index in the task's inputs.
  var input: UInt32
  /// Not empty, not negative; may lie beyond the input's end.
  var range: Range<Int64>
}
