import Digest
import Foundation
import Logging
import Media
import Runtime
import Synchronization
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Worker

/// Content over the wire: what is fetched, when, how often, and what is kept.
@Suite(.timeLimit(.minutes(10)))
struct ContentCacheTests {
  private let folder: TemporaryFolder
  private let source: Source
  private let content: Content

  init() throws {
    folder = try TemporaryFolder()
    source = Source(size: 40 * Int(ContentBlock.size) - 1000)
    content = Content(digest: .of(source.data), size: Int64(source.data.count))
  }

  @Test
  func `a read in the middle fetches what it needs, one from the start reads ahead`() async throws {
    let partial = try partial()
    try await partial.ensure(block(20), from: source.read)
    #expect(source.requests == [block(20)])
    try await partial.ensure(block(20), from: source.read)
    #expect(source.requests.count == 1, "it is there")
    try await partial.ensure(block(21), from: source.read)
    // What is read ahead comes on its own: ask for its end to see it.
    try await partial.ensure(bytes(22..<38), from: source.read)
    let before = source.requests.count
    #expect(source.requests.allSatisfy { $0.count <= 4 * Int(ContentBlock.size) })
    #expect(before < 12, "in large parts")
    #expect(source.requests.allSatisfy { $0.lowerBound >= block(20).lowerBound }, "nothing of what lies before")
    #expect(try read(partial, bytes(20..<38)) == source.part(bytes(20..<38)))
  }

  @Test
  func `many reads of the same block at the same time cause one request`() async throws {
    let partial = try partial()
    source.hold()
    try await withThrowingTaskGroup { group in
      for _ in 0..<20 { group.addTask { try await partial.ensure(block(30), from: source.read) } }
      await source.awaitRequest()
      source.release()
      try await group.waitForAll()
    }
    #expect(source.requests == [block(30)])
  }

  @Test
  func `a request that fails fails those who wait, and the next one tries again`() async throws {
    let partial = try partial()
    source.break(with: ContentError("gone"))
    await #expect(throws: ContentError("gone")) { try await partial.ensure(block(3), from: source.read) }
    source.break(with: nil)
    try await partial.ensure(block(3), from: source.read)
    #expect(try read(partial, block(3)) == source.part(block(3)))
  }

  @Test
  func `complete content is kept under its digest, and found again by the next agent`() async throws {
    let cache = try cache()
    #expect(try await cache.complete(content) == nil)
    let partial = try await cache.partial(content)
    try await partial.ensure(0..<content.size, from: source.read)
    await cache.release(partial)
    let input = try #require(try await cache.complete(content))
    #expect(try input.file.content().digest == content.digest)
    #expect(input.isVerified, "it was digested when it came")
    #expect(try await self.cache().complete(content) != nil)
    #expect(source.fetched == source.data.count, "every byte came once")
  }

