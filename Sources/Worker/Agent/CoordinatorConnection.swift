import FoundationEssentials
import Logging
import Runtime
import Synchronization
import TLS
import Wire

/// The worker's connection to the coordinator, after the coordinator has accepted it.
struct CoordinatorConnection: Sendable {
  let connection: WireConnection
  /// Reads and uploads.
  let exchange: ContentExchange
  private let outbox: AsyncStream<WireMessage>.Continuation
  private let queued: AsyncStream<WireMessage>

  init(_ connection: WireConnection) {
    self.connection = connection
    exchange = ContentExchange(connection)
    // Bounded by its senders: a few messages for each task, and the heartbeats until the coordinator has been silent
    // for a lease's time.
    (queued, outbox) = AsyncStream.makeStream()
  }

  /// When the last bytes of the coordinator came.
  var lastReceived: ContinuousClock.Instant { connection.lastReceived }

  /// Queues a message behind those that wait; does not wait itself.
  func send(_ message: WireMessage) {
    outbox.yield(message)
  }

  func close() {
    connection.close()
  }

  /// Sends and receives until the connection ends. Throws `WireError` with the reason; returns if the coordinator
  /// closed it without one.
  func run(_ onEvent: @escaping @Sendable (AgentEvent) -> Void) async throws {
    defer { outbox.finish() }
    do {
      try await withThrowingTaskGroup { group in
        group.addTask {
          for await message in queued { try await connection.send(message) }
        }
        group.addTask {
          for try await message in connection.inbound {
            if await exchange.take(message) { continue }
            if let event = try AgentEvent(message) { onEvent(event) }
          }
        }
        try await group.next()
        group.cancelAll()
      }
    } catch {
      await exchange.end()
      throw error
    }
    await exchange.end()
  }
}

/// Keeps a worker connected: connects again, after growing waits, whenever the connection is lost or refused. Each try
/// goes to the next address, and there is a wait when all of them have failed.
struct CoordinatorConnector: Sendable {
  /// At least one.
  let addresses: [WireAddress]
  let credentials: FarmCredentials
  /// Its session, and what the credentials have, are filled in here.
  let hello: Sheaf_Hello
  /// How many failed tries in a row end `run`; with nil, no number of them does.
  let maximumTries: Int?
  /// How long a try may take; nil: as long as the wait before the next one may be.
  let longestConnecting: Duration?
  let logger: Logger
  /// Whether the worker holds leases, which run out unless it is connected again in time.
  let holdsLeases: @Sendable () -> Bool

  /// Runs until the task is cancelled. The sessions of the tries are numbered from 1, so that the coordinator can
  /// distinguish an older connection from a newer one. Throws `WireError` if another try cannot help: at every address
  /// the token is wrong, the coordinator is not trusted or has another version of the protocol, or `maximumTries` have
  /// failed.
  /// - Parameter onEvent: Called with what the coordinator sends, and with `disconnected` after each connection.
  func run(
    onConnection: @escaping @Sendable (CoordinatorConnection, Sheaf_Welcome) -> Void,
    onEvent: @escaping @Sendable (AgentEvent) -> Void
  ) async throws {
    var backoff = Backoff()
    var failures = 0
    var hello = hello
    var round = AddressRound(count: addresses.count)
    // Where the certificate was refused, and why: the token is tried there. It may be that of another farm, or be
    // refused by one coordinator alone.
    var refused: [Int: WireError] = [:]
    var joins = 0
    while !Task.isCancelled {
      let place = round.place
      let address = addresses[place]
      hello.session += 1
      let wasConnected = Atomic(false)
      let hasJoined = Atomic(false)
      var presentsCertificate = false
      var reason = WireError(.closed, "the coordinator closed the connection")
      do {
        let timeout = longestConnecting ?? (holdsLeases() ? Backoff.longestWithLeases : Backoff.longest)
        let shows = refused[place] == nil
        let greeting = try await BlockingWork.run { [credentials] in
          try credentials.greeting(showingCertificate: shows)
        }
        presentsCertificate = greeting.hasCertificate
        let sent = hello.with(greeting)
        try await WireClient.withConnection(to: address, trusting: greeting.trust, hello: sent, timeout: timeout) {
          connection, welcome in
          if try await take(welcome, for: greeting) {
            hasJoined.store(true, ordering: .releasing)
            return
          }
          wasConnected.store(true, ordering: .releasing)
          logger.info("connected", metadata: ["coordinator": "\(address)", "server": "\(welcome.server)"])
          let coordinator = CoordinatorConnection(connection)
          onConnection(coordinator, welcome)
          try await coordinator.run(onEvent)
        }
      } catch let error as WireError {
        reason = error
      } catch let error as TLSError {
        reason = WireError(.untrusted, "\(error)")
      } catch is CancellationError {
        break
      }
      if hasJoined.load(ordering: .acquiring) {
        logger.notice("joined", metadata: ["coordinator": "\(address)"])
        refused = [:]
        joins += 1
        // One that asks for a certificate again and again is not asked all the time.
        if joins > 1 {
          do { try await Task.sleep(for: backoff.wait(jitter: .random(in: 0...1))) } catch { break }
        }
        continue
      }
      if presentsCertificate, reason.code == .ownCertificate || reason.code == .refused(.token) {
        logger.warning(
          "certificate refused", metadata: ["coordinator": "\(address)", "reason": "\(reason)"])
        if wasConnected.load(ordering: .acquiring) { onEvent(.disconnected) }
        refused[place] = reason
        do { try await Task.sleep(for: backoff.wait(jitter: .random(in: 0...1))) } catch { break }
        continue
      }
      if let first = refused[place], !credentials.hasToken, reason.isPermanent { reason = first }
      let isNew = wasConnected.load(ordering: .acquiring)
      if isNew {
        onEvent(.disconnected)
        backoff.reset()
        (failures, joins) = (0, 0)
        if credentials.hasNewCertificate {
          logger.info("connecting with the new certificate")
          continue
        }
      }
      let step = round.next(afterLoss: isNew, isPermanent: reason.isPermanent)
      failures += 1
      if Task.isCancelled { break }
      if step == .giveUp || !isNew && failures == maximumTries { throw reason }
      if step == .tryNow {
        logger.warning("not connected", metadata: ["reason": "\(reason)"])
        continue
      }
      let wait = backoff.wait(jitter: .random(in: 0...1), holdsLeases: holdsLeases())
      logger.warning("not connected", metadata: ["reason": "\(reason)", "next try in": "\(wait)"])
      do { try await Task.sleep(for: wait) } catch { break }
    }
  }
}

