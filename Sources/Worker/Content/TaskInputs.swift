import CSandbox
import Digest
import Glibc
import Logging
import Runtime
import SystemSupport

/// An input of a task: what is in it, and perhaps where it is.
struct InputContent: Sendable, Hashable {
  var content: Content
  /// Under the media root; empty if only the coordinator's content store has it.
  var path: String

  /// What messages call the input: its digest, for which the coordinator writes the path in the document.
  var name: String { content.digest.hex }
}

/// An input that a task process can be given. A file that was not read before is digested while the task reads it, so
/// that the task begins at once; its result counts only if `problem` finds none.
struct OpenedInput: Sendable {
  /// Where its bytes are.
  enum Place: Sendable {
    case mediaRoot(path: String)
    case cache
    /// Filled as the task reads it.
    case coordinator(PartialContent)
  }

  /// For reading, with an offset of its own.
  var file: OpenFile
  var content: Content
  var place: Place
  /// The file's when it was opened; other programs may change it. Nil if only this process can.
  var identity: FileIdentity?
  /// Nil if only this process can change the file.
  var verification: FileVerification?

  /// Set if the file is filled only as it is read.
  var partial: PartialContent? {
    if case .coordinator(let partial) = place { partial } else { nil }
  }

  /// Whether every byte is known to be the content's, as long as the file does not change.
  var isVerified: Bool { verification?.isDone ?? true }

  /// The digests of its blocks, by which the task checks what it reads; nil if they are not known yet, or come with the
  /// blocks.
  var blocks: BlockDigests? { verification?.known }

  /// Waits until the file's digest is known. Returns why what a task read may not have been the content; nil if, as far
  /// as is known, it was.
  /// - Parameter reads: The blocks that the task has read, if it was not given their digests.
  func problem(reads: [BlocksRead] = []) async -> ContentError? {
    if let partial { return await partial.problem }
    guard let verification, let identity else { return nil }
    do {
      let blocks = try await verification.blocks
      let digest = blocks.content.digest
      guard digest == content.digest else {
        return ContentError("\(name) has the digest \(digest) and not \(content.digest): it is not used any more")
      }
      if let block = reads.lazy.compactMap({ $0.firstDifference(from: blocks) }).first {
        let range = ContentBlock.bytes(of: block, size: content.size)
        return ContentError(
          "\(name) changed while the task read it: bytes \(range.lowerBound)..<\(range.upperBound) were other ones")
      }
      let file = file
      let now = try await BlockingWork.run { try FileIdentity(of: file) }
      guard now == identity else {
        return ContentError("\(name) changed while the task read it")
      }
      return nil
    } catch {
      return ContentError("\(name) could not be verified: \(error)")
    }
  }

  /// Why a task that has found wrong bytes in the file does not count.
  func problem(wrong range: Range<Int64>) -> ContentError {
    ContentError(
      "bytes \(range.lowerBound)..<\(range.upperBound) of \(name) are not those of \(content.digest): "
        + "it has changed, and is not used any more")
  }

  private var name: String {
    switch place {
    case .mediaRoot(let path): "the file \(path) under the media root"
    case .cache, .coordinator: "the file \(content.digest) in the worker's cache"
    }
  }
}

extension BlocksRead {
  /// The first of the blocks that has another digest than the content; nil if none has.
  func firstDifference(from blocks: BlockDigests) -> Int? {
    let count = digests.count / BlockDigests.digestSize
    let all = 0..<ContentBlock.count(of: blocks.content.size)
    guard first >= 0, first + count <= all.count else { return all.last ?? 0 }
    let expected = Array(blocks[first..<(first + count)])
    return zip(digests, expected).enumerated().first { $0.element.0 != $0.element.1 }
      .map { first + $0.offset / BlockDigests.digestSize }
  }
}

/// Opens a task's inputs: under the media root, in the cache, or from the coordinator.
struct InputOpener: Sendable {
  let mediaRoot: MediaRoot?
  let cache: ContentCache
  let verifier: FileVerifier
  let logger: Logger

  /// Opens an input. A file under the media root that is known to have another digest is passed over.
  func open(_ input: InputContent) async throws -> OpenedInput {
    if let mediaRoot, !input.path.isEmpty {
      do {
        if let opened = try await open(input, under: mediaRoot) { return opened }
        logger.debug("the file under the media root is another one", metadata: ["path": "\(input.path)"])
      } catch {
        logger.debug("no file under the media root", metadata: ["path": "\(input.path)", "reason": "\(error)"])
      }
    }
    if let opened = try await cache.complete(input.content) { return opened }
    let partial = try await cache.partial(input.content)
    do {
      return OpenedInput(
        file: try partial.file.reopenedForReading(), content: input.content, place: .coordinator(partial))
    } catch {
      await cache.release(partial)
      throw error
    }
  }

  private func open(_ input: InputContent, under root: MediaRoot) async throws -> OpenedInput? {
    let (file, identity) = try await BlockingWork.run {
      let file = try root.open(input.path)
      return (file, try FileIdentity(of: file))
    }
    guard identity.size == input.content.size else { return nil }
    guard let verification = await verifier.verify(file, identity, input.content.digest) else { return nil }
    return OpenedInput(
      file: file, content: input.content, place: .mediaRoot(path: input.path), identity: identity,
      verification: verification)
  }

  /// Records that a task has found wrong bytes in an input's file: the next task gets another one. A file under the
  /// media root is passed over, one of the cache is removed, and content that was fetched is fetched anew.
  func reject(_ input: OpenedInput, _ problem: ContentError) async {
    if let identity = input.identity { await verifier.reject(identity, input.content.digest) }
    if let partial = input.partial { await partial.reject(problem) }
  }

  /// Gives back an input that `open` returned.
  func close(_ input: OpenedInput) async {
    switch input.place {
    case .mediaRoot: break
    case .cache: await cache.release(input.content)
    case .coordinator(let partial): await cache.release(partial)
    }
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
