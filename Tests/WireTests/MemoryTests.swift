import FoundationEssentials
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import SwiftProtobuf
import Synchronization
import TestPrograms
import Testing

@testable import Wire

struct MemoryBudgetTests {
  @Test func `what does not fit waits in its order`() async throws {
    let budget = MemoryBudget(limit: 100)
    var first: MemoryBudget.Reservation? = budget.reserveNow(60, for: .worker)
    #expect(first != nil)
    #expect(budget.reserveNow(41, for: .worker) == nil)
    let granted = Granted()
    let large = budget.reserve(50, for: .worker) { granted.add(50, $0) }
    // It would fit, but not before the one that came first.
    _ = budget.reserve(10, for: .worker) { granted.add(10, $0) }
    #expect(granted.order == [])
    first = nil
    #expect(granted.order == [50, 10])
    #expect(budget.used == 60)
    budget.cancel(large)
    granted.free()
    #expect(budget.used == 0)
  }

  @Test func `who gives up is forgotten`() async throws {
    let budget = MemoryBudget(limit: 100)
    var all = budget.reserveNow(100, for: .worker)
    let waiting = Task { try await budget.reserve(10, for: .worker) }
    waiting.cancel()
    await #expect(throws: WireError.self) { try await waiting.value }
    #expect(all != nil && budget.used == 100)
    all = nil
    #expect(budget.used == 0)
  }

  @Test func `clients leave a quarter to workers`() {
    let budget = MemoryBudget(limit: 100)
    let client = budget.reserveNow(75, for: .client)
    #expect(client != nil)
    #expect(budget.reserveNow(1, for: .client) == nil)
    #expect(budget.reserveNow(25, for: .worker) != nil)
  }

  /// So many frames that grow never wait for each other for ever, and leave room for content.
  @Test func `growing frames have half of a share, and the oldest can become complete`() throws {
    let budget = MemoryBudget(limit: 400)
    let granted = Granted()
    // 15 of them fit into half of the clients' 300.
    for frame in 0..<20 { _ = budget.grow(nil, by: 10, for: .client) { granted.add(frame, $0) } }
    #expect(granted.order == Array(0..<15))
    let frames = granted.take()
    _ = budget.grow(frames[3], by: 10, for: .client) { granted.add(3, $0) }
    #expect(granted.order == [])
    var content = budget.reserveNow(140, for: .client)
    #expect(content != nil)
    _ = budget.grow(frames[0], by: 10, for: .client) { granted.add(0, $0) }
    #expect(granted.order == [0])
    let oldest = granted.take()
    _ = budget.grow(oldest[0], by: 10, for: .client) { granted.add(0, $0) }
    #expect(granted.order == [])
    #expect(budget.isContended)
    // The oldest one goes before content that would fit.
    #expect(budget.reserveNow(1, for: .client) == nil)
    content = nil
    #expect(granted.order == [0])
    // It is complete: what it has is not that of a growing frame any more, and others go on, the oldest first.
    let complete = granted.take()
    budget.complete(complete[0])
    #expect(granted.order == [3])
    #expect(budget.used == 180)
    withExtendedLifetime((frames, oldest, complete)) {}
  }

  @Test func `what is larger than the whole goes through alone`() {
    let budget = MemoryBudget(limit: 100)
    let large = budget.reserveNow(200, for: .client)
    #expect(large != nil)
    #expect(budget.reserveNow(1, for: .worker) == nil)
  }
}

private final class Granted: Sendable {
  private let granted = Mutex<[(Int, MemoryBudget.Reservation)]>([])

  var order: [Int] { granted.withLock { $0.map(\.0) } }

  func add(_ bytes: Int, _ reservation: MemoryBudget.Reservation) {
    granted.withLock { $0.append((bytes, reservation)) }
  }

  func take() -> [MemoryBudget.Reservation] {
    granted.withLock { granted in
      defer { granted = [] }
      return granted.map(\.1)
    }
  }

  func free() { _ = take() }
}

/// A peer that sends bytes as they are.
private final class RawPeer: Sendable {
  let channel: any Channel

  init(_ address: WireAddress, role: Sheaf_Role) async throws {
    channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      // What the server does not read stays here, and not in the system's buffers of hundreds of connections.
      .channelOption(.socketOption(.so_sndbuf), value: 64 << 10)
      .connect(host: address.host, port: address.port).get()
    try await send(
      Sheaf_Frame.with {
        $0.message = .hello(
          .with {
            $0.protocolVersion = WireProtocol.version
            $0.role = role
          })
      }.framed())
  }

