package import ContentStorage
package import Digest
package import FoundationEssentials
import Glibc
import Runtime
package import SystemSupport
import Wire

/// An output file: it appears under its name only when it is complete. It is written under a temporary name in the same
/// folder, then renamed. What was fetched of a film stays there when the fetch is interrupted. Every method that is not
/// `async` blocks.
///
/// Unchecked, and safe: the tasks of one command use it one after the other, and write at positions of their own.
package final class OutputFile: @unchecked Sendable {
  package let path: String
  /// The last component of `path`.
  package let name: String
  /// The file that is replaced: what `path` links to if it is a symbolic link.
  private let target: String
  private let folder: String
  private var temporary: OpenFile?
  /// Whether the temporary file stays when it is not committed, for a later fetch.
  private var keepsTemporary = false
  /// The content that the output has after a download.
  private var fetched: SHA256Digest?

  /// Checks everything that can be checked before the film is rendered: that the folder exists and takes files, and
  /// that the name is not that of a folder or a device. Throws with exit code 65.
  package init(_ path: String) throws(CommandFailure) {
    self.path = path
    name = String(path.split(separator: "/").last ?? "output")
    target = Self.target(of: path)
    folder = Directories.parent(of: target)
    var status = stat()
    guard stat(folder, &status) == 0 else {
      let reason = Self.reason(errno)
      throw CommandFailure(
        .document, "the output's folder \(folder) does not exist: \(reason)\(NearbyFile.homeHint(path) ?? "")")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw CommandFailure(.document, "the output's folder \(folder) is not a folder")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw CommandFailure(.document, "the output's folder \(folder) may not be written: \(Self.reason(errno))")
    }
    if stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw CommandFailure(.document, "the output \(path) exists and is not a regular file")
      }
    } else if errno != ENOENT {
      // Such as a name that is too long for the disk: the temporary one is shorter.
      throw CommandFailure(.document, "the output \(path) cannot be written: \(Self.reason(errno))")
    }
    // Permissions are not enough: the disk may be full, or the folder may be of a kind that takes no files.
    do {
      _ = try open()
      discard()
    } catch {
      throw CommandFailure(.document, "the output \(path) cannot be written: \(error)")
    }
  }

  /// What a path links to in the end, whether it exists or not; the path itself if it is no symbolic link.
  private static func target(of path: String) -> String {
    var path = path
    // As many links as the kernel follows.
    for _ in 0..<40 {
      guard let link = Directories.link(at: path) else { break }
      path = link.hasPrefix("/") ? link : Directories.parent(of: path) + "/" + link
    }
    return path
  }

  deinit {
    if !keepsTemporary { discard() }
  }

  /// A new file to write the output to.
  package func open() throws(ContentStoreError) -> OpenFile {
    discard()
    keepsTemporary = false
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

  /// Renames what was written, which is complete, to the output.
  package func commit() throws(ContentStoreError) {
    guard let temporary else { return }
    try mapErrors { () throws(SystemError) in try temporary.sync() }
    try rename(temporary.name)
    self.temporary = nil
  }

  /// Makes these bytes the output. They are not synced to the disk, as thousands of files take long to be.
  package func write(_ bytes: [UInt8]) throws(ContentStoreError) {
    let file = try open()
    do throws(ContentStoreError) {
      try mapErrors { () throws(SystemError) in try file.write(bytes) }
      try rename(file.name)
      temporary = nil
    } catch {
      discard()
      throw error
    }
  }

  /// Removes what was written. Does nothing after `commit`.
  package func discard() {
    guard let temporary else { return }
    unlink(temporary.name)
    self.temporary = nil
  }

  /// Makes a complete file of this machine the output: by a second link to it if possible, else by copying. The first
  /// link stays. Does nothing if the output is a link to it already. Throws `.missing` if there is no such file,
  /// `.mismatch` if its bytes do not have the digest.
  /// - Parameter contents: Has the digests of files that were read before.
  package func take(
    _ source: String, digest: SHA256Digest, contents: FileContentCache = FileContentCache()
  ) throws(ContentStoreError) {
    discard()
    if try isOutput(source) {
      let file = try mapErrors { () throws(SystemError) in try OpenFile.open(source) }
      guard try contents.content(of: file).digest == digest else {
        throw ContentStoreError(.mismatch, "the film \(digest) was changed in the content store, or as the output")
      }
      return
    }
    let temporary = freshTemporary()
    if link(source, temporary) == 0 {
      do throws(ContentStoreError) {
        let found = try mapErrors { () throws(SystemError) in try OpenFile.open(temporary).content().digest }
        guard found == digest else {
          throw ContentStoreError(.mismatch, "the film \(digest) was damaged in the content store")
        }
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

  /// Finds the digest of an output that is a second link to a film in a content store, so that it is known when the
  /// film is taken.
  package func readAhead(_ contents: FileContentCache) {
    var status = stat()
    guard stat(target, &status) == 0, status.st_nlink > 1, let file = try? OpenFile.open(target) else { return }
    // If it cannot be read now, `take` reports that.
    _ = try? contents.content(of: file)
  }

  /// Whether a file is the output itself, by another name.
  private func isOutput(_ source: String) throws(ContentStoreError) -> Bool {
    var (own, other) = (stat(), stat())
    guard stat(source, &other) == 0 else {
      throw ContentStoreError(SystemError(errno, "opening \(source)"))
    }
    return stat(target, &own) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino
  }

  /// Makes a file of a package of this machine the output. Throws `.mismatch` if its bytes do not have their digest.
  package func take(_ file: ContentPackage.File, of package: OpenFile) throws(ContentStoreError) {
    let output = try open()
    do throws(ContentStoreError) {
      let range = file.offset..<(file.offset + file.content.size)
      try mapErrors { () throws(SystemError) in try Self.copy(from: package, range, to: output) }
      try commit(file.content.digest)
    } catch {
      discard()
      throw error
    }
  }

  // MARK: Downloads

  /// Reads up to `length` bytes of the film from `offset`.
  package typealias Read = @Sendable (_ offset: Int64, _ length: Int) async throws -> Data

  /// Fetches content into the output: reads ranges, several at once, and writes them in order. If it is interrupted,
  /// what was fetched stays in a hidden file beside the output, and the next download of the same content goes on
  /// there. Throws with exit code 1 if another process fetches the same content to the same path.
  package func download(
    _ content: Content, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }, read: @escaping Read
  ) async throws {
    // Another attempt may have fetched it already, and lost its connection afterwards.
    if fetched == content.digest { return }
    var (part, start) = try await BlockingWork.run { try self.openPart(content) }
    while true {
      do {
        try await fetch(content, from: start, into: part, progress, read)
      } catch {
        // Nothing was fetched, so there is nothing to keep.
        if (try? part.status())?.st_size == 0 { discard() }
        throw error
      }
      do {
        try await BlockingWork.run(.hashing) { try self.commit(content.digest) }
        fetched = content.digest
        return
      } catch let error as ContentStoreError where error.code == .mismatch {
        // Bytes that an interrupted fetch left may be damaged, as after a power failure. New ones may not.
        guard start > 0 else {
          discard()
          throw error
        }
        (part, start) = try await BlockingWork.run {
          self.discard()
          return try self.openPart(content)
        }
      }
    }
  }

  private func fetch(
    _ content: Content, from start: Int64, into part: OpenFile,
    _ progress: @escaping @Sendable (TransferProgress) -> Void, _ read: @escaping Read
  ) async throws {
    try await withThrowingTaskGroup(of: (offset: Int64, data: Data).self) { group in
      var requested = start
      var written = start
      var underWay = 0
      var arrived: [Int64: Data] = [:]
      while written < content.size {
        while underWay + arrived.count < WireProtocol.readWindow / 2, requested < content.size {
          let offset = requested
          let length = Int(min(Int64(WireProtocol.maximumChunk), content.size - offset))
          group.addTask {
            let data = try await read(offset, length)
            guard data.count == length else {
              throw WireError(.content, "the film is shorter than the coordinator announced")
            }
            return (offset, data)
          }
          underWay += 1
          requested += Int64(length)
        }
        guard let next = try await group.next() else { break }
        underWay -= 1
        arrived[next.offset] = next.data
        // In order, so that the file's size says how much of it is fetched.
        while let data = arrived.removeValue(forKey: written) {
          let offset = written
          try await BlockingWork.run { try Self.write(data, to: part, at: offset) }
          written += Int64(data.count)
          progress(TransferProgress(.download, name: name, done: written, total: content.size))
        }
      }
    }
  }

  private static func write(_ data: Data, to file: OpenFile, at offset: Int64) throws {
    try data.withUnsafeBytes { bytes in
      try mapErrors { () throws(SystemError) in try file.write(bytes, at: offset) }
    }
  }

  /// Opens the file that this content is fetched to, locked against other processes. Returns how much of it was fetched
  /// before. Removes what interrupted fetches of other films to this path have left.
  private func openPart(_ content: Content) throws -> (OpenFile, Int64) {
    removeOtherParts(than: content.digest)
    // The lock of an earlier attempt ends with its descriptor.
    temporary = nil
    let file = try lockedPart(content.digest)
    var size = try mapErrors { () throws(SystemError) in Int64(try file.status().st_size) }
    if size > content.size {
      guard ftruncate(file.descriptor, 0) == 0 else {
        throw ContentStoreError(SystemError(errno, "writing \(file.name)"))
      }
      size = 0
    }
    temporary = file
    keepsTemporary = true
    return (file, size)
  }

  private func lockedPart(_ digest: SHA256Digest) throws -> OpenFile {
    let path = partPath(digest.hex)
    while true {
      let file = try mapErrors { () throws(SystemError) in
        try OpenFile.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, permissions: 0o666)
      }
      guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
        throw CommandFailure(.work, "another process is fetching this film to \(self.path)")
      }
      var (locked, named) = (stat(), stat())
      // A process that has finished in the meantime has renamed the file.
      if fstat(file.descriptor, &locked) == 0, lstat(path, &named) == 0, locked.st_ino == named.st_ino { return file }
    }
  }

  private func removeOtherParts(than digest: SHA256Digest) {
    let (prefix, suffix) = (partPath("").dropLast(Self.partSuffix.count), Self.partSuffix)
    for file in Directories.files(in: folder) where file.path.hasPrefix(prefix) && file.path.hasSuffix(suffix) {
      let hex = String(file.path.dropFirst(prefix.count).dropLast(suffix.count))
      // What cannot be opened is not this user's to remove.
      guard let other = SHA256Digest(hex: hex), other != digest, let part = try? OpenFile.open(file.path, O_RDWR) else {
        continue
      }
      // Another process may be fetching another film to this path.
      if flock(part.descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(file.path) }
    }
  }

  private static let partSuffix = ".part"

  /// - Parameter mark: Distinguishes the files: a digest, or a random number.
  private func partPath(_ mark: String) -> String { "\(folder)/.\(shortName).\(mark)\(Self.partSuffix)" }

  /// The output's name, cut so that a longer name fits on every disk.
  private var shortName: Substring {
    var name = name[...]
    while name.utf8.count > 160 { name.removeLast() }
    return name
  }

  // MARK: Files

  /// - Parameter range: The range of bytes of the input; by default all of it.
  private static func copy(
    from input: OpenFile, _ range: Range<Int64> = 0..<Int64.max, to output: OpenFile
  ) throws(SystemError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let wanted = Int(min(Int64(buffer.count), range.upperBound - offset))
      let count = try input.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
      try output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      if count < wanted { return }
    }
  }

  private func freshTemporary() -> String { partPath(String(UInt64.random(in: .min ... .max), radix: 36)) }

  private func rename(_ temporary: String) throws(ContentStoreError) {
    guard Glibc.rename(temporary, target) == 0 else {
      throw ContentStoreError(SystemError(errno, "renaming to \(target)"))
    }
  }

  private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
