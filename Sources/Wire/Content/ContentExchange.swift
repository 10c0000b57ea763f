package import Digest
package import FoundationEssentials
import Runtime
import SwiftProtobuf
package import SystemSupport

/// Reads and uploads content over a connection, many at once. Workers and clients use it with the coordinator's content
/// store.
///
/// The task that reads the connection passes every message to `take`, and calls `end` when no more messages will come.
package actor ContentExchange {
  private enum Waiting {
    case read(CheckedContinuation<Data, any Error>)
    case upload(CheckedContinuation<Void, any Error>)
  }

  private struct Upload {
    var received: UInt64 = 0
    var isAnswered = false
    var isComplete = false
    var error: WireError?
    /// Where the chunks end that were sent and not answered, and when each was sent.
    var unanswered: [(end: UInt64, sent: ContinuousClock.Instant)] = []
  }

  private let connection: WireConnection
  private var nextRequest: UInt64 = 1
  private var waiting: [UInt64: Waiting] = [:]
  private var uploads: [UInt64: Upload] = [:]
  private var ended: WireError?
  private let window = AsyncSemaphore(capacity: WireProtocol.readWindow)
  private var isProbing = false
  private var readSize = ChunkSize()
  private var uploadSize = ChunkSize()

  package init(_ connection: WireConnection) {
    self.connection = connection
  }

  /// What of content is read.
  package enum Part: Sendable {
    case bytes
    /// The list of the content's block digests (`BlockDigests.bytes`).
    case blockDigests
  }

  /// Reads up to `length` bytes of content from `offset`, or of the list of its block digests. Returns fewer only at
  /// the end. Any number of reads may be under way: those beyond the window wait. What is long is requested in parts,
  /// which are smaller on a slow link.
  /// Throws `WireError`: `.content` if the coordinator cannot read the content.
  package func read(
    _ digest: SHA256Digest, _ part: Part = .bytes, offset: UInt64, length: Int
  ) async throws -> Data {
    var parts: [Data] = []
    try await withThrowingTaskGroup(of: (Int, Data).self) { group in
      var requested = 0
      repeat {
        guard await window.enter() else { throw WireError(.closed, "the read was cancelled") }
        let (start, count, index) = (requested, min(length - requested, readSize.bytes), parts.count)
        parts.append(Data())
        group.addTask {
          defer { self.window.leave() }
          return (index, try await self.readPart(digest, part, offset: offset + UInt64(start), length: count))
        }
        requested += count
      } while requested < length
      for try await (index, data) in group { parts[index] = data }
    }
    if parts.count == 1 { return parts[0] }
    return parts.reduce(into: Data(capacity: length)) { $0.append($1) }
  }

  private func readPart(_ digest: SHA256Digest, _ part: Part, offset: UInt64, length: Int) async throws -> Data {
    let request = try begin()
    let message = Sheaf_ReadContent.with {
      $0.request = request
      $0.digest = Data(digest.bytes)
      $0.offset = offset
      $0.length = UInt32(length)
      $0.blockDigests = part == .blockDigests
    }
    let started = ContinuousClock.now
    let data = try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        waiting[request] = .read(continuation)
        Task { await self.send(.readContent(message), for: request) }
      }
    } onCancel: {
      Task { await self.fail(request, WireError(.closed, "the read was cancelled")) }
    }
    guard data.count <= length else {
      throw WireError(.violation, "the coordinator sent more bytes than were requested")
    }
    readSize.arrived(data.count, requested: started, now: .now)
    return data
  }

  /// Uploads a file. Sends at most a window ahead of what the coordinator has received, and returns when the
  /// coordinator has the whole content, or had it before. Goes on where an earlier upload of the same content was
  /// interrupted.
  ///
  /// Throws `WireError`: `.temporary` if the same upload may succeed after a wait, `.content` if the coordinator
  /// rejects the content or the file cannot be read.
  /// - Parameters:
  ///   - file: Read by position, off the cooperative pool.
  ///   - content: The file's digest and size. They are announced before the bytes are sent, and checked after.
  ///   - progress: Receives the number of bytes that the coordinator has received so far.
  /// - Returns: How many bytes were sent.
  @discardableResult
  package func upload(
    _ file: OpenFile, _ content: Content, progress: (@Sendable (UInt64) -> Void)? = nil
  ) async throws -> UInt64 {
    let request = try begin()
    uploads[request] = Upload()
    defer { uploads[request] = nil }
    let size = UInt64(content.size)
    try await connection.send(
      .uploadBegin(
        .with {
          $0.request = request
          $0.digest = Data(content.digest.bytes)
          $0.size = size
        }))
    try await wait(request) { $0.isAnswered }
    var offset = uploads[request]?.received ?? 0
    guard offset <= size else {
      throw WireError(.violation, "the coordinator has received more bytes of an upload than there are")
    }
    let first = offset
    progress?(offset)
    var isLast = false
    while !isLast, uploads[request]?.isComplete == false {
      try await wait(request) { $0.unanswered.count < WireProtocol.uploadWindow }
      let (start, length) = (offset, Int(min(UInt64(uploadSize.bytes), size - offset)))
      let isEnd = start + UInt64(length) == size
      try await connection.send(content: length) {
        let data = try await Self.chunk(of: file, offset: start, length: length)
        uploads[request]?.unanswered.append((start + UInt64(length), .now))
        return .uploadChunk(
          .with {
            $0.request = request
            $0.offset = start
            $0.data = data
            $0.last = isEnd
          })
      }
      isLast = isEnd
      offset += UInt64(length)
      if let progress, let received = uploads[request]?.received { progress(received) }
    }
    try await wait(request) { $0.isComplete }
    progress?(size)
    return offset - first
  }

  /// Processes a message that answers a read or an upload. Returns false, and does nothing, for any other message.
  package func take(_ message: WireMessage) -> Bool {
    switch message {
    case .contentData(let data) where data.request == Self.probe:
      if isProbing { window.leave() }
      isProbing = false
      return true
    case .contentData(let data):
      guard case .read(let continuation)? = waiting.removeValue(forKey: data.request) else { return true }
      if data.error.isEmpty {
        continuation.resume(returning: data.data)
      } else {
        continuation.resume(throwing: WireError(.content, data.error))
      }
      return true
    case .uploadReply(let reply):
      guard var upload = uploads[reply.request] else { return true }
      upload.isAnswered = true
      while let chunk = upload.unanswered.first, chunk.end <= reply.received {
        uploadSize.arrived(Int(chunk.end - min(upload.received, chunk.end)), requested: chunk.sent, now: .now)
        upload.received = chunk.end
        upload.unanswered.removeFirst()
      }
      upload.received = reply.received
      if reply.complete { upload.isComplete = true }
      if !reply.error.isEmpty { upload.error = WireError(reply.temporary ? .temporary : .content, reply.error) }
      uploads[reply.request] = upload
      if case .upload(let continuation)? = waiting.removeValue(forKey: reply.request) { continuation.resume() }
      return true
    default: return false
    }
  }

  /// The number of a probe's request. No other request has it.
  private static let probe = UInt64.max

  /// Requests something that the coordinator answers at once, whatever else it does for this connection: a read without
  /// a digest, which is an error. Its answer shows that the coordinator goes on. Does nothing while another one is
  /// under way.
  package func sendProbe() async {
    guard !isProbing, ended == nil else { return }
    isProbing = true
    // Like every read, it takes a place in the window until it is answered.
    guard await window.enter() else { return }
    // A connection that is closed is noticed elsewhere.
    try? await connection.send(.readContent(.with { $0.request = Self.probe }))
  }

  /// Whether a message answers a probe, and so says nothing about any other request.
  package static func answersProbe(_ message: WireMessage) -> Bool {
    if case .contentData(let data) = message { data.request == probe } else { false }
  }

  /// Ends the exchange: everything under way fails with this error, and so does every later request.
  package func end(_ error: WireError = WireError(.closed, "the connection was closed")) {
    ended = ended ?? error
    for request in waiting.keys.sorted() { fail(request, error) }
  }

  private func begin() throws -> UInt64 {
    if let ended { throw ended }
    defer { nextRequest += 1 }
    return nextRequest
  }

  private func send(_ message: WireMessage, for request: UInt64) async {
    do {
      try await connection.send(message)
    } catch {
      fail(request, error)
    }
  }

  private func fail(_ request: UInt64, _ error: WireError) {
    switch waiting.removeValue(forKey: request) {
    case .read(let continuation): continuation.resume(throwing: error)
    case .upload(let continuation): continuation.resume(throwing: error)
    case nil: break
    }
  }

  /// Waits until the upload satisfies a condition, is complete, or has failed.
  private func wait(_ request: UInt64, until isReached: (Upload) -> Bool) async throws {
    while let upload = uploads[request] {
      if let error = upload.error { throw error }
      if upload.isComplete || isReached(upload) { return }
      if let ended { throw ended }
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { waiting[request] = .upload($0) }
      } onCancel: {
        Task { await self.fail(request, WireError(.closed, "the upload was cancelled")) }
      }
    }
  }

  private static func chunk(of file: OpenFile, offset: UInt64, length: Int) async throws -> Data {
    try await BlockingWork.run(.transfers) {
      var data = Data(count: length)
      let count: Int
      do {
        count = try data.withUnsafeMutableBytes { try file.read(into: $0, at: Int64(offset)) }
      } catch {
        throw WireError(.content, "\(error)")
      }
      guard count == length else { throw WireError(.content, "\(file.name) became shorter while it was uploaded") }
      return data
    }
  }
}

extension Sheaf_Content {
  /// - Parameter path: Relative to the media root that worker and coordinator share, or, from a client, the file's
  ///   absolute path; empty if there is none.
  package init(_ content: Content, path: String = "") {
    self.init()
    self.digest = Data(content.digest.bytes)
    self.size = UInt64(content.size)
    self.path = path
  }

  /// Nil if the digest is not a SHA-256 or the size is 2^63 or more.
  package var content: Content? {
    guard let digest = SHA256Digest(bytes: digest), let size = Int64(exactly: size) else { return nil }
    return Content(digest: digest, size: size)
  }
}
