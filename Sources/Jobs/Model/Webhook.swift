package import FarmModel

/// Identifies a webhook: 1 to 64 characters of 0-9, a-z and `_`. Chosen by the coordinator.
package struct WebhookID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static func < (left: WebhookID, right: WebhookID) -> Bool { left.description < right.description }
}

/// An address that is sent a message about what becomes of jobs.
package struct Webhook: Sendable, Hashable {
  package var id: WebhookID
  package var url: String
  /// For people.
  package var description: String
  /// The names of the types of message that it is sent (`MessageType`). Empty: all.
  package var types: [String]
  /// The key of the messages' signatures.
  package var secret: [UInt8]
  /// The key before, with which messages are signed too. Nil: it is past its time.
  package var previousSecret: [UInt8]?
  /// Why it is sent nothing, for a person. Nil: it is sent messages.
  package var disabled: String?
  /// When it was added, since 1970, by the store's clock. Set by the store.
  package var created: Duration

  package init(
    id: WebhookID, url: String, description: String = "", types: [String] = [], secret: [UInt8],
    disabled: String? = nil, created: Duration = .zero
  ) {
    self.id = id
    self.url = url
    self.description = description
    self.types = types
    self.secret = secret
    self.disabled = disabled
    self.created = created
  }
}

/// What is changed of a webhook. Nil: it stays.
package struct WebhookChange: Sendable, Hashable {
  package enum Activity: Sendable, Hashable {
    case enabled
    case disabled(String)
  }

  package var url: String?
  package var description: String?
  package var types: [String]?
  package var activity: Activity?
  /// The key before is used too, for `overlap`.
  package var secret: [UInt8]?
  package var overlap: Duration = .zero

  package init() {}
}

/// A message to a webhook about one event.
package struct Delivery: Sendable, Hashable {
  package var webhook: WebhookID
  package var event: JournalEvent
  /// The message's type, such as `job.done`.
  package var type: String
  package var state: DeliveryState
  /// How many were begun.
  package var attempts: Int32
  /// How many were begun since the message was sent again.
  package var turn: Int32
  /// When it is attempted next. It and `attempted` are since 1970, by the store's clock.
  package var due: Duration
  /// When it was attempted last.
  package var attempted: Duration?
  /// The HTTP status of the last reply.
  package var status: Int32?
  /// Why the last attempt failed, for a person.
  package var message: String?

  package init(
    webhook: WebhookID, event: JournalEvent, type: String, state: DeliveryState, attempts: Int32, turn: Int32,
    due: Duration, attempted: Duration? = nil, status: Int32? = nil, message: String? = nil
  ) {
    self.webhook = webhook
    self.event = event
    self.type = type
    self.state = state
    self.attempts = attempts
    self.turn = turn
    self.due = due
    self.attempted = attempted
    self.status = status
    self.message = message
  }
}

/// A delivery that is to be attempted now, by whoever was given it.
package struct DueDelivery: Sendable, Hashable {
  package var delivery: Delivery
  package var webhook: Webhook

  package init(delivery: Delivery, webhook: Webhook) {
    self.delivery = delivery
    self.webhook = webhook
  }
}

/// Webhooks and what they are sent. Part of a `JobStore`: the delivery of a message is recorded with the event that it
/// is about, in the same transaction, to each webhook that is enabled then and takes its type.
package protocol WebhookStore: Sendable {
  /// - Returns: False, with nothing written, if there is a webhook of this id.
  func add(_ webhook: Webhook) async throws(JobStoreError) -> Bool

  /// In the order of their ids.
  func webhooks() async throws(JobStoreError) -> [Webhook]

  /// - Returns: The webhook after this. Nil: there is none.
  func change(_ webhook: WebhookID, _ change: WebhookChange) async throws(JobStoreError) -> Webhook?

  /// Removes a webhook with its deliveries. False: there is none.
  func remove(_ webhook: WebhookID) async throws(JobStoreError) -> Bool

  /// The pending deliveries that are due, of webhooks that are enabled: of each the first to be due, at most `limit`.
  /// Each counts as attempted and is due again after `time`, by which its attempt must have ended.
  ///
  /// - Parameter busy: Webhooks of which none are taken.
  /// - Returns: In the order of their events.
  func takeDeliveries(
    limit: Int, except busy: [WebhookID], for time: Duration
  ) async throws(JobStoreError) -> [DueDelivery]

  /// Records what came of an attempt. False, with nothing written, if another attempt was begun, or the message was
  /// sent again or removed.
  ///
  /// - Parameters:
  ///   - event: The number of the event that the delivery is about.
  ///   - attempt: `Delivery.attempts` as it was taken. `turn` likewise.
  func endDelivery(
    to webhook: WebhookID, event: Int64, attempt: Int32, turn: Int32, _ outcome: DeliveryOutcome
  ) async throws(JobStoreError) -> Bool

  /// The deliveries of a webhook, the newest event first, at most `limit`.
  /// - Parameters:
  ///   - event: Only those about earlier events, by number. Nil: from the newest.
  ///   - state: Nil: in any.
  func deliveries(
    of webhook: WebhookID, before event: Int64?, state: DeliveryState?, limit: Int
  ) async throws(JobStoreError) -> [Delivery]

  /// Makes a delivery due at once, whatever its state. False: there is none.
  func sendAgain(_ webhook: WebhookID, event: Int64) async throws(JobStoreError) -> Bool

  /// Removes deliveries about events that are older than `age`, at most `limit`. Returns how many.
  func removeDeliveries(olderThan age: Duration, limit: Int) async throws(JobStoreError) -> Int

  /// How many deliveries are pending.
  func pendingDeliveries() async throws(JobStoreError) -> Int64
}

extension WebhookStore {
  /// The same of a delivery as it was taken.
  package func endDelivery(_ delivery: Delivery, _ outcome: DeliveryOutcome) async throws(JobStoreError) -> Bool {
    try await endDelivery(
      to: delivery.webhook, event: delivery.event.position.number, attempt: delivery.attempts, turn: delivery.turn,
      outcome)
  }
}

extension JournalEvent {
  /// The type of a message about this. Nil: there is none, because it is about no job.
  package var messageType: MessageType? {
    switch kind {
    case .jobSubmitted: .submitted
    case .jobPlanned: .planned
    case .jobReplanned: .replanned
    case .jobRetried: .retried
    case .jobEnded:
      switch state {
      case .done: .done
      case .failed: .failed
      case .cancelled: .cancelled
      case .probing, .measuring, .rendering, nil: nil
      }
    case .jobDeleted: .deleted
    case .jobPaused, .jobResumed, .jobPriorityChanged, .jobPoolChanged, .jobDoubted: nil
    case .taskGranted, .taskDone, .taskCompared, .taskFailed: nil
    case .workerConnected, .workerDisconnected, .workerPaused, .workerResumed, .workerHeld, .workerReleased: nil
    }
  }
}
