import ContentStorage
import Digest
import Glibc
import Media
import Runtime
import SystemSupport

/// Checks that files have the digests that they should have. A file is read once as long as it does not change,
/// alongside the task that uses it; those who check the same file at the same time share one reading.
///
/// A reading finds the digests of the file's blocks too. The tasks that read the file from then on check each block
/// that they read, because the file may change without a trace (`FileContentCache`). A task that reads it meanwhile
/// reports what it has read, which `OpenedInput.problem` compares.
actor FileVerifier {
  /// How many files are remembered of each kind; then the memory is emptied, and they are read again.
  static let limit = 4096

  private struct Rejection: Hashable {
    var identity: FileIdentity
    var digest: SHA256Digest
  }

  /// Rises while any file is read.
  nonisolated let liveness = Liveness()
  private let contents: FileContentCache
  private var underWay: [FileIdentity: FileVerification] = [:]
  private var registered: [FileIdentity: SHA256Digest] = [:]
  private var rejected: Set<Rejection> = []

  /// The block digests of files.
  private let lists: BlockDigestFolder

  /// - Parameters:
  ///   - directory: Where the digests of files are kept for the next run of the agent.
  ///   - now: The time, of the clock that the times of files are of; nil: the system's.
  init(directory: String, now: (@Sendable () -> timespec)? = nil) {
    contents = now.map { FileContentCache(directory: directory, now: $0) } ?? FileContentCache(directory: directory)
    lists = FileContentCache.blockLists(in: directory)
  }

  /// Checks that a file has a digest: at once if that is known, or else by a reading that begins now.
  /// - Parameter identity: The file's.
  /// - Returns: Nil if the file is known to have another digest.
  func verify(_ file: OpenFile, _ identity: FileIdentity, _ digest: SHA256Digest) async -> FileVerification? {
    if rejected.contains(Rejection(identity: identity, digest: digest)) { return nil }
    if let known = await known(file, identity) {
      guard known == digest else { return nil }
      let content = Content(digest: digest, size: identity.size)
      // A list that cannot be looked up is made again.
      let list = try? await BlockingWork.run { [lists] in lists.list(of: content) }
      if let list { return FileVerification(known: list) }
    }
    let verification = underWay[identity] ?? read(file, identity)
    Task {
      // A reading that failed is no evidence against the file.
      guard let found = try? await verification.blocks.content.digest, found != digest else { return }
      reject(Rejection(identity: identity, digest: digest))
    }
    return verification
  }

  /// Registers a file whose bytes have been read and hashed.
  func register(_ blocks: BlockDigests, for identity: FileIdentity) async {
    if registered.count >= Self.limit { registered = [:] }
    registered[identity] = blocks.content.digest
    // Cancelled only with the agent. Without it the next use reads the file once more.
    try? await BlockingWork.run { [lists] in lists.save(blocks) }
  }

  /// Records that a file was found to have other bytes than the content with this digest, although its identity is that
  /// of when it was read: it is not used for this content any more.
  func reject(_ identity: FileIdentity, _ digest: SHA256Digest) async {
    registered[identity] = nil
    reject(Rejection(identity: identity, digest: digest))
    // Cancelled only with the agent. The next run of the agent then finds the wrong bytes again.
    try? await BlockingWork.run { [contents] in contents.forget(identity) }
  }

  private func known(_ file: OpenFile, _ identity: FileIdentity) async -> SHA256Digest? {
    if let digest = registered[identity] { return digest }
    let contents = contents
    // A file whose digest cannot be looked up is read.
    return try? await BlockingWork.run { try contents.knownContent(of: file)?.digest }
  }

  private func read(_ file: OpenFile, _ identity: FileIdentity) -> FileVerification {
    let (contents, lists, liveness) = (contents, lists, liveness)
    let verification = FileVerification {
      try await BlockingWork.run(.hashing) { try contents.blocks(of: file, in: lists) { _ in liveness.advance() } }
    }
    underWay[identity] = verification
    Task {
      // The result is for those who wait for it.
      _ = try? await verification.blocks
      underWay[identity] = nil
    }
    return verification
  }

  private func reject(_ rejection: Rejection) {
    if rejected.count >= Self.limit { rejected = [] }
    rejected.insert(rejection)
  }
}

/// The digests of one file and of its blocks, known or being computed.
struct FileVerification: Sendable {
  /// Nil if they were not known when the file was opened.
  let known: BlockDigests?
  private let task: Task<BlockDigests, any Error>
  private let hasEnded: Flag

  fileprivate init(known blocks: BlockDigests) {
    known = blocks
    task = Task { blocks }
    hasEnded = Flag()
    hasEnded.set()
  }

  fileprivate init(_ compute: @escaping @Sendable () async throws -> BlockDigests) {
    known = nil
    let hasEnded = Flag()
    task = Task {
      defer { hasEnded.set() }
      return try await compute()
    }
    self.hasEnded = hasEnded
  }

  /// Whether the reading has ended, so that `blocks` does not wait.
  var isDone: Bool { hasEnded.isSet }

  /// Waits until the file was read. Throws the error of reading it. Does not end early when the caller's task is
  /// cancelled: others wait for the same digests.
  var blocks: BlockDigests {
    get async throws { try await task.value }
  }
}
