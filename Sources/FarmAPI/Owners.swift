import FarmModel

/// An owner of jobs, and what it may have. Its JSON is stable: keys may be added, but are never changed.
package struct OwnerReport: Sendable, Hashable, Codable {
  /// As its tokens have it. Empty: whoever has the farm's own token, or none.
  package var owner: String
  /// Of two owners who always have tasks the one with twice the weight gets twice as much.
  package var weight: Double
  /// How many of its tasks may run. Nil: any number.
  package var mostRunning: Int64?
  /// How many of its jobs may not have ended. Nil: any number.
  package var mostJobs: Int64?
  /// How many bytes of the content store its jobs may name. Nil: any number.
  package var mostBytes: Int64?
  /// How many of its tasks run.
  package var running: Int64
  /// How many of its jobs have not ended.
  package var jobs: Int64

  package init(owner: String, weight: Double, running: Int64, jobs: Int64) {
    self.owner = owner
    self.weight = weight
    self.running = running
    self.jobs = jobs
  }
}

/// What is changed of an owner. Nil: it stays.
package struct OwnerRequest: Sendable, Hashable {
  /// The number that means any number.
  package static let any: Int64 = -1

  /// 0.001 to 1000.
  package var weight: Double?
  /// From 0; `any`: any number.
  package var mostRunning: Int64?
  /// From 0; `any`: any number.
  package var mostJobs: Int64?
  /// From 0; `any`: any number.
  package var mostBytes: Int64?

  package init() {}
}
