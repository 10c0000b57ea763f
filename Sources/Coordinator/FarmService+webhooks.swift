package import FarmAPI
package import FarmModel
import FoundationEssentials
import Jobs

// Webhooks: the addresses to which messages about jobs are sent.

extension FarmService {
  private static let mostWebhooks = 100
  /// How many messages one webhook is sent in a row before others are looked for.
  private static let mostInARow = 16
  /// By when an attempt to send each of them has ended: the next coordinator tries after that.
  private static let sendingTime = Duration.seconds(600)
  /// In bytes.
  private static let longestURL = 2048
  /// In characters of Unicode.
  private static let longestDescription = 500

  /// Adds a webhook. The reply has its secret, which no other has.
  package func addWebhook(_ request: WebhookRequest) async throws -> WebhookReport {
    try require(.operate)
    guard let url = request.url else { throw FarmError(.invalid, "a webhook needs a url") }
    try Self.check(request)
    return try await withStore {
      guard try await coordinator.store.webhooks().count < Self.mostWebhooks else {
        throw FarmError(.conflict, "there are \(Self.mostWebhooks) webhooks already; remove one")
      }
      let webhook = Webhook(
        id: WebhookID("wh_\(Self.random(12).hex)"), url: url, description: request.description ?? "",
        types: request.types ?? [], secret: Self.random(32),
        disabled: request.isDisabled == true ? Self.byRequest : nil)
      guard try await coordinator.store.add(webhook),
        let added = try await coordinator.store.webhooks().first(where: { $0.id == webhook.id })
      else { throw FarmError(.conflict, "the webhook was removed meanwhile") }
      var report = WebhookReport(added)
      report.secret = WebhookSecret.text(webhook.secret)
      try await audit(.webhookAdded, report.id, url)
      return report
    }
  }

  package func webhooks() async throws -> [WebhookReport] {
    try require(.operate)
    return try await withStore { try await coordinator.store.webhooks().map { WebhookReport($0) } }
  }

  package func webhook(_ id: String) async throws -> WebhookReport {
    guard let report = try await webhooks().first(where: { $0.id == id }) else { throw Self.absent(id) }
    return report
  }

  package func changeWebhook(_ id: String, _ request: WebhookRequest) async throws -> WebhookReport {
    try require(.operate)
    try Self.check(request)
    var change = WebhookChange()
    (change.url, change.description, change.types) = (request.url, request.description, request.types)
    change.activity = request.isDisabled.map { $0 ? .disabled(Self.byRequest) : .enabled }
    return try await withStore { [change] in
      guard let changed = try await coordinator.store.change(WebhookID(id), change) else { throw Self.absent(id) }
      try await audit(.webhookChanged, id, changed.url)
      return WebhookReport(changed)
    }
  }

  /// Gives a webhook another secret. The reply has it.
  /// - Parameter overlap: How long messages are signed with the one before too.
  package func rotateSecret(of id: String, overlap: Duration) async throws -> WebhookReport {
    try require(.operate)
    var change = WebhookChange()
    (change.secret, change.overlap) = (Self.random(32), overlap)
    return try await withStore { [change] in
      guard let changed = try await coordinator.store.change(WebhookID(id), change) else { throw Self.absent(id) }
      var report = WebhookReport(changed)
      report.secret = WebhookSecret.text(changed.secret)
      try await audit(.webhookSecretChanged, id)
      return report
    }
  }

  package func removeWebhook(_ id: String) async throws {
    try require(.operate)
    try await withStore {
      guard try await coordinator.store.remove(WebhookID(id)) else { throw Self.absent(id) }
      try await audit(.webhookRemoved, id)
    }
  }

  /// The deliveries of a webhook, newest first, at most `limit`.
  /// - Parameter event: Only those of earlier events. Nil: from the newest.
  package func deliveries(
    of id: String, before event: Int64?, state: DeliveryState?, limit: Int
  ) async throws -> [DeliveryReport] {
    _ = try await webhook(id)
    return try await withStore {
      try await coordinator.store.deliveries(
        of: WebhookID(id), before: event, state: state, limit: limit
      ).map { DeliveryReport($0) }
    }
  }

  /// Makes a message be sent again now, and then by the schedule, whether it was delivered or not.
  package func sendAgain(_ event: Int64, to id: String) async throws {
    _ = try await webhook(id)
    try await withStore {
      guard try await coordinator.store.sendAgain(WebhookID(id), event: event) else {
        throw FarmError(.notFound, "webhook \(id) has no delivery \(event)")
      }
      try await audit(.messageSentAgain, id, "event \(event)")
    }
  }

  // MARK: Sending

