import ContentStorage
import Digest
import Media
import SystemSupport
import Wire

/// Checks that files have the digests that they should have. A file is read once as long as it does not change, alongside
/// the task that uses it; those who check the same file at the same time share one reading.
actor FileVerifier {
  /// How many files are remembered of each kind; then the memory is emptied, and they are read again.
  static let limit = 4096

  private struct Rejection: Hashable {
    var identity: FileIdentity
    var digest: SHA256Digest
  }

  /// Rises while any file is read.
  nonisolated let movement = Movement()
  private let contents: FileContentCache
  private var underWay: [FileIdentity: FileVerification] = [:]
  private var registered: [FileIdentity: SHA256Digest] = [:]
  private var rejected: Set<Rejection> = []

  /// - Parameter directory: Where the digests of files are kept for the next run of the agent; nil keeps none.
  init(directory: String?) {
    contents = FileContentCache(directory: directory)
  }

  /// Checks that a file has a digest: at once if that is known, or else by a reading that begins now.
  /// - Parameter identity: The file's.
  /// - Returns: Nil if the file is known to have another digest.
  func verify(_ file: OpenFile, _ identity: FileIdentity, _ digest: SHA256Digest) async -> FileVerification? {
    if rejected.contains(Rejection(identity: identity, digest: digest)) { return nil }
    if let known = await known(file, identity) {
      return known == digest ? FileVerification(known: known) : nil
    }
    let verification = underWay[identity] ?? read(file, identity)
    Task {
      // A reading that failed is no evidence against the file.
      guard let found = try? await verification.digest, found != digest else { return }
      reject(Rejection(identity: identity, digest: digest))
    }
    return verification
  }

  /// Registers a digest that is known already.
  func register(_ digest: SHA256Digest, for identity: FileIdentity) {
    if registered.count >= Self.limit { registered = [:] }
    registered[identity] = digest
  }

  private func known(_ file: OpenFile, _ identity: FileIdentity) async -> SHA256Digest? {
    if let digest = registered[identity] { return digest }
    let contents = contents
    // A file whose digest cannot be looked up is read.
    return try? await BlockingWork.run { try contents.knownContent(of: file)?.digest }
  }

  private func read(_ file: OpenFile, _ identity: FileIdentity) -> FileVerification {
    let (contents, movement) = (contents, movement)
    let verification = FileVerification {
      try await BlockingWork.run(.hashing) { try contents.content(of: file) { _ in movement.advance() }.digest }
    }
    underWay[identity] = verification
    Task {
      // The result is for those who wait for it.
      _ = try? await verification.digest
      underWay[identity] = nil
    }
    return verification
  }

  private func reject(_ rejection: Rejection) {
    if rejected.count >= Self.limit { rejected = [] }
    rejected.insert(rejection)
  }
}

/// The digest of one file, known or being computed.
struct FileVerification: Sendable {
  private let task: Task<SHA256Digest, any Error>
  private let hasEnded: Flag

  fileprivate init(known digest: SHA256Digest) {
    task = Task { digest }
    hasEnded = Flag()
    hasEnded.set()
  }

  fileprivate init(_ compute: @escaping @Sendable () async throws -> SHA256Digest) {
    let hasEnded = Flag()
    task = Task {
      defer { hasEnded.set() }
      return try await compute()
    }
    self.hasEnded = hasEnded
  }

  /// Whether the reading has ended, so that `digest` does not wait.
  var isDone: Bool { hasEnded.isSet }

  /// Waits until the file was read. Throws the error of reading it. Does not end early when the caller's task is
  /// cancelled: others wait for the same digest.
  var digest: SHA256Digest {
    get async throws { try await task.value }
  }
}
