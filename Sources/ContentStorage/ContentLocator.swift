package import Digest
package import FoundationEssentials
import Glibc
import Synchronization
import SystemSupport

/// Finds content in the content store, or in a file under the media root that coordinator and workers share. Every
/// method blocks.
///
/// The path at which a file was found is recorded in memory and in `places/` of the store's folder, as a hint for the
/// next time.
package final class ContentLocator: Sendable {
  package let store: ContentStore
  /// Runs `verify` once for each file that several connections read at the same time.
  package let verifications = InFlight<SHA256Digest>()
  private let contents: FileContentCache
  /// Symbolic links are resolved. Without a slash at the end, so `/` is empty. Nil: there is no media root.
  private let root: String?
  /// Paths of files under the media root, resolved, by the digest that they had.
  private let places = Mutex(RecentTable<SHA256Digest, String>(maximumCount: 20_000))
  /// What clients have named for the same content, which is looked for when that file is gone.
  private let others = Mutex(RecentTable<SHA256Digest, OtherFiles>(maximumCount: 20_000))

  private struct OtherFiles: Sendable {
    /// In bytes, of the content.
    var size: Int64
    /// The latest is the last.
    var hints: [String] = []
  }

  /// The most that are remembered of one content.
  private static let maximumOthers = 64

  /// The most ends of a path that are searched for under the media root.
  private static let maximumEnds = 32
  private static let maximumPath = 4096

  /// - Parameter mediaRoot: Nil: content is in the store only.
  package init(
    store: ContentStore, mediaRoot: String?, contents: FileContentCache
  ) throws(ContentStoreError) {
    self.store = store
    self.contents = contents
    guard let mediaRoot else {
      root = nil
      return
    }
    let path = try mapErrors { () throws(SystemError) in try Directories.resolve(mediaRoot) }
    root = path == "/" ? "" : path
  }

  /// Whether the content is available. Reads files that may be the content for their digest, unless they were read
  /// before: it takes as long as that.
  /// - Parameter hint: The path of the file at the client. A file at that path, or at an end of that path under the
  ///   media root, is the content if it is under the media root and has its size and digest. Of a path with more than
  ///   32 parts only the 32 shortest ends are searched for.
  package func has(_ content: Content, hint: String = "") -> Bool {
    guard let root else { return store.contains(content) }
    if store.contains(content) {
      // The object may be removed before the file is.
      if !hint.isEmpty { remember(hint, for: content) }
      return true
    }
    let known = place(of: content.digest, root)
    for path in candidates(known, hint, root) {
      guard let found = resolved(path, content, root) else { continue }
      if found != known {
        record(found, for: content.digest)
        // Another client may record its own file at the same moment, which may be gone before this one is.
        remember(found, for: content)
      } else if !hint.isEmpty, hint != known {
        remember(hint, for: content)
      }
      return true
    }
    return false
  }

  /// A file under the media root as content, which is found there from now on. Reads the file for its digest, unless it
  /// was read since it changed. Throws `.missing` if there is no such file, or no media root.
  /// - Parameter path: Absolute, or relative to the media root.
  /// - Returns: The content, and the file's path without symbolic links.
  package func content(ofFile path: String) throws(ContentStoreError) -> (content: Content, file: String) {
    guard let root else {
      throw ContentStoreError(.missing, "\(path): this coordinator has no media root, under which files could be named")
    }
    // The same answer for what is not there and for what is elsewhere, so that nobody learns of other files.
    guard !path.isEmpty, !path.utf8.contains(0), path.utf8.count < Self.maximumPath,
      let found = Self.resolve(path.hasPrefix("/") ? path : "\(root)/\(path)", under: root)
    else { throw ContentStoreError(.missing, "there is no file \(path) under the media root") }
    let file = try mapErrors { () throws(SystemError) in try OpenFile.open(found, O_RDONLY | O_NONBLOCK) }
    guard try mapErrors({ () throws(SystemError) in try file.status().st_mode & S_IFMT == S_IFREG }) else {
      throw ContentStoreError(.missing, "\(path) is not a regular file")
    }
    let content = try contents.content(of: file)
    record(found, for: content.digest)
    return (content, found)
  }

  /// The path, relative to the media root, at which the content was found before; nil if a worker has to read it from
  /// the coordinator. Opens no media file: whoever reads the file checks its digest.
  package func sharedPath(of content: Content) -> String? {
    guard let root else { return nil }
    if let path = place(of: content.digest, root) { return Self.relative(path, to: root) }
    let path = store.path(of: content.digest)
    guard path.hasPrefix(root + "/"), store.contains(content) else { return nil }
    return Self.relative(path, to: root)
  }

  private static func relative(_ path: String, to root: String) -> String {
    String(decoding: path.utf8.dropFirst(root.utf8.count + 1), as: UTF8.self)
  }

  /// Reads up to `length` bytes of content from `offset`; fewer only at its end.
  ///
  /// Throws `.missing` if the content is not available, and `.unverified` if it is a file under the media root that was
  /// not read since it changed: call `verify`, and read again.
  /// - Parameter verifying: Read such a file for its digest at once, however long that takes. A file that changed
  ///   within the last seconds stays unverified, and is read each time.
  package func read(
    _ digest: SHA256Digest, offset: UInt64, length: Int, verifying: Bool = false
  ) throws(ContentStoreError) -> Data {
    if let data = try stored(digest, offset, length) { return data }
    let file = try shared(digest)
    let content = try verifying ? contents.content(of: file) : contents.knownContent(of: file)
    guard let content else { throw ContentStoreError(.unverified, "\(file.name) has not been read yet") }
    guard content.digest == digest else { throw missing(digest) }
    return try Self.read(file, offset, length)
  }

  /// Reads as `read`. What comes from the store is compared with the digests of the content's blocks, if the store has
  /// them. Throws `.mismatch` if it is damaged.
  package func readChecked(
    _ digest: SHA256Digest, offset: UInt64, length: Int, verifying: Bool = false
  ) throws(ContentStoreError) -> Data {
    guard let list = store.blockDigests(of: digest), offset < list.content.size, length > 0 else {
      return try read(digest, offset: offset, length: length, verifying: verifying)
    }
    let wanted = Int64(offset)..<min(Int64(offset) + Int64(length), list.content.size)
    let blocks = ContentBlock.covering(wanted)
    let bytes = ContentBlock.bytes(of: blocks, size: list.content.size)
    guard let data = try stored(digest, UInt64(bytes.lowerBound), bytes.count) else { throw missing(digest) }
    guard data.count == bytes.count,
      data.withUnsafeBytes({ list.firstMismatch(in: $0, from: blocks.lowerBound) }) == nil
    else { throw ContentStoreError(.mismatch, "the content \(digest) is damaged on the coordinator's disk") }
    return data.dropFirst(Int(wanted.lowerBound - bytes.lowerBound)).prefix(wanted.count)
  }

  /// Reads a range of the list of the content's block digests, as `read` reads the content. It is `.unverified` if the
  /// list was not made yet, such as for an object that an earlier version stored.
  package func readBlocks(
    _ digest: SHA256Digest, offset: UInt64, length: Int, verifying: Bool = false
  ) throws(ContentStoreError) -> Data {
    var list: BlockDigests?
    if store.size(of: digest) != nil {
      list = store.blockDigests(of: digest)
      if list == nil, verifying { list = try store.makeBlockDigests(of: digest) }
    } else {
      let file = try shared(digest)
      list =
        verifying
        ? try contents.blocks(of: file, in: store.blocks) : try contents.knownBlocks(of: file, in: store.blocks)
    }
    guard let list else { throw ContentStoreError(.unverified, "\(digest) has not been read yet") }
    guard list.content.digest == digest else { throw missing(digest) }
    let start = Int(min(offset, UInt64(list.bytes.count)))
    return Data(list.bytes[start..<min(start + length, list.bytes.count)])
  }

  /// Reads the whole content, unless it was read before, for its digest and those of its blocks. Takes as long as that.
  /// Throws `.missing` if there is no content with the digest. A damaged object of the store is removed.
  package func verify(_ digest: SHA256Digest) throws(ContentStoreError) {
    if store.blockDigests(of: digest) != nil { return }
    if store.size(of: digest) != nil, try store.makeBlockDigests(of: digest) != nil { return }
    guard try contents.blocks(of: shared(digest), in: store.blocks).content.digest == digest else {
      throw missing(digest)
    }
  }

  /// Removes the store's object if its bytes do not have the digest, and forgets what is known of the file under the
  /// media root that was the content: the next `has` reads it, although nothing shows that it has changed. Returns
  /// whether an object was removed. Takes as long as reading it.
  package func removeIfDamaged(_ digest: SHA256Digest) throws(ContentStoreError) -> Bool {
    let wasRemoved = try store.removeIfDamaged(digest)
    // Without a file there is nothing to forget.
    if let file = try? shared(digest), let identity = try? FileIdentity(of: file) { contents.forget(identity) }
    return wasRemoved
  }

  /// Why the file under the media root at which the content was found before is not that content now. Nil if it is, or
  /// if there is no such file known, or if another client has named another file, which is the content. Reads the file
  /// for its digest, unless it was read since it changed.
  package func problem(withShared content: Content) -> SharedFileProblem? {
    replacePlace(of: content.digest)
    guard let root, let path = place(of: content.digest, root) else { return nil }
    let name = Self.relative(path, to: root)
    var status = stat()
    guard stat(path, &status) == 0 else { return SharedFileProblem(path: name, SystemError(errno, "")) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      return SharedFileProblem(path: name, reason: "is not a regular file any more", mayPass: false)
    }
    guard Int64(status.st_size) == content.size else {
      return SharedFileProblem(
        path: name, reason: "has other bytes now: \(status.st_size) of them, and not \(content.size)", mayPass: false)
    }
    let file: OpenFile
    do throws(SystemError) {
      guard try Directories.resolve(path).hasPrefix(root + "/") else {
        return SharedFileProblem(path: name, reason: "is not under the media root any more", mayPass: false)
      }
      file = try OpenFile.open(path, O_RDONLY | O_NONBLOCK)
    } catch {
      return SharedFileProblem(path: name, error)
    }
    do throws(ContentStoreError) {
      if try contents.content(of: file) == content { return nil }
      return SharedFileProblem(path: name, reason: "has other bytes now", mayPass: false)
    } catch {
      return SharedFileProblem(path: name, reason: "cannot be read: \(error)", mayPass: true)
    }
  }

  private func missing(_ digest: SHA256Digest) -> ContentStoreError {
    ContentStoreError(.missing, "the coordinator does not have the content \(digest)")
  }

  // MARK: Reading

  /// Nil if the store does not have the content.
  private func stored(_ digest: SHA256Digest, _ offset: UInt64, _ length: Int) throws(ContentStoreError) -> Data? {
    let path = store.path(of: digest)
    let file: OpenFile
    do throws(SystemError) {
      file = try OpenFile.open(path)
      // The file is open: it can be read even if it is removed meanwhile.
      _ = store.recordUse(of: path, try file.status())
    } catch {
      if error.isMissing { return nil }
      throw ContentStoreError(error)
    }
    return try Self.read(file, offset, length)
  }

  /// The open file at which the content was found before.
  private func shared(_ digest: SHA256Digest) throws(ContentStoreError) -> OpenFile {
    guard let root, let path = place(of: digest, root), let found = Self.resolve(path, under: root),
      let file = try? OpenFile.open(found, O_RDONLY | O_NONBLOCK)
    else { throw missing(digest) }
    return file
  }

  private static func read(_ file: OpenFile, _ offset: UInt64, _ length: Int) throws(ContentStoreError) -> Data {
    try mapErrors { () throws(SystemError) in
      let size = try UInt64(file.status().st_size)
      guard offset < size else { return Data() }
      var data = Data(count: Int(min(UInt64(length), size - offset)))
      let read = data.withUnsafeMutableBytes { buffer in
        Result { () throws(SystemError) in try file.read(into: buffer, at: Int64(offset)) }
      }
      // The reader takes fewer bytes for the end of the content.
      guard try read.get() == data.count else {
        throw SystemError(EIO, "reading \(file.name), which has become shorter,")
      }
      return data
    }
  }

  // MARK: Places

  /// Looks for what other clients have named, if the file at which the content was found before is gone or has another
  /// size. Reads files that may be the content for their digest.
  private func replacePlace(of digest: SHA256Digest) {
    guard let root, let known = place(of: digest, root), let others = others.withLock({ $0.value(for: digest) }) else {
      return
    }
    var status = stat()
    if stat(known, &status) == 0, Int64(status.st_size) == others.size { return }
    let content = Content(digest: digest, size: others.size)
    for path in others.hints.reversed().flatMap({ candidates(nil, $0, root) }) where path != known {
      guard let found = resolved(path, content, root) else { continue }
      return record(found, for: digest)
    }
  }

  private func remember(_ hint: String, for content: Content) {
    others.withLock { others in
      var files = others.value(for: content.digest) ?? OtherFiles(size: content.size)
      guard hint.utf8.count < Self.maximumPath, files.hints.last != hint else { return }
      files.hints.removeAll { $0 == hint }
      files.hints = (files.hints + [hint]).suffix(Self.maximumOthers)
      others.insert(files, for: content.digest)
    }
  }

  /// Where the content was found before. The path is under the media root.
  private func place(of digest: SHA256Digest, _ root: String) -> String? {
    if let path = places.withLock({ $0.value(for: digest) }) { return path }
    guard let path = store.text(of: store.entry("places", digest), limit: 2 * Self.maximumPath),
      path.hasPrefix(root + "/"), !path.split(separator: "/").contains("..")
    else { return nil }
    places.withLock { $0.insert(path, for: digest) }
    return path
  }

  private func record(_ path: String, for digest: SHA256Digest) {
    places.withLock { $0.insert(path, for: digest) }
    // It is for the next start and for other coordinators. Without it the file is searched for again.
    try? store.write(path, to: store.entry("places", digest))
  }

  private func candidates(_ known: String?, _ hint: String, _ root: String) -> [String] {
    var candidates = known.map { [$0] } ?? []
    guard !hint.isEmpty, hint.utf8.count < Self.maximumPath else { return candidates }
    if hint.hasPrefix("/") { candidates.append(hint) }
    let parts = hint.split(separator: "/")
    guard !parts.contains("..") else { return candidates }
    for start in parts.indices.suffix(Self.maximumEnds) {
      candidates.append(root + "/" + parts[start...].joined(separator: "/"))
    }
    return candidates
  }

  /// The path without symbolic links if a file there is under the media root and is the content.
  private func resolved(_ path: String, _ content: Content, _ root: String) -> String? {
    var status = stat()
    // The size first: otherwise a client could make the coordinator read every file that has a given name.
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == content.size,
      let found = Self.resolve(path, under: root),
      // A file that cannot be opened or read is not the content.
      let file = try? OpenFile.open(found, O_RDONLY | O_NONBLOCK),
      (try? contents.content(of: file)) == content
    else { return nil }
    return found
  }

  private static func resolve(_ path: String, under root: String) -> String? {
    // A path that cannot be resolved has no file.
    guard let resolved = try? Directories.resolve(path), resolved.hasPrefix(root + "/") else { return nil }
    return resolved
  }
}

