import Digest
import FoundationEssentials
import Glibc

/// Content that comes block by block into a file without a name, as far as somebody asks for it; shared by all tasks
/// that read it. What is known of its blocks is known to this object alone and goes with it, so no crash can leave a
/// file that looks fuller than it is.
actor PartialContent {
  /// Blocks in one request to the coordinator.
  static let blocksAFetch = 4
  /// Blocks fetched beyond those asked for, where reading goes on from where it was.
  static let readAhead = 16

  nonisolated let digest: SHA256Digest
  /// In bytes.
  nonisolated let size: Int64
  nonisolated let file: OpenFile
  /// Whether the file can be kept under a name once it is complete.
  nonisolated let isLinkable: Bool

  private let gate: Gate
  private var isPresent: [Bool]
  private var presentCount = 0
  private var fetches: [Int: Task<Void, any Error>] = [:]
  private var verification: Task<Void, any Error>?
  private var lastEnd = 0
  /// How often what came was not what the digest says.
  private(set) var mistakes = 0
  private let completed: @Sendable (PartialContent) async -> Void

  /// - Parameter completed: Told once, when every byte is there and the digest agrees.
  init(
    digest: SHA256Digest, size: Int64, file: OpenFile, isLinkable: Bool, gate: Gate,
    completed: @escaping @Sendable (PartialContent) async -> Void = { _ in }
  ) {
    self.digest = digest
    self.size = size
    self.file = file
    self.isLinkable = isLinkable
    self.gate = gate
    self.completed = completed
    isPresent = Array(repeating: false, count: ContentBlock.count(of: size))
  }

  /// Bytes on the disk.
  var weight: Int64 { Int64(presentCount) * ContentBlock.size }

  /// Returns when these bytes are in the file. When they are the last that were missing, the whole has been digested and
  /// is right. Throws why they cannot be had; asking again tries again.
  func ensure(_ bytes: Range<Int64>, from reader: @escaping ContentReader) async throws {
    guard mistakes < 2 else {
      throw ContentError("what the coordinator sends for \(digest) is not that content")
    }
    let bytes = bytes.clamped(to: 0..<size)
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

  /// Fetches the blocks of a range that are neither there nor on their way.
  private func start(_ blocks: Range<Int>, from reader: @escaping ContentReader) {
    var next = blocks.lowerBound
    while next < blocks.upperBound {
      guard !isPresent[next], fetches[next] == nil else {
        next += 1
        continue
      }
      var end = next + 1
      while end < blocks.upperBound, end - next < Self.blocksAFetch, !isPresent[end], fetches[end] == nil { end += 1 }
      let run = next..<end
      let task = Task { try await fetch(run, from: reader) }
      for block in run { fetches[block] = task }
      next = end
    }
  }

  private func fetch(_ blocks: Range<Int>, from reader: @escaping ContentReader) async throws {
    defer { for block in blocks { fetches[block] = nil } }
    let range = ContentBlock.bytes(of: blocks, size: size)
    let (digest, file) = (digest, file)
    try await gate.pass {
      let data = try await reader(digest, UInt64(range.lowerBound), range.count)
      guard data.count == range.count else {
        throw ContentError("the coordinator sent \(data.count) of \(range.count) bytes of \(digest)")
      }
      try await FileThreads.run { try file.write(data, at: range.lowerBound) }
    }
    for block in blocks { isPresent[block] = true }
    presentCount += blocks.count
    if presentCount == isPresent.count { verification = Task { try await verify() } }
  }

  private func verify() async throws {
    let file = file
    let found = try await FileThreads.run { try FileDigest.of(descriptor: file.descriptor).digest }
    verification = nil
    guard found == digest else {
      mistakes += 1
      isPresent = Array(repeating: false, count: isPresent.count)
      presentCount = 0
      throw ContentError("what came for \(digest) is \(found)")
    }
    await completed(self)
  }
}

/// Content could not be had.
struct ContentError: Error, Hashable, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}

extension OpenFile {
  /// Writes all of it at a place. Blocks.
  func write(_ data: Data, at offset: Int64) throws(SystemError) {
    let failure: Int32 = data.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
        if count > 0 { done += count } else if errno != EINTR { return errno }
      }
      return 0
    }
    if failure != 0 { throw SystemError(failure, "writing to the cache") }
  }
}
