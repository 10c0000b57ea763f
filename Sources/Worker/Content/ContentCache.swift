import Digest
import Glibc

/// The worker's disk cache of content: `content/` holds complete files by digest, each verified before its first use in
/// a run of the agent; what is not complete has no name and is gone with the agent.
actor ContentCache {
  private struct Partial {
    var content: PartialContent
    var users = 0
    var lastUse: Int
  }

  private let directory: String
  private let byteLimit: Int64
  private let verifier: FileVerifier
  /// Requests that may be under way at the coordinator at a time.
  private let gate = Gate(8)
  private var partials: [SHA256Digest: Partial] = [:]
  private var uses = 0
  /// Complete files that were used in this run of the agent.
  private var touched: Set<SHA256Digest> = []

  /// Makes the cache's folders. `byteLimit` bounds what is kept, not what running tasks need at the same time.
  init(directory: String, byteLimit: Int64, verifier: FileVerifier) throws(SystemError) {
    self.directory = directory
    self.byteLimit = byteLimit
    self.verifier = verifier
    for folder in [directory, "\(directory)/content", "\(directory)/work"] { try Folder.make(folder) }
    Folder.sweep("\(directory)/work")
  }

  /// Where tasks' outputs are made.
  nonisolated var workFolder: String { "\(directory)/work" }

  /// A complete and verified file; nil if the cache has none.
  func complete(_ content: InputContent) async throws -> OpenFile? {
    let path = path(of: content.digest)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    let file = OpenFile(owning: descriptor)
    // The time of the last use, for `trim`; a cache that cannot be written to still serves. Once, because it makes the
    // file another one for the verifier.
    if touched.insert(content.digest).inserted { _ = futimens(descriptor, nil) }
    let identity = try FileIdentity(of: file)
    if identity.size == content.size, try await verifier.digest(of: file, identity) == content.digest { return file }
    // Left by a machine that lost its power, or touched by somebody: fetched again.
    unlink(path)
    return nil
  }

  /// Content that is fetched as it is read. Paired with `release`.
  func partial(_ content: InputContent) throws(SystemError) -> PartialContent {
    uses += 1
    if partials[content.digest] == nil {
      let (file, isLinkable) = try OpenFile.unnamed(in: workFolder)
      guard ftruncate(file.descriptor, off_t(content.size)) == 0 else {
        throw SystemError(errno, "making a file of \(content.size) bytes in the cache")
      }
      let partial = PartialContent(
        digest: content.digest, size: content.size, file: file, isLinkable: isLinkable, gate: gate
      ) { [weak self] in await self?.keep($0) }
      partials[content.digest] = Partial(content: partial, lastUse: uses)
    }
    partials[content.digest]?.users += 1
    partials[content.digest]?.lastUse = uses
    // There by the lines above.
    guard let partial = partials[content.digest] else { throw SystemError(EIO, "finding what was just made") }
    return partial.content
  }

  /// A task that read the content has ended.
  func release(_ content: PartialContent) async {
    let isSpoilt = await content.mistakes > 0
    // Complete content has its name by now and is not here any more.
    if var partial = partials[content.digest], partial.content === content {
      partial.users -= 1
      // What a bad coordinator or a bad network spoilt is not worth keeping.
      partials[content.digest] = partial.users == 0 && isSpoilt ? nil : partial
    }
    await trim()
  }

  /// Gives complete content its name.
  private func keep(_ content: PartialContent) async {
    guard content.isLinkable else { return }
    let status = content.file.name(path(of: content.digest))
    // Kept without a name as long as the agent runs, then.
    guard status == nil || status?.errno == EEXIST else { return }
    partials[content.digest] = nil
    touched.insert(content.digest)
    if status == nil, let identity = try? FileIdentity(of: content.file) {
      await verifier.note(content.digest, for: identity)
    }
  }

  /// Removes what was not used for longest until the cache is within its limit.
  func trim() async {
    struct Item {
      var weight: Int64
      var age: Double
      var remove: () -> Void
    }
    var partialWeight: Int64 = 0
    for digest in partials.keys { partialWeight += await partials[digest]?.content.weight ?? 0 }
    var files = Folder.files("\(directory)/content")
    var total = partialWeight + files.reduce(0) { $0 + $1.size }
    guard total > byteLimit else { return }
    // Idle partial content first: it is the cheaper loss, being only a part.
    let idle = partials.filter { $0.value.users == 0 }.sorted { $0.value.lastUse < $1.value.lastUse }
    for (digest, partial) in idle where total > byteLimit {
      total -= await partial.content.weight
      if partials[digest]?.users == 0 { partials[digest] = nil }
    }
    files.sort { $0.lastUse < $1.lastUse }
    for file in files where total > byteLimit {
      if unlink(file.path) == 0 { total -= file.size }
    }
  }

  private func path(of digest: SHA256Digest) -> String { "\(directory)/content/\(digest.hex)" }
}
