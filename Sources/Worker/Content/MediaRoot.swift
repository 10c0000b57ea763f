import CSandbox
import Glibc

/// The folder of media that this worker shares with the coordinator. Only files beneath it are opened.
struct MediaRoot: Sendable {
  private let directory: OpenFile
  private let path: String

  init(_ path: String) throws(SystemError) {
    let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(errno, "opening the media root \(path)") }
    directory = OpenFile(owning: descriptor)
    self.path = path
  }

  /// Opens a file by its path relative to the root, for reading. Links may lead anywhere beneath the root.
  func open(_ relative: String) throws(SystemError) -> OpenFile {
    let relative = String(relative.drop { $0 == "/" })
    guard !relative.isEmpty, !relative.utf8.contains(0) else {
      throw SystemError(EINVAL, "opening a file without a name")
    }
    let isEverything = path == "/"
    if !isEverything {
      let descriptor = sandbox_open_beneath(directory.descriptor, relative)
      if descriptor >= 0 { return OpenFile(owning: descriptor) }
      // Container filters that do not know the call say EPERM.
      guard descriptor == -ENOSYS || descriptor == -EPERM else { throw SystemError(-descriptor, "opening \(relative)") }
    }
    guard let root = Self.resolved(path), let full = Self.resolved("\(path)/\(relative)") else {
      throw SystemError(errno, "opening \(relative)")
    }
    guard isEverything || full.hasPrefix(root + "/") else { throw SystemError(EXDEV, "opening \(relative)") }
    let descriptor = Glibc.open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)
    guard descriptor >= 0 else { throw SystemError(errno, "opening \(relative)") }
    return OpenFile(owning: descriptor)
  }

  private static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
