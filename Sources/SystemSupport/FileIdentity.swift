import Glibc

/// Which file this is and in what state: a file that was replaced or changed is not equal to what it was.
///
/// The time of the last change of the inode is part of it: a program can restore a file's modification time, and not
/// this one.
package struct FileIdentity: Sendable, Hashable {
  private var device: UInt64
  private var inode: UInt64
  /// In bytes.
  package private(set) var size: Int64
  private var modified: Time
  private var changed: Time

  private struct Time: Sendable, Hashable {
    var seconds: Int
    var nanoseconds: Int

    init(_ time: timespec) {
      seconds = time.tv_sec
      nanoseconds = time.tv_nsec
    }
  }

  /// Throws `EINVAL` where the file is not a regular one.
  package init(of file: OpenFile) throws(SystemError) {
    let status = try file.status()
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw SystemError(EINVAL, "opening \(file.name), which is not a regular file,")
    }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = Time(status.st_mtim)
    changed = Time(status.st_ctim)
  }
}
