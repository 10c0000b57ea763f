import Digest
import Glibc
import Jobs

/// Files by what is in them, on a disk that several coordinators may share. Everything here blocks: it is called on
/// threads that may.
///
/// `objects/ab/<sha256>` appears whole or not at all: written under `temporary/`, synced, renamed. `fingerprints/ab/<…>`
/// says what a task with that fingerprint came to. `places/ab/<sha256>` says where a file under the media root was found.
final class Vault: Sendable {
  /// Without a slash at the end; symbolic links resolved.
  let directory: String

  /// Opens a vault, making its folder where there is none, and clears away what a crash left behind.
  /// - Parameter leftoversOlderThan: In seconds; younger ones may be another coordinator's work.
  init(directory: String, leftoversOlderThan age: Int = 3600) throws(VaultError) {
    for name in ["", "/objects", "/fingerprints", "/places", "/temporary"] {
      try Self.makeDirectories(directory + name)
    }
    guard let resolved = realpath(directory, nil) else {
      throw .system("opening the vault \(directory)", errno: errno)
    }
    defer { free(resolved) }
    self.directory = String(cString: resolved)
    guard access(self.directory + "/temporary", W_OK | X_OK) == 0 else {
      throw .system("writing to the vault \(directory)", errno: errno)
    }
    clearLeftovers(olderThan: age)
  }

  func path(of digest: SHA256Digest) -> String { shard("objects", digest.hex) }

  /// Nil where the vault does not have it.
  func size(of digest: SHA256Digest) -> Int64? {
    var status = stat()
    guard stat(path(of: digest), &status) == 0 else { return nil }
    return Int64(status.st_size)
  }

  func contains(_ content: Content) -> Bool {
    guard let digest = SHA256Digest(hex: content.digest) else { return false }
    return size(of: digest) == content.size
  }

  /// All of a small object, such as a description. Throws `.missing` where it is not there or longer than `limit`.
  func read(_ digest: SHA256Digest, limit: Int) throws(VaultError) -> [UInt8] {
    try FileBytes.read(path(of: digest), limit: limit)
  }

  func remove(_ digest: SHA256Digest) {
    unlink(path(of: digest))
  }

  /// Removes an object that is not what its name says, as a disk's fault leaves it. False where it is whole, or not there.
  func removeIfDamaged(_ digest: SHA256Digest) throws(VaultError) -> Bool {
    let file = Glibc.open(path(of: digest), O_RDONLY | O_CLOEXEC)
    if file < 0, errno == ENOENT { return false }
    guard file >= 0 else { throw .system("opening \(path(of: digest))", errno: errno) }
    defer { close(file) }
    let found: SHA256Digest
    do {
      found = try FileDigest.of(descriptor: file).digest
    } catch {
      throw .system("reading \(path(of: digest))", errno: error.errno)
    }
    if found == digest { return false }
    remove(digest)
    return true
  }

  /// Takes in a file that is being uploaded.
  func begin(digest: SHA256Digest, size: Int64) throws(VaultError) -> VaultUpload {
    try VaultUpload(self, digest: digest, size: size)
  }

  /// What a task with this fingerprint came to before, if the object is still there.
  func result(of fingerprint: SHA256Digest) -> Content? {
    guard let line = try? FileBytes.read(shard("fingerprints", fingerprint.hex), limit: 128) else { return nil }
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    guard words.count == 2, let size = Int64(words[1]) else { return nil }
    let content = Content(digest: String(words[0]), size: size)
    return contains(content) ? content : nil
  }

  func note(_ content: Content, for fingerprint: SHA256Digest) throws(VaultError) {
    try write("\(content.digest) \(content.size)", to: shard("fingerprints", fingerprint.hex))
  }

  /// Where a file under a media root was last found.
  func place(of digest: SHA256Digest) -> String? {
    guard let path = try? FileBytes.read(shard("places", digest.hex), limit: 8192) else { return nil }
    return String(decoding: path, as: UTF8.self)
  }

  func note(place: String, of digest: SHA256Digest) throws(VaultError) {
    try write(place, to: shard("places", digest.hex))
  }

  func shard(_ kind: String, _ hex: String) -> String { "\(directory)/\(kind)/\(hex.prefix(2))/\(hex)" }

  /// A name that no other upload, in whatever process, has.
  func temporaryPath() -> String {
    let random = UInt64.random(in: .min ... .max)
    return "\(directory)/temporary/\(getpid())-\(String(random, radix: 36))"
  }

  /// Puts a finished temporary file in its place, for good.
  func place(_ temporary: String, at path: String) throws(VaultError) {
    let parent = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    try Self.makeDirectories(parent)
    guard rename(temporary, path) == 0 else { throw .system("renaming to \(path)", errno: errno) }
    let folder = Glibc.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw .system("opening \(parent)", errno: errno) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw .system("syncing \(parent)", errno: errno) }
  }

  private func write(_ text: String, to path: String) throws(VaultError) {
    let temporary = temporaryPath()
    let file = Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw .system("writing \(path)", errno: errno) }
    defer { close(file) }
    do throws(VaultError) {
      try FileBytes.write(Array(text.utf8), to: file, name: path)
      // Not synced: an index entry that a crash tore is no entry, and its object is looked at before it is believed.
      try Self.makeDirectories(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
      guard rename(temporary, path) == 0 else { throw .system("renaming to \(path)", errno: errno) }
    } catch {
      unlink(temporary)
      throw error
    }
  }

  private func clearLeftovers(olderThan age: Int) {
    guard let folder = opendir(directory + "/temporary") else { return }
    defer { closedir(folder) }
    let limit = time(nil) - age
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      let path = "\(directory)/temporary/\(name)"
      var status = stat()
      guard name != ".", name != "..", stat(path, &status) == 0, status.st_mtim.tv_sec < limit else { continue }
      unlink(path)
    }
  }

  static func makeDirectories(_ path: String) throws(VaultError) {
    if mkdir(path, 0o755) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      throw .system("making the folder \(path)", errno: errno)
    }
    try makeDirectories(String(path[..<slash]))
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
      throw .system("making the folder \(path)", errno: errno)
    }
  }
}
