import ContentStorage
import Digest
import FarmModel
import Jobs
import Logging
import Runtime

/// The results of probe tasks that the content store does not have any more, because a disk fault changed them or they
/// were removed: descriptions and lists of fonts. The farm makes them again, because the tasks' inputs are there.
struct LostProbes: Sendable {
  /// A task that was granted so often since its job was submitted or taken up is not run once more: the disk damages
  /// whatever is written to it.
  private static let maximumGrants: Int64 = 20

  let store: any JobStore
  let content: ContentStore
  let logger: Logger

  /// Checks the results of a job's probe tasks, removes those that are damaged, and makes the tasks of those that are
  /// not there ready again. To be called when a result could not be read.
  ///
  /// Returns false, with nothing changed, if every result is as it should be. Throws `JobStoreError`;
  /// `ContentStoreError` if a result cannot be read, with the code `.missing` if one was lost too often.
  func makeAgain(_ job: JobID, _ tasks: [RenderTask]) async throws -> Bool {
    let lost = try await BlockingWork.run(.hashing) { [content] in try Self.find(tasks, content) }
    if lost.isEmpty { return false }
    let names = lost.map(\.label).joined(separator: ", ")
    if lost.contains(where: { $0.epoch - $0.retriedAt >= Self.maximumGrants }) {
      throw ContentStoreError(
        .missing,
        """
        what was found by \(names) was damaged on the coordinator's disk each time; check the disk, then \
        "sheaf retry \(job)" goes on
        """)
    }
    // A job whose segments are being measured, or were, has to return to its probe tasks first.
    if try await store.job(job)?.state == .measuring {
      _ = try await store.replan(job, reason: "what was found by \(names) is lost")
    }
    if try await store.reprobe(job, tasks: lost.map(\.id.ordinal)) > 0 {
      logger.warning(
        "files are probed again, because what was found was damaged on the disk or is gone",
        metadata: ["job": "\(job)", "tasks": "\(names)"])
    }
    return true
  }

  /// The tasks that are done and whose results are damaged, and are removed, or missing. Blocks.
  private static func find(_ tasks: [RenderTask], _ content: ContentStore) throws(ContentStoreError) -> [RenderTask] {
    var lost: [RenderTask] = []
    for task in tasks where task.kind == .probe && task.state == .done {
      guard let result = task.result else { continue }
      _ = try content.removeIfDamaged(result.digest)
      if !content.contains(result) { lost.append(task) }
    }
    if let absence = content.absence { throw ContentStoreError(.away, absence) }
    return lost
  }
}
