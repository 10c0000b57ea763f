import Glibc

/// Small files whole, and buffers written to the last byte. Blocks.
enum FileBytes {
  /// Throws `.missing` where there is no such file or it is longer than `limit` bytes.
  static func read(_ path: String, limit: Int) throws(VaultError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      throw errno == ENOENT ? VaultError(.missing, "\(path) is not there") : .system("opening \(path)", errno: errno)
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system("reading \(path)", errno: errno) }
    guard Int(status.st_size) <= limit else { throw VaultError(.missing, "\(path) is longer than \(limit) bytes") }
    var bytes = [UInt8](repeating: 0, count: limit < 1 << 16 ? limit : Int(status.st_size))
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + done, $0.count - done) }
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw .system("reading \(path)", errno: errno)
      }
      done += count
    }
    return Array(bytes[..<done])
  }

  static func write(_ bytes: [UInt8], to file: Int32, name: String) throws(VaultError) {
    let failure = bytes.withUnsafeBytes { write($0, to: file) }
    if let failure { throw .system("writing \(name)", errno: failure) }
  }

  /// The error's number, or nil.
  static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Int32? {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(file, rest.baseAddress, rest.count)
      if count < 0 {
        if errno == EINTR { continue }
        return errno
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return nil
  }
}
