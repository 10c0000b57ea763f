import Digest
import FoundationEssentials
import Glibc
import Logging
import NIOCore
import NIOPosix
import SwiftProtobuf
import Synchronization
import SystemSupport
import TLS
import TestPrograms
import Testing

@testable import Wire

/// Runs a server that by default admits every peer and ignores what it sends.
func withServer<R: Sendable>(
  maximumConnections: Int = 64, helloTimeout: Duration = .seconds(300), tls identity: TLSIdentity? = nil,
  admit: @escaping WireServer.Admission<Void> = { _, _ in .success((.welcoming, ())) },
  session: @escaping WireServer.Session<Void> = { connection, _, _ in for try await _ in connection.inbound {} },
  _ body: @Sendable (WireAddress) async throws -> R
) async throws -> R {
  let server = try await WireServer.bind(
    to: WireAddress(host: "127.0.0.1", port: 0), tls: identity, helloTimeout: helloTimeout,
    logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
  return try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await server.run(maximumConnections: maximumConnections, admit: admit, session: session) }
    let result = try await body(server.address)
    server.stop()
    try await group.waitForAll()
    return result
  }
}

extension Sheaf_Welcome {
  static let welcoming = Sheaf_Welcome.with { $0.protocolVersion = WireProtocol.version }
}

extension Sheaf_Hello {
  static let client = Sheaf_Hello.with { $0.role = .client }
  static let worker = Sheaf_Hello.with { $0.role = .worker }
}

/// The error of a connection that is expected to fail.
func failure(_ body: () async throws -> Void) async -> WireError? {
  do {
    try await body()
    return nil
  } catch let error as WireError {
    return error
  } catch {
    Issue.record("not a WireError: \(error)")
    return nil
  }
}

