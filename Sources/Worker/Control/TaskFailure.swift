import Digest
import FarmModel
import Glibc
import SystemSupport

/// An attempt at a task that ended without a result.
struct TaskFailure: Error, Sendable, Hashable {
  var end: AttemptEnd
  /// What went wrong, where and why, for the person who submitted the job.
  var message: String
  /// Nil if no task process had been started, or its end is not known.
  var process: ProcessEnd?
  /// What the attempt took, until it was given up. Nil: its process had not ended.
  var usage: AttemptUsage?
  /// An input that the coordinator does not have, or sends with other bytes, or a piece that a stitch task refuses; nil
  /// if no input is the cause.
  var damagedInput: SHA256Digest?
  /// The same as the task process has reported it: the index of a piece that it refuses.
  var refusedInput: Int?

  init(_ end: AttemptEnd, _ message: String, process: ProcessEnd? = nil, damagedInput: SHA256Digest? = nil) {
    self.end = end
    self.message = message
    self.process = process
    self.damagedInput = damagedInput
  }
}

/// A complete output.
struct TaskProduct: Sendable {
  var file: OpenFile
  /// The digests of its blocks too, by which another process can check what it reads of the file.
  var blocks: BlockDigests
  /// The damaged media that it shows, as JSON of `ShownDamage`; empty if there are none.
  var damage: [UInt8] = []

  var content: Content { blocks.content }
}
