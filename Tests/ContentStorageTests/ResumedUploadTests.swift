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
    bytes = Data(TestBytes.varied(3 << 20))
    film = Content(digest: SHA256Digest.of(bytes), size: Int64(bytes.count))
  }

  private func temporaries() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: store.directory + "/temporary")
  }

  @Test func `an upload goes on where an interrupted one ended`() throws {
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

  /// The second upload is that of another coordinator, or of the same worker over a connection that is not known to be
  /// dead.
  @Test func `a second upload at the same time has a file of its own`() throws {
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

  /// A coordinator with the store, on a disk of 8 MiB that has nothing but the uploads.
  private func coordinator() throws -> ContentStore {
    try ContentStore(directory: store.directory) { folder in
      Directories.files(in: folder + "/temporary").reduce(8 << 20) { $0 - $1.allocatedSize }
    }
  }

  /// Begins to upload content of which nothing but its size counts.
  private func reserve(_ name: String, _ mebibytes: Int64, at store: ContentStore) throws -> ContentUpload {
    let upload = try store.upload(Content(digest: SHA256Digest.of(name.utf8), size: mebibytes << 20))
    try upload.reserve(leaving: 1 << 20)
    return upload
  }

  private func leaveRemains(_ name: String, hoursAgo: Int) throws -> String {
    let content = Content(digest: SHA256Digest.of(name.utf8), size: 4 << 20)
    do { try store.upload(content).write(bytes[..<part]) }
    let path = store.partialPath(of: content.digest)
    let times = Array(repeating: timespec(tv_sec: time(nil) - hoursAgo * 3600, tv_nsec: 0), count: 2)
    #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
    return path
  }

  private func exist(_ paths: [String]) -> [Bool] { paths.map { access($0, F_OK) == 0 } }

  /// Uploads at the same time must not count on the same space, whichever coordinator they come to.
  @Test func `uploads reserve the space that they will write on the disk`() throws {
    let (first, second) = (try coordinator(), try coordinator())
    let upload = try reserve("a", 5, at: first)
    #expect(try second.availableBytes() == 3 << 20)
    let error = #expect(throws: ContentStoreError.self) { try reserve("b", 5, at: second) }
    #expect(error?.code == .outOfSpace)
    #expect(
      error?.description
        == "the disk has 3 MiB left beside other uploads, and 1 MiB must stay free beside the 5 MiB of this one")
    try upload.write(bytes[..<part])
    #expect(try second.availableBytes() == 3 << 20, "what is written was reserved")
    upload.keep()
    #expect(try second.availableBytes() == 6 << 20, "what it has not written is free")
    let other = try reserve("b", 5, at: second)
    #expect(throws: ContentStoreError.self) { try reserve("a", 5, at: first) }
    other.discard()
    // A program that another test starts has the file, and so its lock, until it is executed.
    var again = try reserve("a", 5, at: first)
    while again.resumed != part {
      again.discard()
      usleep(1000)
      again = try reserve("a", 5, at: first)
    }
    #expect(again.resumed == part)
    #expect(throws: ContentStoreError.self) { try reserve("c", .max >> 20, at: first) }
  }

  @Test func `what interrupted uploads left goes when the room is needed`() throws {
    let store = try coordinator()
    let remains = [try leaveRemains("young", hoursAgo: 1), try leaveRemains("old", hoursAgo: 2)]
    let open = try store.upload(film)
    try open.write(bytes[..<part])
    // 2 MiB are free.
    let upload = try reserve("a", 3, at: store)
    #expect(exist(remains) == [true, false])
    #expect(throws: ContentStoreError.self) { try reserve("b", 5, at: store) }
    #expect(exist(remains) == [true, false], "it would not have been enough")
    upload.discard()
    _ = try reserve("b", 5, at: store)
    #expect(exist(remains) == [false, false])
    try open.write(bytes[part...])
    try open.finish()
    #expect(store.contains(film), "an open upload keeps what it has written")
  }

  @Test func `damaged remains are removed and the upload may be repeated`() throws {
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

  @Test func `remains that are longer than the content are not used`() throws {
    do { try store.upload(film).write(bytes[..<part]) }
    let shorter = try store.upload(Content(digest: film.digest, size: 1 << 20))
    #expect(shorter.resumed == 0)
  }
}
