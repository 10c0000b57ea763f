import Glibc
package import Logging
package import NIOCore
import NIOPosix
package import Runtime
import Synchronization
package import TLS

/// The listening end: a coordinator.
package struct WireServer: Sendable {
  /// Where a peer connects from.
  package struct Origin: Sendable {
    /// Without its port.
    package var address: String
    /// Verified. Nil: the peer has presented none.
    package var certificate: WorkerCertificate?
  }

  /// Checks a hello. Returns the welcome to answer with, and who the peer is; or why it is refused.
  package typealias Admission<Peer> = @Sendable (Sheaf_Hello, Origin) async -> Result<(Sheaf_Welcome, Peer), WireError>
  /// Serves a connection until it is done. What it throws is sent to the peer as a refusal.
  package typealias Session<Peer> = @Sendable (WireConnection, Sheaf_Hello, Peer) async throws -> Void

  private let channel: NIOAsyncChannel<WireTransport.Accepted, Never>
  private let logger: Logger
  /// What was refused of those who were not admitted.
  package let refusals: RefusalLog
  private let pending: PendingConnections
  /// The address that it listens at, with the port that the system chose.
  package let address: WireAddress
  /// What all connections hold together.
  package let memory: MemoryBudget

  /// Starts to listen. Throws `WireError` with the reason if that fails, such as a port in use.
  /// - Parameters:
  ///   - memory: The most bytes that all connections hold together, of frames and of content. What is decoded of them
  ///     may take an eighth more.
  ///   - identity: The certificate of a server with TLS. Nil: connections are plain.
  ///   - helloTimeout: How long the first frame of a connection may take, with the handshake of TLS before it.
  ///   - pending: How many connections may be open that have not said hello.
  ///   - frameTimeout: A peer that has sent a part of a frame must go on sending: within this time
  ///     `WireProtocol.leastProgress` bytes.
  package static func bind(
    to address: WireAddress, on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    tls identity: TLSIdentity? = nil, memory: Int = WireProtocol.serverMemory,
    helloTimeout: Duration = WireProtocol.helloTimeout,
    frameTimeout: Duration = WireProtocol.frameTimeout,
    pending: (ofAddress: Int, all: Int) = WireProtocol.pendingConnections, logger: Logger
  ) async throws(WireError) -> WireServer {
    let budget = MemoryBudget(limit: memory)
    let rules = FrameRules(
      first: FrameLimits.fromClient.first,
      later: { hello in
        hello.hello.role == .worker
          ? (FrameLimits.fromWorker.later, .worker) : (FrameLimits.fromClient.later, .client)
      }, memory: budget, decoded: MemoryBudget(limit: memory / 8), helloTimeout: helloTimeout,
      frameTimeout: frameTimeout)
    do {
      let channel = try await ServerBootstrap(group: group)
        .serverChannelOption(.backlog, value: 256)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(.writeBufferWaterMark, value: WireTransport.writeBuffer)
        .childChannelOption(.recvAllocator, value: WireTransport.receiveBuffer)
        // A connection that waits for room holds what one read brought, and no more.
        .childChannelOption(.maxMessagesPerRead, value: 1)
        .childChannelOption(.autoRead, value: false)
        .bind(
          host: address.host, port: address.port,
          serverBackPressureStrategy: .init(lowWatermark: 16, highWatermark: 64)
        ) { channel in
          for (option, value) in WireTransport.options {
            // A socket option that this system does not have is not a reason to refuse a peer.
            channel.setOption(option, value: value).whenFailure { _ in }
          }
          return channel.eventLoop.makeSucceededFuture(WireTransport.Accepted(channel, rules, identity))
        }
      let port = channel.channel.localAddress?.port ?? address.port
      return WireServer(
        channel: channel, logger: logger, refusals: RefusalLog(logger),
        pending: PendingConnections(most: pending.all, ofAddress: pending.ofAddress),
        address: WireAddress(host: address.host, port: port), memory: budget)
    } catch let error as IOError where error.errnoCode == EADDRINUSE {
      throw WireError(.addressInUse, "address \(address) is in use by another program")
    } catch {
      throw WireError(.unreachable, "cannot listen at \(address): \(error)")
    }
  }

  /// Accepts connections until `stop` or cancellation, then waits for the open sessions.
  ///
  /// Each connection is served by a child task of its own. A peer that violates the protocol receives a refusal, and
  /// only its own connection ends.
  /// - Parameter maximumConnections: Further connections that would be admitted are refused.
  package func run<Peer: Sendable>(
    maximumConnections: Int, admit: @escaping Admission<Peer>, session: @escaping Session<Peer>
  ) async throws {
    let open = ConnectionCounter()
    try await withThrowingDiscardingTaskGroup { group in
      try await channel.executeThenClose { inbound in
        for try await accepted in inbound {
          let (number, closed) = pending.add(accepted.address) { accepted.close() }
          if let closed { refusals.refused("connections without a hello", closed) }
          group.addTask {
            await serve(accepted, number, open, maximumConnections, admit, session)
            pending.remove(number)
          }
        }
      }
    }
  }

  /// Accepts no more connections. Open sessions continue.
  package func stop() {
    channel.channel.close(promise: nil)
  }

  private func serve<Peer: Sendable>(
    _ accepted: WireTransport.Accepted, _ number: Int, _ open: ConnectionCounter, _ maximumConnections: Int,
    _ admit: Admission<Peer>, _ session: Session<Peer>
  ) async {
    // It is not known any more when the connection is closed.
    let address = accepted.address
    do {
      let opening = try await accepted.open()
      try await opening.channel.executeThenClose { inbound, outbound in
        try await opening.channel.channel.setOption(.autoRead, value: true).get()
        var connection = WireConnection(opening, inbound, outbound)
        var isSilent = true
        do {
          let hello = try await hello(opening.first)
          isSilent = false
          if hello.role == .worker { connection = WireConnection(opening, inbound, outbound, share: .worker) }
          let (welcome, peer) = try await admit(hello, Origin(address: address, certificate: accepted.peerCertificate))
            .get()
          pending.remove(number)
          let isOneMore = open.add(1) > maximumConnections
          defer { open.add(-1) }
          if isOneMore { throw WireError(.refused(.unavailable), "the coordinator has too many connections") }
          try await connection.send(.welcome(welcome))
          try await session(connection, hello, peer)
        } catch let error as WireError where error.code == .closed {
          throw error
        } catch let error as TLSError where isSilent {
          guard error.code == .untrusted else {
            refusals.refused("TLS handshakes that failed", address)
            throw error
          }
          refusals.refused("a peer's certificate is refused: \(error)", address)
          // So that the peer reads why: what it has sent meanwhile would break the connection before that.
          try await Task.sleep(for: WireProtocol.refusalDelay)
          throw error
        } catch let error as WireError {
          logger.debug("connection refused", metadata: ["peer": "\(connection.peer)", "reason": "\(error.message)"])
          if error.code == .refused(.token) {
            refusals.refused(error.message, address)
            // Whoever guesses has few guesses, and is among those who have not said who they are.
            try await Task.sleep(for: WireProtocol.refusalDelay)
          } else if error.code == .timeout, isSilent {
            refusals.refused("connections without a hello", address)
          }
          await connection.refuse(error.refusalCode, error.message)
        }
      }
    } catch {
      logger.debug("connection ended", metadata: ["reason": "\(error)"])
    }
  }

  private func hello(_ first: EventLoopFuture<Sheaf_Frame>) async throws -> Sheaf_Hello {
    let frame: Sheaf_Frame
    do {
      frame = try await first.get()
    } catch let error as WireError where error.code == .violation {
      // The bytes may be those of a hello that was damaged on its way, whose sender then connects again.
      throw WireError(.damaged, error.message)
    }
    guard case .hello(let hello) = frame.message else {
      throw WireError(.violation, "the first frame must be a hello")
    }
    guard WireProtocol.accepts(hello.protocolVersion) else {
      throw WireError(
        .violation,
        "this coordinator uses version \(WireProtocol.version) of the protocol, not \(hello.protocolVersion)")
    }
    return hello
  }
}

/// The number of open connections.
private final class ConnectionCounter: Sendable {
  private let count = Mutex(0)

  /// Returns the number after the change.
  @discardableResult
  func add(_ change: Int) -> Int {
    count.withLock { count in
      count += change
      return count
    }
  }
}
