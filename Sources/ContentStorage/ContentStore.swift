package import Digest
import Glibc
import Synchronization
package import SystemSupport

/// Files by their SHA-256, in a folder that several coordinators may share. Every method blocks: call it off the
/// cooperative pool.
///
/// `objects/ab/<sha256>` is written under `temporary/`, synced and renamed, so a file that exists there is complete.
/// `ResultCache` and `ContentLocator` keep their entries in `fingerprints/` and `places/` of the same folder, and
/// `blocks/` has the block digests of objects and of files under the media root, by which whoever reads a part of one
/// checks it.
package final class ContentStore: Sendable {
  /// Without a slash at the end; symbolic links are resolved.
  package let directory: String
  /// Which store this is: 32 hexadecimal digits, chosen at random when the folder was made. Every coordinator that uses
  /// the folder, under whatever path, has the same.
  package let identity: String
  /// Where the identity comes from.
  package let origin: Origin
  /// Where a store's identity comes from.
  package enum Origin: Sendable, Hashable {
    /// The file `identity` was there.
    case recorded
    /// The file was missing, and was made. The folder has objects.
    case unnamed
    /// The folder had no content, and is a new store.
    case new
  }

  /// For how long the use of an object is not recorded again, in seconds.
  static let useInterval: Double = 300
  /// The block digests of the store's objects, made while they were uploaded, and of files under the media root.
  package let blocks: BlockDigestFolder
  /// When `trim` last looked for entries whose content is gone, in seconds since 1970.
  let entriesRemoved = Mutex<Double>(0)
  /// Bytes that the open uploads of this process will still write and that the file system could not allocate.
  let reserved = Mutex<Int64>(0)
  private let measure: @Sendable (String) throws(SystemError) -> Int64

  /// Opens a content store, makes its folder if it does not exist, and removes the temporary files that a crash left.
  /// - Parameters:
  ///   - leftoversOlderThan: In seconds. Younger temporary files may belong to another coordinator.
  ///   - measure: The bytes that can still be written to the disk of a folder. Blocks.
  package init(
    directory: String, leftoversOlderThan age: Int = 3600,
    measure: @escaping @Sendable (String) throws(SystemError) -> Int64 = { path throws(SystemError) in
      try Directories.availableBytes(in: path)
    }
  ) throws(ContentStoreError) {
    let path: String = try mapErrors { () throws(SystemError) in
      for name in ["", "/objects", "/fingerprints", "/places", "/temporary"] { try Directories.make(directory + name) }
      return try Directories.resolve(directory)
    }
    self.directory = path
    self.measure = measure
    blocks = BlockDigestFolder(directory: path + "/blocks")
    (identity, origin) = try Self.identity(in: path)
    guard access(self.directory + "/temporary", W_OK | X_OK) == 0 else {
      throw ContentStoreError(SystemError(errno, "writing to the content store \(directory)"))
    }
    removeLeftovers(olderThan: Double(age), at: Double(time(nil)))
  }

  /// The bytes that can still be written to the disk that the store is on.
  package func availableBytes() throws(ContentStoreError) -> Int64 {
    try mapErrors { () throws(SystemError) in try measure(directory) }
  }

  /// The size of the disk that the store is on.
  package func diskBytes() throws(ContentStoreError) -> Int64 {
    try mapErrors { () throws(SystemError) in try Directories.diskBytes(in: directory) }
  }

  /// Why the store cannot be used now, for a person: its folder is not there, as when its disk is not mounted, or has
  /// another store. Nil if it is there. While a store is away nothing can be said about what it has, and nothing is
  /// made in its place.
  package var absence: String? {
    guard access(directory + "/objects", F_OK) == 0 else {
      return "the content store \(directory) is not there: \(SystemError(errno, "").reason)"
    }
    // Without its identity the folder is taken for what it was.
    guard let found = text(of: directory + "/identity", limit: 4096), found != identity else { return nil }
    return "the folder \(directory) has another content store now"
  }

  /// The error, or that the store is away if it is: then that is the cause.
  package func explained(_ error: ContentStoreError) -> ContentStoreError {
    absence.map { ContentStoreError(.away, $0) } ?? error
  }

  /// Removes the identity that this process has made for a folder that cannot be used, as if it had never been opened.
  package func forgetIdentity() {
    if origin != .recorded, text(of: directory + "/identity", limit: 4096) == identity {
      unlink(directory + "/identity")
    }
  }

  /// Where the content is, or would be.
  package func path(of digest: SHA256Digest) -> String { entry("objects", digest) }

  /// In bytes; nil if the store does not have the content.
  package func size(of digest: SHA256Digest) -> Int64? {
    var status = stat()
    guard stat(path(of: digest), &status) == 0 else { return nil }
    return Int64(status.st_size)
  }

  /// Whether the store has an object with this digest and this size. The bytes are not read. It counts as a use of the
  /// object: `trim` leaves it for some minutes.
  package func contains(_ content: Content) -> Bool {
    var status = stat()
    let path = path(of: content.digest)
    guard stat(path, &status) == 0, Int64(status.st_size) == content.size else { return false }
    return recordUse(of: path, status)
  }

  /// Records that an object is used now, at most once in `useInterval`. Returns false if the object is not there any
  /// more.
  func recordUse(of path: String, _ status: stat) -> Bool {
    let last = max(status.st_atim.tv_sec, status.st_mtim.tv_sec)
    guard Double(time(nil) - last) >= Self.useInterval else { return true }
    // UTIME_NOW and UTIME_OMIT, which Swift does not import.
    let times = [timespec(tv_sec: 0, tv_nsec: (1 << 30) - 1), timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2)]
    // Of another user's file only both times can be set. If not even that is allowed, the object is only trimmed
    // earlier.
    return utimensat(AT_FDCWD, path, times, 0) == 0 || utimensat(AT_FDCWD, path, nil, 0) == 0 || errno != ENOENT
  }

  /// The whole of a small object, such as a description. Throws `.missing` if it does not exist, or if its bytes do not
  /// have the digest: then it is removed.
  /// - Parameter limit: Throws `.mismatch` if the object has more bytes.
  package func read(_ digest: SHA256Digest, limit: Int) throws(ContentStoreError) -> [UInt8] {
    let size = size(of: digest) ?? 0
    guard size <= limit else {
      throw ContentStoreError(.mismatch, "the content \(digest) has \(size) bytes, where at most \(limit) are expected")
    }
    let bytes = try mapErrors { () throws(SystemError) in
      try OpenFile.contents(of: path(of: digest), limit: Int(size))
    }
    guard SHA256Digest.of(bytes) == digest else {
      remove(digest)
      throw ContentStoreError(.missing, "the content \(digest) was damaged on the disk, and is removed")
    }
    return bytes
  }

  /// A part of an object; fewer bytes only at its end. Its digest is not compared. Throws `.missing` if it does not
  /// exist.
  package func read(_ digest: SHA256Digest, offset: Int64, length: Int) throws(ContentStoreError) -> [UInt8] {
    try mapErrors { () throws(SystemError) in
      try OpenFile.open(path(of: digest)).read(at: offset, length: length)
    }
  }

  /// Removes an object. Does nothing if it does not exist.
  package func remove(_ digest: SHA256Digest) {
    unlink(path(of: digest))
    blocks.remove(digest)
  }

  /// The block digests of an object; nil if the store does not have the object, or has not made them yet.
  func blockDigests(of digest: SHA256Digest) -> BlockDigests? {
    size(of: digest).flatMap { blocks.list(of: Content(digest: digest, size: $0)) }
  }

  /// Makes the block digests of an object, such as one that an earlier version stored. Reads the whole object; if its
  /// bytes do not have the digest that is its name, removes it. Nil if the store does not have the object afterwards.
  func makeBlockDigests(of digest: SHA256Digest) throws(ContentStoreError) -> BlockDigests? {
    let found: BlockDigests
    do throws(SystemError) {
      found = try OpenFile.open(path(of: digest)).blockDigests()
    } catch {
      if error.isMissing { return nil }
      throw ContentStoreError(error)
    }
    guard found.content.digest == digest else {
      remove(digest)
      return nil
    }
    blocks.save(found)
    return found
  }

  /// Removes an object whose bytes do not have the digest that is its name, as after a disk fault. Returns false if the
  /// object is intact or does not exist.
  package func removeIfDamaged(_ digest: SHA256Digest) throws(ContentStoreError) -> Bool {
    do throws(SystemError) {
      if try OpenFile.open(path(of: digest)).content().digest == digest { return false }
    } catch {
      if error.isMissing { return false }
      throw ContentStoreError(error)
    }
    remove(digest)
    return true
  }

  /// Starts to write content that arrives in parts, or goes on where an interrupted upload of it ended. Throws
  /// `.tooLarge` if there will never be room for it.
  package func upload(_ content: Content) throws(ContentStoreError) -> ContentUpload {
    let disk = try diskBytes()
    guard content.size <= disk else {
      throw ContentStoreError(
        .tooLarge,
        "content of \(ByteCount.text(content.size)) does not fit on its disk, which has \(ByteCount.text(disk))")
    }
    return try ContentUpload(self, content)
  }

  /// Stores a file of this machine that has no name yet, by giving it one: no byte is copied. Does nothing if the store
  /// has the content.
  /// - Parameters:
  ///   - content: The content of the file, which is complete and is not written to any more.
  ///   - directory: The folder of the store.
  ///   - link: Gives the file a name.
  package static func add(
    _ content: Content, to directory: String, file: OpenFile, link: (String) throws(SystemError) -> Void
  ) throws(ContentStoreError) {
    try mapErrors { () throws(SystemError) in
      let path = DigestFolder(directory: "\(directory)/objects").path(of: content.digest)
      guard access(path, F_OK) != 0 else { return }
      // Its place is made first: the file has the permissions that any new file of the store has.
      let place = try temporaryFile(in: directory)
      do throws(SystemError) {
        guard fchmod(file.descriptor, try place.status().st_mode & 0o777) == 0, unlink(place.name) == 0 else {
          throw SystemError(errno, "storing a result")
        }
        try link(place.name)
        try file.sync()
        let parent = Directories.parent(of: path)
        try makeFolder(parent, in: directory)
        guard Glibc.rename(place.name, path) == 0 else { throw SystemError(errno, "renaming to \(path)") }
        try OpenFile.open(parent, O_RDONLY | O_DIRECTORY).sync()
      } catch {
        unlink(place.name)
        throw error
      }
    }
  }

  // MARK: Files in the store's folder

  /// The identity of the store in a folder. The first caller of any process chooses it.
  private static func identity(in directory: String) throws(ContentStoreError) -> (String, Origin) {
    let path = "\(directory)/identity"
    var origin = Origin.recorded
    if access(path, F_OK) != 0 {
      origin = Directories.isEmpty("\(directory)/objects") ? .new : .unnamed
      let chosen = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
      let text = chosen.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      try mapErrors { () throws(SystemError) in
        let file = try temporaryFile(in: directory)
        defer { unlink(file.name) }
        try file.write(Array(text.utf8))
        try file.sync()
        // A link is made only if the name is free, and then the file is whole: whoever comes second uses the first's.
        guard link(file.name, path) == 0 || errno == EEXIST else { throw SystemError(errno, "making \(path)") }
        try OpenFile.open(directory, O_RDONLY | O_DIRECTORY).sync()
      }
    }
    let bytes = try mapErrors { () throws(SystemError) in try OpenFile.contents(of: path, limit: 4096) }
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.utf8.count == 32, text.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }) else {
      throw ContentStoreError(
        .system,
        """
        \(path) is damaged: it must contain 32 hexadecimal digits, which the database of its farm has too (SELECT \
        content_store FROM sheaf.farm); write them there again
        """)
    }
    return (text, origin)
  }

  func entry(_ kind: String, _ digest: SHA256Digest) -> String {
    DigestFolder(directory: "\(directory)/\(kind)").path(of: digest)
  }

  /// Films and media are for the store's user and group: a worker on the coordinator's machine that reads them from the
  /// store (`--content-store`) is of that group.
  private static var permissions: mode_t { 0o640 }

  /// A new file, under a name that no other upload of any process has.
  func temporaryFile() throws(SystemError) -> OpenFile { try Self.temporaryFile(in: directory) }

  private static func temporaryFile(in directory: String) throws(SystemError) -> OpenFile {
    let random = UInt64.random(in: .min ... .max)
    let path = "\(directory)/temporary/\(getpid())-\(String(random, radix: 36))"
    return try makeTemporaryFile(path, O_WRONLY | O_CREAT | O_EXCL)
  }

  /// Opens a file in `temporary/`, and makes that folder again if it was removed and the store was not.
  /// - Parameter flags: Those of `open`, with `O_CREAT`.
  static func makeTemporaryFile(_ path: String, _ flags: Int32) throws(SystemError) -> OpenFile {
    do throws(SystemError) {
      return try OpenFile.open(path, flags, permissions: permissions)
    } catch  where error.isMissing {
      let folder = Directories.parent(of: path)
      try makeFolder(folder, in: Directories.parent(of: folder))
      return try OpenFile.open(path, flags, permissions: permissions)
    }
  }

  private func makeFolder(_ folder: String) throws(SystemError) {
    try Self.makeFolder(folder, in: directory)
  }

  /// Makes a folder of a store with those above it. A store that is away is not replaced by a folder.
  private static func makeFolder(_ folder: String, in directory: String) throws(SystemError) {
    guard access(directory + "/objects", F_OK) == 0 else { throw SystemError(errno, "making the folder \(folder)") }
    try Directories.make(folder)
  }

  /// Renames a finished temporary file to its final name, and syncs the folder.
  func commit(_ temporary: OpenFile, to path: String) throws(SystemError) {
    let parent = Directories.parent(of: path)
    try makeFolder(parent)
    try rename(temporary, to: path)
    try OpenFile.open(parent, O_RDONLY | O_DIRECTORY).sync()
  }

  /// The text of an entry; nil if there is none.
  func text(of path: String, limit: Int) -> String? {
    // An entry that cannot be read is treated as one that does not exist: entries are hints.
    guard let bytes = try? OpenFile.contents(of: path, limit: limit) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Writes an entry. It is not synced: an entry that a crash damaged is ignored, because what it refers to is checked
  /// before use.
  func write(_ text: String, to path: String) throws(ContentStoreError) {
    try mapErrors { () throws(SystemError) in
      let file = try temporaryFile()
      do throws(SystemError) {
        try file.write(Array(text.utf8))
        try makeFolder(Directories.parent(of: path))
        try rename(file, to: path)
      } catch {
        unlink(file.name)
        throw error
      }
    }
  }

  private func rename(_ temporary: OpenFile, to path: String) throws(SystemError) {
    guard Glibc.rename(temporary.name, path) == 0 else { throw SystemError(errno, "renaming to \(path)") }
  }
}

