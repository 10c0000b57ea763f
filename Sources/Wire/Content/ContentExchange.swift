package import Digest
package import FoundationEssentials
import SwiftProtobuf

/// Reads and uploads over a connection, many at once: what workers and clients both do with the coordinator's vault.
///
/// Whoever reads the connection hands it every message (`take`) and says when there will be no more (`end`).
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
  }

  private let connection: WireConnection
  private var nextRequest: UInt64 = 1
  private var waiting: [UInt64: Waiting] = [:]
  private var uploads: [UInt64: Upload] = [:]
  private var ended: WireError?

  package init(_ connection: WireConnection) {
    self.connection = connection
  }

  /// Up to `WireProtocol.maximumChunk` bytes of content from `offset`; fewer only at its end. At most
  /// `WireProtocol.readWindow` may be under way. Throws `WireError`: `.content` where the coordinator cannot read it.
  package func read(_ digest: SHA256Digest, offset: UInt64, length: Int) async throws -> Data {
    let request = try begin()
    let message = Sheaf_ReadContent.with {
      $0.request = request
      $0.digest = Data(digest.bytes)
      $0.offset = offset
      $0.length = UInt32(min(length, WireProtocol.maximumChunk))
    }
    let data = try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        waiting[request] = .read(continuation)
        Task { await self.send(.readContent(message), for: request) }
      }
    } onCancel: {
      Task { await self.fail(request, WireError(.closed, "the read was cancelled")) }
    }
    guard data.count <= length else {
      throw WireError(.violation, "the coordinator sent more than was asked for")
    }
    return data
  }

  /// Sends a file's bytes, at most a window ahead of what the coordinator has taken; returns when it has them all,
  /// under this digest, or had them already. Throws `WireError`: `.content` with the coordinator's or the file's reason.
  /// - Parameter descriptor: Stays the caller's, open until this returns. Read by position, off the cooperative pool.
  /// - Parameter progress: Told the bytes that the coordinator has taken so far.
  package func upload(
    descriptor: Int32, digest: SHA256Digest, size: Int64, progress: (@Sendable (UInt64) -> Void)? = nil
  ) async throws {
    let request = try begin()
    uploads[request] = Upload()
    defer { uploads[request] = nil }
    try await connection.send(
      .uploadBegin(
        .with {
          $0.request = request
          $0.digest = Data(digest.bytes)
          $0.size = UInt64(size)
        }))
    try await wait(request) { $0.isAnswered }
    let window = UInt64(WireProtocol.uploadWindow * WireProtocol.maximumChunk)
    let size = UInt64(size)
    var offset: UInt64 = 0
    var isLast = false
    while !isLast, uploads[request]?.isComplete == false {
      let length = Int(min(UInt64(WireProtocol.maximumChunk), size - offset))
      try await wait(request) { offset + UInt64(length) <= $0.received + window }
      let data = try await FileChunk.read(descriptor, offset: offset, length: length)
      isLast = offset + UInt64(length) == size
      let chunk = Sheaf_UploadChunk.with {
        $0.request = request
        $0.offset = offset
        $0.data = data
        $0.last = isLast
      }
      try await connection.send(.uploadChunk(chunk))
      offset += UInt64(length)
      if let progress, let received = uploads[request]?.received { progress(received) }
    }
    try await wait(request) { $0.isComplete }
    progress?(size)
  }

  /// Whether the message was an answer to one of these requests.
  package func take(_ message: WireMessage) -> Bool {
    switch message {
    case .contentData(let data):
      guard case .read(let continuation)? = waiting.removeValue(forKey: data.request) else { return true }
      if data.error.isEmpty {
        continuation.resume(returning: data.data)
      } else {
        continuation.resume(throwing: WireError(.content, data.error))
      }
      return true
    case .uploadReply(let reply):
      guard uploads[reply.request] != nil else { return true }
      uploads[reply.request]?.isAnswered = true
      uploads[reply.request]?.received = reply.received
      if reply.complete { uploads[reply.request]?.isComplete = true }
      if !reply.error.isEmpty { uploads[reply.request]?.error = WireError(.content, reply.error) }
      if case .upload(let continuation)? = waiting.removeValue(forKey: reply.request) { continuation.resume() }
      return true
    default: return false
    }
  }

  /// No more messages will come: everything under way fails with this, and so does all that is asked later.
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

  /// Until the upload is so, or complete, or has failed.
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
}
