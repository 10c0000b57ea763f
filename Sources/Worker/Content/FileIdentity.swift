import Glibc

/// What tells that a file is still the one that was digested.
struct FileIdentity: Sendable, Hashable {
  private var device: UInt64
  private var inode: UInt64
  /// In bytes.
  private(set) var size: Int64
  private var modified: Time
  private var changed: Time

  private struct Time: Sendable, Hashable {
    var seconds: Int
    var nanoseconds: Int
  }

  /// Throws for what is not a regular file, too.
  init(of file: OpenFile) throws(SystemError) {
    var status = stat()
    guard fstat(file.descriptor, &status) == 0 else { throw SystemError(errno, "looking at a file") }
    guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(EINVAL, "opening what is not a regular file") }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = Time(seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    changed = Time(seconds: status.st_ctim.tv_sec, nanoseconds: status.st_ctim.tv_nsec)
  }
}
