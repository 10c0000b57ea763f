import Digest
import Logging

/// An input that a task process can be given.
struct OpenedInput: Sendable {
  /// For reading, with an offset of its own.
  var file: OpenFile
  /// Where the file is filled only as it is read.
  var partial: PartialContent?
  /// What a file under the media root was when it was verified; others may change it.
  var identity: FileIdentity?

  /// Whether all that was read of it was what its digest says, for all that is known.
  func isTrue() async -> Bool {
    if let partial { return await partial.mistakes == 0 }
    guard let identity else { return true }
    return (try? FileIdentity(of: file)) == identity
  }
}

/// Finds a task's inputs: under the media root, in the cache, or at the coordinator.
struct InputOpener: Sendable {
  let mediaRoot: MediaRoot?
  let cache: ContentCache
  let verifier: FileVerifier
  let logger: Logger

  /// Opens an input; what stands under the media root and is not what the coordinator means is passed over.
  func open(_ content: InputContent) async throws -> OpenedInput {
    if let mediaRoot, !content.path.isEmpty {
      do {
        let file = try mediaRoot.open(content.path)
        let identity = try FileIdentity(of: file)
        if identity.size == content.size, try await verifier.digest(of: file, identity) == content.digest {
          return OpenedInput(file: file, identity: identity)
        }
        logger.debug("file under the media root is another one", metadata: ["path": "\(content.path)"])
      } catch {
        logger.debug("no file under the media root", metadata: ["path": "\(content.path)", "reason": "\(error)"])
      }
    }
    if let file = try await cache.complete(content) {
      return OpenedInput(file: file)
    }
    let partial = try await cache.partial(content)
    return OpenedInput(file: try partial.file.reopenedForReading(), partial: partial)
  }

  /// Gives back what `open` gave.
  func close(_ input: OpenedInput) async {
    if let partial = input.partial { await cache.release(partial) }
  }
}
