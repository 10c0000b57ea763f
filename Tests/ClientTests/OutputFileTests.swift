import ContentStorage
import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

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

  @Test func theFilmAppearsCompleteAndReplacesAnOlderFile() throws {
    _ = try folder.write(Data("an older film".utf8), "film.mov")
    let output = try OutputFile(folder.path("film.mov"))
    try output.open().write(Array("the film".utf8))
    #expect(try read("film.mov") == "an older film")
    try output.commit(digest)
    #expect(try read("film.mov") == "the film")
    #expect(try contents() == ["film.mov"])
  }

  @Test func aFolderThatTakesNoFilesIsRefusedAtOnce() throws {
    let error = #expect(throws: CommandFailure.self) { try OutputFile("/proc/film.mov") }
    #expect(error?.code == .document)
    #expect(error?.message.contains("/proc/film.mov") == true, "\(error?.message ?? "")")
  }

  @Test func anUnfinishedFilmLeavesNothing() throws {
    do {
      let output = try OutputFile(folder.path("film.mov"))
      try output.open().write(Array("the f".utf8))
      #expect(throws: ContentStoreError.self) { try output.commit(digest) }
    }
    #expect(try contents().isEmpty)
  }

  @Test func aFinishedObjectIsTaken() throws {
    let object = try folder.write(Data("the film".utf8), "object")
    try OutputFile(folder.path("film.mov")).take(object, digest: digest)
    #expect(try read("film.mov") == "the film")
    // On another disk, by copying.
    if Glibc.access("/dev/shm", W_OK) == 0 {
      let other = "/dev/shm/sheaf-test-\(UInt64.random(in: .min ... .max)).mov"
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

  @Test func aPathThatCannotBeWrittenIsFoundBeforeTheWork() throws {
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
}
