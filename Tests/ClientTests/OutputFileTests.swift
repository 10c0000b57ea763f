import ContentStorage
import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Client

struct OutputFileTests {
  private let folder: TemporaryFolder
  private let digest = SHA256Digest.of("the film".utf8)

  init() throws {
    folder = try TemporaryFolder()
  }

  private func contents() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
  }

  private func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.url.appendingPathComponent(name)), as: UTF8.self)
  }

  @Test func `the film appears complete and replaces an older file`() throws {
    _ = try folder.write(Data("an older film".utf8), "film.mov")
    let output = try OutputFile(folder.path("film.mov"))
    try output.open().write(Array("the film".utf8))
    #expect(try read("film.mov") == "an older film")
    try output.commit(digest)
    #expect(try read("film.mov") == "the film")
    #expect(try contents() == ["film.mov"])
  }

  @Test(arguments: [true, false]) func `a symbolic link stays and its file is written`(exists: Bool) throws {
    try Directories.make(folder.path("disk"))
    if exists { _ = try folder.write(Data("an older film".utf8), "disk/film.mov") }
    #expect(symlink("disk/film.mov", folder.path("second")) == 0)
    #expect(symlink(folder.path("second"), folder.path("first")) == 0)
    let output = try OutputFile(folder.path("first"))
    try output.open().write(Array("the film".utf8))
    try output.commit(digest)
    #expect(try read("disk/film.mov") == "the film" && read("first") == "the film")
    #expect(try contents() == ["disk", "first", "second"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("second")) == "disk/film.mov")
  }

  @Test func `a folder that takes no files is refused at once`() throws {
    let error = #expect(throws: CommandFailure.self) { try OutputFile("/proc/film.mov") }
    #expect(error?.code == .document)
    #expect(error?.message.contains("/proc/film.mov") == true, "\(error?.message ?? "")")
  }

  @Test func `an unfinished film leaves nothing`() throws {
    do {
      let output = try OutputFile(folder.path("film.mov"))
      try output.open().write(Array("the f".utf8))
      #expect(throws: ContentStoreError.self) { try output.commit(digest) }
    }
    #expect(try contents().isEmpty)
  }

  private func device(_ folder: String) throws -> dev_t {
    var status = stat()
    try #require(stat(folder, &status) == 0)
    return status.st_dev
  }

  @Test func `a finished object is taken`() throws {
    let object = try folder.write(Data("the film".utf8), "object")
    try OutputFile(folder.path("film.mov")).take(object, digest: digest)
    #expect(try read("film.mov") == "the film")
    // On another disk, by copying.
    let device = try device(folder.url.path)
    let place = try ["/dev/shm", "/var/tmp"].first {
      try access($0, W_OK) == 0 && self.device($0) != device
    }
    if let place {
      let other = "\(place)/sheaf-test-\(UInt64.random(in: .min ... .max)).mov"
      defer { unlink(other) }
      try OutputFile(other).take(object, digest: digest)
      #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == Data("the film".utf8))
    }
    let error = #expect(throws: ContentStoreError.self) {
      try OutputFile(folder.path("film2.mov")).take(folder.path("gone"), digest: digest)
    }
    #expect(error?.code == .missing)
    #expect(try contents() == ["film.mov", "object"])
  }

  /// A film that was copied stays in the store, and is the output by another name.
  @Test func `an output that is the film itself is checked and left`() throws {
    let object = try folder.write(Data("the film".utf8), "object")
    let contents = FileContentCache()
    for _ in 0..<2 {
      let output = try OutputFile(folder.path("film.mov"))
      output.readAhead(contents)
      try output.take(object, digest: digest, contents: contents)
      #expect(try read("film.mov") == "the film")
      #expect(try self.contents() == ["film.mov", "object"])
    }
    func inode(_ name: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: folder.path(name))[.systemFileNumber] as? Int
    }
    #expect(try inode("film.mov") == inode("object"))
    // Another program has written into it, and so into the store.
    let handle = try #require(FileHandle(forUpdatingAtPath: folder.path("film.mov")))
    try handle.write(contentsOf: Data("THE".utf8))
    let error = #expect(throws: ContentStoreError.self) {
      try OutputFile(folder.path("film.mov")).take(object, digest: digest, contents: contents)
    }
    #expect(error?.code == .mismatch)
  }

  @Test func `a path that cannot be written is found before the work`() throws {
    let file = try folder.write(Data(), "file")
    for (path, words) in [
      (folder.path("no/film.mov"), "the output's folder \(folder.path("no")) does not exist"),
      (file + "/film.mov", "is not a folder"), (folder.url.path, "exists and is not a regular file"),
      ("/dev/null", "exists and is not a regular file"),
    ] {
      let error = #expect(throws: CommandFailure.self) { try OutputFile(path) }
      #expect(error?.code == .document && error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
  }

  // MARK: Downloads

  private let film = Array("the film that is fetched".utf8)
  private var content: Content { Content(digest: .of(film), size: Int64(film.count)) }
  private var part: String { ".film.mov.\(content.digest.hex).part" }

  /// Fetches the film from its bytes. Returns where the reads began.
  @discardableResult
  private func fetch(_ bytes: [UInt8]? = nil) async throws -> [Int64] {
    let reads = Recorder<Int64>()
    let bytes = bytes ?? film
    try await OutputFile(folder.path("film.mov")).download(content) { offset, length in
      reads.add(offset)
      return Data(bytes[Int(offset)..<Int(offset) + length])
    }
    return reads.all
  }

  @Test func `another fetch goes on with what is there`() async throws {
    _ = try folder.write(Data(film.prefix(9)), part)
    #expect(try await fetch() == [9])
    #expect(try read("film.mov") == "the film that is fetched")
    #expect(try contents() == ["film.mov"])
  }

  @Test func `damaged bytes of an interrupted fetch are fetched again`() async throws {
    _ = try folder.write(Data("THE".utf8), part)
    #expect(try await fetch() == [3, 0])
    #expect(try read("film.mov") == "the film that is fetched")
    // As long as the film, or longer.
    for damaged in [film.map { $0 ^ 1 }, film + film] {
      _ = try folder.write(Data(damaged), part)
      #expect(try await fetch() == [0])
      #expect(try read("film.mov") == "the film that is fetched")
    }
  }

  @Test func `a film with other bytes is never the output`() async throws {
    let error = await #expect(throws: ContentStoreError.self) { try await fetch(film.map { $0 ^ 1 }) }
    #expect(error?.code == .mismatch)
    #expect(try contents().isEmpty)
  }

  @Test func `what was fetched stays and nothing is left of nothing`() async throws {
    let (size, chunk) = (Int64(3 * WireProtocol.maximumChunk), Int64(WireProtocol.maximumChunk))
    let content = Content(digest: digest, size: size)
    for (end, left) in [(chunk, [".film.mov.\(digest.hex).part"]), (0, [])] {
      let output = try OutputFile(folder.path("film.mov"))
      let written = Recorder<Int64>()
      await #expect(throws: WireError.self) {
        let read: OutputFile.Read = { offset, length in
          if offset < end { return Data(count: length) }
          // The bytes before it are on the disk.
          if end > 0 { await written.wait { $0.contains(end) } }
          throw WireError(.closed, "gone")
        }
        try await output.download(content, progress: { written.add($0.done) }, read: read)
      }
      #expect(try contents() == left)
      for name in left { try FileManager.default.removeItem(atPath: folder.path(name)) }
    }
  }

  @Test func `what is left of other films is removed unless a process fetches it`() async throws {
    let names = (0..<2).map { ".film.mov.\(SHA256Digest.of("\($0)".utf8).hex).part" }
    let others = ["\(names[0].dropLast(5))", ".other.mov.\(digest.hex).part", ".film.mov.notes.part"]
    for name in names + others { _ = try folder.write(Data(), name) }
    let fetching = try OpenFile.open(folder.path(names[1]), O_RDWR)
    #expect(flock(fetching.descriptor, LOCK_EX) == 0)
    try await fetch()
    #expect(try contents() == ([names[1], "film.mov"] + others).sorted())
  }

  @Test func `two processes do not fetch the same film to one path`() async throws {
    _ = try folder.write(Data(film.prefix(9)), part)
    let fetching = try OpenFile.open(folder.path(part), O_RDWR)
    #expect(flock(fetching.descriptor, LOCK_EX) == 0)
    let error = await #expect(throws: CommandFailure.self) { try await fetch() }
    #expect(error?.message.contains("another process") == true)
    #expect(try contents() == [part])
  }

  @Test func `a name as long as a disk allows can be fetched`() async throws {
    let name = String(repeating: "ä", count: 120) + ".mov"
    let bytes = film
    try await OutputFile(folder.path(name)).download(content) { offset, length in
      Data(bytes[Int(offset)..<Int(offset) + length])
    }
    #expect(try contents() == [name])
  }
}