  /// The messages that are to be sent now. Each is this caller's until `ended`.
  /// - Parameter busy: Webhooks of which none are taken.
  package func takeMessages(except busy: [String]) async throws -> [OutgoingMessage] {
    try await withStore {
      try await coordinator.store.takeDeliveries(
        limit: Self.mostInARow, except: busy.map { WebhookID($0) }, for: Self.sendingTime
      ).map { OutgoingMessage($0) }
    }
  }

  /// Records the result of an attempt.
  package func ended(_ sent: OutgoingMessage, _ outcome: DeliveryOutcome) async throws {
    try await withStore {
      _ = try await coordinator.store.endDelivery(
        to: WebhookID(sent.webhook), event: sent.ticket.event, attempt: sent.ticket.attempts, turn: sent.ticket.turn,
        outcome)
    }
  }

  /// How many messages are to be sent, now or later.
  package func pendingMessages() async throws -> Int64 {
    try await withStore { try await coordinator.store.pendingDeliveries() }
  }

  // MARK: Rules

  private static let byRequest = "by request"

  private static func absent(_ id: String) -> FarmError { FarmError(.notFound, "there is no webhook \(id.prefix(64))") }

  static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }

  private static func check(_ request: WebhookRequest) throws(FarmError) {
    if let url = request.url {
      let parts = url.utf8.allSatisfy { (33...126).contains($0) } ? URLComponents(string: url) : nil
      guard url.utf8.count <= longestURL, let parts, ["http", "https"].contains(parts.scheme?.lowercased()),
        let host = parts.host, host.wholeMatch(of: /[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\]|[0-9A-Fa-f:.]+/) != nil,
        parts.user == nil, parts.password == nil, parts.fragment == nil,
        (1...65_535).contains(parts.port ?? 443)
      else {
        throw FarmError(
          .invalid,
          "a webhook's url is http or https with a host and a port up to 65535, without a user or a fragment, in at most \(longestURL) ASCII characters"
        )
      }
    }
    guard request.description?.unicodeScalars.count ?? 0 <= longestDescription else {
      throw FarmError(.invalid, "a webhook's description has at most \(longestDescription) characters")
    }
    if let unknown = request.types?.first(where: { MessageType(rawValue: $0) == nil }) {
      let known = MessageType.allCases.map(\.rawValue).joined(separator: ", ")
      throw FarmError(.invalid, "there is no type of message \"\(unknown.prefix(64))\"; those are \(known)")
    }
  }
}

/// A webhook's secret as the Standard Webhooks specification writes it.
private enum WebhookSecret {
  static func text(_ secret: [UInt8]) -> String { "whsec_\(Data(secret).base64EncodedString())" }
}

extension [UInt8] {
  var hex: String {
    map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}

extension WebhookReport {
  fileprivate init(_ webhook: Webhook) {
    self.init(
      id: webhook.id.description, url: webhook.url, description: webhook.description, types: webhook.types,
      createdAt: Timestamp(since1970: webhook.created))
    disabled = webhook.disabled
  }
}

extension DeliveryReport {
  fileprivate init(_ delivery: Delivery) {
    self.init(
      event: delivery.event.position.number, id: OutgoingMessage.id(delivery), type: delivery.type,
      state: delivery.state,
      timestamp: Timestamp(since1970: delivery.event.at), attempts: Int(delivery.attempts))
    job = delivery.event.job?.description
    attemptedAt = delivery.attempted.map { Timestamp(since1970: $0) }
    nextAt = delivery.state == .pending ? Timestamp(since1970: delivery.due) : nil
    status = delivery.status.map { Int($0) }
    error = delivery.message
  }
}

extension OutgoingMessage {
  /// The same in each attempt, and no other message's.
  fileprivate static func id(_ delivery: Delivery) -> String {
    "msg_\(delivery.webhook.description.dropFirst(3))_\(delivery.event.position.number)"
  }

  fileprivate init(_ due: DueDelivery) {
    let (delivery, event) = (due.delivery, due.delivery.event)
    var data = WebhookMessage.JobData(job: event.job?.description ?? "")
    (data.name, data.state, data.reason) = (event.name, event.state, event.message)
    data.seconds = event.took?.exactSeconds
    data.tasks = event.tasks.map { Int($0) }
    data.cached = event.cached.map { Int($0) }
    data.output = event.output.map { JobStatus.Output($0) }
    self.init(
      webhook: delivery.webhook.description, url: due.webhook.url,
      secrets: [due.webhook.secret] + [due.webhook.previousSecret].compactMap(\.self), id: Self.id(delivery),
      message: WebhookMessage(type: delivery.type, timestamp: Timestamp(since1970: event.at), data: data),
      ticket: Ticket(
        event: delivery.event.position.number, attempts: delivery.attempts, turn: delivery.turn))
  }
}
