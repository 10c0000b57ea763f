import Glibc
package import NIOCore
import NIOPosix
import Synchronization
package import TLS

/// The connecting end: workers and clients.
package enum WireClient {
  /// Connects, sends the hello, waits for the welcome, and runs `body`. Closes the connection when `body` returns or
  /// throws.
  ///
  /// - Parameters:
  ///   - trust: Whom to trust of those who have a certificate for the address's host. Nil: the connection is plain.
  ///   - hello: Its protocol version is filled in here.
  ///   - timeout: How long connecting may take, and then how long the coordinator may take to answer the hello.
  /// - Throws: `WireError`: `.unreachable` if the connection is not made within `timeout`, `.untrusted` if the
  ///   certificate is not accepted, `.refused` with the coordinator's reason (a wrong token, another version); or what
  ///   `body` throws.
  package static func withConnection<R: Sendable>(
    to address: WireAddress, trusting trust: TLSTrust? = nil, hello: Sheaf_Hello,
    timeout: Duration = WireProtocol.helloTimeout,
    on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    _ body: @Sendable (WireConnection, Sheaf_Welcome) async throws -> R
  ) async throws -> R {
    let opening = try await connect(to: address, trust, timeout: timeout, on: group)
    var greeting = hello
    greeting.protocolVersion = WireProtocol.version
    let first = WireMessage.hello(greeting)
    return try await opening.channel.executeThenClose { inbound, outbound in
      let connection = WireConnection(opening, inbound, outbound)
      // The coordinator may have refused the connection already, for example because it has too many.
      do throws(WireError) {
        try await connection.send(first)
      } catch  where error.code == .closed {
      }
      let welcome = try await welcome(opening.first, of: address)
      return try await body(connection, welcome)
    }
  }

  /// The same at the first of several addresses where the connection is made and welcomed. A wrong token ends the
  /// search: it is the same farm everywhere. Throws what speaks most clearly of the coordinators, or what `body`
  /// throws.
  package static func withConnection<R: Sendable>(
    toOneOf addresses: [WireAddress], trusting trust: TLSTrust? = nil, hello: Sheaf_Hello,
    timeout: Duration = WireProtocol.helloTimeout,
    _ body: @Sendable (WireConnection, Sheaf_Welcome) async throws -> R
  ) async throws -> R {
    var errors: [WireError] = []
    for address in addresses {
      let isWelcome = Atomic(false)
      do {
        return try await withConnection(to: address, trusting: trust, hello: hello, timeout: timeout) {
          isWelcome.store(true, ordering: .releasing)
          return try await body($0, $1)
        }
      } catch let error as WireError where !isWelcome.load(ordering: .acquiring) && error.code != .refused(.token) {
        errors.append(error)
        try Task.checkCancellation()
      }
    }
    // A coordinator that answered, in whatever way, says more than one that is away.
    let clearest = errors.first { ![.unreachable, .closed, .timeout].contains($0.code) } ?? errors[0]
    guard errors.count > 1 else { throw clearest }
    throw WireError(clearest.code, errors.map(\.message).joined(separator: "; "))
  }

  private static func connect(
    to address: WireAddress, _ trust: TLSTrust?, timeout: Duration, on group: any EventLoopGroup
  ) async throws(WireError) -> WireTransport.Opening {
    var bootstrap = ClientBootstrap(group: group)
      .connectTimeout(TimeAmount(timeout))
      .channelOption(.writeBufferWaterMark, value: WireTransport.writeBuffer)
      .channelOption(.recvAllocator, value: WireTransport.receiveBuffer)
    for (option, value) in WireTransport.options { bootstrap = bootstrap.channelOption(option, value: value) }
    do {
      return try await bootstrap.connect(host: address.host, port: address.port) { channel in
        let limits = FrameLimits.fromCoordinator
        // The coordinator sends what it is asked for, so its frames need no limit together.
        let rules = FrameRules(
          first: limits.first, later: { _ in (limits.later, .client) }, memory: MemoryBudget(limit: .max),
          helloTimeout: timeout)
        return WireTransport.open(channel, rules) { try trust.map { try TLSHandler($0, host: address.host) } }
      }
    } catch {
      throw WireError(.unreachable, "no coordinator answers at \(address): \(reason(error))")
    }
  }

  private static func welcome(
    _ first: EventLoopFuture<Sheaf_Frame>, of address: WireAddress
  ) async throws(WireError) -> Sheaf_Welcome {
    let frame: Sheaf_Frame
    do {
      frame = try await first.get()
    } catch let error as WireError {
      switch error.code {
      case .timeout: throw WireError(.timeout, "the coordinator does not answer the hello")
      case .violation: throw otherProgram(address)
      default: throw error
      }
    } catch let error as TLSError {
      throw Self.error(error, of: address)
    } catch {
      throw WireError(.closed, "the connection broke: \(reason(error))")
    }
    switch frame.message {
    case .welcome(let welcome) where WireProtocol.accepts(welcome.protocolVersion): return welcome
    case .welcome(let welcome):
      throw WireError(
        .violation,
        "the coordinator uses version \(welcome.protocolVersion) of the protocol, this program uses \(WireProtocol.version)"
      )
    case .refusal(let refusal): throw WireError(.refused(refusal.code), refusal.message)
    default: throw otherProgram(address)
    }
  }

  private static func error(_ error: TLSError, of address: WireAddress) -> WireError {
    switch error.code {
    case .untrusted: WireError(.untrusted, "the coordinator at \(address) is not trusted: \(error)")
    case .notTLS: WireError(.unreachable, "what listens at \(address) does not use TLS, and this program requires it")
    case .ownCertificate: WireError(.ownCertificate, "the coordinator at \(address) refuses this worker: \(error)")
    case .truncated: WireError(.closed, "\(error)")
    case .timeout: WireError(.timeout, "\(error)")
    case .failed, .file: WireError(.unreachable, "there is no TLS connection to \(address): \(error)")
    }
  }

  /// A coordinator may listen there later, so it is no reason to give up.
  private static func otherProgram(_ address: WireAddress) -> WireError {
    WireError(.unreachable, "no coordinator answers at \(address): another program listens there")
  }

  /// Why a connection was not made or broke, for a person.
  static func reason(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
      guard let attempt = error.connectionErrors.first else {
        return error.dnsAError == nil && error.dnsAAAAError == nil
          ? "the host has no address" : "the host name is unknown"
      }
      return reason(attempt.error)
    case let error as IOError: return String(cString: strerror(error.errnoCode))
    case ChannelError.connectTimeout: return "no answer in time"
    default: return "\(error)"
    }
  }
}
