import Digest

/// One try of one task, as the agent counts them: a task that is granted again is another run.
struct RunID: Sendable, Hashable, Comparable {
  var number: Int

  static func < (left: RunID, right: RunID) -> Bool { left.number < right.number }
}

/// The right to one try of one task. Its epoch is in all that is said of it.
struct TaskLease: Sendable, Hashable {
  var task: String
  var epoch: Int64
}

/// A task as the coordinator hands it out.
struct TaskGrant: Sendable, Hashable {
  var lease: TaskLease
  /// For logs.
  var kind: String
  var payload: [UInt8]
  var inputs: [InputContent]
  /// What progress counts up to.
  var work: UInt64
}

/// An input by what is in it, and perhaps where it stands.
struct InputContent: Sendable, Hashable {
  var digest: SHA256Digest
  /// In bytes.
  var size: Int64
  /// Under the media root; empty where it stands only in the coordinator's vault.
  var path: String

  /// For messages.
  var name: String { path.isEmpty ? String(digest.hex.prefix(12)) : path }
}

/// What a finished task is published as.
struct TaskResult: Sendable, Hashable {
  var digest: SHA256Digest
  /// In bytes.
  var size: Int64
  var cpuMilliseconds: UInt64
}

enum PublishOutcome: Sendable, Hashable {
  /// Published now or before.
  case published
  /// Somebody else has the task now.
  case stale
  case missingContent
}
