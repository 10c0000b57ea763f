import Digest
import FoundationEssentials
import SwiftProtobuf
import Wire

/// One connection's reads and uploads. What a peer may have under way is bounded, and so is what is held of it.
actor ContentDesk {
  static let maximumUploads = 64

  /// An upload and the chunks of it that have come and are not written yet.
  struct Job: Sendable {
    let request: UInt64
    let upload: VaultUpload
    let chunks: AsyncStream<Sheaf_UploadChunk>
  }

  private struct Open {
    let chunks: AsyncStream<Sheaf_UploadChunk>.Continuation
    var expected: UInt64 = 0
    var waiting = 0
  }

  private let library: Library
  private let connection: WireConnection
  private var reads = 0
  private var uploads: [UInt64: Open] = [:]

  init(library: Library, connection: WireConnection) {
    self.library = library
    self.connection = connection
  }

  /// Counts a read that is about to be served. Throws `.violation` where there are too many.
  func admit(_ read: Sheaf_ReadContent) throws {
    guard reads < WireProtocol.readWindow else {
      throw WireError(.violation, "more than \(WireProtocol.readWindow) reads were asked for at once")
    }
    reads += 1
  }

  /// Serves a read that was admitted.
  func serve(_ read: Sheaf_ReadContent) async throws {
    defer { reads -= 1 }
    let length = Int(min(read.length, UInt32(WireProtocol.maximumChunk)))
    var reply = Sheaf_ContentData.with { $0.request = read.request }
    if let digest = SHA256Digest(bytes: read.digest) {
      do {
        reply.data = try await BlockingWork.run { [library] in
          try library.read(digest, offset: read.offset, length: length)
        }
      } catch {
        reply.error = "\(error)"
      }
    } else {
      reply.error = "a digest has 32 bytes, not \(read.digest.count)"
    }
    try await connection.send(.contentData(reply))
  }

  /// Opens an upload, to be run; nil where the answer was sent: the vault has it, or cannot take it.
  func open(_ begin: Sheaf_UploadBegin) async throws -> Job? {
    guard uploads.count < Self.maximumUploads, uploads[begin.request] == nil else {
      throw WireError(.violation, "too many uploads were begun at once, or one twice")
    }
    var reply = Sheaf_UploadReply.with { $0.request = begin.request }
    guard let digest = SHA256Digest(bytes: begin.digest), let size = Int64(exactly: begin.size) else {
      throw WireError(.violation, "an upload needs a digest of 32 bytes and a size below 2^63")
    }
    do {
      let upload = try await BlockingWork.run { [library] () -> VaultUpload? in
        library.vault.size(of: digest) == size ? nil : try library.vault.begin(digest: digest, size: size)
      }
      if let upload {
        let (stream, continuation) = AsyncStream.makeStream(of: Sheaf_UploadChunk.self)
        uploads[begin.request] = Open(chunks: continuation)
        try await connection.send(.uploadReply(reply))
        return Job(request: begin.request, upload: upload, chunks: stream)
      }
      reply.complete = true
      reply.received = begin.size
    } catch let error as VaultError {
      reply.error = "the coordinator's vault: \(error)"
    }
    try await connection.send(.uploadReply(reply))
    return nil
  }

  /// Queues a chunk. Throws `.violation` where it is not the next one, or beyond the window.
  func take(_ chunk: Sheaf_UploadChunk) throws {
    guard var open = uploads[chunk.request] else { return }  // It failed meanwhile, and the peer has been told.
    guard chunk.offset == open.expected, chunk.data.count <= WireProtocol.maximumChunk,
      open.waiting <= WireProtocol.uploadWindow
    else { throw WireError(.violation, "an upload's chunk is out of order, too long or beyond the window") }
    open.expected += UInt64(chunk.data.count)
    open.waiting += 1
    uploads[chunk.request] = open
    open.chunks.yield(chunk)
    if chunk.last { open.chunks.finish() }
  }

  /// Writes an upload's chunks as they come, answering each, to its end.
  func run(_ job: Job) async throws {
    defer { uploads[job.request] = nil }
    for await chunk in job.chunks {
      var reply = Sheaf_UploadReply.with { $0.request = job.request }
      do {
        reply.received = try await BlockingWork.run {
          try job.upload.write(chunk.data)
          if chunk.last { try job.upload.finish() }
          return UInt64(job.upload.received)
        }
        reply.complete = chunk.last
      } catch let error as VaultError {
        reply.error = "the coordinator's vault: \(error)"
      }
      uploads[job.request]?.waiting -= 1
      let isOver = chunk.last || !reply.error.isEmpty
      if isOver { uploads[job.request] = nil }
      try await connection.send(.uploadReply(reply))
      if isOver { break }
    }
    try await BlockingWork.run { job.upload.discard() }
  }

  /// No more chunks will come.
  func close() {
    for open in uploads.values { open.chunks.finish() }
  }
}
