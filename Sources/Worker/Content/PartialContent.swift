import Digest
import FoundationEssentials
import Runtime
import SystemSupport
import Wire

/// Reads from the coordinator.
struct ContentReader: Sendable {
  /// Reads bytes of content: `length` of them from `offset`, fewer only at the content's end.
  var read: @Sendable (_ digest: SHA256Digest, _ offset: UInt64, _ length: Int) async throws -> Data
  /// Reads bytes of the list of the content's block digests.
  var readBlocks: @Sendable (_ digest: SHA256Digest, _ offset: UInt64, _ length: Int) async throws -> Data
}

/// Content that is fetched into a file without a name, block by block, as far as tasks ask for it; all tasks that read
/// the content share it. Which blocks are there is known to this object only and is lost with it, so a crash cannot
/// leave a file that seems more complete than it is.
///
/// Each block is checked when it comes, against the list of block digests that the coordinator made when it hashed the
/// content. When all blocks are there, the whole is checked against the content's own digest, which nobody can forge.
actor PartialContent {
  /// Blocks in one request to the coordinator.
  static let blocksPerFetch = 4
  /// Blocks fetched beyond those asked for, if reading goes on from where it was.
  static let readAhead = 16
  /// The digests of blocks in one request: 8 GiB of content.
  private static let digestsPerRequest = 1 << 15
  /// After wrong bytes have come this often, the content is not fetched again.
  private static let mistakeLimit = 2

  nonisolated let content: Content
  nonisolated let file: OpenFile
  /// Whether the file can be given a name once it is complete.
  nonisolated let isLinkable: Bool

  private let requests: AsyncSemaphore
  private var isPresent: [Bool]
  private var presentCount = 0
  private var fetches: [Int: Task<Void, any Error>] = [:]
  private var list: Task<BlockDigests, any Error>?
  private var verification: Task<Void, any Error>?
  private var lastEnd = 0
  /// How often bytes came that are not the content's. What was there before is dropped each time.
  private var mistakes = 0
  /// Why what a task has read may not have been the content; nil if, as far as is known, it was.
  private(set) var problem: ContentError?
  private let completed: @Sendable (PartialContent, BlockDigests) async -> Void

  /// - Parameters:
  ///   - file: A file of the content's size, with holes where nothing has come yet.
  ///   - requests: Limits the requests that are under way at a time.
  ///   - completed: Called once, when every byte is there and the digest is right.
  init(
    _ content: Content, file: OpenFile, isLinkable: Bool, requests: AsyncSemaphore,
    completed: @escaping @Sendable (PartialContent, BlockDigests) async -> Void = { _, _ in }
  ) {
    self.content = content
    self.file = file
    self.isLinkable = isLinkable
    self.requests = requests
    self.completed = completed
    isPresent = Array(repeating: false, count: ContentBlock.count(of: content.size))
  }

  /// Bytes on the disk.
  var allocatedSize: Int64 { Int64(presentCount) * ContentBlock.size }

  /// Returns when these bytes are in the file, with the digests of the blocks that hold them. If they are the last that
  /// were missing, the whole has been digested and is right. Throws the reason if they cannot be fetched; a later call
  /// tries again.
  @discardableResult
  func ensure(_ bytes: Range<Int64>, from reader: ContentReader) async throws -> ArraySlice<UInt8> {
    if let problem, problem.damaged == nil || mistakes >= Self.mistakeLimit { throw problem }
    let bytes = bytes.clamped(to: 0..<content.size)
    let wanted = bytes.isEmpty ? 0..<0 : ContentBlock.covering(bytes)
    let isSequential = wanted.lowerBound <= lastEnd && wanted.upperBound > lastEnd
    lastEnd = wanted.upperBound
    // First, so that it does not wait for the bytes.
    let list = list(from: reader)
    start(wanted, from: reader)
    if isSequential {
      start(wanted.upperBound..<min(wanted.upperBound + Self.readAhead, isPresent.count), from: reader)
    }
    for block in wanted where !isPresent[block] {
      try await fetches[block]?.value
    }
    if let verification { try await verification.value }
    return try await list.value[wanted]
  }

  /// The list of the content's block digests, which is requested once.
  private func list(from reader: ContentReader) -> Task<BlockDigests, any Error> {
    if let list { return list }
    let task = Task { try await requestList(from: reader) }
    list = task
    return task
  }

  private func requestList(from reader: ContentReader) async throws -> BlockDigests {
    if let single = BlockDigests(ofSingleBlock: content) { return single }
    do {
      var bytes: [UInt8] = []
      let count = BlockDigests.byteCount(of: content.size)
      while bytes.count < count {
        let length = min(count - bytes.count, Self.digestsPerRequest * BlockDigests.digestSize)
        let part = try await reader.readBlocks(content.digest, UInt64(bytes.count), length)
        guard part.count == length else { break }
        bytes += part
      }
      guard let list = BlockDigests(content, bytes: bytes) else {
        throw ContentError(
          "the coordinator sent \(bytes.count) of the \(count) bytes of the block digests of \(content.digest)",
          damaged: content.digest)
      }
      return list
    } catch {
      list = nil
      throw Self.named(error, content.digest)
    }
  }

  /// Fetches the blocks of a range that are neither there nor being fetched.
  private func start(_ blocks: Range<Int>, from reader: ContentReader) {
    var next = blocks.lowerBound
    while next < blocks.upperBound {
      guard !isPresent[next], fetches[next] == nil else {
        next += 1
        continue
      }
      var end = next + 1
      while end < blocks.upperBound, end - next < Self.blocksPerFetch, !isPresent[end], fetches[end] == nil { end += 1 }
      let run = next..<end
      let task = Task { try await fetch(run, from: reader) }
      for block in run { fetches[block] = task }
      next = end
    }
  }

  private func fetch(_ blocks: Range<Int>, from reader: ContentReader) async throws {
    defer { for block in blocks { fetches[block] = nil } }
    let range = ContentBlock.bytes(of: blocks, size: content.size)
    let (digest, file, size, before) = (content.digest, file, content.size, mistakes)
    let list = list(from: reader)
    let wrong: Int? = try await requests.withPermit {
      let data: Data
      do {
        data = try await reader.read(digest, UInt64(range.lowerBound), range.count)
      } catch {
        throw Self.named(error, digest)
      }
      guard data.count == range.count else {
        throw ContentError(
          "the coordinator sent \(data.count) of \(range.count) bytes of \(digest)", damaged: digest)
      }
      let digests = try await list.value
      return try await BlockingWork.run {
        try data.withUnsafeBytes { data -> Int? in
          if let wrong = digests.firstMismatch(in: data, from: blocks.lowerBound) { return wrong }
          try file.write(data, at: range.lowerBound)
          return nil
        }
      }
    }
    // What came before a mistake was checked with a list that may be the mistake.
    if wrong != nil || mistakes != before {
      let range = ContentBlock.bytes(of: wrong ?? blocks.lowerBound, size: size)
      throw drop(
        ContentError(
          "the coordinator sent other bytes for \(digest), in \(range.lowerBound)..<\(range.upperBound)",
          damaged: digest),
        after: before)
    }
    for block in blocks { isPresent[block] = true }
    presentCount += blocks.count
    if presentCount == isPresent.count { verification = Task { try await verify() } }
  }

  /// What the coordinator cannot read is damaged there; any other failure is not the content's.
  private static func named(_ error: any Error, _ digest: SHA256Digest) -> any Error {
    guard let error = error as? WireError, error.code == .content else { return error }
    return ContentError("the coordinator cannot read \(digest): \(error)", damaged: digest)
  }

  private func verify() async throws {
    let (file, before) = (file, mistakes)
    let found = try await BlockingWork.run(.hashing) { try file.blockDigests() }
    verification = nil
    guard found.content == content else {
      throw drop(
        ContentError(
          "the bytes that came for \(content.digest) have the digest \(found.content.digest)", damaged: content.digest),
        after: before)
    }
    await completed(self, found)
  }

  /// Records that the file has other bytes than came: this machine's disk is the cause. The content is fetched anew by
  /// the next task.
  func reject(_ problem: ContentError) {
    self.problem = self.problem ?? problem
  }

  /// Drops what is there, list and blocks, after bytes that are not the content's. Several fetches that find the same
  /// mistake count it once.
  /// - Parameter before: How many mistakes there were when the fetch began.
  private func drop(_ error: ContentError, after before: Int) -> ContentError {
    if mistakes == before {
      mistakes += 1
      list = nil
      isPresent = Array(repeating: false, count: isPresent.count)
      presentCount = 0
      problem = problem ?? error
    }
    return error
  }
}

/// Content could not be fetched, or is not what its digest says.
struct ContentError: Error, Hashable, CustomStringConvertible {
  var description: String
  /// Content that the coordinator does not have, or sends with other bytes; nil if this machine is the cause.
  var damaged: SHA256Digest?

  init(_ description: String, damaged: SHA256Digest? = nil) {
    self.description = description
    self.damaged = damaged
  }
}
