import CSandbox
import Digest
import Glibc
import NIOPosix
import SystemPackage
import SystemSupport

/// The worker's disk cache of content. `content/` has complete files by digest, each verified before its first use in a
/// run of the agent; files that are not complete have no name and are lost with the agent.
actor ContentCache {
  private struct Partial {
    var content: PartialContent
    var users = 0
    var lastUse: Int
  }

  private let directory: String
  private let byteLimit: Int64
  private let verifier: FileVerifier
  /// Limits the requests for content that are under way at the coordinator.
  private let requests = AsyncSemaphore(8)
  private var partials: [SHA256Digest: Partial] = [:]
  private var uses = 0
  /// Complete files that were used in this run of the agent.
  private var touched: Set<SHA256Digest> = []

  /// Makes the cache's folders, for this user only. `byteLimit` limits what is kept, not what running tasks need at the
  /// same time.
  init(directory: String, byteLimit: Int64, verifier: FileVerifier) throws(SystemError) {
    self.directory = directory
    self.byteLimit = byteLimit
    self.verifier = verifier
    for folder in [directory, "\(directory)/content", "\(directory)/work"] {
      try Directories.make(folder, permissions: 0o700)
    }
    OpenFile.removeUnnamed(in: workFolder)
  }

  /// The folder of the tasks' outputs.
  nonisolated var workFolder: String { "\(directory)/work" }

  /// A complete and verified file; nil if the cache has none.
  func complete(_ content: Content) async throws -> OpenFile? {
    let path = path(of: content.digest)
    // A file that cannot be opened is fetched as one that is not there.
    guard let file = try? OpenFile.open(path) else { return nil }
    // Sets the time of the last use, for `trim`; a cache that is read-only can still be used. Once, because it changes
    // the file's identity, by which the verifier finds its digest.
    if touched.insert(content.digest).inserted { _ = futimens(file.descriptor, nil) }
    let identity = try FileIdentity(of: file)
    if identity.size == content.size, try await verifier.digest(of: file, identity) == content.digest { return file }
    // Left so by a loss of power, or changed by another program: it is fetched again.
    unlink(path)
    return nil
  }

  /// Content that is fetched as it is read. Each call is paired with one of `release`.
  func partial(_ content: Content) throws(SystemError) -> PartialContent {
    uses += 1
    var partial = if let known = partials[content.digest] { known } else { try make(content) }
    partial.users += 1
    partial.lastUse = uses
    partials[content.digest] = partial
    return partial.content
  }

  private func make(_ content: Content) throws(SystemError) -> Partial {
    let (file, isLinkable) = try OpenFile.unnamed(in: workFolder)
    _ = try retryingOnInterrupt("making a file of \(content.size) bytes in the cache") {
      ftruncate(file.descriptor, off_t(content.size))
    }
    let partial = PartialContent(content, file: file, isLinkable: isLinkable, requests: requests) { [weak self] in
      await self?.keep($0)
    }
    return Partial(content: partial, lastUse: uses)
  }

  /// Called when a task that read the content has ended.
  func release(_ content: PartialContent) async {
    let hadMistakes = await content.mistakes > 0
    // Content that is complete has a name by now and is not here any more.
    if var partial = partials[content.content.digest], partial.content === content {
      partial.users -= 1
      // Content that came with a wrong digest starts over with the next task.
      partials[content.content.digest] = partial.users == 0 && hadMistakes ? nil : partial
    }
    await trim()
  }

  /// Gives complete content its name.
  private func keep(_ content: PartialContent) async {
    guard content.isLinkable else { return }
    let digest = content.content.digest
    do {
      try content.file.link(to: path(of: digest))
      // Without it, the next use digests the file once more.
      if let identity = try? FileIdentity(of: content.file) { await verifier.register(digest, for: identity) }
    } catch {
      // The content stays without a name, and is kept as long as the agent runs.
      guard error.code == .fileExists else { return }
    }
    partials[digest] = nil
    touched.insert(digest)
  }

  /// Removes what was not used for longest, until the cache is within its limit.
  func trim() async {
    var partialSize: Int64 = 0
    for digest in partials.keys { partialSize += await partials[digest]?.content.allocatedSize ?? 0 }
    var files = Directories.files(in: "\(directory)/content")
    var total = partialSize + files.reduce(0) { $0 + $1.allocatedSize }
    guard total > byteLimit else { return }
    // Partial content that no task reads goes first: less is lost with it.
    let idle = partials.filter { $0.value.users == 0 }.sorted { $0.value.lastUse < $1.value.lastUse }
    for (digest, partial) in idle where total > byteLimit {
      total -= await partial.content.allocatedSize
      if partials[digest]?.users == 0 { partials[digest] = nil }
    }
    files.sort { $0.modified < $1.modified }
    for file in files where total > byteLimit {
      if unlink(file.path) == 0 { total -= file.allocatedSize }
    }
  }

  private func path(of digest: SHA256Digest) -> String { "\(directory)/content/\(digest.hex)" }
}

/// Digests files: each once as long as it does not change, and and concurrent requests share one computation at the same time.
actor FileVerifier {
  private var digests: [FileIdentity: Task<SHA256Digest, any Error>] = [:]

  /// The digest of an open file. Throws the error of reading it.
  func digest(of file: OpenFile, _ identity: FileIdentity) async throws -> SHA256Digest {
    if let digest = digests[identity] { return try await digest.value }
    let task = Task { try await FileThreads.run { try file.content().digest } }
    digests[identity] = task
    do {
      return try await task.value
    } catch {
      digests[identity] = nil
      throw error
    }
  }

  /// Registers a digest that is known already.
  func register(_ digest: SHA256Digest, for identity: FileIdentity) {
    digests[identity] = Task { digest }
  }
}

/// Threads for reading, writing and digesting files, which would block the cooperative pool.
enum FileThreads {
  /// Two, so that while one digests a long film, the other writes what comes from the coordinator.
  static let pool: NIOThreadPool = {
    let pool = NIOThreadPool(numberOfThreads: 2)
    pool.start()
    return pool
  }()

  static func run<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await pool.runIfActive(body)
  }
}

/// Files without a name, which are lost with their last descriptor.
extension OpenFile {
  /// A new file without a name in a directory.
  /// - Returns: The file, and whether `link` can give it a name.
  static func unnamed(in directory: String) throws(SystemError) -> (file: OpenFile, isLinkable: Bool) {
    var isLinkable: Int32 = 0
    let descriptor = sandbox_open_unnamed(directory, &isLinkable)
    guard descriptor >= 0 else { throw SystemError(-descriptor, "making a file in \(directory)") }
    return (OpenFile(owning: descriptor, name: "a file in \(directory)"), isLinkable != 0)
  }

  /// Gives the file a name. Throws `EEXIST` if the name is taken.
  func link(to path: String) throws(SystemError) {
    let status = sandbox_give_name(descriptor, path)
    guard status == 0 else { throw SystemError(-status, "naming \(path)") }
  }

  /// Removes the files that `unnamed` had to make with a name, by an agent that ended before it could remove it.
  static func removeUnnamed(in directory: String) {
    for file in Directories.files(in: directory) where file.path.hasPrefix("\(directory)/unnamed-") {
      unlink(file.path)
    }
  }
}
