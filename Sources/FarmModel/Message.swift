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
