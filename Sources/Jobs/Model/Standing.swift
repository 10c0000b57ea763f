package import Digest
package import FarmModel

/// Why the workers of an account are granted nothing, until somebody lifts it.
package enum WorkerHold: String, Sendable, Hashable, CaseIterable {
  /// What they execute goes on.
  case paused
  /// What they execute goes on, and they end after it.
  case draining
  /// Nothing of theirs is accepted any more, and what they have made is made again.
  case quarantined
}

/// What a farm knows of the workers of an account, beyond their connections.
package struct WorkerStanding: Sendable, Hashable {
  /// `WorkerRecord.account`.
  package var account: String
  /// How many of their results another account's worker has made too, and they were the same.
  package var confirmed: Int64
  /// How often they were quarantined. A result that was made before the last time is not believed any more, also when
  /// they are granted tasks again.
  package var quarantines: Int64
  package var hold: WorkerHold?
  /// For a person: why they are held; empty if they are not.
  package var reason: String
  /// Since when they are held, since 1970.
  package var heldAt: Duration?

  package init(
    account: String, confirmed: Int64, quarantines: Int64, hold: WorkerHold? = nil, reason: String,
    heldAt: Duration? = nil
  ) {
    self.account = account
    self.confirmed = confirmed
    self.quarantines = quarantines
    self.hold = hold
    self.reason = reason
    self.heldAt = heldAt
  }
}

/// A result of a task that is compared with another worker's before it is used.
package struct ComparedResult: Sendable, Hashable {
  package var epoch: Int64
  package var account: String
  package var digest: SHA256Digest

  package init(epoch: Int64, account: String, digest: SHA256Digest) {
    self.epoch = epoch
    self.account = account
    self.digest = digest
  }
}

/// A result that is used although no other worker has made it, because there is none that could.
package struct UncheckedResult: Sendable, Hashable {
  package var task: TaskID
  package var result: Content
  package var account: String

  package init(task: TaskID, result: Content, account: String) {
    self.task = task
    self.result = result
    self.account = account
  }
}

/// What has become of the results of accounts that are quarantined.
package struct Purge: Sendable, Hashable {
  /// Jobs that are planned again, without those results. In the order of their submission.
  package var replanned: [JobID] = []
  /// Jobs that are done, and whose films were made with some of them. In the order of their submission.
  package var doubted: [JobID] = []

  package init() {}
}

/// Whether workers are believed. Part of a `JobStore`.
///
/// A result of a `video`, `audio` or `stitch` task is compared before it is used if another account's worker could make
/// it too, and if it is one of the first `LeasePolicy.firstCompared` of its account or was drawn for
/// `LeasePolicy.comparedShare`. The task is then `ready` for the workers of other accounts until two accounts have made
/// the same result, which is the task's; an account that has made another one is quarantined. With
/// `LeasePolicy.mostCompared` results of which no two are the same the task and the job fail. A task whose results do
/// not differ does not fail because it fails on others: it has the first of them then.
package protocol WorkerControl: Sendable {
  /// Publishes the first result of tasks whose results do not differ, if it has waited for `LeasePolicy.lease` and no
  /// connected worker that takes tasks could make another one, or if it has waited for `LeasePolicy.patience`. To be
  /// called once a second.
  func acceptUnchecked() async throws(JobStoreError) -> [UncheckedResult]

  /// The accounts that have confirmed results or are held, in their order as bytes.
  func standings() async throws(JobStoreError) -> [WorkerStanding]

  /// Holds the workers of an account, or lifts that. An account is new again after it was quarantined.
  ///
  /// - Parameters:
  ///   - hold: Nil: they are granted tasks again.
  ///   - reason: For a person.
  /// - Returns: Whether this changed anything. One that is quarantined is not paused or drained: that has to be lifted
  ///   first.
  func setHold(_ hold: WorkerHold?, of account: String, reason: String) async throws(JobStoreError) -> Bool

  /// Ends the leases of the workers of quarantined accounts, has jobs that have not ended and have results of theirs
  /// planned and probed again without them, and records with jobs that are done that they have some. What was done for
  /// an account once is not done again, unless a job with some of them is ready to be stitched, or done. To be called
  /// once a second, and whenever one is quarantined.
  func purge() async throws(JobStoreError) -> Purge

  /// The accounts that have this name, or of which a worker has it, connected or not, as far as they are remembered. In
  /// their order as bytes.
  func accounts(named name: String) async throws(JobStoreError) -> [String]
}

extension WorkerRecord {
  /// The longest account, in bytes.
  package static let longestAccount = 384
}

extension TaskKind {
  /// Whether results of such tasks are compared.
  package var isCompared: Bool { self == .video || self == .audio || self == .stitch }
}

extension FailureMessage {
  package static let quarantined = "the worker is quarantined"

  package static func different(_ count: Int) -> String {
    "\(count) workers have made \(count) different results of it, so none of them is used"
  }

  package static func disproved(_ task: TaskID) -> String {
    "its result of task \(task) differs from that of two other workers"
  }

  package static func replanned(_ account: String) -> String { "results of worker \(account), which is quarantined" }

  package static func doubted(_ account: String) -> String {
    "it was made with results of worker \(account), which is quarantined; \"sheaf retry\" makes it again"
  }
}
