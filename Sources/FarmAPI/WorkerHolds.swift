/// An account whose workers are granted nothing, until somebody lifts it. Its JSON is stable: keys may be added, but
/// are never changed.
package struct WorkerHoldReport: Sendable, Hashable, Codable {
  /// The hold of workers that are not believed.
  package static let quarantined = "quarantined"

  /// The workers' name, behind the owner of their token and a slash if it has one.
  package var worker: String
  /// `paused`, `draining` or `quarantined`.
  package var hold: String
  /// For a person.
  package var reason: String
  package var since: Timestamp?

  package init(worker: String, hold: String, reason: String, since: Timestamp?) {
    self.worker = worker
    self.hold = hold
    self.reason = reason
    self.since = since
  }
}

/// What is to become of the workers of an account.
package struct WorkerHoldRequest: Sendable, Hashable {
  /// As in `WorkerHoldReport`, or the name alone if one account has it.
  package var worker: String
  /// Nil: they are granted tasks again.
  package var hold: String?
  /// For a person.
  package var reason: String

  package init(worker: String, hold: String?, reason: String = "") {
    self.worker = worker
    self.hold = hold
    self.reason = reason
  }
}
