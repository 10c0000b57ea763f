package import Coordinator
import HTTPTypes
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import Synchronization
package import TLS
package import Wire

/// The HTTP face of a coordinator: `docs/openapi.yaml` describes it. It decodes a request, calls `FarmService`, and
/// encodes what that answers.
package struct HTTPFace: Sendable {
  private let address: WireAddress
  private let responder: Responder
  private let identity: TLSIdentity?
  private let limits: HTTPLimits
  private let logger: Logger
  private let running = Running()

  /// - Parameters:
  ///   - identity: The certificate of a server of HTTPS. Nil: it serves HTTP.
  ///   - isGuarded: Whether the farm has a token. If not, every client that can connect may do everything.
  package init(
    _ farm: FarmService, address: WireAddress, tls identity: TLSIdentity? = nil, isGuarded: Bool,
    limits: HTTPLimits = HTTPLimits(), logger: Logger
  ) {
    self.address = address
    self.identity = identity
    self.limits = limits
    self.logger = logger
    let access = Access(farm: farm, isGuarded: isGuarded, scheme: identity == nil ? "http" : "https")
    responder = Responder(farm, access: access, limits: limits, logger: logger)
  }

  /// Serves until it is drained or cancelled. Throws `WireError` if the address cannot be listened at.
  /// - Parameter listening: Receives the address, with the port that the system chose.
  package func run(listening: @escaping @Sendable (WireAddress) -> Void) async throws {
    var quiet = logger
    // The server's own messages are about single connections.
    quiet.logLevel = max(logger.logLevel, .error)
    var decoder = HTTP1Channel.Configuration.DecoderConfiguration()
    decoder.maxHeaderFieldSize = limits.header / 2
    decoder.maxHeaderListSize = limits.header
    decoder.maxHeaderFieldCount = 100
    let channel = HTTP1Channel(
      responder: { [responder] in try await responder.respond(to: $0, $1, $2) },
      configuration: .init(idleTimeout: TimeAmount(limits.idle), httpDecoderConfiguration: decoder))
    let server = Server(
      childChannelSetup: FarmChannel(inner: channel, identity: identity),
      configuration: ServerConfiguration(
        address: .hostname(address.host, port: address.port),
        availableConnectionsDelegate: responder.connections),
      onServerRunning: { [address] channel in
        listening(WireAddress(host: address.host, port: channel.localAddress?.port ?? address.port))
      },
      eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
    guard running.begin(server) else { return }
    do {
      try await withThrowingDiscardingTaskGroup { group in
        group.addTask { await responder.events.run() }
        group.addTask { await responder.follow() }
        try await server.run()
        group.cancelAll()
      }
    } catch let error as IOError where error.errnoCode == EADDRINUSE {
      throw WireError(.addressInUse, "address \(address) is in use by another program")
    } catch let error where !(error is CancellationError) {
      throw WireError(.unreachable, "cannot listen at \(address): \(error)")
    }
  }

  /// Accepts no more connections, ends the streams of events, and closes each connection when its request is answered.
  package func drain() async {
    await responder.events.stop()
    responder.flush()
    guard let server = running.end() else { return }
    do {
      try await server.shutdownGracefully()
    } catch {
      // It has stopped already.
    }
  }

  /// The server, between its start and its end.
  private final class Running: Sendable {
    private struct State {
      var server: Server<FarmChannel>?
      var hasEnded = false
    }

    private let state = Mutex(State())

    /// False: it was drained before.
    func begin(_ server: Server<FarmChannel>) -> Bool {
      state.withLock { state in
        if !state.hasEnded { state.server = server }
        return !state.hasEnded
      }
    }

    func end() -> Server<FarmChannel>? {
      state.withLock { state in
        state.hasEnded = true
        return state.server
      }
    }
  }
}
