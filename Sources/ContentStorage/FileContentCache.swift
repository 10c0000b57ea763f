package import Digest
package import Glibc
import Synchronization
package import SystemSupport

/// The contents of files that were read before and have not changed since: each file is read for its digest once.
///
/// Which file, and in which state, is its device, inode, size and times (`FileIdentity`). A file that changed within
/// the last two seconds is read again the next time, because it could change once more with no trace.
///
/// With a folder, the digests are also kept there, in the file `digests`, which any number of programs may use at once.
/// It is a cache: lines that a crash damaged are ignored, and it may be removed at any time.
///
/// The identity of a file says that it was left alone, and not that its bytes are the same: a program that has the file
/// mapped into its memory changes it without a trace, and so does a disk fault. Who uses the bytes of a file whose
/// digest is known checks them block by block, with `blocks`, and calls `forget` if one is wrong.
package final class FileContentCache: Sendable {
  /// How many files are remembered, in memory and in the folder's file.
  static let maximumCount = 20_000

  private struct Known: Sendable {
    var contents = RecentTable<FileIdentity, Content>(maximumCount: FileContentCache.maximumCount)
    /// The files that are being read. Whoever wants the same file waits for it.
    var beingRead: [FileIdentity: Reading] = [:]
  }

  /// One file that is being read.
  private final class Reading: Sendable {
    let isUnderWay = Mutex(())
  }

  private let known = Mutex(Known())
  private let table: DigestTable?
  private let lists: BlockDigestFolder?
  private let now: @Sendable () -> timespec

  /// - Parameters:
  ///   - directory: A folder of this user, such as `ProcessEnvironment.cacheDirectory`, or a content store's. Made if
  ///     it does not exist, and not used if that fails. Nil: digests are kept in memory only.
  ///   - lists: Where the block digests of the files that are read are kept; nil: they are not computed.
  package convenience init(directory: String? = nil, lists: BlockDigestFolder? = nil) {
    self.init(directory: directory, lists: lists) {
      var now = timespec()
      clock_gettime(CLOCK_REALTIME, &now)
      return now
    }
  }

  /// - Parameter now: The time, of the clock that the times of files are of.
  package init(directory: String?, lists: BlockDigestFolder? = nil, now: @escaping @Sendable () -> timespec) {
    table = directory.map { DigestTable(path: $0 + "/digests") }
    self.lists = lists
    self.now = now
  }

  /// The block digests of the files in a folder of digests, of as many files as it remembers.
  package static func blockLists(in directory: String) -> BlockDigestFolder {
    BlockDigestFolder(directory: directory + "/blocks", maximumCount: maximumCount)
  }

  /// The digest and the size of an open file, if it was read before and has not changed. Does not read the file.
  package func knownContent(of file: OpenFile) throws(ContentStoreError) -> Content? {
    let identity = try mapErrors { () throws(SystemError) in try FileIdentity(of: file) }
    return lookUp(identity)
  }

  /// The digest and the size of an open file. Reads the file unless it was read before and has not changed. Blocks for
  /// as long as that takes; several callers that ask for one file read it once.
  ///
  /// Throws `.system` if the file is not a regular one, `.mismatch` if it changes while it is read.
  /// - Parameter progress: Receives the number of bytes that were read so far.
  package func content(
    of file: OpenFile, progress: ((Int64) -> Void)? = nil
  ) throws(ContentStoreError) -> Content {
    try find(file) { identity in
      self.lookUp(identity)
    } read: { identity throws(ContentStoreError) in
      if let lists = self.lists { return try self.list(file, identity, in: lists, progress).content }
      return try self.read(file, identity) { () throws(SystemError) in
        try file.content(progress: progress)
      } content: {
        $0
      }
    }
  }

  /// As `knownContent`, with the digests of the file's blocks, if they are kept.
  package func knownBlocks(of file: OpenFile, in lists: BlockDigestFolder) throws(ContentStoreError) -> BlockDigests? {
    try knownContent(of: file).flatMap { lists.list(of: $0) }
  }

  /// As `content`, with the digests of the file's blocks. Reads the file unless they are kept.
  package func blocks(
    of file: OpenFile, in lists: BlockDigestFolder, progress: ((Int64) -> Void)? = nil
  ) throws(ContentStoreError) -> BlockDigests {
    try find(file) { identity in
      self.lookUp(identity).flatMap { lists.list(of: $0) }
    } read: { identity throws(ContentStoreError) in
      try self.list(file, identity, in: lists, progress)
    }
  }

  /// Forgets the digest of a file, which is read again the next time: its bytes are others, and its identity is the
  /// same.
  package func forget(_ identity: FileIdentity) {
    known.withLock { $0.contents.remove(identity) }
    table?.remove(identity)
  }

  /// What is known of a file, or what `read` finds. One caller at a time reads a file.
  private func find<Found>(
    _ file: OpenFile, known lookUp: (FileIdentity) -> Found?,
    read: (FileIdentity) throws(ContentStoreError) -> Found
  ) throws(ContentStoreError) -> Found {
    let identity = try mapErrors { () throws(SystemError) in try FileIdentity(of: file) }
    if let known = lookUp(identity) { return known }
    let reading = known.withLock { known in
      let reading = known.beingRead[identity] ?? Reading()
      known.beingRead[identity] = reading
      return reading
    }
    return try reading.isUnderWay.withLock { _ throws(ContentStoreError) in
      if let known = lookUp(identity) { return known }
      defer { known.withLock { $0.beingRead[identity] = nil } }
      return try read(identity)
    }
  }

  private func list(
    _ file: OpenFile, _ identity: FileIdentity, in lists: BlockDigestFolder, _ progress: ((Int64) -> Void)?
  ) throws(ContentStoreError) -> BlockDigests {
    let found = try read(file, identity) { () throws(SystemError) in
      try file.blockDigests(progress: progress)
    } content: {
      $0.content
    }
    table?.makeFolder()
    lists.save(found)
    return found
  }

  private func read<Found>(
    _ file: OpenFile, _ identity: FileIdentity, _ read: () throws(SystemError) -> Found, content: (Found) -> Content
  ) throws(ContentStoreError) -> Found {
    let isSettled = identity.isSettled(at: now())
    let (found, after) = try mapErrors { () throws(SystemError) in (try read(), try FileIdentity(of: file)) }
    guard after == identity, content(found).size == identity.size else {
      throw ContentStoreError(.mismatch, "\(file.name) changed while it was read")
    }
    if isSettled {
      known.withLock { $0.contents.insert(content(found), for: identity) }
      table?.append(identity, content(found))
    }
    return found
  }

  private func lookUp(_ identity: FileIdentity) -> Content? {
    if let content = known.withLock({ $0.contents.value(for: identity) }) { return content }
    guard let added = table?.changes(), !added.isEmpty else { return nil }
    return known.withLock { known in
      for (identity, content) in added {
        if let content { known.contents.insert(content, for: identity) } else { known.contents.remove(identity) }
      }
      return known.contents.value(for: identity)
    }
  }
}

