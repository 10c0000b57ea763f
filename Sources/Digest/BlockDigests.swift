import Glibc
package import SystemSupport

/// The blocks of content: ranges of equal length, of which the last may be shorter. Content that is read in ranges is
/// fetched and checked in whole blocks.
package enum ContentBlock {
  /// In bytes.
  package static let size: Int64 = 256 << 10

  /// How many blocks content of `size` bytes has.
  package static func count(of size: Int64) -> Int {
    Int((size + Self.size - 1) / Self.size)
  }

  /// The blocks that hold some of these bytes.
  package static func covering(_ bytes: Range<Int64>) -> Range<Int> {
    Int(bytes.lowerBound / size)..<Int((bytes.upperBound + size - 1) / size)
  }

  /// The bytes of blocks of content of `size` bytes.
  package static func bytes(of blocks: Range<Int>, size: Int64) -> Range<Int64> {
    (Int64(blocks.lowerBound) * Self.size)..<min(Int64(blocks.upperBound) * Self.size, size)
  }

  package static func bytes(of block: Int, size: Int64) -> Range<Int64> { bytes(of: block..<(block + 1), size: size) }

  /// Bytes that begin at the start of a block, in parts of one block each.
  static func parts(of data: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer] {
    stride(from: 0, to: data.count, by: Int(size)).map { start in
      UnsafeRawBufferPointer(rebasing: data[start..<min(start + Int(size), data.count)])
    }
  }
}

/// Content and the SHA-256 of each of its blocks, by which a part of the content is checked without the rest.
///
/// A list that `BlockHasher` makes belongs to its content: both digests are of the same bytes in one pass. A list from
/// another machine is as good as that machine's word, until the whole content has been read and hashed.
package struct BlockDigests: Sendable, Hashable {
  package let content: Content
  /// The digests one after the other, 32 bytes each.
  package let bytes: [UInt8]

  package static let digestSize = 32

  /// Nil unless there are 32 bytes for each block of the content, and the digest of a single block is the content's
  /// own.
  package init?(_ content: Content, bytes: [UInt8]) {
    guard content.size >= 0, bytes.count == Self.byteCount(of: content.size) else { return nil }
    if bytes.count == Self.digestSize, bytes != content.digest.bytes { return nil }
    self.content = content
    self.bytes = bytes
  }

  /// The list of content of at most one block, which follows from the content's own digest. Nil if there are more.
  package init?(ofSingleBlock content: Content) {
    guard content.size <= ContentBlock.size else { return nil }
    self.init(content, bytes: content.size > 0 ? content.digest.bytes : [])
  }

  /// How long the list of content of `size` bytes is, in bytes.
  package static func byteCount(of size: Int64) -> Int { ContentBlock.count(of: size) * digestSize }

  /// The digests of some blocks.
  package subscript(blocks: Range<Int>) -> ArraySlice<UInt8> {
    bytes[blocks.lowerBound * Self.digestSize..<blocks.upperBound * Self.digestSize]
  }

  /// The first of the blocks from `block` on in `data` whose bytes are not the content's; nil if all are.
  /// - Parameter data: Begins at the start of `block`. Bytes that the content's end leaves out are wrong.
  package func firstMismatch(in data: UnsafeRawBufferPointer, from block: Int) -> Int? {
    let parts = ContentBlock.parts(of: data)
    for (offset, (part, found)) in zip(parts, SHA256Digest.ofEach(parts)).enumerated() {
      let current = block + offset
      guard current < ContentBlock.count(of: content.size),
        part.count == ContentBlock.bytes(of: current, size: content.size).count,
        self[current..<(current + 1)].elementsEqual(found.bytes)
      else { return current }
    }
    return nil
  }
}

