package import ContentStorage
package import Digest
import FoundationEssentials
import Glibc
package import SystemSupport
import Wire

/// An output file: it appears under its name only when it is complete. It is written under a temporary name in the same
/// folder, then renamed. Every method that is not `async` blocks.
///
/// Unchecked, and safe: the tasks of one command use it one after the other, and write at positions of their own.
package final class OutputFile: @unchecked Sendable {
  package let path: String
  private let folder: String
  private var temporary: OpenFile?

  /// Checks everything that can be checked before the film is rendered: that the folder exists and takes files, and that
  /// the name is not that of a folder or a device. Throws with exit code 65.
  package init(_ path: String) throws(CommandFailure) {
    self.path = path
    folder = Directories.parent(of: path)
    var status = stat()
    guard stat(folder, &status) == 0 else {
      throw CommandFailure(.document, "the output's folder \(folder) does not exist: \(Self.reason(errno))")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw CommandFailure(.document, "the output's folder \(folder) is not a folder")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw CommandFailure(.document, "the output's folder \(folder) may not be written: \(Self.reason(errno))")
    }
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw CommandFailure(.document, "the output \(path) exists and is not a regular file")
    }
    // Permissions are not enough: the disk may be full, or the folder may be of a kind that takes no files.
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

  /// A new file to write the output to.
  package func open() throws(ContentStoreError) -> OpenFile {
    discard()
    let file = try mapErrors { () throws(SystemError) in
      try OpenFile.open(freshTemporary(), O_RDWR | O_CREAT | O_EXCL, permissions: 0o666)
    }
    temporary = file
    return file
  }

  /// Checks the written file against its digest and renames it to the output. Throws `.mismatch` if it differs.
  package func commit(_ digest: SHA256Digest) throws(ContentStoreError) {
    guard let temporary else { return }
    let actual = try mapErrors { () throws(SystemError) in
      try temporary.sync()
      return try temporary.content().digest
    }
    guard actual == digest else {
      throw ContentStoreError(.mismatch, "\(path) was written with other bytes than the farm has produced")
    }
    try rename(temporary.name)
    self.temporary = nil
  }

  /// Removes what was written. Does nothing after `commit`.
  package func discard() {
    guard let temporary else { return }
    unlink(temporary.name)
    self.temporary = nil
  }

  /// Makes a complete file of this machine the output: by a second link to it if possible, else by copying. The first link
  /// stays. Throws `.missing` if there is no such file.
  package func take(_ source: String, digest: SHA256Digest) throws(ContentStoreError) {
    discard()
    let temporary = freshTemporary()
    if link(source, temporary) == 0 {
      do {
        try rename(temporary)
      } catch {
        unlink(temporary)
        throw error
      }
      return
    }
    let input = try mapErrors { () throws(SystemError) in try OpenFile.open(source) }
    let output = try open()
    do {
      try mapErrors { () throws(SystemError) in try Self.copy(from: input, to: output) }
      try commit(digest)
    } catch {
      discard()
      throw error
    }
  }

  /// Fetches content from a coordinator into the output: reads ranges, several at once.
  package func download(_ content: Content, from client: CoordinatorClient) async throws {
    do {
      let file = try await BlockingWork.run { try self.open() }
      try await withThrowingTaskGroup(of: Void.self) { group in
        var offset: Int64 = 0
        var underWay = 0
        while offset < content.size {
          if underWay == WireProtocol.readWindow / 2 {
            try await group.next()
            underWay -= 1
          }
          let start = offset
          let length = Int(min(Int64(WireProtocol.maximumChunk), content.size - start))
          group.addTask { try await Self.copy(content.digest, start, length, from: client, to: file) }
          underWay += 1
          offset += Int64(length)
        }
        try await group.waitForAll()
      }
      try await BlockingWork.run { try self.commit(content.digest) }
    } catch {
      discard()
      throw error
    }
  }

  private static func copy(
    _ digest: SHA256Digest, _ offset: Int64, _ length: Int, from client: CoordinatorClient, to file: OpenFile
  ) async throws {
    let data = try await client.content.read(digest, offset: UInt64(offset), length: length)
    guard data.count == length else { throw WireError(.content, "the film is shorter than the coordinator announced") }
    try await BlockingWork.run {
      try data.withUnsafeBytes { bytes in
        try mapErrors { () throws(SystemError) in try file.write(bytes, at: offset) }
      }
    }
  }

  private static func copy(from input: OpenFile, to output: OpenFile) throws(SystemError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try input.read(into: buffer, at: offset)
      try output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      if count < buffer.count { return }
    }
  }

  private func freshTemporary() -> String {
    let name = path.split(separator: "/").last ?? "output"
    return "\(folder)/.\(name).\(String(UInt64.random(in: .min ... .max), radix: 36)).part"
  }

  private func rename(_ temporary: String) throws(ContentStoreError) {
    guard Glibc.rename(temporary, path) == 0 else { throw ContentStoreError(SystemError(errno, "renaming to \(path)")) }
  }

  private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