/// A folder of files that are named by digests, `ab/<sha256>`, so that no folder has too many of them.
struct DigestFolder: Sendable {
  let directory: String

  func path(of digest: SHA256Digest) -> String {
    let hex = digest.hex
    return "\(directory)/\(hex.prefix(2))/\(hex)"
  }

  /// All files, in the order of the folders in which they are.
  var files: [Directories.File] {
    let digits = "0123456789abcdef"
    return digits.flatMap { high in digits.flatMap { low in Directories.files(in: "\(directory)/\(high)\(low)") } }
  }
}

/// A content store, or a file that is to be stored or written, could not be read or written.
package struct ContentStoreError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable, Hashable {
    /// The disk, or a quota on it, is full.
    case outOfSpace
    /// The content is larger than the disk.
    case tooLarge
    /// The bytes do not have the announced digest or size.
    case mismatch
    /// The file or the content does not exist.
    case missing
    /// The upload went on from an interrupted one that was damaged, which is removed: the same upload may succeed.
    case interrupted
    /// The file was not read since it changed, and reading it takes long.
    case unverified
    /// The whole store is not there now.
    case away
    /// Any other failure of the system.
    case system
  }

  package var code: Code
  /// A sentence for a person.
  package var description: String

  package init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  package init(_ error: SystemError) {
    if error.isOutOfSpace {
      self.init(.outOfSpace, "no space left on the device: \(error)")
    } else {
      self.init(error.isMissing ? .missing : .system, "\(error)")
    }
  }
}

/// Runs `body` and throws its error as one of the content store.
package func mapErrors<Result>(
  _ body: () throws(SystemError) -> Result
) throws(ContentStoreError) -> Result {
  do throws(SystemError) { return try body() } catch { throw ContentStoreError(error) }
}
