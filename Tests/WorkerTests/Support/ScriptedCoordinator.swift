import Digest
import Foundation
import Logging
import SwiftProtobuf
import Synchronization
import Wire

/// The other end of an agent's connection: sends what a test gives it, keeps what it receives, and serves and takes
/// content.
actor ScriptedCoordinator {
  private struct Waiter {
    var matches: @Sendable (WireMessage) -> Bool
    var continuation: CheckedContinuation<WireMessage, any Error>
  }

  private var server: WireServer?
  private var running: Task<Void, any Error>?
  private var connection: WireConnection?
  private var received: [WireMessage] = []
  private var waiters: [Waiter] = []
  private var connectionWaiters: [CheckedContinuation<Void, Never>] = []
  private var partial: [UInt64: (digest: SHA256Digest, data: Data)] = [:]
  private(set) var hellos: [Sheaf_Hello] = []
  private(set) var contents: [SHA256Digest: Data] = [:]
  private var lists: [SHA256Digest: [UInt8]] = [:]
  private(set) var readRequests: [Range<UInt64>] = []
  /// The first heartbeat of each connection.
  private(set) var firstHeartbeats: [Sheaf_Heartbeat] = []
  private var awaitsFirstHeartbeat = false
  /// Whether requests for content are received and never answered.
  private var holdsReads = false
  /// Whether chunks of uploads are received and never answered.
  private var holdsUploads = false
  /// Whether failures are received and never answered.
  private var holdsFailures = false
  private let refusals = Refusals()
  /// How many uploads cannot be taken for now.
  private var postponements = 0
  private var cancelled: [Sheaf_Lease] = []
  private let welcome: Sheaf_Welcome
  private let token: String

  init(token: String = "secret", heartbeat: Int = 50, lease: Int = 60_000) {
    self.token = token
    welcome = .with {
      $0.protocolVersion = WireProtocol.version
      $0.server = "script"
      $0.heartbeatMilliseconds = UInt32(heartbeat)
      $0.leaseMilliseconds = UInt32(lease)
      $0.maxChunkBytes = UInt32(WireProtocol.maximumChunk)
    }
  }

  func start() async throws -> WireAddress {
    let server = try await WireServer.bind(
      to: WireAddress(host: "127.0.0.1", port: 0), helloTimeout: .seconds(600),
      logger: Logger(label: "script") { _ in SwiftLogNoOpLogHandler() })
    self.server = server
    let (welcome, token, refusals) = (welcome, token, refusals)
    running = Task {
      try await server.run(maximumConnections: 4) { hello, _ -> Result<(Sheaf_Welcome, Void), WireError> in
        if refusals.take() { return .failure(WireError(.refused(.shuttingDown), "the coordinator is shutting down")) }
        guard hello.token == token else { return .failure(WireError(.refused(.token), "the token is wrong")) }
        return .success((welcome, ()))
      } session: { connection, hello, _ in
        await self.began(connection, hello)
        for try await message in connection.inbound { try await self.handle(message, connection) }
      }
    }
    return server.address
  }

  func stop() {
    running?.cancel()
    connection?.close()
  }

  /// Closes the open connection.
  func hangUp() {
    connection?.close()
    connection = nil
  }

  /// Makes content available for reading.
  func serve(_ data: Data) -> SHA256Digest {
    let digest = SHA256Digest.of(data)
    serve(data, as: digest)
    return digest
  }

  /// Serves other bytes than those that the digest names, with the list of their blocks.
  func serve(_ data: Data, as digest: SHA256Digest) {
    contents[digest] = data
    lists[digest] = BlockDigests.list(of: data).bytes
  }

  /// Serves content of which the bytes have changed since it was hashed: the list of blocks is the old one.
  func damage(_ digest: SHA256Digest, _ change: (inout Data) -> Void) {
    guard var data = contents[digest] else { return }
    change(&data)
    contents[digest] = data
  }

  /// Answers no more requests for content.
  func holdReads() {
    holdsReads = true
  }

  /// Answers requests for content again; those that were held are lost.
  func releaseReads() {
    holdsReads = false
  }

  /// Cannot take this many uploads, as a coordinator whose disk is full.
  func postponeUploads(_ count: Int) {
    postponements = count
  }

  /// Answers chunks of uploads, or no more.
  func holdUploads(_ holds: Bool) {
    holdsUploads = holds
  }

  /// Answers failures, or no more.
  func holdFailures(_ holds: Bool) {
    holdsFailures = holds
  }

  /// Refuses this many hellos, as a coordinator does that is shutting down.
  func refuse(_ count: Int) {
    refusals.set(count)
  }

  /// Lists a lease as cancelled in every reply to a heartbeat.
  func cancel(_ lease: Sheaf_Lease) {
    cancelled.append(lease)
  }

  /// Forgets content that was uploaded.
  func lose(_ digest: SHA256Digest) {
    contents[digest] = nil
  }

  /// Until a worker is connected.
  func awaitConnection() async {
    if connection == nil { await withCheckedContinuation { connectionWaiters.append($0) } }
  }

  func send(_ message: WireMessage) async throws {
    try await connection?.send(message)
  }

  /// Sends a message and returns the first one after it that matches.
  func ask(_ message: WireMessage, _ matches: @escaping @Sendable (WireMessage) -> Bool) async throws -> WireMessage {
    async let answer = next(matches)
    try await send(message)
    return try await answer
  }

  /// The first message not yet taken that matches; waits for it.
  func next(_ matches: @escaping @Sendable (WireMessage) -> Bool) async throws -> WireMessage {
    if let index = received.firstIndex(where: matches) { return received.remove(at: index) }
    return try await withCheckedThrowingContinuation { waiters.append(Waiter(matches: matches, continuation: $0)) }
  }

  private func began(_ connection: WireConnection, _ hello: Sheaf_Hello) {
    hellos.append(hello)
    awaitsFirstHeartbeat = true
    self.connection = connection
    for waiter in connectionWaiters { waiter.resume() }
    connectionWaiters = []
  }

  private func handle(_ message: WireMessage, _ connection: WireConnection) async throws {
    switch message {
    case .readContent(let read):
      let answer = answer(read)
      record(message)
      if !holdsReads { try await connection.send(.contentData(answer)) }
    case .uploadBegin(let begin):
      guard let digest = SHA256Digest(bytes: begin.digest) else { return }
      record(message)
      if postponements > 0 {
        postponements -= 1
        let reply = Sheaf_UploadReply.with {
          $0.request = begin.request
          $0.error = "the disk is full"
          $0.temporary = true
        }
        return try await connection.send(.uploadReply(reply))
      }
      partial[begin.request] = (digest, Data())
      try await connection.send(.uploadReply(.with { $0.request = begin.request }))
    case .uploadChunk(let chunk):
      let reply = take(chunk)
      record(message)
      if !holdsUploads { try await connection.send(.uploadReply(reply)) }
    case .heartbeat(let heartbeat):
      if awaitsFirstHeartbeat { firstHeartbeats.append(heartbeat) }
      awaitsFirstHeartbeat = false
      record(message)
      try await connection.send(.heartbeatReply(.with { $0.cancelled = cancelled }))
    case .failure(let failure):
      record(message)
      if !holdsFailures { try await connection.send(.failureReply(.with { $0.lease = failure.lease })) }
    default: record(message)
    }
  }

  private func record(_ message: WireMessage) {
    guard let index = waiters.firstIndex(where: { $0.matches(message) }) else { return received.append(message) }
    waiters.remove(at: index).continuation.resume(returning: message)
  }

  private func answer(_ read: Sheaf_ReadContent) -> Sheaf_ContentData {
    let range = read.offset..<(read.offset + UInt64(read.length))
    if read.blockDigests {
      return .with {
        $0.request = read.request
        guard let digest = SHA256Digest(bytes: read.digest), let list = lists[digest] else {
          $0.error = "no such content"
          return
        }
        $0.data = Data(list.dropFirst(Int(read.offset)).prefix(Int(read.length)))
      }
    }
    readRequests.append(range)
    return .with {
      $0.request = read.request
      guard let digest = SHA256Digest(bytes: read.digest), let data = contents[digest] else {
        $0.error = "no such content"
        return
      }
      $0.data = data.subdata(in: Int(range.lowerBound)..<min(data.count, Int(range.upperBound)))
    }
  }

  private func take(_ chunk: Sheaf_UploadChunk) -> Sheaf_UploadReply {
    .with {
      $0.request = chunk.request
      guard var upload = partial[chunk.request], upload.data.count == Int(chunk.offset) else {
        $0.error = "a chunk out of order"
        return
      }
      upload.data.append(chunk.data)
      partial[chunk.request] = upload
      $0.received = UInt64(upload.data.count)
      guard chunk.last, !holdsUploads else { return }
      guard SHA256Digest.of(upload.data) == upload.digest else {
        $0.error = "the digest is another"
        return
      }
      contents[upload.digest] = upload.data
      $0.complete = true
    }
  }
}

/// How many hellos are still refused.
private final class Refusals: Sendable {
  private let left = Mutex(0)

  func set(_ count: Int) { left.withLock { $0 = count } }

  /// Whether this hello is one of them.
  func take() -> Bool {
    left.withLock { left in
      defer { left = max(0, left - 1) }
      return left > 0
    }
  }
}