/// Computes the digest of content and those of its blocks in one pass over bytes that arrive in parts.
package struct BlockHasher: ~Copyable {
  /// Bytes of the blocks that are hashed at once.
  static let groupSize = SHA256Digest.hashedAtOnce * Int(ContentBlock.size)

  private var whole = SHA256Hasher()
  private var digests: [UInt8] = []
  /// The blocks that wait until a group is complete.
  private var gathered: [UInt8] = []
  /// Bytes so far.
  package private(set) var size: Int64 = 0

  package init() {}

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    whole.update(bytes)
    size += Int64(bytes.count)
    var rest = bytes
    while !rest.isEmpty {
      if gathered.isEmpty, rest.count >= Self.groupSize {
        add(SHA256Digest.ofEach(ContentBlock.parts(of: UnsafeRawBufferPointer(rebasing: rest[..<Self.groupSize]))))
        rest = UnsafeRawBufferPointer(rebasing: rest[Self.groupSize...])
        continue
      }
      let count = min(rest.count, Self.groupSize - gathered.count)
      gathered += rest[..<count]
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      if gathered.count == Self.groupSize { addGathered() }
    }
  }

  /// The content and its blocks' digests.
  package consuming func finalize() -> BlockDigests {
    addGathered()
    let content = Content(digest: whole.finalizeAndReset(), size: size)
    guard let blocks = BlockDigests(content, bytes: digests) else {
      preconditionFailure("a hasher makes a digest for each block")
    }
    return blocks
  }

  private mutating func addGathered() {
    let blocks = gathered.withUnsafeBytes { SHA256Digest.ofEach(ContentBlock.parts(of: $0)) }
    add(blocks)
    gathered.removeAll(keepingCapacity: true)
  }

  private mutating func add(_ blocks: [SHA256Digest]) {
    for digest in blocks { digests += digest.bytes }
  }
}

extension OpenFile {
  /// The digests of the whole file and of its blocks, in one pass. The descriptor's offset does not change. Blocks for
  /// as long as it takes to read the file.
  /// - Parameter progress: Receives the number of bytes that were read so far, after each part of 4 MiB at most.
  package func blockDigests(progress: ((Int64) -> Void)? = nil) throws(SystemError) -> BlockDigests {
    // If no thread can be started, or it is not worth one, both are hashed in this one.
    guard try status().st_size > BlockHasher.groupSize, let whole = try? WholeHash() else {
      var hasher = BlockHasher()
      try forEachPart(of: BlockHasher.groupSize) { bytes in
        hasher.update(bytes)
        progress?(hasher.size)
      }
      return hasher.finalize()
    }
    defer { whole.end() }
    var (digests, size): ([UInt8], Int64) = ([], 0)
    try forEachPart(of: BlockHasher.groupSize) { bytes in
      whole.begin(bytes)
      for digest in SHA256Digest.ofEach(ContentBlock.parts(of: bytes)) { digests += digest.bytes }
      whole.wait()
      size += Int64(bytes.count)
      progress?(size)
    }
    guard let blocks = BlockDigests(Content(digest: whole.finalize(), size: size), bytes: digests) else {
      preconditionFailure("a digest is made for each block")
    }
    return blocks
  }
}

/// Computes the digest of a whole file in a thread of its own, while the caller computes those of its blocks: each
/// takes as long as the other.
private final class WholeHash: @unchecked Sendable {
  // Sendable: the thread uses what is mutable from `begin` to the end of `wait` alone, and the caller at other times.
  private var hasher = SHA256Hasher()
  private var part = UnsafeRawBufferPointer(start: nil, count: 0)
  private var isEnded = false
  private let begun = Semaphore(0)
  private let isDone = Semaphore(0)

  init() throws(SystemError) {
    try startThread { [self] in while hashNext() {} }
  }

  private func hashNext() -> Bool {
    begun.wait()
    if isEnded { return false }
    hasher.update(part)
    isDone.post()
    return true
  }

  /// Hashes the next part of the file, which the caller keeps until `wait` returns.
  func begin(_ bytes: UnsafeRawBufferPointer) {
    part = bytes
    begun.post()
  }

  func wait() { isDone.wait() }

  func finalize() -> SHA256Digest { hasher.finalizeAndReset() }

  /// Ends the thread.
  func end() {
    isEnded = true
    begun.post()
  }
}
