import ArgumentParser
import Client
import ContentStorage
import Coordinator
import FarmHTTP
import Jobs
import Logging
import Runtime
import SystemSupport
import TLS
import Webhooks
import Wire

/// A coordinator and its HTTP API, from their start to their end.
enum CoordinatorRun {
  static func bind(_ address: WireAddress, _ identity: TLSIdentity?, _ logger: Logger) async throws -> WireServer {
    do {
      return try await WireServer.bind(to: address, tls: identity, logger: logger)
    } catch {
      throw CommandFailure(.unavailable, "\(error); choose another with --listen")
    }
  }

  /// Serves until a signal ends it. Throws why one of the faces cannot be served.
  /// - Parameters:
  ///   - configuration: Without a name: the coordinator's is that of this machine, with the port.
  ///   - tls: The certificates of both faces.
  ///   - web: The address of the HTTP API and the page. Nil: there is none.
  ///   - webhooks: Where messages about jobs may be sent.
  ///   - listening: Receives the address of the HTTP API when it is served.
  static func serve(
    _ jobs: any JobStore, _ content: ContentLocator, _ configuration: CoordinatorConfiguration, at server: WireServer,
    tls: ServedTLS, web: WireAddress?, webhooks: AddressRule, _ stop: StopSignals, _ logger: Logger,
    listening: @escaping @Sendable (WireAddress) -> Void = { _ in }
  ) async throws {
    var configuration = configuration
    configuration.name = "\(ProcessEnvironment.hostName):\(server.address.port)"
    let coordinator = CoordinatorService(store: jobs, content: content, configuration: configuration, logger: logger)
    let face = web.map {
      HTTPFace(
        FarmService(coordinator), address: $0, tls: tls.web, isGuarded: configuration.token != nil, logger: logger)
    }
    let service = ServiceNotification()
    await stop.serve {
      service?.isStopping()
      await withDiscardingTaskGroup { group in
        group.addTask { await coordinator.drain(server) }
        group.addTask { await face?.drain() }
      }
    }
    let sender = WebhookSender(FarmService(coordinator), rule: webhooks, logger: logger)
    let sending = Task { await sender.run() }
    defer { sending.cancel() }
    // Nothing of it waits for the database or the store: their absence is no reason to be killed.
    let watching = Task { await service?.watch { _ = await FarmService(coordinator).isDraining } }
    defer { watching.cancel() }
    if face == nil { service?.isReady() }
    let following = Task {
      await withDiscardingTaskGroup { group in
        for identity in [tls.wire, tls.web === tls.wire ? nil : tls.web].compactMap(\.self) {
          group.addTask { await identity.follow(logger) }
        }
      }
    }
    defer { following.cancel() }
    try await run(coordinator, server, face, logger) { address in
      service?.isReady()
      logger.notice("HTTP API and page", metadata: ["address": "\(tls.web == nil ? "http" : "https")://\(address)/"])
      listening(address)
    }
  }

  /// How long replies of the HTTP API go on when the coordinator has ended. A film can be fetched on from where it was.
  private static let lastReplies = Duration.seconds(2)

  /// Serves until the coordinator is drained. Throws why one of the faces cannot be served.
  private static func run(
    _ coordinator: CoordinatorService, _ server: WireServer, _ face: HTTPFace?, _ logger: Logger,
    listening: @escaping @Sendable (WireAddress) -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Ended.self) { group in
      var left: Set<Ended> = [.coordinator]
      group.addTask {
        try await coordinator.run(server)
        return .coordinator
      }
      if let face {
        left.insert(.face)
        group.addTask {
          do {
            try await face.run(listening: listening)
          } catch let error as WireError {
            throw CommandFailure(.unavailable, "\(error); choose another with --http")
          }
          return .face
        }
      }
      while !left.isEmpty, let ended = try await group.next() {
        if ended == .time { break }
        left.remove(ended)
        guard ended == .coordinator, !left.isEmpty else { continue }
        group.addTask {
          try await Task.sleep(for: lastReplies)
          return .time
        }
      }
      group.cancelAll()
    }
  }

  /// What has ended, of a coordinator that is drained.
  private enum Ended: Sendable {
    case coordinator, face
    /// The time that replies have.
    case time
  }
}

/// The addresses that are listened at. One that other machines can reach needs a token, and TLS unless the user does
/// without.
struct ServedAddresses {
  let token: String?
  let hasTLS: Bool
  let allowsPlain: Bool

  /// The address of `--listen`, whether it may be listened at or not.
  static func wire(_ listen: String?) throws -> WireAddress {
    let text = Setting.text(listen, "SHEAF_LISTEN") ?? WireAddress.defaultSetting
    return try WireAddress(setting: text, example: "0.0.0.0:7433")
  }

  func wire(_ listen: String?) throws -> WireAddress {
    let address = try Self.wire(listen)
    try check("a coordinator at \(address)", address)
    return address
  }

  func http(_ text: String) throws -> WireAddress {
    let address = try WireAddress(setting: text, example: "127.0.0.1:8080")
    try check("the HTTP API at \(address)", address)
    return address
  }

  private func check(_ what: String, _ address: WireAddress) throws(ValidationError) {
    if address.isLoopback { return }
    guard token != nil else {
      throw ValidationError(
        "\(what) can be reached from other machines and needs a token: set SHEAF_TOKEN or --token-file")
    }
    guard hasTLS || allowsPlain else {
      throw ValidationError(
        "\(what) can be reached from other machines and needs TLS: set --ca, or --tls-certificate and --tls-key, or --insecure if the network is private"
      )
    }
  }
}
