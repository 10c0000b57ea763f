package import Glibc

/// Folders on a disk. Everything here blocks.
package enum Directories {
  package struct File: Sendable {
    package var path: String
    /// In bytes.
    package var size: Int64
    /// Bytes that the file takes on the disk, which are fewer than its size if it has holes.
    package var allocatedSize: Int64
    /// When the bytes changed, in seconds since 1970.
    package var modified: Double
    /// When the file was used last, as far as the system or a program records it, in seconds since 1970.
    package var accessed: Double
  }

  /// Makes a folder, and those above it, if they do not exist. Throws `ENOTDIR` if a file has that name.
  /// - Parameter permissions: The permissions of each folder that is made.
  package static func make(_ path: String, permissions: mode_t = 0o755) throws(SystemError) {
    if mkdir(path, permissions) == 0 { return }
    if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      try make(String(path[..<slash]), permissions: permissions)
      if mkdir(path, permissions) == 0 { return }
    }
    guard errno == EEXIST else { throw SystemError(errno, "making the folder \(path)") }
    var status = stat()
    guard stat(path, &status) == 0 else { throw SystemError(errno, "making the folder \(path)") }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemError(ENOTDIR, "making the folder \(path)") }
  }

  /// The folder that a path's last component is in.
  package static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// What a symbolic link names, whether that exists or not. Nil: the path is that of no link.
  package static func link(at path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer -> String? in
      let count = readlink(path, buffer.baseAddress!, buffer.count)
      return count > 0 ? String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }
  }

  /// A path with symbolic links, `.` and `..` resolved. Throws `ENOENT` if there is no such file.
  package static func resolve(_ path: String) throws(SystemError) -> String {
    guard let resolved = realpath(path, nil) else { throw SystemError(errno, "opening \(path)") }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The regular files of a folder, in no order; none if it cannot be read. Links are left out.
  package static func files(in folder: String) -> [File] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var files: [File] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      let path = "\(folder)/\(name)"
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      files.append(
        File(
          path: path, size: Int64(status.st_size), allocatedSize: Int64(status.st_blocks) * 512,
          modified: seconds(status.st_mtim), accessed: seconds(status.st_atim)))
    }
    return files
  }

  /// The names of a folder's entries, in no order, without `.` and `..`; none if it cannot be read.
  /// - Parameter most: how many are read.
  package static func names(in folder: String, most: Int) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while names.count < most, let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Whether there is a folder at a path, or a link to one.
  package static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Whether a folder has no entries; true if it cannot be read.
  package static func isEmpty(_ folder: String) -> Bool {
    guard let directory = opendir(folder) else { return true }
    defer { closedir(directory) }
    // Every folder has `.` and `..`.
    for _ in 0..<3 where readdir(directory) == nil { return true }
    return false
  }

  /// The bytes that this user can still write to the disk, or the part of it under a quota of the folder, that a folder
  /// is on.
  package static func availableBytes(in folder: String) throws(SystemError) -> Int64 {
    var status = statvfs()
    _ = try retryingOnInterrupt("reading the free space of \(folder)") { statvfs(folder, &status) }
    return Int64(clamping: UInt64(status.f_bavail).multipliedFullWidth(by: UInt64(status.f_frsize)).low)
  }

  /// The size of the disk that a folder is on, in bytes.
  package static func diskBytes(in folder: String) throws(SystemError) -> Int64 {
    var status = statvfs()
    _ = try retryingOnInterrupt("reading the size of the disk of \(folder)") { statvfs(folder, &status) }
    return Int64(clamping: UInt64(status.f_blocks).multipliedFullWidth(by: UInt64(status.f_frsize)).low)
  }

  private static func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9 }
}