@Suite(.timeLimit(.minutes(10))) struct ConnectionTests {
  @Test func `messages arrive in order both ways`() async throws {
    let echo: WireServer.Session<Void> = { connection, _, _ in
      for try await message in connection.inbound { try await connection.send(message) }
    }
    let echoed = try await withServer(session: echo) { address in
      try await WireClient.withConnection(to: address, hello: .client, timeout: .seconds(300)) { connection, _ in
        for count in 0..<100 { try await connection.send(.cancelJob(.with { $0.job = "\(count)" })) }
        var jobs: [String] = []
        for try await message in connection.inbound {
          if case .cancelJob(let job) = message { jobs.append(job.job) }
          if jobs.count == 100 { break }
        }
        return jobs
      }
    }
    #expect(echoed == (0..<100).map(String.init))
  }

  /// As when a coordinator is ended while workers come back to it.
  @Test func `connections that a server has accepted and does not serve are closed`() async throws {
    for _ in 0..<10 {
      let server = try await WireServer.bind(
        to: WireAddress(host: "127.0.0.1", port: 0), helloTimeout: .milliseconds(100),
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
      var peers: [any Channel] = []
      for _ in 0..<8 {
        peers.append(
          try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: server.address.host, port: server.address.port).get())
      }
      server.stop()
      try await server.run(
        maximumConnections: 8, admit: { _, _ in .success((.welcoming, ())) },
        session: { connection, _, _ in for try await _ in connection.inbound {} })
      for peer in peers { try await peer.closeFuture.get() }
    }
  }

  @Test func `a refusal reaches the peer with its reason`() async throws {
    let refuse: WireServer.Admission<Void> = { _, _ in .failure(WireError(.refused(.token), "the token is wrong")) }
    let error = try await withServer(admit: refuse) { address in
      await failure {
        try await WireClient.withConnection(to: address, hello: .client, timeout: .seconds(300)) { _, _ in }
      }
    }
    #expect(error == WireError(.refused(.token), "the token is wrong"))
  }

  @Test func `a refusal in the middle reaches a peer that is still sending`() async throws {
    let complain: WireServer.Session<Void> = { connection, _, _ in
      for try await _ in connection.inbound { throw WireError(.violation, "enough") }
    }
    let error = try await withServer(session: complain) { address in
      await failure {
        try await WireClient.withConnection(to: address, hello: .client, timeout: .seconds(300)) { connection, _ in
          let chunk = WireMessage.uploadChunk(.with { $0.data = Data(count: WireProtocol.maximumChunk) })
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for _ in 0..<8 { try? await connection.send(chunk) } }
            for try await _ in connection.inbound {}
          }
        }
      }
    }
    #expect(error == WireError(.refused(.protocol), "enough"))
  }

  @Test func `one connection too many is refused`() async throws {
    let error = try await withServer(maximumConnections: 1) { address in
      try await WireClient.withConnection(to: address, hello: .client, timeout: .seconds(300)) { _, _ in
        await failure {
          try await WireClient.withConnection(to: address, hello: .client, timeout: .seconds(300)) { _, _ in }
        }
      }
    }
    #expect(error?.code == .refused(.unavailable))
  }

  /// In a debug build NIO stops the program if the promise of the first frame is dropped.
  @Test func `a peer that is refused before its first frame receives the refusal`() async throws {
    try await withServer(helloTimeout: .milliseconds(100)) { address in
      let silent = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(host: address.host, port: address.port) { channel in
          channel.eventLoop.makeCompletedFuture {
            try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
          }
        }
      let isRefused = try await silent.executeThenClose { inbound, _ in
        for try await bytes in inbound { return bytes.readableBytes > 0 }
        return false
      }
      #expect(isRefused)
    }
  }

  @Test func `an address without a listener is unreachable`() async throws {
    // Not a server that has stopped: a program that is started meanwhile would keep its socket for a moment.
    let reserved = try ReservedPort()
    let address = WireAddress(host: "127.0.0.1", port: reserved.number)
    let error = await failure {
      try await WireClient.withConnection(to: address, hello: .client, timeout: .seconds(300)) { _, _ in }
    }
    #expect(error?.code == .unreachable)
    #expect(error?.message == "no coordinator answers at \(address): Connection refused")
    reserved.release()
  }

  @Test func `of several coordinators the first that welcomes the client serves it`() async throws {
    let reserved = try ReservedPort()
    let dead = WireAddress(host: "127.0.0.1", port: reserved.number)
    let welcoming: WireServer.Admission<Void> = { _, _ in
      .success((.welcoming, ()))
    }
    let stopping: WireServer.Admission<Void> = { _, _ in .failure(WireError(.refused(.shuttingDown), "it ends")) }
    let strict: WireServer.Admission<Void> = { _, _ in .failure(WireError(.refused(.token), "the token is wrong")) }
    try await withServer(admit: stopping) { ending in
      try await withServer(admit: strict) { strict in
        try await withServer(admit: welcoming) { address in
          let served = try await WireClient.withConnection(
            toOneOf: [dead, ending, address], hello: .client, timeout: .seconds(300)
          ) { $1 }
          #expect(served.protocolVersion == WireProtocol.version)
          // What happens on the connection is not tried again elsewhere.
          let calls = Atomic(0)
          let lost = await failure {
            try await WireClient.withConnection(toOneOf: [address, address], hello: .client, timeout: .seconds(300)) {
              _, _ in
              calls.add(1, ordering: .relaxed)
              throw WireError(.closed, "lost")
            }
          }
          #expect(lost?.message == "lost" && calls.load(ordering: .relaxed) == 1)
          // Every coordinator of a farm knows the same tokens.
          let refused = await failure {
            try await WireClient.withConnection(toOneOf: [strict, address], hello: .client, timeout: .seconds(300)) {
              _, _ in
            }
          }
          #expect(refused == WireError(.refused(.token), "the token is wrong"))
        }
      }
      let error = await failure {
        try await WireClient.withConnection(toOneOf: [dead, ending], hello: .client, timeout: .seconds(300)) { _, _ in }
      }
      #expect(
        error
          == WireError(
            .refused(.shuttingDown), "no coordinator answers at \(dead): Connection refused; it ends"))
    }
    reserved.release()
  }

  /// Answers whatever connects as a web server does.
  private final class WebServer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let answer = ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
      context.channel.writeAndFlush(answer, promise: nil)
    }
  }

  @Test func `another program at the address is no coordinator`() async throws {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(WebServer()) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let address = try WireAddress(host: "127.0.0.1", port: #require(server.localAddress?.port))
    let error = await failure {
      try await WireClient.withConnection(to: address, hello: .worker, timeout: .seconds(300)) { _, _ in }
    }
    // A worker tries again: it ends only for what a coordinator answers.
    #expect(
      error == WireError(.unreachable, "no coordinator answers at \(address): another program listens there"))
    try await server.close()
  }

  @Test func `the reason of a broken connection is the system's`() {
    let error = IOError(errnoCode: ECONNRESET, reason: "read(descriptor:pointer:size:)")
    #expect(WireClient.reason(error) == "Connection reset by peer")
  }

  @Test func `a slow reader stops its sender`() async throws {
    let sent = Sent()
    let chunks = TestExtent.of(400, whole: 800)
    let sleepy: WireServer.Session<Void> = { connection, _, _ in
      // Sends nothing and reads nothing until the sender has stopped.
      try await sent.rest()
      for try await _ in connection.inbound {}
    }
    try await withServer(session: sleepy) { address in
      try await WireClient.withConnection(to: address, hello: .worker, timeout: .seconds(300)) { connection, _ in
        let chunk = WireMessage.uploadChunk(.with { $0.data = Data(count: WireProtocol.maximumChunk) })
        for _ in 0..<chunks {
          try await connection.send(chunk)
          await sent.add()
        }
      }
    }
    let held = await sent.heldAtRest
    // Watermarks on both sides and the sockets' buffers (which the kernel sizes), far from the 100 or 200 MiB sent.
    #expect(held > 0 && held < 256)
    #expect(await sent.count == chunks)
  }

  @Test func `content is uploaded in a window and read in ranges`() async throws {
    let bytes = TestBytes.varied(20 << 20)
    let descriptor = try #require(tmpfile().map(fileno))
    let file = OpenFile(owning: descriptor, name: "a temporary file")
    try file.write(bytes)
    let content = try file.content()
    #expect(content == Content(digest: SHA256Digest.of(bytes), size: Int64(bytes.count)))
    let store = Received()
    let serve: WireServer.Session<Void> = { connection, _, _ in
      for try await message in connection.inbound { try await store.handle(message, connection) }
    }
    let read = try await withServer(session: serve) { address in
      try await WireClient.withConnection(to: address, hello: .worker, timeout: .seconds(300)) { connection, _ in
        let exchange = ContentExchange(connection)
        return try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { for try await message in connection.inbound { _ = await exchange.take(message) } }
          _ = try await exchange.upload(file, content)
          let read = try await exchange.read(content.digest, offset: 12_345_678, length: 1000)
          connection.close()
          return read
        }
      }
    }
    #expect(await store.bytes == bytes)
    #expect([UInt8](read) == Array(bytes[12_345_678..<12_346_678]))
  }
}

/// Counts what was sent, and finds out when the sender has stopped.
actor Sent {
  private(set) var count = 0
  private(set) var heldAtRest = 0

  func add() { count += 1 }

  func rest() async throws {
    repeat {
      heldAtRest = count
      try await Task.sleep(for: .milliseconds(200))
    } while count != heldAtRest || count == 0
  }
}

actor Received {
  private(set) var bytes: [UInt8] = []

  func handle(_ message: WireMessage, _ connection: WireConnection) async throws {
    switch message {
    case .uploadBegin(let begin):
      try await connection.send(.uploadReply(.with { $0.request = begin.request }))
    case .uploadChunk(let chunk):
      bytes += chunk.data
      try await connection.send(
        .uploadReply(
          .with {
            $0.request = chunk.request
            $0.received = UInt64(bytes.count)
            $0.complete = chunk.last
          }))
    case .readContent(let read):
      try await connection.send(
        .contentData(
          .with {
            $0.request = read.request
            $0.data = Data(bytes[Int(read.offset)..<Int(read.offset) + Int(read.length)])
          }))
    default: break
    }
  }
}
