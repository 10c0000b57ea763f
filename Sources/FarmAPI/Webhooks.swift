package import FarmModel

/// A webhook as clients make and change one. A member that is nil stays as it is, or has its default.
package struct WebhookRequest: Sendable, Hashable, Codable {
  /// `http` or `https`.
  package var url: String?
  /// For people.
  package var description: String?
  /// The types of message that it is sent, the names of `MessageType`. Empty: all.
  package var types: [String]?
  /// Whether it is sent nothing.
  package var isDisabled: Bool?

  package init() {}
}

/// A webhook as clients see it.
package struct WebhookReport: Sendable, Hashable, Codable {
  package var id: String
  package var url: String
  package var description: String
  /// Empty: all.
  package var types: [String]
  package var createdAt: Timestamp
  /// Why it is sent nothing, for a person. Nil: it is sent messages.
  package var disabled: String?
  /// The key of its signatures, as the Standard Webhooks specification writes it: `whsec_` and Base64. Only in the
  /// answer to the request that made it.
  package var secret: String?

  package init(id: String, url: String, description: String, types: [String], createdAt: Timestamp) {
    self.id = id
    self.url = url
    self.description = description
    self.types = types
    self.createdAt = createdAt
  }
}

/// What was sent to a webhook, or is to be.
package struct DeliveryReport: Sendable, Hashable, Codable {
  /// The event's number. Names the delivery among those of its webhook.
  package var event: Int64
  /// The message's, the same in each attempt: its header `webhook-id`.
  package var id: String
  package var type: String
  package var job: String?
  package var state: DeliveryState
  /// When the event happened.
  package var timestamp: Timestamp
  /// How many attempts were begun.
  package var attempts: Int
  package var attemptedAt: Timestamp?
  /// Nil: it is not tried again.
  package var nextAt: Timestamp?
  /// The status of the last reply. Nil: there was none.
  package var status: Int?
  /// Why the last attempt failed, for a person.
  package var error: String?

  package init(event: Int64, id: String, type: String, state: DeliveryState, timestamp: Timestamp, attempts: Int) {
    self.event = event
    self.id = id
    self.type = type
    self.state = state
    self.timestamp = timestamp
    self.attempts = attempts
  }
}

/// The body of a message to a webhook. Its JSON is stable: keys may be added, but are never changed.
package struct WebhookMessage: Sendable, Hashable, Codable {
  package struct JobData: Sendable, Hashable, Codable {
    package var job: String
    package var name: String?
    /// After the event.
    package var state: JobState?
    /// From the submission to the end.
    package var seconds: Double?
    /// How many tasks the plan has, and how many of their results were known.
    package var tasks: Int?
    package var cached: Int?
    /// Why, for a person.
    package var reason: String?
    /// The film of a job that is done.
    package var output: JobStatus.Output?

    package init(job: String) {
      self.job = job
    }
  }

  package var type: String
  /// When it happened.
  package var timestamp: Timestamp
  package var data: JobData

  package init(type: String, timestamp: Timestamp, data: JobData) {
    self.type = type
    self.timestamp = timestamp
    self.data = data
  }
}

/// A message that is to be sent now.
package struct OutgoingMessage: Sendable {
  package var webhook: String
  package var url: String
  /// Those with which it is signed: the webhook's, and the one before while it is valid.
  package var secrets: [[UInt8]]
  /// The header `webhook-id`.
  package var id: String
  package var message: WebhookMessage
  /// Which delivery it is, for the one who took it.
  package var ticket: Ticket

  package struct Ticket: Sendable, Hashable {
    package var event: Int64
    package var attempts: Int32
    /// How many attempts of the schedule were begun, with this one.
    package var turn: Int32

    package init(event: Int64, attempts: Int32, turn: Int32) {
      self.event = event
      self.attempts = attempts
      self.turn = turn
    }
  }

  package init(
    webhook: String, url: String, secrets: [[UInt8]], id: String, message: WebhookMessage, ticket: Ticket
  ) {
    self.webhook = webhook
    self.url = url
    self.secrets = secrets
    self.id = id
    self.message = message
    self.ticket = ticket
  }
}
