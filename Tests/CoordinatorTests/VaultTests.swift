import Digest
import FoundationEssentials
import Glibc
import Jobs
import TestPrograms
import Testing
import Wire

@testable import Coordinator

struct VaultTests {
  private let folder: TemporaryFolder
  private let vault: Vault

  init() throws {
    folder = try TemporaryFolder()
    vault = try Vault(directory: folder.path + "/vault")
  }

  private func temporaries() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: vault.directory + "/temporary")
  }

  private func put(_ text: String) throws -> SHA256Digest {
    let digest = SHA256Digest.of(text.utf8)
    let upload = try vault.begin(digest: digest, size: Int64(text.utf8.count))
    try upload.write(Data(text.utf8))
    try upload.finish()
    return digest
  }

  @Test func whatIsNotWhatItsNameSaysIsRemoved() throws {
    let digest = SHA256Digest.of("whole".utf8)
    #expect(try !vault.removeIfDamaged(digest), "it is not there")
    try Vault.makeDirectories(String(vault.path(of: digest).dropLast(65)))
    try Data("whole".utf8).write(to: URL(fileURLWithPath: vault.path(of: digest)))
    #expect(try !vault.removeIfDamaged(digest))
    #expect(vault.size(of: digest) == 5)
    try Data("whale".utf8).write(to: URL(fileURLWithPath: vault.path(of: digest)))
    #expect(try vault.removeIfDamaged(digest))
    #expect(vault.size(of: digest) == nil)
  }

  @Test func anObjectIsThereWhenItIsWhole() throws {
    let digest = SHA256Digest.of("abc".utf8)
    let upload = try vault.begin(digest: digest, size: 3)
    try upload.write(Data("ab".utf8))
    #expect(vault.size(of: digest) == nil)
    try upload.write(Data("c".utf8))
    #expect(vault.size(of: digest) == nil)
    try upload.finish()
    #expect(vault.size(of: digest) == 3)
    #expect(try vault.read(digest, limit: 10) == Array("abc".utf8))
    #expect(try temporaries().isEmpty)
    #expect(
      vault.path(of: digest)
        == "\(vault.directory)/objects/ba/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test func whatIsShortLongOrElseIsNotTaken() throws {
    let digest = SHA256Digest.of("abc".utf8)
    let short = try vault.begin(digest: digest, size: 3)
    try short.write(Data("ab".utf8))
    #expect(throws: VaultError(.mismatch, "the upload has 2 bytes where 3 were announced")) { try short.finish() }
    short.discard()
    let long = try vault.begin(digest: digest, size: 3)
    #expect(throws: VaultError(.mismatch, "the upload is longer than the 3 bytes that were announced")) {
      try long.write(Data("abcd".utf8))
    }
    long.discard()
    let other = try vault.begin(digest: digest, size: 3)
    try other.write(Data("abd".utf8))
    #expect(throws: VaultError(.mismatch, "the upload is not what its digest says")) { try other.finish() }
    other.discard()
    #expect(vault.size(of: digest) == nil)
    #expect(try temporaries().isEmpty)
  }

  @Test func manyMayUploadTheSameAtOnce() async throws {
    let text = String(repeating: "sheaf ", count: 100_000)
    let digest = SHA256Digest.of(text.utf8)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { [vault] in
          let upload = try vault.begin(digest: digest, size: Int64(text.utf8.count))
          for part in stride(from: 0, to: text.utf8.count, by: 50_000) {
            try upload.write(Data(Array(text.utf8)[part..<min(part + 50_000, text.utf8.count)]))
          }
          try upload.finish()
        }
      }
      try await group.waitForAll()
    }
    #expect(vault.size(of: digest) == 600_000)
    #expect(try temporaries().isEmpty)
  }

  @Test func anUploadThatIsDroppedLeavesNothing() throws {
    do {
      let upload = try vault.begin(digest: SHA256Digest.of("abc".utf8), size: 3)
      try upload.write(Data("ab".utf8))
      #expect(try temporaries().count == 1)
    }
    #expect(try temporaries().isEmpty)
  }

  @Test func onlyOldLeftoversOfACrashAreClearedAway() throws {
    let old = try folder.write("old".utf8, to: "vault/temporary/1-old")
    _ = try folder.write("young".utf8, to: "vault/temporary/2-young")
    var times = [timespec(tv_sec: time(nil) - 7200, tv_nsec: 0), timespec(tv_sec: time(nil) - 7200, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, old, &times, 0) == 0)
    _ = try Vault(directory: vault.directory)
    #expect(try temporaries() == ["2-young"])
  }

  @Test func aResultIsFoundWhileItsObjectIsThere() throws {
    let fingerprint = SHA256Digest.of("a task".utf8)
    let digest = try put("a piece")
    #expect(vault.result(of: fingerprint) == nil)
    let content = Content(digest: digest.hex, size: 7)
    try vault.note(content, for: fingerprint)
    #expect(vault.result(of: fingerprint) == content)
    // Cut short, or gone: no hit.
    #expect(truncate(vault.path(of: digest), 6) == 0)
    #expect(vault.result(of: fingerprint) == nil)
    vault.remove(digest)
    #expect(vault.result(of: fingerprint) == nil)
  }

  @Test(arguments: ["", "nonsense", "abc -1 x", "../../etc/passwd 5"])
  func anIndexEntryThatIsTornIsNoHit(entry: String) throws {
    let fingerprint = SHA256Digest.of("a task".utf8)
    try vault.note(Content(digest: SHA256Digest.of("".utf8).hex, size: 0), for: fingerprint)
    _ = try folder.write(entry.utf8, to: "vault/fingerprints/\(fingerprint.hex.prefix(2))/\(fingerprint.hex)")
    #expect(vault.result(of: fingerprint) == nil)
  }

  @Test func aFolderThatCannotBeMadeIsSaid() throws {
    let file = try folder.write("".utf8, to: "file")
    let error = #expect(throws: VaultError.self) { try Vault(directory: file + "/vault") }
    #expect(error?.description == "making the folder \(file)/vault failed: Not a directory")
  }

  @Test func aFullDiskIsSaidAsSuch() {
    for code in [ENOSPC, EDQUOT, EFBIG] {
      let error = VaultError.system("writing to the vault", errno: code)
      #expect(error.code == .outOfSpace && error.description.hasPrefix("no space left on the device"))
    }
  }
}