/// The file of digests: a line for each file that was read, with a check of the line, and a line without a digest for
/// each file whose digest is not valid any more. The last line of a file counts. Lines are only appended, each in one
/// write, so that several programs may write at once. When the file is long, one of them writes a new one with the
/// younger half of its lines.
///
/// Nothing that goes wrong is reported: without the file, files are only read again.
private final class DigestTable: Sendable {
  /// In bytes. A line has about 200.
  private static let maximumSize = 200 * FileContentCache.maximumCount

  private struct Seen: Sendable {
    /// The file that was read last.
    var inode: UInt64 = 0
    /// How much of it was read.
    var offset: Int64 = 0
  }

  private let path: String
  private let seen = Mutex(Seen())

  init(path: String) {
    self.path = path
  }

  /// What was added since the last call, by any program, in order. Nil instead of content: it was removed.
  func changes() -> [(FileIdentity, Content?)] {
    seen.withLock { seen in
      var status = stat()
      guard stat(path, &status) == 0 else { return [] }
      let inode = UInt64(status.st_ino)
      if inode != seen.inode || Int64(status.st_size) < seen.offset { seen = Seen(inode: inode) }
      guard Int64(status.st_size) > seen.offset, let file = try? OpenFile.open(path),
        let bytes = try? file.read(at: seen.offset, length: min(Int(status.st_size), 2 * Self.maximumSize))
      else { return [] }
      // A line that another program is writing is read the next time.
      let end = (bytes.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
      seen.offset += Int64(end)
      return String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\n").compactMap(Self.decode)
    }
  }

  func append(_ identity: FileIdentity, _ content: Content) {
    append(Self.encode(identity, content.digest.hex))
  }

  func remove(_ identity: FileIdentity) {
    append(Self.encode(identity, Self.removed))
  }

  func makeFolder() {
    try? Directories.make(Directories.parent(of: path), permissions: 0o700)
  }

  private func append(_ line: String) {
    makeFolder()
    guard let file = try? OpenFile.open(path, O_WRONLY | O_CREAT | O_APPEND, permissions: 0o600) else { return }
    // The line break before it ends what a crash may have left.
    try? file.write(Array("\n\(line)\n".utf8))
    if let size = try? file.status().st_size, size > Self.maximumSize { shorten() }
  }

  private func shorten() {
    guard let bytes = try? OpenFile.contents(of: path, limit: 4 * Self.maximumSize) else {
      unlink(path)
      return
    }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { Self.decode($0) != nil }
    let kept = lines.suffix(lines.count / 2).joined(separator: "\n")
    let name = "\(path).\(getpid())-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    guard let file = try? OpenFile.open(name, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600) else { return }
    let isWritten: Void? = try? file.write(Array("\(kept)\n".utf8))
    if isWritten == nil || rename(name, path) != 0 { unlink(name) }
  }

  /// In the place of a digest.
  private static let removed = "-"

  private static func encode(_ identity: FileIdentity, _ digest: String) -> String {
    let text = "\(identity.encoded) \(digest)"
    return "\(text) \(check(text))"
  }

  private static func decode(_ line: some StringProtocol) -> (FileIdentity, Content?)? {
    guard let space = line.lastIndex(of: " ") else { return nil }
    let text = line[..<space]
    guard check(text) == line[line.index(after: space)...], let before = text.lastIndex(of: " "),
      let identity = FileIdentity(encoded: text[..<before])
    else { return nil }
    let last = text[text.index(after: before)...]
    if last == removed { return (identity, nil) }
    return SHA256Digest(hex: last).map { (identity, Content(digest: $0, size: identity.size)) }
  }

  private static func check(_ text: some StringProtocol) -> String { String(SHA256Digest.of(text.utf8).hex.prefix(16)) }
}