  @Test
  func `a cache folder that is removed while a task reads is made again, and keeps what comes`() async throws {
    let directory = folder.path("cache/of/worker")
    let verifier = FileVerifier(directory: directory)
    let cache = try ContentCache(directory: directory, byteLimit: 1 << 30, verifier: verifier)
    let other = Source(size: 3 * Int(ContentBlock.size), seed: 7)
    let next = Content(digest: .of(other.data), size: Int64(other.data.count))
    let partial = try await cache.partial(content)
    try await partial.ensure(block(0), from: source.read)
    try FileManager.default.removeItem(atPath: folder.path("cache"))
    let second = try await cache.partial(next)
    try await second.ensure(0..<next.size, from: other.read)
    try FileManager.default.removeItem(atPath: folder.path("cache"))
    try await partial.ensure(0..<content.size, from: source.read)
    #expect(try await cache.complete(content) != nil)
    try FileManager.default.removeItem(atPath: folder.path("cache"))
    #expect(try cache.unnamedFile().isLinkable == partial.isLinkable, "the output of a task")
    for name in ["", "/content", "/work"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: directory + name)
      #expect(attributes[.posixPermissions] as? Int == 0o700, "\(name)")
    }
  }

  @Test
  func `a cache folder that cannot be made is named, with what to do`() async throws {
    let directory = folder.path("cache")
    let cache = try ContentCache(
      directory: directory, byteLimit: 1 << 30, verifier: FileVerifier(directory: directory))
    try FileManager.default.removeItem(atPath: directory)
    _ = try folder.write(Data(), "cache")
    let error = await #expect(throws: UnusableCache.self) { _ = try await cache.partial(content) }
    #expect(
      error?.description
        == """
        the worker's cache folder \(directory) cannot be used (making the folder \(directory) failed: Not a directory): \
        let the worker's user make and write it, or start the worker with another --cache
        """)
  }

  @Test
  func `a kept file that has changed is noticed while it is read, and then dropped`() async throws {
    let cache = try cache()
    let partial = try await cache.partial(content)
    try await partial.ensure(0..<content.size, from: source.read)
    let path = "\(folder.url.path)/content/\(content.digest.hex)"
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.seek(toOffset: 5)
    try handle.write(contentsOf: Data([source.data[5] ^ 1]))
    try handle.close()
    let next = try self.cache()
    let changed = try #require(try await next.complete(content))
    let problem = try #require(await changed.problem())
    #expect(problem.description.contains("has the digest") && problem.damaged == nil, "\(problem)")
    while try await next.complete(content) != nil { await Task.yield() }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test
  func `bytes that cannot be cached because the disk is full are this worker's failure, not the content's`()
    async throws
  {
    let full = PartialContent(
      content, file: try OpenFile.open("/dev/full", O_RDWR), isLinkable: false, requests: AsyncSemaphore(capacity: 8))
    let error = await #expect(throws: SystemError.self) { try await full.ensure(block(0), from: source.read) }
    #expect(error?.isOutOfSpace == true)
  }

  @Test
  func `content that the coordinator does not have is named in the error`() async throws {
    let partial = try partial()
    let error = await #expect(throws: ContentError.self) {
      try await partial.ensure(block(0), from: .failing(WireError(.content, "no such content")))
    }
    #expect(error?.damaged == content.digest && error?.description.contains("no such content") == true)
  }

  @Test
  func `a file is read while it is used, and not again by the next agent`() async throws {
    let path = Place.media("friday.mp4").path
    let film = Content(digest: try OpenFile.open(path).content().digest, size: try OpenFile.open(path).content().size)
    let root = try MediaRoot(Place.media("").path)
    let cache = try cache()
    let input = InputContent(content: film, path: "friday.mp4")

    let verifier = FileVerifier(directory: folder.url.path)
    let opener = InputOpener(mediaRoot: root, cache: cache, verifier: verifier, logger: Logger(label: "test"))
    // No thread is free to read it: the task begins all the same.
    let opened = try await HeldThreads.withAll(of: .hashing) {
      let opened = try await opener.open(input)
      #expect(!opened.isVerified && verifier.liveness.count == 0)
      return opened
    }
    #expect(await opened.problem() == nil)
    #expect(opened.isVerified && verifier.liveness.count > 0)

    let next = FileVerifier(directory: folder.url.path)
    let later = try await InputOpener(mediaRoot: root, cache: cache, verifier: next, logger: Logger(label: "test"))
      .open(input)
    #expect(later.isVerified && next.liveness.count == 0, "its digest was kept")
  }

  @Test
  func `a file that changes while a task reads it is noticed`() async throws {
    _ = try folder.write(source.data, "film")
    let verifier = FileVerifier(directory: folder.url.path)
    let opener = InputOpener(
      mediaRoot: try MediaRoot(folder.url.path), cache: try cache(), verifier: verifier, logger: Logger(label: "test"))
    let opened = try await opener.open(InputContent(content: content, path: "film"))
    #expect(await opened.problem() == nil)
    let handle = try FileHandle(forUpdating: folder.url.appendingPathComponent("film"))
    try handle.write(contentsOf: Data([source.data[0]]))
    try handle.close()
    #expect(await opened.problem()?.description.contains("changed") == true)
  }

  @Test
  func `a cache on a disk that runs full gives up what no task reads`() async throws {
    let cache = try cache()
    let partial = try await cache.partial(content)
    try await partial.ensure(0..<content.size, from: source.read)
    await cache.release(partial)
    // What a task reads stays: to remove it would free nothing, and the file would count as changed.
    let input = try #require(try await cache.complete(content))
    await cache.trim(freeing: content.size)
    #expect(await input.problem() == nil && Directories.files(in: "\(folder.url.path)/content").count == 1)
    await cache.release(input.content)
    let watch = DiskWatch(folder: folder.url.path, minimum: 512 << 20) { [folder] _ in
      Directories.files(in: "\(folder.url.path)/content").isEmpty ? 513 << 20 : 100 << 20
    }
    #expect(await watch.check(cache) == nil)
    #expect(try await cache.complete(content) == nil, "it went")
    let full = DiskWatch(folder: "/var/cache", minimum: 512 << 20) { _ in 100 << 20 }
    #expect(
      await full.check(cache) == "the disk of /var/cache has 100 MiB free; below 0.5 GiB no task is taken")
  }

  @Test
  func `content that comes with another digest is fetched once more, then never again`() async throws {
    let cache = try cache()
    let wrong = Content(digest: .of([1]), size: content.size)
    let partial = try await cache.partial(wrong)
    await #expect(throws: ContentError.self) { try await partial.ensure(0..<wrong.size, from: source.read) }
    await #expect(throws: ContentError.self) { try await partial.ensure(0..<wrong.size, from: source.read) }
    #expect(source.fetched == 2 * source.data.count)
    await #expect(throws: ContentError.self) { try await partial.ensure(block(0), from: source.read) }
    #expect(source.fetched == 2 * source.data.count, "it is not asked for a third time")
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.url.path)/content") == [])
  }

  @Test
  func `a block that comes wrong is not in the file, and the digests of a range come with it`() async throws {
    let partial = try partial()
    let list = BlockDigests.list(of: source.data)
    #expect(try await partial.ensure(bytes(3..<6), from: source.read) == list[3..<6])
    let last = ContentBlock.count(of: content.size) - 1
    source.flip([block(7).lowerBound, block(9).upperBound - 1, content.size - 1].map { Int($0) })
    for wrong in [7, 9, last] {
      let fresh = try self.partial()
      let error = await #expect(throws: ContentError.self) { try await fresh.ensure(block(wrong), from: source.read) }
      let range = block(wrong)
      #expect(error?.damaged == content.digest)
      #expect(error?.description.contains("in \(range.lowerBound)..<\(range.upperBound)") == true, "\(error as Any)")
      #expect(try fresh.file.status().st_size == 0, "nothing was written")
      #expect(await fresh.problem == error)
    }
    // A range across blocks.
    await #expect(throws: ContentError.self) { try await partial.ensure(bytes(5..<8), from: source.read) }
    source.flip([Int(block(7).lowerBound)])
    #expect(try await partial.ensure(bytes(5..<8), from: source.read) == list[5..<8], "it is right the next time")
    #expect(try read(partial, bytes(5..<8)) == source.part(bytes(5..<8)))
  }

  @Test
  func `a list of blocks that is wrong lets no bytes pass, whatever else the coordinator sends`() async throws {
    let right = BlockDigests.list(of: source.data).bytes
    for wrong in [Array(right.dropLast(32)), [], right.map { $0 ^ 1 }] {
      source.send(blocks: wrong)
      let partial = try partial()
      let error = await #expect(throws: ContentError.self) { try await partial.ensure(block(0), from: source.read) }
      #expect(error?.damaged == content.digest, "\(error as Any)")
    }
    // A list that fits wrong bytes does not outlive the whole: its digest cannot be forged.
    let forged = Data(source.data.map { $0 ^ 1 })
    let cache = try cache()
    let partial = try await cache.partial(content)
    let liar = ContentReader { _, offset, length in
      forged.subdata(in: Int(offset)..<min(forged.count, Int(offset) + length))
    } readBlocks: { _, offset, length in
      Data(BlockDigests.list(of: forged).bytes.dropFirst(Int(offset)).prefix(length))
    }
    await #expect(throws: ContentError.self) { try await partial.ensure(0..<content.size, from: liar) }
    await cache.release(partial)
    #expect(try await cache.complete(content) == nil)
  }

  @Test
  func `above its limit the cache drops what was not used for longest, but nothing that a task reads`() async throws {
    let size = Int(ContentBlock.size) * 4
    let sources = (0..<4).map { Source(size: size, seed: UInt8($0)) }
    let contents = sources.map { Content(digest: .of($0.data), size: Int64(size)) }
    let cache = try cache(limit: Int64(size) * 5 / 2)
    for (source, content) in zip(sources, contents).dropLast() {
      let partial = try await cache.partial(content)
      try await partial.ensure(0..<content.size, from: source.read)
      await cache.release(partial)
    }
    #expect(try await cache.complete(contents[0]) == nil, "the first went")
    let third = try #require(try await cache.complete(contents[2]))
    await cache.release(third.content)
    // Half of the last is there, and read by a task: the others go before it.
    let used = try await cache.partial(contents[3])
    try await used.ensure(block(0), from: sources[3].read)
    await cache.trim()
    try await used.ensure(block(0), from: .failing(ContentError("it is fetched again")))
  }

  private func partial() throws -> PartialContent {
    let (file, isLinkable) = try OpenFile.unnamed(in: folder.url.path)
    return PartialContent(content, file: file, isLinkable: isLinkable, requests: AsyncSemaphore(capacity: 8))
  }

  private func cache(limit: Int64 = 1 << 30, verifier: FileVerifier? = nil) throws -> ContentCache {
    try ContentCache(
      directory: folder.url.path, byteLimit: limit, verifier: verifier ?? FileVerifier(directory: folder.url.path))
  }

  private func block(_ block: Int) -> Range<Int64> { bytes(block..<(block + 1)) }

  private func bytes(_ blocks: Range<Int>) -> Range<Int64> { ContentBlock.bytes(of: blocks, size: content.size) }

  private func read(_ partial: PartialContent, _ bytes: Range<Int64>) throws -> Data {
    var data = Data(count: bytes.count)
    let count = data.withUnsafeMutableBytes {
      pread(partial.file.descriptor, $0.baseAddress, $0.count, off_t(bytes.lowerBound))
    }
    #expect(count == bytes.count)
    return data
  }
}

