package import Digest
package import FarmModel

/// One thing that has happened in a farm. The store records it with what it is about, in one transaction, so that the
/// journal has everything that the store shows, whichever coordinator did it and whichever was lost.
package struct JournalEvent: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Jobs of purpose `.render` alone.
    case jobSubmitted
    /// Its tasks were added: the measure tasks, or those of the film.
    case jobPlanned
    /// Its tasks but for the probe tasks were removed, and it is planned again.
    case jobReplanned
    case jobRetried, jobPaused, jobResumed, jobPriorityChanged, jobPoolChanged, jobEnded, jobDeleted
    /// A job that is done has results of a worker that is not believed any more.
    case jobDoubted
    case taskGranted, taskDone
    /// A result is kept to be compared with another worker's.
    case taskCompared
    /// An attempt ended without a result.
    case taskFailed
    case workerConnected, workerDisconnected
    /// It takes no tasks for now, or takes some again.
    case workerPaused, workerResumed
    /// The farm grants the workers of an account nothing, or some again. The event has its account as its name.
    case workerHeld, workerReleased
  }

  package var position: JournalPosition
  package var kind: Kind
  /// When it happened, since 1970, by the store's clock.
  package var at: Duration
  /// Nil: it is about a worker.
  package var job: JobID?
  /// The job's name, or the worker's if it is about one.
  package var name: String?
  /// The job's. Nil: it has none, or it is about a worker.
  package var owner: String?
  /// The job's state after it.
  package var state: JobState?
  /// Of the task. This and the next two are nil if it is about no task.
  package var ordinal: Int32?
  package var epoch: Int64?
  package var label: String?
  /// The worker that it is about, or that has or had the task.
  package var worker: WorkerID?
  package var workerName: String?
  /// How the attempt ended.
  package var end: AttemptEnd?
  /// How long the attempt took from its grant, or the job from its submission.
  package var took: Duration?
  /// What of that the attempt waited, fetched, rendered and uploaded: the first four numbers of its usage. Nil: its
  /// worker did not say.
  package var phases: [Duration]?
  /// How many tasks the plan has, and how many of their results were known.
  package var tasks: Int64?
  package var cached: Int64?
  /// For a person: why.
  package var message: String?
  /// The output of a job that is done.
  package var output: Content?

  package init(
    _ kind: Kind, at: Duration, position: JournalPosition = JournalPosition(transaction: 0, number: 0)
  ) {
    self.kind = kind
    self.at = at
    self.position = position
  }
}

/// The place of an event in the journal, the same for all who read it. Events are read in the order of their places,
/// which is the order of the transactions that recorded them, and almost that of their times.
package struct JournalPosition: Sendable, Hashable, Comparable {
  package var transaction: Int64
  /// Counts the events of a journal.
  package var number: Int64

  package init(transaction: Int64, number: Int64) {
    self.transaction = transaction
    self.number = number
  }

  package static func < (left: JournalPosition, right: JournalPosition) -> Bool {
    (left.transaction, left.number) < (right.transaction, right.number)
  }
}

/// What has happened in the farm. Part of a `JobStore`.
package protocol Journal: Sendable {
  /// The events after a place, oldest first, at most `limit`. An event is seen once every transaction that began before
  /// it was recorded has ended, so that none comes to be before one that was returned. Nil: some of them were removed.
  ///
  /// - Parameter position: Nil: from the oldest that is kept.
  func events(after position: JournalPosition?, limit: Int) async throws(JobStoreError) -> [JournalEvent]?

  /// The newest events that `events(after:limit:)` would return, oldest first, at most `limit`.
  func newestEvents(limit: Int) async throws(JobStoreError) -> [JournalEvent]

  /// Removes, of the `limit` oldest events, all up to the newest that is older than `age` or of which there are more
  /// than `most`. An event that a delivery is about is kept for it, but is not returned any more.
  ///
  /// - Returns: How many were removed.
  func removeEvents(olderThan age: Duration, most: Int, limit: Int) async throws(JobStoreError) -> Int
}
