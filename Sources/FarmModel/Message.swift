/// What a message to a webhook is about: what has become of a job. Its name is the message's type.
package enum MessageType: String, Sendable, Hashable, Codable, CaseIterable {
  case submitted = "job.submitted"
  case planned = "job.planned"
  case replanned = "job.replanned"
  case retried = "job.retried"
  case done = "job.done"
  case failed = "job.failed"
  case cancelled = "job.cancelled"
  case deleted = "job.deleted"
}

/// `pending -> delivered | failed`. A request to send the message again makes it `pending`.
package enum DeliveryState: String, Sendable, Hashable, Codable, CaseIterable {
  /// It is attempted again when it is due.
  case pending
  case delivered
  /// It is not attempted again, unless it is requested.
  case failed
}

/// The result of an attempt to send a message.
package struct DeliveryOutcome: Sendable, Hashable {
  package enum Next: Sendable, Hashable {
    case delivered
    case failed
    case retry(after: Duration)
  }

  package var next: Next
  /// The HTTP status of the reply. Nil: there was none.
  package var status: Int32?
  /// For a person: why it was not delivered.
  package var message: String?
  /// For a person: why the webhook is disabled by it. Nil: it is not.
  package var disables: String?

  package init(_ next: Next, status: Int32? = nil, message: String? = nil, disables: String? = nil) {
    self.next = next
    self.status = status
    self.message = message
    self.disables = disables
  }
}
