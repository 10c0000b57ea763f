import CSandbox
import Digest
import Glibc
import Logging
import SystemSupport

/// An input of a task: what is in it, and perhaps where it is.
struct InputContent: Sendable, Hashable {
  var content: Content
  /// Under the media root; empty if only the coordinator's content store has it.
  var path: String

  /// What messages call the input.
  var name: String { path.isEmpty ? String(content.digest.hex.prefix(12)) : path }
}

/// An input that a task process can be given.
struct OpenedInput: Sendable {
  /// For reading, with an offset of its own.
  var file: OpenFile
  /// Set if the file is filled only as it is read.
  var partial: PartialContent?
  /// The identity of a file under the media root when it was verified; other programs may change it.
  var identity: FileIdentity?

  /// Whether, as far as is known, every byte that a task read was of the content.
  func isUnchanged() async -> Bool {
    if let partial { return await partial.mistakes == 0 }
    guard let identity else { return true }
    do {
      return try FileIdentity(of: file) == identity
    } catch {
      return false
    }
  }
}

/// Opens a task's inputs: under the media root, in the cache, or from the coordinator.
struct InputOpener: Sendable {
  let mediaRoot: MediaRoot?
  let cache: ContentCache
  let verifier: FileVerifier
  let logger: Logger

  /// Opens an input. A file under the media root that does not have the content's digest is passed over.
  func open(_ input: InputContent) async throws -> OpenedInput {
    if let mediaRoot, !input.path.isEmpty {
      do {
        let file = try mediaRoot.open(input.path)
        let identity = try FileIdentity(of: file)
        if identity.size == input.content.size, try await verifier.digest(of: file, identity) == input.content.digest {
          return OpenedInput(file: file, identity: identity)
        }
        logger.debug("the file under the media root has another digest", metadata: ["path": "\(input.path)"])
      } catch {
        logger.debug("no file under the media root", metadata: ["path": "\(input.path)", "reason": "\(error)"])
      }
    }
    if let file = try await cache.complete(input.content) {
      return OpenedInput(file: file)
    }
    let partial = try await cache.partial(input.content)
    do {
      return OpenedInput(file: try partial.file.reopenedForReading(), partial: partial)
    } catch {
      await cache.release(partial)
      throw error
    }
  }

  /// Gives back an input that `open` returned.
  func close(_ input: OpenedInput) async {
    if let partial = input.partial { await cache.release(partial) }
  }
}

/// The folder of media that this worker shares with the coordinator. Only files beneath it are opened.
struct MediaRoot: Sendable {
  private let directory: OpenFile
  private let path: String

  init(_ path: String) throws(SystemError) {
    do {
      directory = try OpenFile.open(path, O_RDONLY | O_DIRECTORY)
    } catch {
      throw SystemError(error.code, "opening the media root \(path)")
    }
    self.path = path
  }

  /// Opens a file by its path relative to the root, for reading. Links may lead anywhere beneath the root.
  func open(_ relative: String) throws(SystemError) -> OpenFile {
    let relative = String(relative.drop { $0 == "/" })
    guard !relative.isEmpty, !relative.utf8.contains(0) else {
      throw SystemError(EINVAL, "opening a file without a name")
    }
    let isEverything = path == "/"
    if !isEverything {
      let descriptor = sandbox_open_beneath(directory.descriptor, relative)
      if descriptor >= 0 { return OpenFile(owning: descriptor, name: relative) }
      // The filters of containers that do not list the call answer with EPERM.
      guard descriptor == -ENOSYS || descriptor == -EPERM else { throw SystemError(-descriptor, "opening \(relative)") }
    }
    let root = try Directories.resolve(path)
    let full = try Directories.resolve("\(path)/\(relative)")
    guard isEverything || full.hasPrefix(root + "/") else { throw SystemError(EXDEV, "opening \(relative)") }
    return try OpenFile.open(full, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)
  }
}
