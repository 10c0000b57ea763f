import CSSL
import Foundation
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import SwiftProtobuf
import Synchronization
import TestPrograms
import Testing

@testable import TLS
@testable import Wire

/// Peers of a server with TLS that do what no client does.
@Suite(.timeLimit(.minutes(10)), .enabled(if: !QuickTests.areRun, "it starts other programs"))
struct TLSHostilePeerTests {
  let certificates: TestCertificates
  let identity: TLSIdentity
  let trust: TLSTrust

  init() throws {
    certificates = try TLSTests.certificates.get()
    identity = try TLSIdentity(certificate: certificates.certificate(.good), key: certificates.key(.good))
    trust = try TLSTrust(.file(certificates.authority))
  }

  private static func connect(
    _ address: WireAddress, _ handlers: @escaping @Sendable () throws -> [any ChannelHandler] = { [] }
  ) async throws -> any Channel {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandlers(handlers()) }
      }
      .connect(host: address.host, port: address.port).get()
  }

  private static var hello: ByteBuffer {
    get throws {
      try Sheaf_Frame.with {
        $0.hello = .with {
          $0.role = .client
          $0.protocolVersion = WireProtocol.version
        }
      }.framed()
    }
  }

  /// The first bytes that a client sends.
  private var clientHello: ByteBuffer {
    get throws {
      let session = try TLSSession.client(trust, host: "localhost")
      #expect(try !session.handshake())
      var bytes = ByteBuffer()
      session.takeOutput(into: &bytes)
      return bytes
    }
  }

  @Test func `a handshake that does not go on ends its connection`() async throws {
    let hello = try clientHello
    try await withServer(helloTimeout: .milliseconds(200), tls: identity, admit: Self.nobody) { address in
      for length in [0, 1, 5, hello.readableBytes / 2, hello.readableBytes] {
        let peer = try await Self.connect(address)
        peer.writeAndFlush(hello.getSlice(at: 0, length: length) ?? ByteBuffer(), promise: nil)
        try await peer.closeFuture.get()
      }
    }
  }

  @Test func `a handshake that never ends is not read for long`() async throws {
    try await withServer(tls: identity, admit: Self.nobody) { address in
      let peer = try await Self.connect(address)
      // Records of a first message of 16 MB.
      var record = ByteBuffer(bytes: [22, 3, 1, 0x40, 0])
      record.writeBytes([1, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 16380))
      let flood = record
      let sending = Task {
        // It fails when the server has closed the connection.
        while true { try await peer.writeAndFlush(flood) }
      }
      try await peer.closeFuture.get()
      _ = await sending.result
    }
  }

  @Test func `half of a record and then silence ends its connection before a hello`() async throws {
    try await withServer(helloTimeout: .seconds(1), tls: identity, admit: Self.nobody) { [trust] address in
      let peer = try await Self.connect(address) {
        // The third write, after the two of the handshake, is that of the hello.
        [CutHandler(.silence, ofWrite: 3), try TLSHandler(trust, host: "localhost")]
      }
      peer.writeAndFlush(try Self.hello, promise: nil)
      try await peer.closeFuture.get()
    }
  }

  @Test func `the hello is the third that a client writes`() async throws {
    let admitted = Mutex(false)
    let admit: WireServer.Admission<Void> = { _, _ in
      admitted.withLock { $0 = true }
      return .success((.welcoming, ()))
    }
    let session: WireServer.Session<Void> = { _, _, _ in }
    try await withServer(tls: identity, admit: admit, session: session) { [trust] address in
      let peer = try await Self.connect(address) {
        [CutHandler(.silence, ofWrite: 4), try TLSHandler(trust, host: "localhost")]
      }
      peer.writeAndFlush(try Self.hello, promise: nil)
      try await peer.closeFuture.get()
    }
    #expect(admitted.withLock { $0 })
  }

  /// How a session ended: nil as TLS says.
  private func end(
    of peer: @escaping @Sendable (WireAddress) async throws -> Void
  ) async throws -> WireError? {
    let (ends, end) = AsyncStream.makeStream(of: WireError?.self)
    let session: WireServer.Session<Void> = { connection, _, _ in
      do {
        for try await _ in connection.inbound {}
        end.yield(nil)
      } catch let error as WireError {
        end.yield(error)
      }
    }
    return try await withServer(tls: identity, session: session) { address in
      try await peer(address)
      var iterator = ends.makeAsyncIterator()
      return try #require(await iterator.next())
    }
  }

  @Test func `a connection that ends as TLS says is no error`() async throws {
    let error = try await end { [trust] address in
      try await WireClient.withConnection(to: address, trusting: trust, hello: .client, timeout: .seconds(300)) {
        connection, _ in
        try await connection.send(.heartbeat(.init()))
      }
    }
    #expect(error == nil)
  }

  /// Between two frames, where the end of the socket alone could be an end that the peer meant; and within one.
  @Test(arguments: [(0, "the connection was cut"), (100_000, "in the middle of a frame")])
  func `a connection that is cut is an error`(bytes: Int, reason: String) async throws {
    let error = try await end { [trust] address in
      let (reads, read) = AsyncStream.makeStream(of: Void.self)
      let peer = try await Self.connect(address) {
        // After the handshake, the hello and a frame.
        [
          CutHandler(.close, ofWrite: 5), try TLSHandler(trust, host: "localhost"), ReadHandler { read.yield() },
        ]
      }
      try await peer.writeAndFlush(Self.hello)
      // The welcome: a socket that is closed before it is read is reset.
      var iterator = reads.makeAsyncIterator()
      await iterator.next()
      try await peer.writeAndFlush(Sheaf_Frame.with { $0.message = .heartbeat(.init()) }.framed())
      if bytes > 0 {
        let chunk = try Sheaf_Frame.with { $0.message = .uploadChunk(.with { $0.data = Data(count: bytes) }) }.framed()
        peer.writeAndFlush(chunk, promise: nil)
      } else {
        peer.triggerUserOutboundEvent(CutHandler.Way.close, promise: nil)
      }
    }
    #expect(error?.code == .closed)
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "none")")
  }

  @Test func `random bytes and damaged handshakes are never admitted`() async throws {
    let hello = try clientHello
    try await withServer(helloTimeout: .seconds(1), tls: identity, admit: Self.nobody) { address in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for seed in 0..<TestExtent.of(UInt64(60), whole: 200) {
          group.addTask {
            var random = SeededRandom(seed: seed)
            var bytes = hello
            switch seed % 4 {
            case 0:
              let count = Int.random(in: 1...100_000, using: &random)
              bytes = ByteBuffer(bytes: (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            case 1:
              // As records of a handshake.
              let count = Int.random(in: 1...16384, using: &random)
              bytes = ByteBuffer(bytes: [22, 3, 1, UInt8(count >> 8), UInt8(count & 255)])
              bytes.writeBytes((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            default:
              for _ in 0..<Int.random(in: 1...8, using: &random) {
                let index = Int.random(in: 5..<bytes.readableBytes, using: &random)
                bytes.setInteger(UInt8.random(in: .min ... .max, using: &random), at: index)
              }
            }
            let peer = try await Self.connect(address)
            peer.writeAndFlush(bytes, promise: nil)
            try await peer.closeFuture.get()
          }
          if seed % 20 == 19 { try await group.waitForAll() }
        }
        try await group.waitForAll()
      }
    }
    // The server goes on.
    try await withServer(tls: identity) { [trust] address in
      try await WireClient.withConnection(to: address, trusting: trust, hello: .client, timeout: .seconds(300)) {
        _, _ in
      }
    }
  }

  private static let nobody: WireServer.Admission<Void> = { _, address in
    Issue.record("admitted: \(address)")
    return .success((.welcoming, ()))
  }

  @Test func `handshakes that do not go on leave room for one that does`() async throws {
    let hello = try clientHello
    let server = try await WireServer.bind(
      to: WireAddress(host: "127.0.0.1", port: 0), tls: identity, helloTimeout: .seconds(300),
      pending: (ofAddress: 4, all: 8), logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    try await withThrowingTaskGroup(of: Void.self) { [trust] group in
      group.addTask {
        try await server.run(
          maximumConnections: 2, admit: { _, _ in .success((.welcoming, ())) },
          session: { connection, _, _ in for try await _ in connection.inbound {} })
      }
      var stuck: [any Channel] = []
      for _ in 0..<40 {
        let peer = try await Self.connect(server.address)
        try await peer.writeAndFlush(hello)
        stuck.append(peer)
      }
      // Whichever they are: neighbours may be accepted in another order than they connected in.
      let (closes, close) = AsyncStream.makeStream(of: Void.self)
      for channel in stuck { channel.closeFuture.whenComplete { _ in close.yield() } }
      var iterator = closes.makeAsyncIterator()
      for _ in 0..<36 { await iterator.next() }
      try await WireClient.withConnection(to: server.address, trusting: trust, hello: .client, timeout: .seconds(300)) {
        _, welcome in
        #expect(welcome.protocolVersion == WireProtocol.version)
      }
      for channel in stuck { channel.close(promise: nil) }
      server.stop()
      try await group.waitForAll()
    }
  }

  /// As on the HTTP face, where no other handler waits for the first request in this time.
  @Test func `a handler can limit the handshake by itself`() throws {
    let channel = EmbeddedChannel()
    try channel.pipeline.syncOperations.addHandler(TLSHandler(server: identity.context, timeout: .seconds(10)))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    try channel.writeInbound(clientHello)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(9_999))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!channel.isActive)
    #expect { try channel.throwIfErrorCaught() } throws: { ($0 as? TLSError)?.code == .timeout }
  }

  /// Each change of keys that a peer asks for is answered.
  @Test func `a peer that causes answers and does not read them is cut off`() throws {
    let channel = EmbeddedChannel()
    try channel.pipeline.syncOperations.addHandlers(CloggedHandler(), TLSHandler(server: identity.context))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    var client = try TLSSession.client(trust, host: "localhost")
    func send() throws {
      var bytes = ByteBuffer()
      client.takeOutput(into: &bytes)
      try channel.writeInbound(bytes)
    }
    while try !client.handshake() {
      try send()
      while let bytes = try channel.readOutbound(as: ByteBuffer.self) { try client.receive(bytes) }
    }
    try send()
    var (count, failure) = (0, TLSError?.none)
    while channel.isActive, count < 100_000 {
      #expect(SSL_key_update(client.session, SSL_KEY_UPDATE_REQUESTED) == 1)
      try [1].withUnsafeBytes { try client.write($0) }
      count += 1
      do { try send() } catch let error as TLSError { failure = error }
      // What the server has sent is never given to the client.
    }
    #expect(failure?.code == .failed)
    #expect(count > 100 && count < 10_000, "\(count)")
  }
}

/// The socket's end of a client's pipeline, which sends the half of one write and nothing after it.
final class CutHandler: ChannelDuplexHandler, Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  enum Way: Sendable {
    /// The connection stays open.
    case silence
    /// The socket is closed.
    case close
  }

  private let way: Way
  private let number: Int
  private let writes = Mutex(0)

  /// - Parameter number: From 1.
  init(_ way: Way, ofWrite number: Int) {
    (self.way, self.number) = (way, number)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let count = writes.withLock { writes in
      writes += 1
      return writes
    }
    guard count >= number else { return context.write(data, promise: promise) }
    promise?.fail(ChannelError.ioOnClosedChannel)
    guard count == number else { return }
    let bytes = unwrapOutboundIn(data)
    context.writeAndFlush(NIOAny(bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes / 2)!), promise: nil)
    if way == .close { context.close(promise: nil) }
  }

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    if event is Way {
      context.close(promise: promise)
    } else {
      context.triggerUserOutboundEvent(event, promise: promise)
    }
  }
}

/// Reports each read.
private final class ReadHandler: ChannelInboundHandler, Sendable {
  typealias InboundIn = ByteBuffer

  private let report: @Sendable () -> Void

  init(_ report: @escaping @Sendable () -> Void) {
    self.report = report
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { report() }
}

/// A socket that takes nothing: what is written is not completed.
private final class CloggedHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var promises: [EventLoopPromise<Void>] = []

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if let promise { promises.append(promise) }
    context.write(data, promise: nil)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
    promises = []
  }
}
