import CSandbox
import Digest
import Glibc
import Runtime
import SystemPackage
import SystemSupport

/// The worker's disk cache of content. `content/` has complete files by digest, each verified before its first use in a
/// run of the agent; files that are not complete have no name and are lost with the agent.
actor ContentCache {
  /// How many partial contents that no task reads are kept. Each takes a descriptor.
  static var idleLimit: Int { min(64, ProcessLimits.descriptors / 8) }

  private struct Partial {
    var content: PartialContent
    var users = 0
    var lastUse: Int
  }

  private let directory: String
  private let byteLimit: Int64
  private let verifier: FileVerifier
  /// Limits the requests for content that are under way at the coordinator.
  private let requests = AsyncSemaphore(capacity: 8)
  private var partials: [SHA256Digest: Partial] = [:]
  private var uses = 0
  /// When each complete file was used last in this run of the agent, as a number of `uses`. For earlier runs the file's
  /// own time of access counts; it is not set, because that changes the file's identity, by which its digest is known.
  private var lastUses: [SHA256Digest: Int] = [:]
  /// How many tasks read each complete file. Its name is not removed meanwhile: that frees no space, and changes the
  /// file's identity.
  private var readers: [SHA256Digest: Int] = [:]

  /// Makes the cache's folders, for this user only. `byteLimit` limits what is kept, not what running tasks need at the
  /// same time.
  init(directory: String, byteLimit: Int64, verifier: FileVerifier) throws(SystemError) {
    self.directory = directory
    self.byteLimit = byteLimit
    self.verifier = verifier
    try makeFolders()
    OpenFile.removeUnnamed(in: workFolder)
  }

  /// The folder of the tasks' outputs.
  private nonisolated var workFolder: String { "\(directory)/work" }

  /// Makes the cache's folders if they do not exist, with those above them. While the agent runs they may be removed,
  /// as by a program that empties folders of temporary files.
  private nonisolated func makeFolders() throws(SystemError) {
    for folder in [directory, "\(directory)/content", "\(directory)/work"] {
      try Directories.make(folder, permissions: 0o700)
    }
  }

  /// A new file without a name for a task's output or for partial content, and whether it can be given a name. Blocks.
  /// Throws `UnusableCache` if the cache's folders cannot be made or written to.
  nonisolated func unnamedFile() throws(UnusableCache) -> (file: OpenFile, isLinkable: Bool) {
    do throws(SystemError) {
      try makeFolders()
      return try OpenFile.unnamed(in: workFolder)
    } catch {
      throw UnusableCache(folder: directory, reason: error)
    }
  }

  /// A complete file; nil if the cache has none. Its digest is known, or is computed while the file is read. Each file
  /// that is returned is given back to `release`.
  func complete(_ content: Content) async throws -> OpenedInput? {
    let path = path(of: content.digest)
    let opened: (file: OpenFile, identity: FileIdentity)? = try await BlockingWork.run {
      // A file that cannot be opened is fetched as one that is not there.
      guard let file = try? OpenFile.open(path) else { return nil }
      return (file, try FileIdentity(of: file))
    }
    guard let (file, identity) = opened else { return nil }
    if identity.size == content.size, let verification = await verifier.verify(file, identity, content.digest) {
      uses += 1
      lastUses[content.digest] = uses
      readers[content.digest, default: 0] += 1
      return OpenedInput(file: file, content: content, place: .cache, identity: identity, verification: verification)
    }
    // Left so by a loss of power, or changed by another program: it is fetched again.
    unlink(path)
    return nil
  }

  /// Content that is fetched as it is read. Each call is paired with one of `release`.
  func partial(_ content: Content) throws -> PartialContent {
    uses += 1
    var partial = if let known = partials[content.digest] { known } else { try make(content) }
    partial.users += 1
    partial.lastUse = uses
    partials[content.digest] = partial
    return partial.content
  }

  private func make(_ content: Content) throws -> Partial {
    let (file, isLinkable) = try unnamedFile()
    _ = try retryingOnInterrupt("making a file of \(content.size) bytes in the cache") {
      ftruncate(file.descriptor, off_t(content.size))
    }
    let partial = PartialContent(content, file: file, isLinkable: isLinkable, requests: requests) { [weak self] in
      await self?.keep($0, $1)
    }
    return Partial(content: partial, lastUse: uses)
  }

  /// Called when a task that read the content has ended.
  func release(_ content: PartialContent) async {
    let isWrong = await content.problem != nil
    // Content that is complete has a name by now and is not here any more.
    if var partial = partials[content.content.digest], partial.content === content {
      partial.users -= 1
      // Content that came with wrong bytes starts over with the next task.
      partials[content.content.digest] = partial.users == 0 && isWrong ? nil : partial
    }
    await trim()
  }

  /// Called when a task that read a complete file has ended.
  func release(_ complete: Content) async {
    let left = (readers[complete.digest] ?? 1) - 1
    readers[complete.digest] = left > 0 ? left : nil
    await trim()
  }

  /// Gives complete content its name.
  private func keep(_ content: PartialContent, _ blocks: BlockDigests) async {
    guard content.isLinkable else { return }
    let digest = content.content.digest
    do throws(SystemError) {
      try makeFolders()
      try content.file.link(to: path(of: digest))
      // Without it, the next use digests the file once more.
      if let identity = try? FileIdentity(of: content.file) { await verifier.register(blocks, for: identity) }
    } catch {
      // The content stays without a name, and is kept as long as the agent runs.
      guard error.code == .fileExists else { return }
    }
    partials[digest] = nil
    uses += 1
    lastUses[digest] = uses
  }

  /// Removes what was not used for longest, until the cache is within its limit.
  /// - Parameter bytes: Removes at least as many bytes, as far as there are any that no task reads.
  func trim(freeing bytes: Int64 = 0) async {
    let idle = partials.filter { $0.value.users == 0 }.sorted { $0.value.lastUse < $1.value.lastUse }
    var partialSize: Int64 = 0
    for digest in partials.keys { partialSize += await partials[digest]?.content.allocatedSize ?? 0 }
    let folder = "\(directory)/content"
    // A folder that cannot be read has nothing to remove.
    let files = (try? await BlockingWork.run { Directories.files(in: folder) }) ?? []
    var total = partialSize + files.reduce(0) { $0 + $1.allocatedSize }
    let target = min(byteLimit, total - bytes)
    // Partial content that no task reads goes first: less is lost with it.
    let idleLimit = Self.idleLimit
    for (index, (digest, partial)) in idle.enumerated() where total > target || idle.count - index > idleLimit {
      total -= await partial.content.allocatedSize
      if partials[digest]?.users == 0 { partials[digest] = nil }
    }
    let complete = files.map { (file: $0, digest: SHA256Digest(hex: $0.path.suffix(64))) }
      .map { (file: $0.file, digest: $0.digest, lastUse: $0.digest.flatMap { lastUses[$0] } ?? 0) }
      .sorted { ($0.lastUse, $0.file.accessed) < ($1.lastUse, $1.file.accessed) }
    for (file, digest, _) in complete where total > target && digest.map({ readers[$0] == nil }) ?? true {
      guard unlink(file.path) == 0 else { continue }
      total -= file.allocatedSize
      if let digest { lastUses[digest] = nil }
    }
  }

  private func path(of digest: SHA256Digest) -> String { "\(directory)/content/\(digest.hex)" }
}

/// The worker's cache cannot be written to.
struct UnusableCache: Error, Sendable, Hashable, CustomStringConvertible {
  let folder: String
  let reason: SystemError

  var description: String {
    if reason.isOutOfDescriptors { return "\(reason)" }
    let remedy = reason.isOutOfSpace ? "free space on its disk" : "let the worker's user make and write it"
    return """
      the worker's cache folder \(folder) cannot be used (\(reason)): \(remedy), or start the worker with another --cache
      """
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
