import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

/// Opened files, their identity, and folders.
struct FileTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test
  func `what is written at positions is read at positions, and the offset stays`() throws {
    let file = try OpenFile.open(folder.path("a"), O_RDWR | O_CREAT)
    try file.write([1, 2, 3])
    try [UInt8]([9, 8]).withUnsafeBytes { try file.write($0, at: 4) }
    #expect(try file.read(at: 0, length: 10) == [1, 2, 3, 0, 9, 8])
    #expect(try file.read(at: 5, length: 1) == [8])
    #expect(try file.read(at: 6, length: 1) == [])
    try file.write([4])
    #expect(try file.read(at: 3, length: 1) == [4], "the offset was left where the first write had put it")
    try file.sync()
    let again = try file.reopenedForReading()
    #expect(try again.readSome(3) == [1, 2, 3])
    #expect(throws: SystemError.self) { try again.write([0]) }
  }

  @Test
  func `an opened file is not inherited, and closed with its last reference`() throws {
    let descriptor: Int32
    do {
      let file = try OpenFile.open(folder.path("a"), O_RDWR | O_CREAT)
      descriptor = file.descriptor
      #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
    // Another test may have been given the number by now, of a file that is another one.
    var target = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
    let name = String(decoding: target.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #expect(name != folder.path("a"))
  }

  @Test
  func `an error names the operation, the file and the reason`() {
    let missing = folder.path("missing")
    let error = #expect(throws: SystemError.self) { try OpenFile.open(missing) }
    #expect(error == SystemError(ENOENT, "opening \(missing)"))
    #expect(error.map { "\($0)" } == "opening \(missing) failed: No such file or directory")
    #expect(SystemError(ENOSPC, "x").isOutOfSpace && !SystemError(EIO, "x").isOutOfSpace)
  }

  @Test
  func `contents are read whole, from a pipe too, and not beyond their limit`() throws {
    let path = try folder.write(Data(repeating: 7, count: 100), "a")
    #expect(try OpenFile.contents(of: path, limit: 100).count == 100)
    #expect(throws: SystemError(EFBIG, "reading \(path), which may have at most 99 bytes,")) {
      try OpenFile.contents(of: path, limit: 99)
    }
    #expect(try OpenFile.contents(of: try folder.write(Data(), "empty"), limit: 10) == [])
    #expect(try !OpenFile.contents(of: "/proc/self/status", limit: 1 << 16).isEmpty, "its size reads as zero")
    #expect(throws: SystemError.self) { try OpenFile.contents(of: folder.url.path, limit: 10) }

    let (reading, writing) = try OpenFile.socketPair()
    try writing.write([5, 6])
    writing.shutDown()
    #expect(try reading.readSome(10) == [5, 6])
  }

  @Test
  func `a file that is changed in any way has another identity`() throws {
    let path = try folder.write(Data([1, 2, 3]), "a")
    let file = try OpenFile.open(path, O_RDWR)
    let first = try FileIdentity(of: file)
    #expect(try first == FileIdentity(of: OpenFile.open(path)) && first.size == 3)

    // Changed, with the size and the modification time that it had: the time of the inode's change tells.
    let before = try file.status()
    let times = [before.st_atim, before.st_mtim]
    try awaitNextTick(after: before.st_ctim)
    try [UInt8]([9]).withUnsafeBytes { try file.write($0, at: 0) }
    #expect(futimens(file.descriptor, times) == 0)
    let after = try file.status()
    #expect(after.st_size == before.st_size && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
    #expect(try FileIdentity(of: file) != first)

    // Replaced by a copy.
    let second = try FileIdentity(of: file)
    let copy = try folder.write(Data([9, 2, 3]), "b")
    #expect(rename(copy, path) == 0)
    #expect(try FileIdentity(of: OpenFile.open(path)) != second)
  }

  @Test
  func `what is not a regular file has no identity`() {
    #expect(throws: SystemError.self) { try FileIdentity(of: OpenFile.open("/dev/null")) }
    #expect(throws: SystemError.self) { try FileIdentity(of: OpenFile.open(folder.url.path)) }
  }

  @Test
  func `folders are made with those above them, and a file in the way is an error`() throws {
    let path = folder.path("a/b/c")
    try Directories.make(path, permissions: 0o700)
    try Directories.make(path)
    try Directories.make(folder.path("a/d/"))
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    let file = try folder.write(Data(), "file")
    #expect(throws: SystemError(ENOTDIR, "making the folder \(file)")) { try Directories.make(file) }
    #expect(throws: SystemError.self) { try Directories.make("\(file)/below") }
    #expect(Directories.parent(of: "/a/b") == "/a")
    #expect(Directories.parent(of: "/a") == "/")
    #expect(Directories.parent(of: "a") == ".")
  }

  @Test
  func `a folder's files are its regular files, and links are resolved`() throws {
    _ = try folder.write(Data(count: 10), "a")
    try Directories.make(folder.path("folder"))
    #expect(symlink(folder.path("a"), folder.path("link")) == 0)
    // A file with a hole takes less than its size.
    let sparse = try OpenFile.open(folder.path("sparse"), O_RDWR | O_CREAT)
    #expect(ftruncate(sparse.descriptor, 1 << 20) == 0)
    let files = Directories.files(in: folder.url.path).sorted { $0.path < $1.path }
    #expect(files.map(\.path) == [folder.path("a"), folder.path("sparse")])
    #expect(files.map(\.size) == [10, 1 << 20] && files[1].allocatedSize < 1 << 20)
    #expect(abs(files[0].modified - Date().timeIntervalSince1970) < 3600)
    #expect(Directories.files(in: folder.path("missing")).isEmpty)
    #expect(try Directories.resolve(folder.path("link")) == Directories.resolve(folder.path("folder/../a")))
    #expect(throws: SystemError.self) { try Directories.resolve(folder.path("missing")) }
  }

  /// Waits until the clock of the file system has gone on: its ticks are some milliseconds long.
  private func awaitNextTick(after time: timespec) throws {
    let probe = try OpenFile.open(folder.path("clock"), O_RDWR | O_CREAT)
    while true {
      try probe.write([0])
      let now = try probe.status().st_mtim
      if now.tv_sec != time.tv_sec || now.tv_nsec != time.tv_nsec { return }
      usleep(1000)
    }
  }
}
