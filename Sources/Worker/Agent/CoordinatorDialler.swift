import Logging
import Wire

/// Keeps a worker connected: tries again, with growing waits, whenever the connection is lost or cannot be had.
struct CoordinatorDialler: Sendable {
  let address: WireAddress
  let hello: Sheaf_Hello
  /// Failed tries in a row after which it gives up; nil never does.
  let patience: Int?
  let logger: Logger

  /// Runs until the task is cancelled. Throws `WireError` where trying again cannot help: a wrong token, another version
  /// of the protocol, or patience at its end.
  func run(
    connected: @escaping @Sendable (CoordinatorLink, Sheaf_Welcome) -> Void,
    hear: @escaping @Sendable (AgentEvent) -> Void
  ) async throws {
    var backoff = Backoff()
    var failures = 0
    while !Task.isCancelled {
      let wasConnected = Latch()
      var reason = WireError(.closed, "the coordinator closed the connection")
      do {
        try await WireClient.withConnection(to: address, hello: hello) { connection, welcome in
          wasConnected.raise()
          logger.info("connected", metadata: ["coordinator": "\(address)", "server": "\(welcome.server)"])
          let link = CoordinatorLink(connection)
          connected(link, welcome)
          try await link.run(hear)
        }
      } catch let error as WireError {
        reason = error
      } catch is CancellationError {
        break
      }
      if wasConnected.isRaised {
        hear(.disconnected)
        backoff.reset()
        failures = 0
      }
      failures += 1
      if Task.isCancelled { break }
      if !wasConnected.isRaised, reason.isPermanent || failures == patience { throw reason }
      let wait = backoff.wait(jitter: .random(in: 0...1))
      logger.warning("not connected", metadata: ["reason": "\(reason)", "again in": "\(wait)"])
      do { try await Task.sleep(for: wait) } catch { break }
    }
  }
}

extension WireError {
  /// Whether, as the answer to a hello, it will be the answer to every other.
  var isPermanent: Bool {
    switch code {
    case .refused(.token), .refused(.protocol), .violation: true
    default: false
    }
  }
}
