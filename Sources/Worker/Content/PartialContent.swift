import Digest
import FoundationEssentials
import SystemSupport
import Wire

/// Reads bytes of content from the coordinator: `length` of them from `offset`, fewer only at the content's end.
typealias ContentReader = @Sendable (_ digest: SHA256Digest, _ offset: UInt64, _ length: Int) async throws -> Data

/// Content from the coordinator is fetched in blocks; a block is there as a whole or not at all.
enum ContentBlock {
  /// In bytes.
  static let size: Int64 = 256 << 10

  /// How many blocks content of `size` bytes has; the last may be shorter.
  static func count(of size: Int64) -> Int {
    Int((size + Self.size - 1) / Self.size)
  }

  /// The blocks that hold some of these bytes.
  static func covering(_ bytes: Range<Int64>) -> Range<Int> {
    Int(bytes.lowerBound / size)..<Int((bytes.upperBound + size - 1) / size)
  }

  /// The bytes of blocks of content of `size` bytes.
  static func bytes(of blocks: Range<Int>, size: Int64) -> Range<Int64> {
    (Int64(blocks.lowerBound) * Self.size)..<min(Int64(blocks.upperBound) * Self.size, size)
  }
}

/// Content that is fetched into a file without a name, block by block, as far as tasks ask for it; all tasks that read
/// the content share it. Which blocks are there is known to this object only and is lost with it, so a crash cannot
/// leave a file that seems more complete than it is.
actor PartialContent {
  /// Blocks in one request to the coordinator.
  static let blocksPerFetch = 4
  /// Blocks fetched beyond those asked for, if reading goes on from where it was.
  static let readAhead = 16
  /// After this many complete fetches with a wrong digest, the content is not fetched again.
  private static let mistakeLimit = 2

  nonisolated let content: Content
  nonisolated let file: OpenFile
  /// Whether the file can be given a name once it is complete.
  nonisolated let isLinkable: Bool

  private let requests: AsyncSemaphore
  private var isPresent: [Bool]
  private var presentCount = 0
  private var fetches: [Int: Task<Void, any Error>] = [:]
  private var verification: Task<Void, any Error>?
  private var lastEnd = 0
  /// How often the bytes that came did not have the content's digest.
  private(set) var mistakes = 0
  private let completed: @Sendable (PartialContent) async -> Void

  /// - Parameters:
  ///   - file: Of the content's size; holes where nothing has come yet.
  ///   - requests: Limits the requests that are under way at a time.
  ///   - completed: Called once, when every byte is there and the digest is right.
  init(
    _ content: Content, file: OpenFile, isLinkable: Bool, requests: AsyncSemaphore,
    completed: @escaping @Sendable (PartialContent) async -> Void = { _ in }
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

  /// Returns when these bytes are in the file. If they are the last that were missing, the whole has been digested
  /// and is right. Throws the reason if they cannot be fetched; a later call tries again.
  func ensure(_ bytes: Range<Int64>, from reader: @escaping ContentReader) async throws {
    guard mistakes < Self.mistakeLimit else {
      throw ContentError(
        "the bytes that the coordinator sends for \(content.digest) have another digest", damaged: content.digest)
    }
    let bytes = bytes.clamped(to: 0..<content.size)
    let wanted = bytes.isEmpty ? 0..<0 : ContentBlock.covering(bytes)
    let isSequential = wanted.lowerBound <= lastEnd && wanted.upperBound > lastEnd
    lastEnd = wanted.upperBound
    start(wanted, from: reader)
    if isSequential {
      start(wanted.upperBound..<min(wanted.upperBound + Self.readAhead, isPresent.count), from: reader)
    }
    for block in wanted where !isPresent[block] {
      try await fetches[block]?.value
    }
    if let verification { try await verification.value }
  }

  /// Fetches the blocks of a range that are neither there nor being fetched.
  private func start(_ blocks: Range<Int>, from reader: @escaping ContentReader) {
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

  private func fetch(_ blocks: Range<Int>, from reader: @escaping ContentReader) async throws {
    defer { for block in blocks { fetches[block] = nil } }
    let range = ContentBlock.bytes(of: blocks, size: content.size)
    let (digest, file) = (content.digest, file)
    try await requests.withPermit {
      let data: Data
      do {
        data = try await reader(digest, UInt64(range.lowerBound), range.count)
      } catch let error as WireError where error.code == .content {
        throw ContentError("the coordinator cannot read \(digest): \(error)", damaged: digest)
      }
      guard data.count == range.count else {
        throw ContentError(
          "the coordinator sent \(data.count) of \(range.count) bytes of \(digest)", damaged: digest)
      }
      try await BlockingWork.run { try data.withUnsafeBytes { try file.write($0, at: range.lowerBound) } }
    }
    for block in blocks { isPresent[block] = true }
    presentCount += blocks.count
    if presentCount == isPresent.count { verification = Task { try await verify() } }
  }

  private func verify() async throws {
    let file = file
    let found = try await BlockingWork.run(.hashing) { try file.content().digest }
    verification = nil
    guard found == content.digest else {
      mistakes += 1
      isPresent = Array(repeating: false, count: isPresent.count)
      presentCount = 0
      throw ContentError(
        "the bytes that came for \(content.digest) have the digest \(found)", damaged: content.digest)
    }
    await completed(self)
  }
}

/// Content could not be fetched.
struct ContentError: Error, Hashable, CustomStringConvertible {
  var description: String
  /// Content that the coordinator does not have, or sends with other bytes; nil if this machine is the cause.
  var damaged: SHA256Digest?

  init(_ description: String, damaged: SHA256Digest? = nil) {
    self.description = description
    self.damaged = damaged
  }
}