/// The coordinator as the cache sees it, and a record of the requests.
private final class Source: Sendable {
  private struct State {
    var requests: [Range<Int64>] = []
    var failure: ContentError?
    var flipped: Set<Int> = []
    var blocks: [UInt8]?
    var isHeld = false
    var held: [CheckedContinuation<Void, Never>] = []
    var watchers: [CheckedContinuation<Void, Never>] = []
  }

  let data: Data
  private let state = Mutex(State())

  init(size: Int, seed: UInt8 = 0) {
    // Every kilobyte is another one.
    var data = Data(capacity: size + 1024)
    var number: UInt32 = 0
    while data.count < size {
      data.append(withUnsafeBytes(of: (number, UInt32(seed))) { Data($0) })
      data.append(Data(repeating: seed, count: 1016))
      number += 1
    }
    self.data = data.prefix(size)
  }

  var requests: [Range<Int64>] { state.withLock { $0.requests } }
  func part(_ bytes: Range<Int64>) -> Data { data.subdata(in: Int(bytes.lowerBound)..<Int(bytes.upperBound)) }

  var fetched: Int { requests.reduce(0) { $0 + $1.count } }

  /// Sends bytes at these places wrong, or right again.
  func flip(_ places: [Int]) { state.withLock { $0.flipped.formSymmetricDifference(places) } }
  func `break`(with failure: ContentError?) { state.withLock { $0.failure = failure } }
  func hold() { state.withLock { $0.isHeld = true } }

