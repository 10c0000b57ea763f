import ContentStorage
import Digest
import Logging
import Runtime
import SystemSupport

/// The folder of the coordinator's content store, for a worker on its machine: a film gets a name there, and no byte of
/// it is sent. Other results are, because tasks read them by their block digests, which the coordinator makes as they
/// come.
struct SharedStore: Sendable {
  let directory: String
  let logger: Logger

  /// Puts a result into the store. If that fails, as in a cache on another disk, the result is sent.
  func add(_ product: TaskProduct) async {
    do {
      try await BlockingWork.run(.storing) {
        try ContentStore.add(product.content, to: directory, file: product.file) { path throws(SystemError) in
          try product.file.link(to: path)
        }
      }
    } catch {
      logger.debug("a result is sent", metadata: ["reason": "\(error)"])
    }
  }
}
