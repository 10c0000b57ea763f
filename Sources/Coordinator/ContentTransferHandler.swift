import ContentStorage
import Digest
import FoundationEssentials
import SwiftProtobuf
import Wire

/// Serves the reads and uploads of one connection. What a peer may have under way, and what is buffered for it, is
/// limited.
actor ContentTransferHandler {
  static let maximumUploads = 64

  /// An upload, and the chunks of it that have arrived and are not written yet.
  private struct Transfer: Sendable {
    let request: UInt64
    let upload: ContentUpload
    let chunks: AsyncStream<Sheaf_UploadChunk>
  }

  private struct OpenUpload {
    let chunks: AsyncStream<Sheaf_UploadChunk>.Continuation
    var expected: UInt64 = 0
    var waiting = 0
  }

  private let content: ContentLocator
  private let connection: WireConnection
  private var reads = 0
  private var uploads: [UInt64: OpenUpload] = [:]

  init(content: ContentLocator, connection: WireConnection) {
    self.content = content
    self.connection = connection
  }

  /// Processes a message that belongs to a read or an upload; work that takes long goes on in `group`. Returns false, and
  /// does nothing, for any other message. Throws `.violation` if the peer exceeds a limit.
  nonisolated(nonsending) func start(
    _ message: WireMessage, in group: inout ThrowingDiscardingTaskGroup<any Error>
  ) async throws -> Bool {
    switch message {
    case .readContent(let read):
      try await admit(read)
      group.addTask { try await self.connection.alongside { try await self.serve(read) } }
    case .uploadBegin(let begin):
      if let transfer = try await open(begin) {
        group.addTask { try await self.connection.alongside { try await self.run(transfer) } }
      }
    case .uploadChunk(let chunk): try await take(chunk)
    default: return false
    }
    return true
  }

  /// Ends the uploads: no more chunks will come.
  func close() {
    for upload in uploads.values { upload.chunks.finish() }
  }

  private func admit(_ read: Sheaf_ReadContent) throws {
    guard reads < WireProtocol.readWindow else {
      throw WireError(.violation, "more than \(WireProtocol.readWindow) reads were requested at once")
    }
    reads += 1
  }

  private func serve(_ read: Sheaf_ReadContent) async throws {
    defer { reads -= 1 }
    let length = Int(min(read.length, UInt32(WireProtocol.maximumChunk)))
    var reply = Sheaf_ContentData.with { $0.request = read.request }
    if let digest = SHA256Digest(bytes: read.digest) {
      do {
        reply.data = try await BlockingWork.run { [content] in
          try content.read(digest, offset: read.offset, length: length)
        }
      } catch {
        reply.error = "\(error)"
      }
    } else {
      reply.error = "a digest must have 32 bytes, not \(read.digest.count)"
    }
    try await connection.send(.contentData(reply))
  }

  /// Opens an upload. Nil if it has been answered already: the store has the content, or cannot take it.
  private func open(_ begin: Sheaf_UploadBegin) async throws -> Transfer? {
    guard uploads.count < Self.maximumUploads, uploads[begin.request] == nil else {
      throw WireError(
        .violation, "an upload was begun twice, or more than \(Self.maximumUploads) uploads are open at once")
    }
    var reply = Sheaf_UploadReply.with { $0.request = begin.request }
    guard let digest = SHA256Digest(bytes: begin.digest), let size = Int64(exactly: begin.size) else {
      throw WireError(.violation, "an upload must have a digest of 32 bytes and a size below 2^63")
    }
    do {
      let announced = Content(digest: digest, size: size)
      let upload = try await BlockingWork.run { [store = content.store] () -> ContentUpload? in
        store.contains(announced) ? nil : try store.upload(announced)
      }
      if let upload {
        let (stream, continuation) = AsyncStream.makeStream(of: Sheaf_UploadChunk.self)
        uploads[begin.request] = OpenUpload(chunks: continuation)
        try await connection.send(.uploadReply(reply))
        return Transfer(request: begin.request, upload: upload, chunks: stream)
      }
      reply.complete = true
      reply.received = begin.size
    } catch let error as ContentStoreError {
      reply.error = "the coordinator's content store: \(error)"
    }
    try await connection.send(.uploadReply(reply))
    return nil
  }

  /// Queues a chunk. Throws `.violation` if it is not the next one, too long, or beyond the window.
  private func take(_ chunk: Sheaf_UploadChunk) throws {
    // No such upload: it has failed meanwhile, and the peer has received the error.
    guard var open = uploads[chunk.request] else { return }
    guard chunk.offset == open.expected, chunk.data.count <= WireProtocol.maximumChunk,
      open.waiting <= WireProtocol.uploadWindow
    else { throw WireError(.violation, "a chunk of an upload is out of order, too long or beyond the window") }
    open.expected += UInt64(chunk.data.count)
    open.waiting += 1
    uploads[chunk.request] = open
    open.chunks.yield(chunk)
    if chunk.last { open.chunks.finish() }
  }

  /// Writes the chunks of an upload as they arrive, and answers each.
  private func run(_ transfer: Transfer) async throws {
    defer { uploads[transfer.request] = nil }
    for await chunk in transfer.chunks {
      var reply = Sheaf_UploadReply.with { $0.request = transfer.request }
      do {
        reply.received = try await BlockingWork.run {
          try transfer.upload.write(chunk.data)
          if chunk.last { try transfer.upload.finish() }
          return UInt64(transfer.upload.received)
        }
        reply.complete = chunk.last
      } catch let error as ContentStoreError {
        reply.error = "the coordinator's content store: \(error)"
      }
      uploads[transfer.request]?.waiting -= 1
      let isOver = chunk.last || !reply.error.isEmpty
      if isOver { uploads[transfer.request] = nil }
      try await connection.send(.uploadReply(reply))
      if isOver { break }
    }
    try await BlockingWork.run { transfer.upload.discard() }
  }
}
