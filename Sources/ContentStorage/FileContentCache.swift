package import Digest
import Glibc
import Synchronization
package import SystemSupport

/// The contents of files that were read before and have not changed since: each file is read for its digest once.
///
/// Which file, and in which state, is its device, inode, size and times (`FileIdentity`). A file that changed within the
/// last two seconds is read again the next time, because it could change once more with no trace.
///
/// With a folder, the digests are also kept there, in the file `digests`, which any number of programs may use at once.
/// It is a cache: lines that a crash damaged are ignored, and it may be removed at any time.
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
  private let now: @Sendable () -> timespec

  /// - Parameter directory: Of this user, such as `ProcessEnvironment.cacheDirectory`, or a content store's. Made if it
  ///   does not exist, and not used if that fails. Nil: digests are kept in memory only.
  package convenience init(directory: String? = nil) {
    self.init(directory: directory) {
      var now = timespec()
      clock_gettime(CLOCK_REALTIME, &now)
      return now
    }
  }

  /// - Parameter now: The time, of the clock that the times of files are of.
  init(directory: String?, now: @escaping @Sendable () -> timespec) {
    table = directory.map { DigestTable(path: $0 + "/digests") }
    self.now = now
  }

  /// The digest and the size of an open file, if it was read before and has not changed. Does not read the file.
  package func knownContent(of file: OpenFile) throws(ContentStoreError) -> Content? {
    let identity = try mapErrors { () throws(SystemError) in try FileIdentity(of: file) }
    return lookUp(identity)
  }

  /// The digest and the size of an open file. Reads the file unless it was read before and has not changed. Blocks for as
  /// long as that takes; several callers that ask for one file read it once.
  ///
  /// Throws `.system` if the file is not a regular one, `.mismatch` if it changes while it is read.
  /// - Parameter progress: Receives the number of bytes that were read so far.
  package func content(
    of file: OpenFile, progress: ((Int64) -> Void)? = nil
  ) throws(ContentStoreError) -> Content {
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
      return try read(file, identity, progress)
    }
  }

  private func read(
    _ file: OpenFile, _ identity: FileIdentity, _ progress: ((Int64) -> Void)?
  ) throws(ContentStoreError) -> Content {
    let isSettled = identity.isSettled(at: now())
    let (found, after) = try mapErrors { () throws(SystemError) in
      (try file.content(progress: progress), try FileIdentity(of: file))
    }
    guard after == identity, found.size == identity.size else {
      throw ContentStoreError(.mismatch, "\(file.name) changed while it was read")
    }
    if isSettled {
      known.withLock { $0.contents.insert(found, for: identity) }
      table?.append(identity, found)
    }
    return found
  }

  private func lookUp(_ identity: FileIdentity) -> Content? {
    if let content = known.withLock({ $0.contents.value(for: identity) }) { return content }
    guard let added = table?.changes(), !added.isEmpty else { return nil }
    return known.withLock { known in
      for (identity, content) in added { known.contents.insert(content, for: identity) }
      return known.contents.value(for: identity)
    }
  }
}

/// The file of digests: a line for each file that was read, with a check of the line. Lines are only appended, each in
/// one write, so that several programs may write at once. When the file is long, one of them writes a new one with the
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

  /// What was added since the last call, by any program.
  func changes() -> [(FileIdentity, Content)] {
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
    try? Directories.make(Directories.parent(of: path), permissions: 0o700)
    guard let file = try? OpenFile.open(path, O_WRONLY | O_CREAT | O_APPEND, permissions: 0o600) else { return }
    // The line break before it ends what a crash may have left.
    try? file.write(Array("\n\(Self.encode(identity, content))\n".utf8))
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

  private static func encode(_ identity: FileIdentity, _ content: Content) -> String {
    let text = "\(identity.encoded) \(content.digest)"
    return "\(text) \(check(text))"
  }

  private static func decode(_ line: some StringProtocol) -> (FileIdentity, Content)? {
    guard let space = line.lastIndex(of: " ") else { return nil }
    let text = line[..<space]
    guard check(text) == line[line.index(after: space)...], let before = text.lastIndex(of: " "),
      let identity = FileIdentity(encoded: text[..<before]),
      let digest = SHA256Digest(hex: text[text.index(after: before)...])
    else { return nil }
    return (identity, Content(digest: digest, size: identity.size))
  }

  private static func check(_ text: some StringProtocol) -> String { String(SHA256Digest.of(text.utf8).hex.prefix(16)) }
}
