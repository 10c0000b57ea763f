import Glibc
import NIOCore
import NIOPosix
import Runtime
import SwiftProtobuf
import Synchronization
import TLS

/// One end of a connection after its hello: messages out and messages in, with back-pressure both ways.
package struct WireConnection: Sendable {
  /// The messages of the peer, in order. One task may iterate it, once. A slow reader slows the sender: a few frames
  /// are buffered here, the rest waits at the peer. Throws `WireError`: a refusal, a violation, or a broken connection.
  package let inbound: WireInbound
  /// The peer's address, for logs.
  package let peer: String
  private let channel: any Channel
  private let writer: NIOAsyncChannelOutboundWriter<ByteBuffer>
  private let activity: ConnectionActivity
  private let memory: MemoryBudget
  private let share: MemoryBudget.Share
  /// Content is sent one frame at a time, and held back while other messages wait.
  private let content = AsyncSemaphore(capacity: 1)
  /// While one frame of content is sent, the next one is made.
  private let making = AsyncSemaphore(capacity: 2)

  init(
    _ opening: WireTransport.Opening, _ inbound: NIOAsyncChannelInboundStream<ReceivedFrame>,
    _ writer: NIOAsyncChannelOutboundWriter<ByteBuffer>, share: MemoryBudget.Share = .client
  ) {
    channel = opening.channel.channel
    self.inbound = WireInbound(
      stream: inbound,
      limits: opening.decoded.map { .init(decoded: $0, share: share, channel: opening.channel.channel) })
    self.writer = writer
    activity = opening.activity
    memory = opening.memory
    self.share = share
    peer = channel.remoteAddress.map(String.init(describing:)) ?? "an unknown address"
  }

  /// When bytes of the peer arrived last, be they of a frame that is not complete: a sign that it lives. Now if this
  /// end is not reading, because it cannot keep up and the peer's bytes wait.
  package var lastReceived: ContinuousClock.Instant { activity.lastReceived }

  /// Sends a message and returns when the connection can take another one, so a slow peer slows its sender. Messages
  /// that one task sends keep their order.
  ///
  /// Content (`ContentData` and `UploadChunk`) is sent only while no other message waits, one frame at a time, and this
  /// returns when the system has taken it. Throws `WireError`.
  package func send(_ message: WireMessage) async throws(WireError) {
    let bytes = try Sheaf_Frame.with { $0.message = message }.framed()
    do {
      switch message {
      case .contentData, .uploadChunk:
        guard await content.enter() else { throw CancellationError() }
        defer { content.leave() }
        try await channel.writeAndFlush(bytes)
      default:
        content.hold()
        defer { content.endHold() }
        try await writer.write(bytes)
      }
    } catch {
      throw WireError(.closed, "the connection was closed")
    }
  }

  /// Makes a message with content when it can be sent soon, and sends it: at most two messages of a connection are in
  /// memory, which is counted to that of all connections. Throws `WireError`, or what `make` throws.
  /// - Parameter bytes: How much content the message has, at most.
  nonisolated(nonsending) package func send(
    content bytes: Int, _ make: nonisolated(nonsending) () async throws -> WireMessage
  ) async throws {
    guard await making.enter() else { throw WireError(.closed, "the transfer was cancelled") }
    defer { making.leave() }
    let room = try await memory.reserve(bytes, for: share)
    try await send(make())
    withExtendedLifetime(room) {}
  }

  /// Counts content that the message that was received last brought, until the last reference to the reservation is
  /// gone. Waits until there is room. The task that reads `inbound` calls it before it takes the next message.
  package func room(for bytes: Int) async throws(WireError) -> MemoryBudget.Reservation {
    if let reservation = inbound.memory.take() { return reservation }
    return try await memory.reserve(bytes, for: share)
  }

  /// Sends a refusal as the last message and closes the connection. Waits at most five seconds for the peer to read it.
  package func refuse(_ code: Sheaf_Refusal.Code, _ message: String) async {
    let refusal = Sheaf_Refusal.with {
      $0.code = code
      $0.message = message
    }
    let sent = Task { try await send(.refusal(refusal)) }
    // A peer that does not read must not delay this end: the channel is closed after five seconds in any case.
    let closing = channel.eventLoop.scheduleTask(in: .seconds(5)) { [channel] in channel.close(promise: nil) }
    // It fails if the channel is closed already, and then there is no input to discard.
    try? await channel.triggerUserOutboundEvent(FrameHandler.Command.discard).get()
    do {
      try await sent.value
      writer.finish()
      try await channel.closeFuture.get()
    } catch {
      // The channel is closed already, by the peer or because the time is over.
    }
    closing.cancel()
  }

  /// Closes the connection at once. `inbound` ends.
  package func close() {
    channel.close(promise: nil)
  }

  /// Runs work that goes on alongside the reading of the connection. If the work throws, the peer receives a refusal
  /// with the reason and the connection is closed, so that `inbound` ends too: the task that reads `inbound` does not
  /// see what its sibling tasks throw. Throws what the work throws, but nothing once it is cancelled: a group of tasks
  /// would throw that in place of the error for which it was cancelled, and the peer would not receive the reason.
  package func alongside(_ work: () async throws -> Void) async throws {
    do {
      try await work()
    } catch {
      guard !Task.isCancelled else { return }
      let reason = error as? WireError ?? WireError(.refused(.unavailable), "\(error)")
      await refuse(reason.refusalCode, reason.message)
      throw error
    }
  }
}

