import FoundationEssentials
import SystemSupport

/// A folder of its own that is removed with its contents when nothing holds it any more.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws(SystemError) {
    path = try TemporaryFiles.path()
    try Directories.make(path, permissions: 0o700)
  }

  deinit {
    // What cannot be removed is left to the owner of the folder for temporary files.
    _ = try? FileManager.default.removeItem(atPath: path)
  }
}