  func send(_ bytes: ByteBuffer) async throws { try await channel.writeAndFlush(bytes) }

  /// The start of a frame of `length` bytes.
  static func part(of length: Int, bytes: Int) -> ByteBuffer {
    var part = ByteBuffer()
    part.writeInteger(UInt32(length))
    part.writeRepeatingByte(0, count: bytes)
    return part
  }
}

@Suite(.timeLimit(.minutes(10))) struct MemoryTests {
  /// The session answers heartbeats, and reads everything else.
  private func withServer(
    memory: Int, frameTimeout: Duration = .seconds(300), _ body: @Sendable (WireServer) async throws -> Void
  ) async throws {
    let server = try await WireServer.bind(
      to: WireAddress(host: "127.0.0.1", port: 0), memory: memory, helloTimeout: .seconds(300),
      frameTimeout: frameTimeout, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await server.run(maximumConnections: 1000, admit: { _, _ in .success((.welcoming, ())) }) {
          connection, _, _ in
          for try await message in connection.inbound {
            if case .heartbeat = message { try await connection.send(.heartbeatReply(.init())) }
          }
        }
      }
      try await body(server)
      server.stop()
      try await group.waitForAll()
    }
  }

  @Test func `many unfinished frames stay within the memory, and heartbeats are answered`() async throws {
    let memory = 64 << 20
    try await withServer(memory: memory) { server in
      var peers: [RawPeer] = []
      for _ in 0..<300 { peers.append(try await RawPeer(server.address, role: .client)) }
      // All but the last byte. Most of it stays with the peers, whose bytes are shared here.
      let part = RawPeer.part(of: 8 << 20, bytes: 8 << 20 - 1)
      for peer in peers { peer.channel.writeAndFlush(part, promise: nil) }
      // Their beginnings take half of the clients' three quarters.
      while server.memory.used < memory / 8 * 3 - FrameDecoder.step { try await Task.sleep(for: .milliseconds(10)) }
      try await WireClient.withConnection(to: server.address, hello: .worker, timeout: .seconds(300)) { connection, _ in
        var replies = connection.inbound.makeAsyncIterator()
        for _ in 0..<20 {
          try await connection.send(.heartbeat(.init()))
          #expect(try await replies.next() == .heartbeatReply(.init()))
          #expect(server.memory.used <= memory)
        }
      }
      for peer in peers { try await peer.channel.close() }
    }
  }

  @Test func `who waits for room goes on when there is some`() async throws {
    try await withServer(memory: 512 << 10) { server in
      let hogs = try await [RawPeer(server.address, role: .worker), RawPeer(server.address, role: .client)]
      try await hogs[0].send(RawPeer.part(of: 256 << 10, bytes: 1000))
      try await hogs[1].send(RawPeer.part(of: 120 << 10, bytes: 1000))
      while server.memory.used < 376 << 10 { try await Task.sleep(for: .milliseconds(10)) }
      try await WireClient.withConnection(to: server.address, hello: .worker, timeout: .seconds(300)) { connection, _ in
        let chunk = WireMessage.uploadChunk(.with { $0.data = Data(count: WireProtocol.maximumChunk) })
        async let sending: Void = {
          for _ in 0..<20 { try await connection.send(chunk) }
          try await connection.send(.heartbeat(.init()))
        }()
        for peer in hogs { try await peer.channel.close() }
        try await sending
        var replies = connection.inbound.makeAsyncIterator()
        #expect(try await replies.next() == .heartbeatReply(.init()))
      }
    }
  }

  /// Peers that announce long frames and send them slowly: a chunk and a document of another client arrive.
  @Test(.enabled(if: !QuickTests.areRun, "it waits for a minute"), arguments: [1000, 1 << 20])
  func `slow frames do not keep others waiting`(begun: Int) async throws {
    try await withServer(memory: 64 << 20, frameTimeout: .seconds(12)) { server in
      var slow: [RawPeer] = []
      for _ in 0..<30 {
        let peer = try await RawPeer(server.address, role: .client)
        peer.channel.writeAndFlush(RawPeer.part(of: 8 << 20, bytes: begun), promise: nil)
        slow.append(peer)
      }
      let peers = slow
      let dripping = Task {
        while !Task.isCancelled {
          for peer in peers { peer.channel.writeAndFlush(ByteBuffer(repeating: 0, count: 4 << 10), promise: nil) }
          try await Task.sleep(for: .milliseconds(400))
        }
      }
      defer {
        dripping.cancel()
        for peer in peers { peer.channel.close(promise: nil) }
      }
      while server.memory.used < 30 * FrameDecoder.step { try await Task.sleep(for: .milliseconds(10)) }
      let hello = Sheaf_Hello.with { $0.role = .client }
      try await WireClient.withConnection(to: server.address, hello: hello, timeout: .seconds(300)) { connection, _ in
        var replies = connection.inbound.makeAsyncIterator()
        for bytes in [WireProtocol.maximumChunk, 2 << 20] {
          try await connection.send(.uploadChunk(.with { $0.data = Data(count: bytes) }))
          try await connection.send(.heartbeat(.init()))
          #expect(try await replies.next() == .heartbeatReply(.init()))
          #expect(server.memory.used <= server.memory.limit / 4 * 3)
        }
      }
    }
  }

  @Test func `a frame that does not go on ends its connection`() async throws {
    try await withServer(memory: 64 << 20, frameTimeout: .milliseconds(300)) { server in
      let stuck = try await RawPeer(server.address, role: .client)
      try await stuck.send(RawPeer.part(of: 8 << 20, bytes: 1000))
      try await stuck.channel.closeFuture.get()
      // The memory is free again.
      while server.memory.used > 0 { try await Task.sleep(for: .milliseconds(10)) }
      // A peer that sends nothing at all stays.
      try await WireClient.withConnection(to: server.address, hello: .worker, timeout: .seconds(300)) { connection, _ in
        try await Task.sleep(for: .milliseconds(700))
        try await connection.send(.heartbeat(.init()))
        var replies = connection.inbound.makeAsyncIterator()
        #expect(try await replies.next() == .heartbeatReply(.init()))
      }
    }
  }

  @Test func `a slow frame that goes on is received`() throws {
    let channel = EmbeddedChannel()
    let limit: FrameRules.Limits = (WireProtocol.maximumChunk * 2, .client)
    let first = channel.eventLoop.makePromise(of: Sheaf_Frame.self)
    let received = ReceivedFrames()
    try channel.pipeline.syncOperations.addHandlers(
      FrameHandler(
        FrameRules(
          first: 1000, later: { _ in limit }, memory: MemoryBudget(limit: 64 << 20),
          decoded: MemoryBudget(limit: 8 << 20), frameTimeout: .seconds(30)),
        first: first, activity: ConnectionActivity()), received)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    func send(_ bytes: ByteBuffer) throws {
      channel.read()
      try channel.writeInbound(bytes)
      channel.embeddedEventLoop.run()
    }
    try send(Sheaf_Frame.with { $0.message = .hello(.with { $0.role = .client }) }.framed())
    #expect(try first.futureResult.wait().hello.role == .client)
    var rest = try Sheaf_Frame.with {
      $0.message = .uploadChunk(.with { $0.data = Data(count: WireProtocol.maximumChunk) })
    }.framed()
    // All parts together take far longer than one may.
    while let part = rest.readSlice(length: min(rest.readableBytes, 20 << 10)), part.readableBytes > 0 {
      try send(part)
      channel.embeddedEventLoop.advanceTime(by: .seconds(20))
    }
    #expect(received.count == 1)
    #expect(channel.isActive && received.errors.isEmpty)
    _ = try channel.finish()
  }

  @Test func `any bytes are a sign of life`() async throws {
    let (seen, found) = AsyncStream.makeStream(of: Bool.self)
    let server = try await WireServer.bind(
      to: WireAddress(host: "127.0.0.1", port: 0), helloTimeout: .seconds(300),
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await server.run(maximumConnections: 1, admit: { _, _ in .success((.welcoming, ())) }) { connection, _, _ in
          await withTaskGroup(of: Void.self) { group in
            group.addTask {
              let first = connection.lastReceived
              while connection.lastReceived == first { await Task.yield() }
              found.yield(true)
            }
            do { for try await _ in connection.inbound {} } catch {}
          }
        }
      }
      let peer = try await RawPeer(server.address, role: .client)
      // Bytes of a frame that is never complete.
      let sending = Task {
        try await peer.send(RawPeer.part(of: 1000, bytes: 1))
        while !Task.isCancelled {
          try await peer.send(ByteBuffer(bytes: [0]))
          try await Task.sleep(for: .milliseconds(10))
        }
      }
      for await isAlive in seen {
        #expect(isAlive)
        break
      }
      sending.cancel()
      _ = await sending.result
      try await peer.channel.close()
      server.stop()
      try await group.waitForAll()
    }
  }

  /// What the handler after a `FrameHandler` receives.
  private final class ReceivedFrames: ChannelInboundHandler {
    typealias InboundIn = ReceivedFrame
    private(set) var count = 0
    private(set) var errors: [any Error] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { count += 1 }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { errors.append(error) }
  }

  /// The messages that a session receives that begins to read when its peer, which has sent these, has closed the
  /// connection.
  private func received(afterCloseBy role: Sheaf_Role, _ messages: [WireMessage]) async throws -> [WireMessage] {
    let received = ReceivedMessages()
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let session: WireServer.Session<Void> = { connection, _, _ in
      begin.finish()
      try await connection.inbound.limits?.channel.closeFuture.get()
      for try await message in connection.inbound { await received.add(message) }
    }
    try await WireTests.withServer(session: session) { address in
      let peer = try await RawPeer(address, role: role)
      var bytes = ByteBuffer()
      for message in messages {
        var frame = try Sheaf_Frame.with { $0.message = message }.framed()
        bytes.writeBuffer(&frame)
      }
      try await peer.send(bytes)
      peer.channel.closeFuture.whenComplete { _ in begin.finish() }
      for await _ in begun {}
      // If all of it were closed while the server's answer is not read yet, the system would drop what was sent.
      try await peer.channel.close(mode: .output)
      try await peer.channel.closeFuture.get()
    }
    return await received.messages
  }

  @Test func `of a closed connection, only what has an effect is received`() async throws {
    let query = WireMessage.statusQuery(.init())
    let effects: [WireMessage] = [
      .cancelJob(.with { $0.job = "a" }), .submit(.with { $0.document = Data(count: 100) }),
      .fetched(.with { $0.job = "b" }),
    ]
    var messages = [WireMessage](repeating: query, count: 5000)
    messages.insert(effects[0], at: 2)
    messages += [effects[1], query, effects[2], query]
    #expect(try await received(afterCloseBy: .client, messages) == effects)
  }

  @Test func `a result that its worker sent before it closed is received`() async throws {
    let results = (0..<200).map { epoch in WireMessage.publish(.with { $0.lease.epoch = epoch }) }
    let messages = results.flatMap { [.heartbeat(.init()), $0] }
    #expect(try await received(afterCloseBy: .worker, messages) == results)
  }

  @Test func `a closed client leaves few messages`() async throws {
    let messages = (0..<4000).map { job in WireMessage.fetched(.with { $0.job = "\(job)" }) }
    let received = try await received(afterCloseBy: .client, messages)
    #expect(received.count >= 64 && received.count < 80)
    #expect(received == Array(messages.prefix(received.count)))
  }

  @Test func `a message of too many parts is refused before it is decoded`() async throws {
    let error = try await WireTests.withServer { address in
      await failure {
        try await WireClient.withConnection(to: address, hello: .client, timeout: .seconds(300)) { connection, _ in
          let contents = [Sheaf_Content](repeating: .init(), count: 70_000)
          try await connection.send(.findMissing(.with { $0.contents = contents }))
          for try await _ in connection.inbound {}
        }
      }
    }
    #expect(error?.code == .refused(.protocol))
    #expect(error?.message == "a message has 70001 fields, more than the 65536 that are allowed here")
  }

  @Test func `the longest lists are decoded`() throws {
    func size(_ message: WireMessage, _ share: MemoryBudget.Share) throws -> Int {
      var bytes = try Sheaf_Frame.with { $0.message = message }.framed()
      let body = bytes.readLengthPrefixedSlice(as: UInt32.self)
      return try ReceivedFrame(body: try #require(body).withoutChecksum(), memory: nil).decodedSize(for: share)
    }
    let content = Sheaf_Content.with { ($0.digest, $0.size, $0.path) = (Data(count: 32), 1 << 40, "a/b.mov") }
    let missing = WireMessage.findMissing(.with { $0.contents = Array(repeating: content, count: 10_000) })
    #expect(try size(missing, .client) == 10_001 * 256)
    let progress = Sheaf_Heartbeat.with {
      $0.progress = Array(repeating: .with { ($0.done, $0.moved) = (1 << 40, 1 << 40) }, count: 4096)
      $0.freeSlots = 3
    }
    #expect(try size(.heartbeat(progress), .worker) == 4098 * 256)
    #expect(try size(.uploadChunk(.with { $0.data = Data(repeating: 8, count: 1 << 18) }), .worker) == 2 * 256)
  }
}

private actor ReceivedMessages {
  private(set) var messages: [WireMessage] = []

  func add(_ message: WireMessage) { messages.append(message) }
}