/// The messages of a connection's peer, in the order in which they arrive.
package struct WireInbound: AsyncSequence, Sendable {
  package typealias Element = WireMessage
  package typealias Failure = any Error

  /// What a server receives of its peer.
  struct Limits: Sendable {
    /// For what messages take beside their bytes. A reader that waits for it holds the bytes of one message, and
    /// nothing that others wait for is held by a reader that has it, so there is always one that goes on.
    let decoded: MemoryBudget
    let share: MemoryBudget.Share
    let channel: any Channel
  }

  let stream: NIOAsyncChannelInboundStream<ReceivedFrame>
  /// Nil if the peer is trusted.
  let limits: Limits?
  let memory = LastMessage()

  package func makeAsyncIterator() -> Iterator {
    Iterator(frames: stream.makeAsyncIterator(), limits: limits, memory: memory)
  }

  /// The memory of the message that was returned last, which is counted until the next one is asked for.
  final class LastMessage: Sendable {
    private struct State: Sendable {
      var body: MemoryBudget.Reservation?
      var decoded: MemoryBudget.Reservation?
    }

    private let state = Mutex(State())

    func replace(_ body: MemoryBudget.Reservation?, decoded: MemoryBudget.Reservation?) {
      // Freed outside of the lock.
      _ = state.withLock { state in
        defer { state = State(body: body, decoded: decoded) }
        return state
      }
    }

    /// The memory of the message's bytes.
    func take() -> MemoryBudget.Reservation? {
      state.withLock { state in
        defer { state.body = nil }
        return state.body
      }
    }
  }

  package struct Iterator: AsyncIteratorProtocol {
    var frames: NIOAsyncChannelInboundStream<ReceivedFrame>.AsyncIterator
    let limits: Limits?
    let memory: LastMessage

    /// Nil when the peer has closed the connection or the task is cancelled. A server does not return what a closed
    /// connection has brought, if it has no effect besides its answer. Throws `WireError`.
    package mutating func next() async throws -> WireMessage? {
      memory.replace(nil, decoded: nil)
      guard var received = try await nextToReceive() else { return nil }
      received.body = try received.body.withoutChecksum()
      var decoded: MemoryBudget.Reservation?
      if let limits {
        let size = try received.decodedSize(for: limits.share)
        // Heartbeats, which are short, always get through.
        if limits.share == .client, size > FrameDecoder.smallFrame {
          decoded = try await limits.decoded.reserve(size, for: .client)
        }
      }
      memory.replace(received.memory, decoded: decoded)
      guard let message = try Sheaf_Frame(message: received.body).message else { return nil }
      if case .refusal(let refusal) = message { throw WireError(.refused(refusal.code), refusal.message) }
      return message
    }

    private mutating func nextToReceive() async throws -> ReceivedFrame? {
      do {
        while let received = try await frames.next() {
          if let limits, !limits.channel.isActive, !received.outlivesConnection { continue }
          return received
        }
        return nil
      } catch let error as WireError {
        throw error
      } catch is CancellationError {
        return nil
      } catch {
        throw WireError(.closed, "the connection broke: \(WireClient.reason(error))")
      }
    }
  }
}

/// The NIO channel of a connection, at either end.
enum WireTransport {
  typealias AsyncChannel = NIOAsyncChannel<ReceivedFrame, ByteBuffer>

  /// An open channel and the first frame, which is still to arrive.
  struct Opening: Sendable {
    let channel: AsyncChannel
    let first: EventLoopFuture<Sheaf_Frame>
    let activity: ConnectionActivity
    let memory: MemoryBudget
    /// `FrameRules.decoded`.
    let decoded: MemoryBudget?
  }

