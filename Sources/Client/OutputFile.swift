import Digest
import Glibc

/// A file that appears under its name complete or not at all (FEATURES F60): written beside it, then renamed.
///
/// Unchecked, and safe: one command's tasks use it in turn; writes are by position.
final class OutputFile: @unchecked Sendable {
  let path: String
  private let folder: String
  private var temporary: String?
  private var file: Int32 = -1

  /// Looks at everything that can be seen before a film is rendered in vain: the folder is there and a file can be made
  /// in it, the name is not a folder's or a device's. Throws with exit code 65.
  init(_ path: String) throws {
    self.path = path
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    folder = parent.isEmpty ? "/" : parent
    var status = stat()
    guard stat(folder, &status) == 0 else {
      throw CommandFailure(
        .document, "the output's folder \(folder) does not exist: \(String(cString: strerror(errno)))")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw CommandFailure(.document, "the output's folder \(folder) is not a folder")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw CommandFailure(
        .document, "the output's folder \(folder) may not be written: \(String(cString: strerror(errno)))")
    }
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw CommandFailure(.document, "the output \(path) is there and is not a regular file")
    }
    // Permissions do not tell all: a folder may be full, or no place for files.
    do {
      _ = try open()
      discard()
    } catch {
      throw CommandFailure(.document, "the output \(path) cannot be written: \(error)")
    }
  }

  deinit {
    discard()
  }

  /// A descriptor to write the content to. Blocks.
  func open() throws -> Int32 {
    discard()
    let temporary = freshTemporary()
    file = Glibc.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw VaultError.system("writing \(path)", errno: errno) }
    self.temporary = temporary
    return file
  }

  /// Gives the complete content its name. Blocks.
  func commit(_ digest: SHA256Digest) throws {
    guard let temporary, file >= 0 else { return }
    guard fsync(file) == 0 else { throw VaultError.system("syncing \(path)", errno: errno) }
    let actual: SHA256Digest
    do {
      actual = try FileDigest.of(descriptor: file).digest
    } catch {
      throw VaultError.system("reading \(path) back", errno: error.errno)
    }
    guard actual == digest else { throw VaultError(.mismatch, "\(path) was not written as the farm made it") }
    guard rename(temporary, path) == 0 else { throw VaultError.system("renaming to \(path)", errno: errno) }
    self.temporary = nil
    close(file)
    file = -1
  }

  /// Removes what was written; nothing stays behind.
  func discard() {
    if file >= 0 { close(file) }
    file = -1
    if let temporary { unlink(temporary) }
    temporary = nil
  }

  /// Takes over a file of this machine that is complete and on disk: by a second name where that can be, else by
  /// copying. The first name is the caller's to remove. Blocks.
  func take(_ source: String, digest: SHA256Digest) throws {
    discard()
    let temporary = freshTemporary()
    if link(source, temporary) == 0 {
      guard rename(temporary, path) == 0 else {
        let code = errno
        unlink(temporary)
        throw VaultError.system("renaming to \(path)", errno: code)
      }
      return
    }
    let input = Glibc.open(source, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else {
      throw errno == ENOENT
        ? VaultError(.missing, "\(source) is not there") : VaultError.system("opening \(source)", errno: errno)
    }
    defer { close(input) }
    let output = try open()
    do {
      try copy(from: input, to: output)
      try commit(digest)
    } catch {
      discard()
      throw error
    }
  }

  private func freshTemporary() -> String {
    let name = path.split(separator: "/").last ?? "output"
    return "\(folder)/.\(name).\(String(UInt64.random(in: .min ... .max), radix: 36)).part"
  }

  private func copy(from input: Int32, to output: Int32) throws {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(input, &buffer, buffer.count)
      if count == 0 { return }
      if count < 0 {
        if errno == EINTR { continue }
        throw VaultError.system("reading the vault", errno: errno)
      }
      let failure = buffer.withUnsafeBytes {
        FileBytes.write(UnsafeRawBufferPointer(rebasing: $0[..<count]), to: output)
      }
      if let failure { throw VaultError.system("writing \(path)", errno: failure) }
    }
  }
}