  func release() {
    let held = state.withLock { state in
      state.isHeld = false
      defer { state.held = [] }
      return state.held
    }
    for request in held { request.resume() }
  }

  /// Until a request is held.
  func awaitRequest() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.held.isEmpty { state.watchers.append(continuation) }
        return !state.held.isEmpty
      }
      if isThere { continuation.resume() }
    }
  }

  /// The list of `data`'s block digests, unless a test has another one sent.
  var blocks: [UInt8] { state.withLock { $0.blocks } ?? BlockDigests.list(of: data).bytes }
  func send(blocks: [UInt8]) { state.withLock { $0.blocks = blocks } }

  var read: ContentReader {
    ContentReader { _, offset, length in
      let range = Int64(offset)..<Int64(offset) + Int64(length)
      let failure = self.state.withLock { state in
        state.requests.append(range)
        return state.failure
      }
      if let failure { throw failure }
      await withCheckedContinuation { continuation in
        let watchers = self.state.withLock { state -> [CheckedContinuation<Void, Never>]? in
          guard state.isHeld else { return nil }
          state.held.append(continuation)
          defer { state.watchers = [] }
          return state.watchers
        }
        if watchers == nil { continuation.resume() }
        for watcher in watchers ?? [] { watcher.resume() }
      }
      var data = self.data.subdata(in: Int(range.lowerBound)..<min(self.data.count, Int(range.upperBound)))
      for place in self.state.withLock({ $0.flipped }) where range.contains(Int64(place)) {
        data[place - Int(range.lowerBound)] ^= 1
      }
      return data
    } readBlocks: { _, offset, length in
      Data(self.blocks.dropFirst(Int(offset)).prefix(length))
    }
  }
}
