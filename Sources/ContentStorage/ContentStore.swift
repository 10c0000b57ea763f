package import Digest
package import FoundationEssentials
import Glibc
package import SystemSupport

/// Files by their SHA-256, in a folder that several coordinators may share. Every method blocks: call it off the
/// cooperative pool.
///
/// `objects/ab/<sha256>` is written under `temporary/`, synced and renamed, so a file that exists there is complete.
/// `ResultCache` and `ContentLocator` keep their entries in `fingerprints/` and `places/` of the same folder.
package final class ContentStore: Sendable {
  /// Without a slash at the end; symbolic links are resolved.
  package let directory: String

  /// Opens a content store, makes its folder if it does not exist, and removes the temporary files that a crash left.
  /// - Parameter leftoversOlderThan: In seconds. Younger temporary files may belong to another coordinator.
  package init(directory: String, leftoversOlderThan age: Int = 3600) throws(ContentStoreError) {
    self.directory = try mapErrors { () throws(SystemError) in
      for name in ["", "/objects", "/fingerprints", "/places", "/temporary"] { try Directories.make(directory + name) }
      return try Directories.resolve(directory)
    }
    guard access(self.directory + "/temporary", W_OK | X_OK) == 0 else {
      throw ContentStoreError(SystemError(errno, "writing to the content store \(directory)"))
    }
    let limit = Double(time(nil) - age)
    for file in Directories.files(in: self.directory + "/temporary") where file.modified < limit { unlink(file.path) }
  }

  /// Where the content is, or would be.
  package func path(of digest: SHA256Digest) -> String { entry("objects", digest) }

  /// In bytes; nil if the store does not have the content.
  package func size(of digest: SHA256Digest) -> Int64? {
    var status = stat()
    guard stat(path(of: digest), &status) == 0 else { return nil }
    return Int64(status.st_size)
  }

  /// Whether the store has an object with this digest and this size. The bytes are not read.
  package func contains(_ content: Content) -> Bool { size(of: content.digest) == content.size }

  /// The whole of a small object, such as a description. Throws `.missing` if it does not exist.
  /// - Parameter limit: Throws `.mismatch` if the object has more bytes.
  package func read(_ digest: SHA256Digest, limit: Int) throws(ContentStoreError) -> [UInt8] {
    let size = size(of: digest) ?? 0
    guard size <= limit else {
      throw ContentStoreError(.mismatch, "the content \(digest) has \(size) bytes, where at most \(limit) are expected")
    }
    return try mapErrors { () throws(SystemError) in
      try OpenFile.contents(of: path(of: digest), limit: Int(size))
    }
  }

  /// Removes an object. Does nothing if it does not exist.
  package func remove(_ digest: SHA256Digest) {
    unlink(path(of: digest))
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

  /// Starts to write content that arrives in parts.
  package func upload(_ content: Content) throws(ContentStoreError) -> ContentUpload {
    try ContentUpload(self, content)
  }

  // MARK: Files in the store's folder

  func entry(_ kind: String, _ digest: SHA256Digest) -> String {
    let hex = digest.hex
    return "\(directory)/\(kind)/\(hex.prefix(2))/\(hex)"
  }

  /// A new file, under a name that no other upload of any process has.
  func temporaryFile() throws(SystemError) -> OpenFile {
    let random = UInt64.random(in: .min ... .max)
    let path = "\(directory)/temporary/\(getpid())-\(String(random, radix: 36))"
    return try OpenFile.open(path, O_WRONLY | O_CREAT | O_EXCL)
  }

  /// Renames a finished temporary file to its final name, and syncs the folder.
  func commit(_ temporary: OpenFile, to path: String) throws(SystemError) {
    let parent = Directories.parent(of: path)
    try Directories.make(parent)
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
        try Directories.make(Directories.parent(of: path))
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

/// A content store, or a file that is to be stored or written, could not be read or written.
package struct ContentStoreError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable, Hashable {
    /// The disk, or a quota on it, is full.
    case outOfSpace
    /// The bytes do not have the announced digest or size.
    case mismatch
    /// The file or the content does not exist.
    case missing
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

/// Content that is being written to a content store. It is hashed as it is written, and exists under its digest only
/// after `finish` has checked it. Every method blocks.
///
/// Unchecked, and safe: one task at a time uses it, and calls its methods one after the other.
package final class ContentUpload: @unchecked Sendable {
  /// As announced.
  package let content: Content
  /// Bytes written so far.
  package private(set) var received: Int64 = 0
  private let store: ContentStore
  /// Nil when the upload is finished or discarded.
  private var file: OpenFile?
  private var hasher: SHA256Hasher? = SHA256Hasher()

  init(_ store: ContentStore, _ content: Content) throws(ContentStoreError) {
    self.store = store
    self.content = content
    file = try mapErrors { () throws(SystemError) in try store.temporaryFile() }
  }

  deinit {
    discard()
  }

  /// Appends bytes. Throws `.mismatch` if there are more than announced.
  package func write(_ data: Data) throws(ContentStoreError) {
    guard let file, Int64(data.count) <= content.size - received else {
      throw ContentStoreError(.mismatch, "the upload is longer than the announced \(content.size) bytes")
    }
    let result = data.withUnsafeBytes { bytes in
      hasher?.update(bytes)
      return Result { () throws(SystemError) in try file.write(bytes) }
    }
    try mapErrors { () throws(SystemError) in try result.get() }
    received += Int64(data.count)
  }

  /// Checks size and digest, and stores the content. Throws `.mismatch` if they are not as announced.
  package func finish() throws(ContentStoreError) {
    guard let file, received == content.size else {
      throw ContentStoreError(.mismatch, "the upload has \(received) bytes instead of the announced \(content.size)")
    }
    guard let actual = hasher.take()?.finalize(), actual == content.digest else {
      throw ContentStoreError(.mismatch, "the upload does not have the announced digest")
    }
    try mapErrors { () throws(SystemError) in
      try file.sync()
      try store.commit(file, to: store.path(of: content.digest))
    }
    self.file = nil
  }

  /// Removes what was written. Does nothing after `finish`.
  package func discard() {
    guard let file else { return }
    unlink(file.name)
    self.file = nil
  }
}
