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
  /// Messages to webhooks that are to be sent, now or later.
  package var pendingMessages: Int64 = 0
  /// The time for which the task waits that has lost its last lease longest ago, in seconds. Nil: none waits.
  package var oldestLostSeconds: Double?
  /// The age of the oldest event that no client has, because a transaction of the farm's database is under way that may
  /// still record an earlier one, in seconds. Nil: there is none.
  package var oldestHeldEventSeconds: Double?
  /// Tasks that are ready or run, and the durations of those that other tasks of their jobs allow to estimate.
  package var demand = WorkerDemand()
  package var workers: [WorkerStatus] = []

  package init() {}
}
