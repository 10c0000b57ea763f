import Client
import FoundationEssentials
import Glibc
import SystemSupport

/// The folder of what a verification makes. It is removed with it; what a process that was killed has left is removed
/// by the next one.
final class VerificationFolder: Sendable {
  private static let prefix = "verify-"
  private static let lockName = "lock"
  /// A folder that has no lock yet, in seconds, may be one that is just made.
  private static let youth = 3600.0

  let path: String
  /// Held as long as the folder is used.
  private let lock: OpenFile

  /// Throws with exit code 1 if nothing can be written there.
  /// - Parameter parent: The folder around it, which is made.
  init(in parent: String) throws(CommandFailure) {
    path = "\(parent)/\(Self.prefix)\(String(UInt64.random(in: .min ... .max), radix: 36))"
    do throws(SystemError) {
      try Directories.make(parent, permissions: 0o700)
      Self.removeAbandoned(in: parent)
      try Directories.make(path, permissions: 0o700)
      lock = try OpenFile.open("\(path)/\(Self.lockName)", O_RDWR | O_CREAT, permissions: 0o600)
      _ = try lock.lockWithoutWaiting()
    } catch {
      throw CommandFailure(.work, "there is no place for the film that is rendered again: \(error)")
    }
  }

  deinit { remove() }

  /// Removes the folder with all that is in it.
  func remove() { Self.remove(path) }

  private static func remove(_ path: String) {
    // What cannot be removed now is removed by the next command.
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Removes the folders that no process uses any more.
  private static func removeAbandoned(in parent: String) {
    for name in Directories.names(in: parent, most: 1000) where name.hasPrefix(prefix) {
      let path = "\(parent)/\(name)"
      guard let lock = try? OpenFile.open("\(path)/\(lockName)", O_RDWR) else {
        var status = stat()
        guard stat(path, &status) == 0, Double(status.st_mtim.tv_sec) + youth < Double(time(nil)) else { continue }
        remove(path)
        continue
      }
      if (try? lock.lockWithoutWaiting()) == true { remove(path) }
    }
  }
}
