package import FarmModel

/// How many jobs and tasks a store has.
package struct StoreCounts: Sendable, Hashable {
  /// What tasks are counted by.
  package struct Group: Sendable, Hashable {
    package var kind: TaskKind
    package var state: TaskState

    package init(kind: TaskKind, state: TaskState) {
      self.kind = kind
      self.state = state
    }
  }

  package var jobs: [JobState: Int64] = [:]
  /// The tasks of the jobs that have not ended.
  package var tasks: [Group: Int64] = [:]
  /// The time since the submission of the oldest job that has a ready task. Nil: none has.
  package var oldestReady: Duration?
  /// The time since the end of the lease of the ready task that has lost its last lease longest ago. Nil: none has.
  package var oldestLost: Duration?
  /// The age of the oldest event of the journal that is held back for a transaction that is under way. Nil: none is.
  package var oldestHeldEvent: Duration?
  /// The ready and running video tasks of the jobs whose median pace is known.
  package var pacedTasks: Int64 = 0
  /// What these take at that pace, of a running one what is left, in microseconds.
  package var pacedWork = 0.0

  /// The ready and running tasks of inspections, which are not counted in `tasks`.
  package var inspections: [TaskState: Int64] = [:]
  /// The jobs whose tasks so far are done and that are to be planned: for that a worker has to be connected, because a
  /// plan is for its build.
  package var unplanned: Int64 = 0

  package init() {}
}