extension CoordinatorConnector {
  /// Asks for the next certificate, at the first address that gives one. Throws `WireError` if none does.
  func renew() async throws {
    var failure = WireError(.closed, "no coordinator signs certificates any more")
    for address in addresses {
      do {
        let greeting = try await BlockingWork.run { [credentials] in try credentials.greeting(renewing: true) }
        guard greeting.hasCertificate else { return }
        var hello = hello
        // It is no connection for tasks, and leaves the open one alone.
        hello.session = 1
        let isRenewed = try await WireClient.withConnection(
          to: address, trusting: greeting.trust, hello: hello.with(greeting)
        ) { try await take($1, for: greeting) }
        if isRenewed { return }
      } catch let error as WireError {
        failure = error
      } catch let error as TLSError {
        failure = WireError(.untrusted, "\(error)")
      }
    }
    throw failure
  }

  /// Takes the certificate that was asked for. Returns whether there is one.
  private func take(_ welcome: Sheaf_Welcome, for greeting: FarmCredentials.Greeting) async throws -> Bool {
    guard let key = greeting.key, !welcome.certificate.isEmpty else { return false }
    try await BlockingWork.run { [credentials] in
      try credentials.take(welcome.certificate, for: key, renewed: greeting.hasCertificate)
    }
    return true
  }
}

extension Sheaf_Hello {
  fileprivate func with(_ greeting: FarmCredentials.Greeting) -> Sheaf_Hello {
    var hello = self
    hello.token = greeting.token
    if let key = greeting.key { hello.certificateRequest = Data(key.request) }
    return hello
  }
}

/// Which of several addresses is tried next.
struct AddressRound: Sendable {
  enum Step: Sendable, Hashable {
    case tryNow
    /// All addresses have failed, or a connection was lost.
    case wait
    /// Nothing will be different at any address.
    case giveUp
  }

  let count: Int
  /// The address to try, from 0.
  private(set) var place = 0
  /// How many addresses in a row have failed since the last wait.
  private var failed = 0
  /// How many of them can never be connected to.
  private var hopeless = 0

  init(count: Int) {
    self.count = count
  }

  /// - Parameters:
  ///   - isLoss: Whether there was a connection, which has ended.
  ///   - isPermanent: Whether the address refuses this worker for ever.
  mutating func next(afterLoss isLoss: Bool, isPermanent: Bool) -> Step {
    place = (place + 1) % count
    if isLoss {
      (failed, hopeless) = (0, 0)
      return .wait
    }
    failed += 1
    if isPermanent { hopeless += 1 }
    guard failed == count else { return .tryNow }
    defer { (failed, hopeless) = (0, 0) }
    return hopeless == count ? .giveUp : .wait
  }
}

extension WireError {
  /// Whether a coordinator that answers a hello with it will answer every other hello with it.
  fileprivate var isPermanent: Bool {
    switch code {
    case .refused(.token), .refused(.protocol), .violation, .untrusted, .ownCertificate: true
    default: false
    }
  }
}

/// How long to wait before the next try to connect: longer after each failure, and different for each worker.
struct Backoff: Sendable {
  static let first: Duration = .milliseconds(250)
  static let longest: Duration = .seconds(10)
  static let longestWithLeases: Duration = .seconds(2)

  private var next = Backoff.first

  /// - Parameters:
  ///   - jitter: 0...1. The wait is between half and all of the longest wait that is due.
  ///   - holdsLeases: Whether leases run out meanwhile; then the wait is at most `longestWithLeases`.
  mutating func wait(jitter: Double, holdsLeases: Bool = false) -> Duration {
    defer { next = min(next * 2, Self.longest) }
    let due = holdsLeases ? min(next, Self.longestWithLeases) : next
    return due / 2 + due / 2 * jitter
  }

  mutating func reset() {
    next = Self.first
  }
}
