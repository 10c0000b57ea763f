package import FarmModel

/// How many of everything a farm has, for metrics.
package struct FarmCounts: Sendable, Hashable {
  /// The tasks of one kind in one state.
  package struct Tasks: Sendable, Hashable {
    package var kind: TaskKind
    package var state: TaskState
    package var count: Int64

    package init(kind: TaskKind, state: TaskState, count: Int64) {
      self.kind = kind
      self.state = state
      self.count = count
    }
  }

  /// Jobs by state, without inspections.
  package var jobs: [JobState: Int64] = [:]
  /// Of the jobs that have not ended, without inspections.
  package var tasks: [Tasks] = []
  /// The time since the submission of the oldest job of which a task could be granted, in seconds. Nil: no task could.
  package var oldestReadySeconds: Double?
  package var workers: [WorkerStatus] = []
  /// Free bytes of the content store's disk. Nil: they could not be measured.
  package var freeBytes: Int64?
  /// How long each call was that ends leases, which a coordinator makes once a second.
  package var storeCalls = DurationHistogram()

  package init() {}
}

/// How many durations were at most each of some bounds.
package struct DurationHistogram: Sendable, Hashable {
  /// In seconds, ascending.
  package static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

  /// By bound: those that are at most the bound and more than the one before. The last counts the others.
  package private(set) var counts = [Int64](repeating: 0, count: bounds.count + 1)
  /// Of all durations, in seconds.
  package private(set) var sum = 0.0

  package init() {}

  package mutating func add(_ seconds: Double) {
    counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
    sum += seconds
  }
}
