import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Wire

/// Connections that say nothing keep nobody out.
@Suite(.timeLimit(.minutes(10))) struct PendingConnectionTests {
  /// The names of the connections that were closed, in this order.
  private final class Closed: Sendable {
    private let names = Mutex<[String]>([])

    var all: [String] { names.withLock(\.self) }

    func close(_ name: String) -> @Sendable () -> Void { { self.names.withLock { $0.append(name) } } }
  }

  @Test func `the oldest of an address gives way for one more of it`() {
    let (pending, closed) = (PendingConnections(most: 10, ofAddress: 2), Closed())
    #expect(pending.add("a", close: closed.close("a1")).closed == nil)
    #expect(pending.add("b", close: closed.close("b1")).closed == nil)
    #expect(pending.add("a", close: closed.close("a2")).closed == nil)
    #expect(pending.add("a", close: closed.close("a3")).closed == "a")
    #expect(closed.all == ["a1"] && pending.count == 3)
    #expect(pending.add("a", close: closed.close("a4")).closed == "a")
    #expect(closed.all == ["a1", "a2"] && pending.count == 3)
  }

  @Test func `the oldest of all gives way where there are too many`() {
    let (pending, closed) = (PendingConnections(most: 3, ofAddress: 2), Closed())
    for name in ["a", "b", "c"] { _ = pending.add(name, close: closed.close(name)) }
    #expect(pending.add("d", close: closed.close("d")).closed == "a")
    #expect(closed.all == ["a"] && pending.count == 3)
  }

  @Test func `one that said hello gives way to none and leaves room`() {
    let (pending, closed) = (PendingConnections(most: 3, ofAddress: 2), Closed())
    let first = pending.add("a", close: closed.close("a1")).number
    _ = pending.add("a", close: closed.close("a2"))
    pending.remove(first)
    // As when its connection ends.
    pending.remove(first)
    #expect(pending.add("a", close: closed.close("a3")).closed == nil)
    #expect(pending.add("a", close: closed.close("a4")).closed == "a")
    #expect(closed.all == ["a2"])
  }

  @Test func `silent connections of one address leave room for one that says hello`() async throws {
    let server = try await WireServer.bind(
      to: WireAddress(host: "127.0.0.1", port: 0), helloTimeout: .seconds(300), pending: (ofAddress: 4, all: 8),
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await server.run(
          maximumConnections: 2, admit: { _, _ in .success((.welcoming, ())) },
          session: { connection, _, _ in for try await _ in connection.inbound {} })
      }
      var silent: [any Channel] = []
      let (closings, closing) = AsyncStream.makeStream(of: Void.self)
      for _ in 0..<40 {
        silent.append(
          try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: server.address.host, port: server.address.port).get())
        silent.last?.closeFuture.whenComplete { _ in closing.yield() }
      }
      // All but four are closed by the server: those that it has accepted last, which need not be the last here.
      var closed = closings.makeAsyncIterator()
      for _ in 0..<36 { await closed.next() }
      try await WireClient.withConnection(to: server.address, hello: .client, timeout: .seconds(300)) { _, welcome in
        #expect(welcome.protocolVersion == WireProtocol.version)
      }
      for channel in silent { channel.close(promise: nil) }
      server.stop()
      try await group.waitForAll()
    }
  }
}