/// Why a file under the media root is not the content that it was.
package struct SharedFileProblem: Sendable, Hashable {
  /// Relative to the media root.
  package var path: String
  /// What follows the file's name in a sentence, such as `cannot be read: Permission denied`.
  package var reason: String
  /// Whether nothing shows that the file has changed: it may be there again, or be readable again, before long.
  package var mayPass: Bool
  /// What to do, such as `make it readable`.
  package var remedy: String

  init(path: String, reason: String, mayPass: Bool, remedy: String? = nil) {
    self.path = path
    self.reason = reason
    self.mayPass = mayPass
    self.remedy = remedy ?? (mayPass ? "make it readable" : "bring back the file that it was")
  }

  /// - Parameter error: Why the file cannot be found or opened.
  init(path: String, _ error: SystemError) {
    if error.isMissing {
      self.init(path: path, reason: "is not there", mayPass: true, remedy: "put it back")
    } else {
      self.init(path: path, reason: "cannot be read: \(error.reason)", mayPass: true)
    }
  }
}

/// Runs one operation at a time for each key. Whoever asks for a key while its operation runs waits for the end of that
/// one, and no thread waits with it.
package final class InFlight<Key: Hashable & Sendable>: Sendable {
  private let running = Mutex<[Key: Task<Void, any Error>]>([:])

  /// Runs `operation`, or waits for the one that runs for the same key. Throws what it throws. The operation goes on if
  /// the caller is cancelled: others may wait for it.
  package func run(_ key: Key, _ operation: @escaping @Sendable () async throws -> Void) async throws {
    let task = running.withLock { running in
      if let task = running[key] { return task }
      let task = Task {
        defer { self.running.withLock { $0[key] = nil } }
        try await operation()
      }
      running[key] = task
      return task
    }
    try await task.value
  }
}
