import Digest
import FoundationEssentials
import Glibc
import TestPrograms
import Testing

@testable import Coordinator

struct OutputFileTests {
  private let folder: TemporaryFolder
  private let digest = SHA256Digest.of("the film".utf8)

  init() throws {
    folder = try TemporaryFolder()
  }

  private func contents() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  private func read(_ name: String) throws -> String {
    String(decoding: try FileBytes.read(folder.path + "/" + name, limit: 1000), as: UTF8.self)
  }

  @Test func theFilmAppearsWholeAndReplacesWhatWasThere() throws {
    _ = try folder.write("an older film".utf8, to: "film.mov")
    let output = try OutputFile(folder.path + "/film.mov")
    let file = try output.open()
    try FileBytes.write(Array("the film".utf8), to: file, name: "film")
    #expect(try read("film.mov") == "an older film")
    try output.commit(digest)
    #expect(try read("film.mov") == "the film")
    #expect(try contents() == ["film.mov"])
  }

  @Test func aPlaceThatTakesNoFilesIsRefusedAtOnce() throws {
    let error = #expect(throws: CommandFailure.self) { try OutputFile("/proc/film.mov") }
    #expect(error?.code == .document)
    #expect(error?.message.contains("/proc/film.mov") == true, "\(error?.message ?? "")")
  }

  @Test func whatIsNotFinishedLeavesNothing() throws {
    do {
      let output = try OutputFile(folder.path + "/film.mov")
      let file = try output.open()
      try FileBytes.write(Array("the f".utf8), to: file, name: "film")
      #expect(throws: VaultError.self) { try output.commit(digest) }
    }
    #expect(try contents().isEmpty)
  }

  @Test func aFinishedObjectIsTakenOver() throws {
    let object = try folder.write("the film".utf8, to: "object")
    try OutputFile(folder.path + "/film.mov").take(object, digest: digest)
    #expect(try read("film.mov") == "the film")
    // And from another disk, by copying.
    if Glibc.access("/dev/shm", W_OK) == 0 {
      let other = "/dev/shm/sheaf-test-\(UInt64.random(in: .min ... .max)).mov"
      defer { unlink(other) }
      try OutputFile(other).take(object, digest: digest)
      #expect(try FileBytes.read(other, limit: 100) == Array("the film".utf8))
    }
    let error = #expect(throws: VaultError.self) {
      try OutputFile(folder.path + "/film2.mov").take(folder.path + "/gone", digest: digest)
    }
    #expect(error?.code == .missing)
    #expect(try contents() == ["film.mov", "object"])
  }

  @Test func whatCannotBeWrittenIsFoundBeforehand() throws {
    let file = try folder.write("".utf8, to: "file")
    for (path, words) in [
      (folder.path + "/no/film.mov", "the output's folder \(folder.path)/no does not exist"),
      (file + "/film.mov", "is not a folder"), (folder.path, "is there and is not a regular file"),
      ("/dev/null", "is there and is not a regular file"),
    ] {
      let error = #expect(throws: CommandFailure.self) { try OutputFile(path) }
      #expect(error?.code == .document && error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
  }
}
