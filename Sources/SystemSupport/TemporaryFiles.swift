import Glibc

/// Where files are that are needed for no longer than the program runs: in the folder that `TMPDIR` names, or in
/// `/tmp`.
package enum TemporaryFiles {
  /// A path that no file has. Throws with the folder if nothing can be written there.
  package static func path() throws(SystemError) -> String { try path(in: ProcessEnvironment.value("TMPDIR")) }

  /// - Parameter named: The value of `TMPDIR`.
  static func path(in named: String?) throws(SystemError) -> String {
    let folder = named ?? "/tmp"
    guard access(folder, W_OK | X_OK) == 0 else {
      throw SystemError(errno, "writing into \(named == nil ? folder : "the folder of TMPDIR, \(folder),")")
    }
    return "\(folder)/sheaf-\(String(UInt64.random(in: .min ... .max), radix: 36))"
  }
}

extension OpenFile {
  /// An empty temporary file without a name, which is gone with its descriptor.
  package static func unnamed() throws(SystemError) -> OpenFile {
    let path = try TemporaryFiles.path()
    let file = try OpenFile.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
    unlink(path)
    return file
  }
}
