import ContentStorage
import Digest
import FoundationEssentials
import Runtime
import SwiftProtobuf
import SystemSupport
import Wire

/// Serves the reads and uploads of one connection. What a peer may have under way, and what is buffered for it, is
/// limited.
actor ContentTransferHandler {
  static let maximumUploads = 64
  /// How long a read waits for a content store that is away, and between two looks. A worker ends a task for which the
  /// coordinator sends nothing for 5 minutes.
  private static let (longestAbsence, pause) = (Duration.seconds(240), Duration.milliseconds(500))

  /// A chunk that has arrived, and the memory that is counted for it.
  private struct Chunk: Sendable {
    let message: Sheaf_UploadChunk
    let memory: MemoryBudget.Reservation
  }

  /// An upload, and the chunks of it that have arrived and are not written yet.
  private struct Transfer: Sendable {
    let request: UInt64
    let upload: ContentUpload
    let chunks: AsyncStream<Chunk>
  }

  private struct OpenUpload {
    let chunks: AsyncStream<Chunk>.Continuation
    /// Nil until the peer knows where to start.
    var expected: UInt64?
    var waiting = 0
  }

  private let content: ContentLocator
  private let connection: WireConnection
  private let minimumFree: Int64
  private let checksReads: Bool
  private let mayRead: @Sendable () throws -> Void
  private let mayUpload: @Sendable () throws -> Void
  private let stored: @Sendable (Content) async throws -> Void
  private let hasRead: @Sendable (SHA256Digest) async throws -> Void
  private let waits: @Sendable (Content, String?) async -> Void
  private let received: @Sendable (Int) -> Void
  private let sent: @Sendable (Int) -> Void
  /// Reads whose reply was not given to the connection. It is lowered before that, so that a peer that has read a reply
  /// may request again at once.
  private var unansweredReads = 0
  private var uploads: [UInt64: OpenUpload] = [:]

  /// - Parameter minimumFree: An upload after which the store's disk would have fewer bytes available is answered as
  ///   temporarily impossible. Zero: uploads are taken until the disk is full.
  /// - Parameter checksReads: What the store reads is compared with its digests, and damaged content is removed,
  ///   because the peer cannot report it.
  /// - Parameter waits: Called when an upload waits for room on the disk, with the reason, and with nil when one
  ///   begins.
  /// - Parameters:
  ///   - mayRead: Called before each read. What it throws ends the connection, as with the next three.
  ///   - mayUpload: Called before each upload.
  ///   - stored: Called when an upload is whole, before it is answered.
  ///   - hasRead: Called for each reply to a read, before it is sent.
  ///   - received: Called with the bytes of each chunk of an upload that is written.
  ///   - sent: Called with the bytes of each reply to a read.
  init(
    content: ContentLocator, connection: WireConnection, minimumFree: Int64 = 0, checksReads: Bool = false,
    mayRead: @escaping @Sendable () throws -> Void = {}, mayUpload: @escaping @Sendable () throws -> Void = {},
    stored: @escaping @Sendable (Content) async throws -> Void = { _ in },
    hasRead: @escaping @Sendable (SHA256Digest) async throws -> Void = { _ in },
    waits: @escaping @Sendable (Content, String?) async -> Void = { _, _ in },
    received: @escaping @Sendable (Int) -> Void = { _ in }, sent: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    self.content = content
    self.connection = connection
    self.minimumFree = minimumFree
    self.checksReads = checksReads
    self.mayRead = mayRead
    self.mayUpload = mayUpload
    self.stored = stored
    self.hasRead = hasRead
    self.waits = waits
    self.received = received
    self.sent = sent
  }

  /// Processes a message that belongs to a read or an upload; work that takes long goes on in `group`. Returns false,
  /// and does nothing, for any other message. Throws `.violation` if the peer exceeds a limit.
  nonisolated(nonsending) func start(
    _ message: WireMessage, in group: inout ThrowingDiscardingTaskGroup<any Error>
  ) async throws -> Bool {
    switch message {
    case .readContent(let read):
      try mayRead()
      try await admit(read)
      group.addTask { try await self.connection.alongside { try await self.serve(read) } }
    case .uploadBegin(let begin):
      try mayUpload()
      let announced = try await admit(begin)
      group.addTask { try await self.connection.alongside { try await self.receive(begin.request, announced) } }
    case .uploadChunk(let chunk):
      // Before the next message is read: a peer that sends more than there is room for waits.
      try await take(Chunk(message: chunk, memory: connection.room(for: chunk.data.count)))
    default: return false
    }
    return true
  }

  /// Ends the uploads: no more chunks will come.
  func close() {
    for upload in uploads.values { upload.chunks.finish() }
  }

  // MARK: Reads

  private func admit(_ read: Sheaf_ReadContent) throws {
    guard unansweredReads < WireProtocol.readWindow else {
      throw WireError(.violation, "at most \(WireProtocol.readWindow) reads may be unanswered")
    }
    unansweredReads += 1
  }

  private func serve(_ read: Sheaf_ReadContent) async throws {
    let length = Int(min(read.length, UInt32(WireProtocol.maximumChunk)))
    guard let digest = SHA256Digest(bytes: read.digest) else {
      return try await refuse(read, "a digest must have 32 bytes, not \(read.digest.count)")
    }
    var isVerifying = false
    let limit = ContinuousClock.now + Self.longestAbsence
    while true {
      do {
        return try await serve(read, digest, length, verifying: isVerifying)
      } catch let error as ContentStoreError where error.code == .away {
        guard ContinuousClock.now < limit else { return try await refuse(read, "\(error)") }
        try await Task.sleep(for: Self.pause)
      } catch let error as ContentStoreError where error.code == .unverified {
        do {
          // It takes minutes for a long film, so it is done once for all who read it, on threads of its own, and before
          // it is the read's turn: the other reads of the connection do not wait for it.
          try await content.verifications.run(digest) { [content] in
            try await BlockingWork.run(.hashing) { try content.verify(digest) }
          }
        } catch let error as ContentStoreError {
          return try await refuse(read, "\(error)")
        }
        // It is not unverified again, even if it has just changed and its digest is not kept.
        isVerifying = true
      }
    }
  }

  /// Throws `.unverified` if the content is a file under the media root that was not read since it changed, and `.away`
  /// if the store is.
  private func serve(
    _ read: Sheaf_ReadContent, _ digest: SHA256Digest, _ length: Int, verifying: Bool
  ) async throws {
    try await connection.send(content: length) {
      var reply = Sheaf_ContentData.with { $0.request = read.request }
      do {
        reply.data = try await presentData(read, of: digest, length, verifying)
        try await hasRead(digest)
        sent(reply.data.count)
      } catch let error as ContentStoreError where error.code != .unverified {
        let error = try await explained(error)
        if error.code == .away { throw error }
        reply.error = "\(error)"
      }
      unansweredReads -= 1
      return .contentData(reply)
    }
  }

  /// Content that is missing is looked for once more after the store was seen to be there: it may have been away at the
  /// first time, and have come back before anybody asked why.
  private func presentData(
    _ read: Sheaf_ReadContent, of digest: SHA256Digest, _ length: Int, _ verifying: Bool
  ) async throws -> Data {
    do {
      return try await data(read, of: digest, length, verifying)
    } catch let error as ContentStoreError where error.code == .missing {
      let error = try await explained(error)
      guard error.code == .missing else { throw error }
      return try await data(read, of: digest, length, verifying)
    }
  }

  private func explained(_ error: ContentStoreError) async throws -> ContentStoreError {
    try await BlockingWork.run(.files) { [store = content.store] in store.explained(error) }
  }

  private func refuse(_ read: Sheaf_ReadContent, _ error: String) async throws {
    unansweredReads -= 1
    try await connection.send(.contentData(.with { ($0.request, $0.error) = (read.request, error) }))
  }

  /// A worker's bytes are not checked here: it checks them, by block digests or by the digest of the whole, and so
  /// finds what changes on the way too. It reports wrong ones, and `DamagedInputs` looks into it.
  private func data(
    _ read: Sheaf_ReadContent, of digest: SHA256Digest, _ length: Int, _ verifying: Bool
  ) async throws -> Data {
    let part = { @Sendable [content, checksReads] (verifying: Bool) throws(ContentStoreError) -> Data in
      if read.blockDigests {
        try content.readBlocks(digest, offset: read.offset, length: length, verifying: verifying)
      } else if checksReads {
        try content.readChecked(digest, offset: read.offset, length: length, verifying: verifying)
      } else {
        try content.read(digest, offset: read.offset, length: length, verifying: verifying)
      }
    }
    do {
      return try await BlockingWork.run(.transfers) { try part(false) }
    } catch let error as ContentStoreError where error.code == .mismatch {
      // The next job that needs it makes it again.
      let wasDamaged = try await BlockingWork.run(.hashing) { [content] in try content.removeIfDamaged(digest) }
      throw wasDamaged ? ContentStoreError(.mismatch, "\(error), and was removed") : error
    } catch let error as ContentStoreError where verifying && error.code == .unverified {
      return try await BlockingWork.run(.hashing) { try part(true) }
    }
  }

  // MARK: Uploads

  private func admit(_ begin: Sheaf_UploadBegin) throws -> (Content, AsyncStream<Chunk>) {
    guard uploads.count < Self.maximumUploads, uploads[begin.request] == nil else {
      throw WireError(
        .violation, "an upload was begun twice, or more than \(Self.maximumUploads) uploads are open at once")
    }
    guard let digest = SHA256Digest(bytes: begin.digest), let size = Int64(exactly: begin.size) else {
      throw WireError(.violation, "an upload must have a digest of 32 bytes and a size below 2^63")
    }
    let (stream, continuation) = AsyncStream.makeStream(of: Chunk.self)
    uploads[begin.request] = OpenUpload(chunks: continuation)
    return (Content(digest: digest, size: size), stream)
  }

  /// Receives an upload, from the answer to its begin to the answer to its last chunk.
  private func receive(_ request: UInt64, _ announced: (content: Content, chunks: AsyncStream<Chunk>)) async throws {
    var reply = Sheaf_UploadReply.with { $0.request = request }
    do {
      let opened = try await open(announced.content)
      await waits(announced.content, nil)
      guard let upload = opened else {
        reply.complete = true
        reply.received = UInt64(announced.content.size)
        return try await end(request, reply)
      }
      reply.received = UInt64(upload.received)
      uploads[request]?.expected = reply.received
      try await connection.send(.uploadReply(reply))
      try await write(Transfer(request: request, upload: upload, chunks: announced.chunks))
    } catch let error as ContentStoreError {
      let error = try await explained(error)
      if error.code == .outOfSpace { await waits(announced.content, error.description) }
      reply.fail(error)
      try await end(request, reply)
    }
  }

  /// Opens an upload. Nil if the store has the content. Throws `.outOfSpace` if there is too little space for it.
  private func open(_ announced: Content) async throws -> ContentUpload? {
    let upload = try await BlockingWork.run { [store = content.store, minimumFree] () -> ContentUpload? in
      if store.contains(announced) { return nil }
      let upload = try store.upload(announced)
      if minimumFree > 0 { try upload.reserve(leaving: minimumFree) }
      return upload
    }
    if let upload, upload.resumed > 0 { try await BlockingWork.run(.storing) { try upload.resume() } }
    return upload
  }

  /// Queues a chunk. Throws `.violation` if it is not the next one, too long, or beyond the window.
  private func take(_ chunk: Chunk) throws {
    // No such upload: it has failed meanwhile, and the peer has received the error.
    guard var open = uploads[chunk.message.request] else { return }
    guard let expected = open.expected, chunk.message.offset == expected,
      chunk.message.data.count <= WireProtocol.maximumChunk, open.waiting <= WireProtocol.uploadWindow
    else { throw WireError(.violation, "a chunk of an upload is out of order, too long or beyond the window") }
    open.expected = expected + UInt64(chunk.message.data.count)
    open.waiting += 1
    uploads[chunk.message.request] = open
    open.chunks.yield(chunk)
    if chunk.message.last { open.chunks.finish() }
  }

  /// Writes the chunks of an upload as they arrive, and answers each.
  private func write(_ transfer: Transfer) async throws {
    for await chunk in transfer.chunks {
      var reply = Sheaf_UploadReply.with { $0.request = transfer.request }
      do {
        reply.received = try await BlockingWork.run(.transfers) {
          try transfer.upload.write(chunk.message.data)
          return UInt64(transfer.upload.received)
        }
        received(chunk.message.data.count)
        if chunk.message.last {
          // It syncs the file, which takes long if it is large.
          try await BlockingWork.run(.storing) { try transfer.upload.finish() }
          try await stored(transfer.upload.content)
          reply.complete = true
        }
      } catch let error as ContentStoreError {
        let error = try await explained(error)
        if error.code == .outOfSpace { await waits(transfer.upload.content, error.description) }
        reply.fail(error)
        // Wrong bytes are of no use to a later upload.
        try await BlockingWork.run { error.isTemporary ? transfer.upload.keep() : transfer.upload.discard() }
      }
      if chunk.message.last || !reply.error.isEmpty { return try await end(transfer.request, reply) }
      uploads[transfer.request]?.waiting -= 1
      try await connection.send(.uploadReply(reply))
    }
  }

  /// Sends the last answer to an upload. Its number may be used again from then on.
  private func end(_ request: UInt64, _ reply: Sheaf_UploadReply) async throws {
    uploads[request] = nil
    try await connection.send(.uploadReply(reply))
  }
}

extension Sheaf_UploadReply {
  fileprivate mutating func fail(_ error: ContentStoreError) {
    self.error = "the coordinator's content store: \(error)"
    temporary = error.isTemporary
  }
}

extension ContentStoreError {
  /// Whether the same upload may succeed later.
  fileprivate var isTemporary: Bool { [.outOfSpace, .interrupted, .away].contains(code) }
}
