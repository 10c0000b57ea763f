/// Chosen by the coordinator that submits the job, so that the stores need no random numbers. 1 to 64 characters of
/// 0-9, a-z and `-`.
package struct JobID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static func < (left: JobID, right: JobID) -> Bool { left.description < right.description }
}

/// What a job is for.
package enum JobPurpose: String, Sendable, Hashable, Codable, CaseIterable {
  /// Probes its media, is planned, and renders an output.
  case render
  /// Probes media for `check`, `plan` and `probe`. It is never planned: the coordinator that submitted it reads the
  /// results and cancels it.
  case inspection
}

/// `probing -> measuring -> rendering -> done`, or from any of the first three to `failed` or `cancelled`. Only a job
/// whose video has an average bit rate, or whose document has compositors of its author's own, is measured; any other
/// goes from `probing` to `rendering`.
package enum JobState: String, Sendable, Hashable, Codable, CaseIterable {
  case probing, measuring, rendering, done, failed, cancelled

  /// Whether the job can be planned when its tasks are done.
  package var precedesPlan: Bool { self == .probing || self == .measuring }

  /// Whether the job is bound to a build and has not ended.
  package var isBound: Bool { self == .measuring || self == .rendering }

  package var hasEnded: Bool { self == .done || self == .failed || self == .cancelled }
}
