import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

@testable import ContentStorage

/// The block digests of stored content and of files under the media root.
struct BlockListTests {
  private let folder: TemporaryFolder
  private let locator: ContentLocator
  private let film: Data
  private let list: BlockDigests

  init() throws {
    folder = try TemporaryFolder(in: MappedFile.folder)
    try Directories.make(folder.path("media"))
    locator = try Self.open(folder)
    film = Data(TestBytes.varied((3 << 20) + 5))
    list = try OpenFile.open(folder.write(film, "film")).blockDigests()
  }

  /// What a coordinator has that was started a moment ago.
  private static func open(_ folder: TemporaryFolder) throws -> ContentLocator {
    let store = try ContentStore(directory: folder.path("store"))
    // The files of the tests are not too young to be known.
    let contents = FileContentCache(directory: folder.path("store"), lists: store.blocks) {
      timespec(tv_sec: time(nil) + 3600, tv_nsec: 0)
    }
    return try ContentLocator(store: store, mediaRoot: folder.path("media"), contents: contents)
  }

  private var store: ContentStore { locator.store }
  private var digest: SHA256Digest { list.content.digest }

  private func upload() throws {
    let upload = try store.upload(list.content)
    try upload.write(film)
    try upload.finish()
  }

  /// Writes 20 kB into the middle of a file, as a disk or a program that is at fault does.
  private func overwrite(_ path: String) throws {
    let file = try OpenFile.open(path, O_RDWR)
    try [UInt8](repeating: 7, count: 20_000).withUnsafeBytes { bytes in
      Result { () throws(SystemError) in try file.write(bytes, at: 1_000_000) }
    }.get()
  }

  private func path(ofList digest: SHA256Digest) -> String {
    "\(store.directory)/blocks/\(digest.hex.prefix(2))/\(digest.hex)"
  }

  @Test func `an upload makes the list by which wrong bytes are found`() throws {
    try upload()
    try overwrite(store.path(of: digest))
    // Nothing shows it when the bytes are read, and the list is that of the bytes that were uploaded.
    let sent = try locator.read(digest, offset: 3 * 262_144, length: 262_144)
    let digests = try locator.readBlocks(digest, offset: 3 * 32, length: 32)
    #expect(Array(digests) == Array(list[3..<4]))
    #expect(sent.withUnsafeBytes { list.firstMismatch(in: $0, from: 3) } == 3)
    #expect(try locator.readBlocks(digest, offset: 0, length: 1 << 20) == Data(list.bytes))
    #expect(try locator.readBlocks(digest, offset: 1 << 40, length: 1) == Data())
    #expect(try locator.removeIfDamaged(digest))
    #expect(!locator.has(list.content))
    #expect(access(path(ofList: digest), F_OK) != 0)
  }

  @Test func `a resumed upload makes the whole list`() throws {
    do {
      let upload = try store.upload(list.content)
      try upload.write(film.prefix(2_000_000))
    }
    let next = try store.upload(list.content)
    try next.resume()
    try next.write(film.dropFirst(Int(next.resumed)))
    try next.finish()
    #expect(next.resumed == 2_000_000)
    #expect(store.blocks.list(of: list.content) == list)
  }

  /// The store is one that an earlier version wrote, or a disk fault has changed the list.
  @Test(arguments: [nil, 0, 8, 70, 300])
  func `a list that is missing or damaged is made from the whole content`(flipped: Int?) throws {
    try upload()
    let locator = try Self.open(folder)
    if let flipped {
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path(ofList: digest)))
      bytes[flipped] ^= 1
      try bytes.write(to: URL(fileURLWithPath: path(ofList: digest)))
    } else {
      unlink(path(ofList: digest))
    }
    let error = #expect(throws: ContentStoreError.self) { try locator.readBlocks(digest, offset: 0, length: 32) }
    #expect(error?.code == .unverified)
    try locator.verify(digest)
    #expect(try locator.readBlocks(digest, offset: 0, length: 1 << 20) == Data(list.bytes))
    // From wrong bytes no list is made.
    unlink(path(ofList: digest))
    try overwrite(store.path(of: digest))
    let later = try Self.open(folder)
    #expect(throws: ContentStoreError.self) { try later.verify(digest) }
    #expect(!store.contains(list.content), "the damaged object is removed")
  }

  @Test func `a media file that changed without a trace is read again when it is reported`() throws {
    let path = try folder.write(film, "media/film.mov")
    let mapped = try MappedFile(path)
    #expect(locator.has(list.content, hint: path))
    #expect(try locator.readBlocks(digest, offset: 0, length: 1 << 20) == Data(list.bytes), "made in the same pass")
    mapped.invert(1_000_000..<1_020_000)
    #expect(locator.has(list.content), "nothing shows it")
    #expect(try !locator.removeIfDamaged(digest), "it is not the store's")
    #expect(!locator.has(list.content))
    #expect(throws: ContentStoreError.self) { try locator.read(digest, offset: 0, length: 1, verifying: true) }
    mapped.invert(1_000_000..<1_020_000)
    #expect(try !locator.removeIfDamaged(digest))
    #expect(locator.has(list.content))
  }

  @Test func `a digest that is forgotten is forgotten by other programs too`() throws {
    let directory = folder.path("cache")
    let cache = { FileContentCache(directory: directory) { timespec(tv_sec: time(nil) + 3600, tv_nsec: 0) } }
    let file = try OpenFile.open(folder.path("film"))
    #expect(try cache().content(of: file) == list.content)
    #expect(try cache().knownContent(of: file) == list.content)
    cache().forget(try FileIdentity(of: file))
    #expect(try cache().knownContent(of: file) == nil)
    #expect(try cache().content(of: file) == list.content)
    #expect(try cache().knownContent(of: file) == list.content)
  }

  @Test func `a damaged small object is not read`() throws {
    let small = content("a description")
    let upload = try store.upload(small)
    try upload.write(Data("a description".utf8))
    try upload.finish()
    try Data("a DESCRIPTION".utf8).write(to: URL(fileURLWithPath: store.path(of: small.digest)))
    let error = #expect(throws: ContentStoreError.self) { try store.read(small.digest, limit: 100) }
    #expect(error?.code == .missing && !store.contains(small))
  }

  @Test func `lists go with their content`() throws {
    try upload()
    let media = Data(repeating: 5, count: 600_000)
    let shared = try OpenFile.open(folder.write(media, "media/other.mov")).blockDigests()
    #expect(locator.has(shared.content, hint: folder.path("media/other.mov")))
    let gone = BlockDigests(Content(digest: .of([1]), size: 600_000), bytes: shared.bytes)
    store.blocks.save(try #require(gone))
    let later = Double(time(nil)) + 10_000
    _ = try store.trim(to: 1 << 40, keeping: [], at: later)
    #expect(access(path(ofList: digest), F_OK) == 0 && access(path(ofList: shared.content.digest), F_OK) == 0)
    #expect(access(path(ofList: .of([1])), F_OK) != 0, "there is no such content")
    _ = try store.trim(to: 0, keeping: [], at: later + 10_000)
    #expect(access(path(ofList: digest), F_OK) != 0)
  }
}
