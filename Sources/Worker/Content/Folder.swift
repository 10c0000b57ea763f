import CSandbox
import Glibc

/// The few things that the cache does with folders.
enum Folder {
  struct File {
    var path: String
    /// Bytes on the disk.
    var size: Int64
    /// Seconds since 1970.
    var lastUse: Double
  }

  /// Makes a folder, and those above it, for this user alone.
  static func make(_ path: String) throws(SystemError) {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
      throw SystemError(errno, "making the folder \(path)")
    }
    try make(String(path[..<slash]))
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError(errno, "making the folder \(path)") }
  }

  /// The files of a folder, in no order.
  static func files(_ folder: String) -> [File] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var files: [File] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      let path = "\(folder)/\(name)"
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      let time = status.st_mtim
      files.append(
        File(
          path: path, size: Int64(status.st_blocks) * 512, lastUse: Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9))
    }
    return files
  }

  /// Removes files that an agent made and did not live to unlink.
  static func sweep(_ folder: String) {
    for file in files(folder) where file.path.hasPrefix("\(folder)/unnamed-") { unlink(file.path) }
  }
}

extension OpenFile {
  /// Gives a file without a name one; what went wrong, or nil.
  func name(_ path: String) -> SystemError? {
    let status = sandbox_give_name(descriptor, path)
    return status == 0 ? nil : SystemError(-status, "naming \(path)")
  }
}