  /// A channel that was accepted, and is not read before it is opened. One that nobody opens, because the server has
  /// stopped meanwhile, is closed with the last reference.
  final class Accepted: Sendable {
    private let channel: any Channel
    private let rules: FrameRules
    private let identity: TLSIdentity?
    private let isOpened = Mutex(false)
    private let certificate = Mutex<WorkerCertificate?>(nil)

    /// - Parameter identity: Of this server. Nil: the connection is plain.
    init(_ channel: any Channel, _ rules: FrameRules, _ identity: TLSIdentity?) {
      self.channel = channel
      self.rules = rules
      self.identity = identity
    }

    /// May be called once. Throws if the peer has closed the connection. The caller executes and closes the channel,
    /// and begins to read it.
    func open() async throws -> Opening {
      isOpened.withLock { $0 = true }
      return try await channel.eventLoop.flatSubmit { [self] in
        WireTransport.open(channel, rules) {
          try identity.map {
            try TLSHandler(server: $0.context, answer: WireTransport.answerToPlain) { [weak self] found in
              self?.certificate.withLock { $0 = found }
            }
          }
        }
      }.get()
    }

    /// What the peer's certificate says, once its hello is there. Nil: it has presented none of a worker of the farm.
    var peerCertificate: WorkerCertificate? { certificate.withLock { $0 } }

    /// The peer's address, without its port.
    var address: String { channel.remoteAddress?.ipAddress ?? "" }

    /// Closes the connection without a word, whether it was opened or not.
    func close() { channel.close(promise: nil) }

    deinit {
      if !isOpened.withLock({ $0 }) { channel.close(promise: nil) }
    }
  }

  /// - Parameter tls: Makes the handler of a connection with TLS. Nil: the connection is plain.
  static func open(
    _ channel: any Channel, _ rules: FrameRules, tls: () throws -> TLSHandler? = { nil }
  ) -> EventLoopFuture<Opening> {
    channel.eventLoop.makeCompletedFuture {
      let promise = channel.eventLoop.makePromise(of: Sheaf_Frame.self)
      let activity = ConnectionActivity()
      do {
        if let handler = try tls() { try channel.pipeline.syncOperations.addHandler(handler) }
        try channel.pipeline.syncOperations.addHandler(FrameHandler(rules, first: promise, activity: activity))
      } catch {
        promise.fail(error)
        throw error
      }
      let wrapped = try AsyncChannel(
        wrappingChannelSynchronously: channel,
        configuration: .init(
          backPressureStrategy: .init(lowWatermark: 1, highWatermark: 4), isOutboundHalfClosureEnabled: true,
          inboundType: ReceivedFrame.self, outboundType: ByteBuffer.self))
      return Opening(
        channel: wrapped, first: promise.futureResult, activity: activity, memory: rules.memory, decoded: rules.decoded)
    }
  }

  /// For a peer that sends a hello to a server with TLS.
  static let answerToPlain: ByteBuffer? = {
    let refusal = Sheaf_Refusal.with {
      $0.code = .protocol
      $0.message =
        "this coordinator requires TLS: connect with --tls-ca, or with --tls if this system trusts its authority"
    }
    return try? Sheaf_Frame.with { $0.refusal = refusal }.framed()
  }()

  /// Small messages are sent at once, and the system holds little content that was not sent yet, because a message
  /// waits behind it. A peer that has vanished is detected within half a minute, even if neither end sends anything.
  static let options: [(ChannelOptions.Types.SocketOption, SocketOptionValue)] = [
    (.init(level: .tcp, name: .tcp_nodelay), 1),
    (.init(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT)), 16 << 10),
    (.init(level: .socket, name: .so_keepalive), 1),
    (.init(level: .tcp, name: .init(rawValue: TCP_KEEPIDLE)), 15),
    (.init(level: .tcp, name: .init(rawValue: TCP_KEEPINTVL)), 5),
    (.init(level: .tcp, name: .init(rawValue: TCP_KEEPCNT)), 3),
    (.init(level: .tcp, name: .init(rawValue: TCP_USER_TIMEOUT)), 30_000),
  ]
  static let writeBuffer = ChannelOptions.Types.WriteBufferWaterMark(low: 1 << 20, high: 2 << 20)
  static let receiveBuffer = AdaptiveRecvByteBufferAllocator(minimum: 1 << 10, initial: 16 << 10, maximum: 64 << 10)
}
