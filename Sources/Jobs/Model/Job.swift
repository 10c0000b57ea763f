/// A render that somebody asked for. It knows no media and no composition: what its tasks mean is in their payloads.
package struct Job: Sendable, Hashable {
  package var id: JobID
  /// For people.
  package var name: String
  /// Higher goes first.
  package var priority: Int32
  package var state: JobState
  /// What planning will need, kept as it came: the coordinator's business.
  package var request: [UInt8]
  /// The build of the workers that may take the job's tasks; nil until one of them takes the first.
  package var build: String?
  /// Set when `state` is `.done`.
  package var output: Content?
  /// Set when `state` is `.failed`.
  package var error: String?
  /// By the store's clock.
  package var age: Duration
  /// From submission to the end, or to now.
  package var elapsed: Duration

  package init(
    id: JobID, name: String, priority: Int32, state: JobState, request: [UInt8], build: String? = nil,
    output: Content? = nil, error: String? = nil, age: Duration = .zero, elapsed: Duration = .zero
  ) {
    self.id = id
    self.name = name
    self.priority = priority
    self.state = state
    self.request = request
    self.build = build
    self.output = output
    self.error = error
    self.age = age
    self.elapsed = elapsed
  }
}

/// `describing -> rendering -> done`, or from either of the first two to `failed` or `cancelled`.
package enum JobState: String, Sendable, Hashable, CaseIterable {
  case describing, rendering, done, failed, cancelled

  package var hasEnded: Bool { self == .done || self == .failed || self == .cancelled }
}

/// Chosen by whoever submits, so that the stores need no source of chance. 1 to 64 of [0-9a-z-].
package struct JobID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static func < (left: JobID, right: JobID) -> Bool { left.description < right.description }
}

/// A file known by what is in it.
package struct Content: Sendable, Hashable {
  /// Lower-case hexadecimal SHA-256.
  package var digest: String
  /// In bytes.
  package var size: Int64

  package init(digest: String, size: Int64) {
    self.digest = digest
    self.size = size
  }
}
