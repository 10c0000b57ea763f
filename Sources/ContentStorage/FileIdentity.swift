import Digest
import Glibc
import Synchronization

/// A file as it stands now: another one, or a changed one, is not equal.
struct FileIdentity: Sendable, Hashable {
  var device: UInt64
  var inode: UInt64
  var size: Int64
  var seconds: Int
  var nanoseconds: Int

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    seconds = status.st_mtim.tv_sec
    nanoseconds = status.st_mtim.tv_nsec
  }
}

/// Digests of files that were read before and have not changed since.
final class DigestCache: Sendable {
  private let digests = Mutex<[FileIdentity: SHA256Digest]>([:])

  /// The digest and size of the regular file that is open here; reads it once as long as it does not change. Blocks.
  func digest(of descriptor: Int32, name: String) throws(VaultError) -> (digest: SHA256Digest, size: Int64) {
    let before = try identity(descriptor, name: name)
    if let known = digests.withLock({ $0[before] }) { return (known, before.size) }
    let found: (digest: SHA256Digest, size: Int64)
    do {
      found = try FileDigest.of(descriptor: descriptor)
    } catch {
      throw .system("reading \(name)", errno: error.errno)
    }
    guard try identity(descriptor, name: name) == before, found.size == before.size else {
      throw VaultError(.mismatch, "\(name) changed while it was read")
    }
    digests.withLock { digests in
      if digests.count >= 100_000 { digests = [:] }
      digests[before] = found.digest
    }
    return found
  }

  private func identity(_ descriptor: Int32, name: String) throws(VaultError) -> FileIdentity {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system("reading \(name)", errno: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw VaultError(.missing, "\(name) is not a regular file") }
    return FileIdentity(status)
  }
}
