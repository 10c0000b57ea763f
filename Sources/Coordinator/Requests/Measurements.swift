import ContentStorage
import Digest
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks

/// The results of a job's measure tasks.
enum Measurements {
  /// The longest that is read, in bytes: that of a segment of some hours.
  private static let maximumBytes = 64 << 20

  /// The results of the measure tasks that are done, by fingerprint.
  static func results(_ tasks: [RenderTask]) -> [SHA256Digest: Content] {
    let measured = tasks.filter { $0.kind == .measure }.compactMap { task in
      task.result.map { (task.fingerprint, $0) }
    }
    return Dictionary(measured) { first, _ in first }
  }

  /// The measurements of one segment: one for each rendition that is measured. Nil if the result is not in the content
  /// store any more, or was damaged there and is removed: it is measured again. Blocks.
  static func read(_ result: Content, store: ContentStore) throws -> [Measurement]? {
    try bytes(of: result, store: store).map { try decode(Data($0)) }
  }

  /// The bytes of what a task has found. Nil as in `read`. Blocks.
  static func bytes(of result: Content, store: ContentStore) throws(ContentStoreError) -> [UInt8]? {
    guard store.contains(result) else {
      // It may be there with another size.
      _ = try store.removeIfDamaged(result.digest)
      return nil
    }
    do throws(ContentStoreError) {
      return try store.read(result.digest, limit: maximumBytes)
    } catch  where error.code == .missing {
      return nil
    }
  }

  /// Throws `WrongResult` for bytes that are no measurements.
  static func decode(_ bytes: Data) throws(WrongResult) -> [Measurement] {
    try WrongResult.decode([Measurement].self, from: bytes, as: "the measurement of a segment")
  }
}
