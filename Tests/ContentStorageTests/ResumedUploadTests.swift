import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

@testable import ContentStorage

struct ResumedUploadTests {
  private let folder: TemporaryFolder
  private let store: ContentStore
  private let bytes: Data
  private let film: Content
  private let part = 2 << 20

  init() throws {
    folder = try TemporaryFolder()
    store = try ContentStore(directory: folder.path("store"))
    bytes = Data((0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    film = Content(digest: SHA256Digest.of(bytes), size: Int64(bytes.count))
  }

  private func temporaries() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: store.directory + "/temporary")
  }

  @Test func anUploadGoesOnWhereAnInterruptedOneEnded() throws {
    do { try store.upload(film).write(bytes[..<part]) }
    let upload = try store.upload(film)
    #expect(upload.resumed == part)
    try upload.resume()
    #expect(upload.received == part)
    try upload.write(bytes[part...])
    try upload.finish()
    #expect(try store.read(film.digest, limit: bytes.count) == [UInt8](bytes))
    #expect(try temporaries().isEmpty)
  }

  /// Of another coordinator, or the same worker over a connection that is not known to be dead.
  @Test func aSecondUploadAtTheSameTimeHasAFileOfItsOwn() throws {
    let first = try store.upload(film)
    try first.write(bytes[..<part])
    let second = try ContentStore(directory: store.directory).upload(film)
    #expect(second.resumed == 0)
    try second.write(bytes)
    try second.finish()
    try first.write(bytes[part...])
    try first.finish()
    #expect(store.contains(film))
    #expect(try temporaries().isEmpty)
  }

  /// Uploads at the same time must not count on the same space. What remains free is far more than other programs use.
  @Test func uploadsReserveTheSpaceThatTheyWillWrite() throws {
    let available = try store.availableBytes()
    let half = Content(digest: film.digest, size: available / 2)
    func reserve(_ content: Content) throws -> ContentUpload {
      let upload = try store.upload(content)
      try upload.reserve(leaving: available / 4)
      return upload
    }
    do {
      let first = try reserve(half)
      let error = #expect(throws: ContentStoreError.self) { try reserve(half) }
      #expect(error?.code == .outOfSpace)
      first.discard()
      try reserve(half).keep()
      _ = try reserve(half)
    }
    let upload = try reserve(film)
    try upload.write(bytes)
    try upload.finish()
    _ = try reserve(half)
  }

  @Test func damagedRemainsAreRemovedAndTheUploadMayBeRepeated() throws {
    do { try store.upload(film).write(bytes[..<part]) }
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: store.partialPath(of: film.digest)))
    try file.write(contentsOf: Data("damage".utf8))
    try file.close()
    let upload = try store.upload(film)
    try upload.resume()
    try upload.write(bytes[part...])
    let error = #expect(throws: ContentStoreError.self) { try upload.finish() }
    #expect(error?.code == .interrupted)
    let again = try store.upload(film)
    #expect(again.resumed == 0)
    try again.write(bytes)
    try again.finish()
    #expect(store.contains(film))
  }

  @Test func remainsThatAreLongerThanTheContentAreNotUsed() throws {
    do { try store.upload(film).write(bytes[..<part]) }
    let shorter = try store.upload(Content(digest: film.digest, size: 1 << 20))
    #expect(shorter.resumed == 0)
  }
}
