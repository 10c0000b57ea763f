import Digest
import Media
import Synchronization
import SystemSupport

/// An input of a task. Its file is read in whole blocks, and the task gets no byte of a block that is not the
/// content's: other programs may change the file, and a disk may return other bytes than were written.
///
/// The digests of the blocks come with the task, or, if the agent fills the file while the task reads it, with its
/// replies. If the agent does not know them yet, the digests of what was read are reported at the end: the agent
/// compares them with those of the file before the result counts.
final class CheckedByteSource: ByteSource {
  /// Where the digests of the blocks come from.
  enum Digests {
    /// 32 bytes for each block.
    case known([UInt8])
    /// The agent fills the file, and sends the digests of each range that is there.
    case fetched
    /// They are reported at the end.
    case reported
  }

  private struct Known {
    /// 32 bytes for each block.
    var digests: [UInt8]
    var isKnown: [Bool]

    subscript(block: Int) -> ArraySlice<UInt8>? {
      let start = block * BlockDigests.digestSize
      return isKnown[block] ? digests[start..<(start + BlockDigests.digestSize)] : nil
    }

    mutating func set(_ new: some Collection<UInt8>, from block: Int) {
      let start = block * BlockDigests.digestSize
      digests.replaceSubrange(start..<(start + new.count), with: new)
      for block in block..<(block + new.count / BlockDigests.digestSize) { isKnown[block] = true }
    }
  }

  /// After so many blocks one after the other, more of them are probably read.
  private static let sequentialBlocks = 3

  let byteCount: Int64
  private let file: OpenFile
  private let input: Int
  private let name: String
  private let isFetched: Bool
  private let isReported: Bool
  private let known: Mutex<Known>
  private struct Sequence {
    /// The block that was read last.
    var last = -1
    /// How many before it were read one after the other.
    var run = 0
    /// The end of the blocks that are read ahead.
    var ahead = 0
  }

  private let sequence = Mutex(Sequence())
  private let greatestGroup: Int
  private let agent: AgentConnection
  private let buffers: BlockBuffers

  /// - Parameters:
  ///   - input: Its index in the task's inputs.
  ///   - size: The size of the content, in bytes.
  ///   - name: What messages call the file.
  ///   - buffers: The buffers of all inputs of the task.
  ///   - inputCount: The number of those. Of each input, fewer blocks are read ahead if there are more inputs.
  init(
    file: OpenFile, input: Int, size: Int64, name: String, digests: Digests, agent: AgentConnection,
    buffers: BlockBuffers, inputCount: Int
  ) throws(ControlError) {
    greatestGroup = max(1, BlockBuffers.greatestGroup / inputCount)
    byteCount = size
    self.file = file
    self.input = input
    self.name = name
    self.agent = agent
    self.buffers = buffers
    (isFetched, isReported) =
      switch digests {
      case .known: (false, false)
      case .fetched: (true, false)
      case .reported: (false, true)
      }
    let count = ContentBlock.count(of: size)
    var known = Known(
      digests: Array(repeating: 0, count: count * BlockDigests.digestSize),
      isKnown: Array(repeating: false, count: count))
    if case .known(let bytes) = digests {
      guard bytes.count == known.digests.count else { throw ControlError("an input of \(size) bytes has other blocks") }
      known.set(bytes, from: 0)
    }
    self.known = Mutex(known)
  }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    let end = min(byteCount, offset + Int64(buffer.count))
    guard offset < end else { return 0 }
    let blocks = ContentBlock.covering(offset..<end)
    if isFetched { try fetch(blocks) }
    var done = 0
    for block in blocks {
      readAhead(of: block)
      let range = ContentBlock.bytes(of: block, size: byteCount)
      let wanted = range.clamped(to: offset..<end)
      let target = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<(done + wanted.count)])
      try buffers.copy(
        BlockBuffers.Key(input: input, block: block), from: Int(wanted.lowerBound - range.lowerBound), to: target
      ) { bytes throws(MediaError) in
        guard try self.load(block, into: bytes) else {
          agent.reportWrong(range, ofInput: input)
          throw MediaError(
            .io, operation: "reading", subject: name,
            message: "bytes \(range.lowerBound)..<\(range.upperBound) of its file are not those of the content")
        }
      }
      done += wanted.count
    }
    return done
  }

  /// Has blocks after `block` read ahead, if a few before it were read one after the other: in groups, which are hashed
  /// at once, and the more of them the longer the sequence is. What the agent has not fetched yet is not read ahead: it
  /// may never be needed.
  private func readAhead(of block: Int) {
    if isFetched { return }
    let next = sequence.withLock { sequence -> Range<Int>? in
      if block != sequence.last {
        sequence.run = block == sequence.last + 1 ? sequence.run + 1 : 0
        if sequence.run == 0 { sequence.ahead = 0 }
        sequence.last = block
      }
      guard sequence.run >= Self.sequentialBlocks else { return nil }
      let group = min(greatestGroup, sequence.run + 1)
      let start = max(sequence.ahead, block + 1)
      // While one group is used, two are read.
      guard start <= block + 1 + 2 * group, start < ContentBlock.count(of: byteCount) else { return nil }
      sequence.ahead = min(start + group, ContentBlock.count(of: byteCount))
      return start..<sequence.ahead
    }
    guard let next else { return }
    buffers.readAhead(next.map { BlockBuffers.Key(input: input, block: $0) }) { blocks in
      self.loadEach(blocks.map { ($0.key.block, $0.memory) })
    }
  }

  /// Reports the digests of the blocks that were read, if they were not known before. Called when nothing more is read.
  func report() {
    guard isReported else { return }
    let known = known.withLock { $0 }
    var block = 0
    while block < known.isKnown.count {
      var run = BlocksRead(input: input, first: block, digests: [])
      while block < known.isKnown.count, block - run.first < BlocksRead.limit, let digest = known[block] {
        run.digests += digest
        block += 1
      }
      if run.digests.isEmpty { block += 1 } else { agent.send(.blocksRead(run)) }
    }
  }

  /// Reads a block from the file. Returns whether its bytes are the content's.
  private func load(_ block: Int, into memory: UnsafeMutableRawBufferPointer) throws(MediaError) -> Bool {
    let bytes = try read(block, into: memory)
    return isRight(bytes, SHA256Digest.of(bytes), block)
  }

  /// Reads blocks from the file. Returns of each whether its bytes are the content's.
  private func loadEach(_ blocks: [(block: Int, memory: UnsafeMutableRawBufferPointer)]) -> [Bool] {
    let read = blocks.map { try? self.read($0.block, into: $0.memory) }
    var digests = SHA256Digest.ofEach(read.compactMap { $0 })[...]
    return zip(blocks, read).map { block, bytes in
      guard let bytes, let digest = digests.popFirst() else { return false }
      return isRight(bytes, digest, block.block)
    }
  }

  /// The bytes of a block that the file has, in `memory`.
  private func read(
    _ block: Int, into memory: UnsafeMutableRawBufferPointer
  ) throws(MediaError) -> UnsafeRawBufferPointer {
    let range = ContentBlock.bytes(of: block, size: byteCount)
    do {
      let part = UnsafeMutableRawBufferPointer(rebasing: memory[..<range.count])
      return UnsafeRawBufferPointer(rebasing: part[..<(try file.read(into: part, at: range.lowerBound))])
    } catch {
      throw MediaError(.io, operation: "reading", subject: name, message: "\(error)")
    }
  }

  /// Whether what was read of a block is the content's. A block that is read again must be the same.
  private func isRight(_ bytes: UnsafeRawBufferPointer, _ digest: SHA256Digest, _ block: Int) -> Bool {
    let isWhole = bytes.count == ContentBlock.bytes(of: block, size: byteCount).count
    return known.withLock { known in
      if let expected = known[block] { return expected.elementsEqual(digest.bytes) && isWhole }
      known.set(digest.bytes, from: block)
      return isWhole
    }
  }

  private func fetch(_ blocks: Range<Int>) throws(MediaError) {
    let missing = known.withLock { known in blocks.filter { !known.isKnown[$0] } }
    guard let first = missing.first, let last = missing.last else { return }
    let count = (last + 1 - first) * BlockDigests.digestSize
    switch agent.request(ContentBlock.bytes(of: first..<(last + 1), size: byteCount), ofInput: input) {
    case .success(let digests) where digests.count == count: known.withLock { $0.set(digests, from: first) }
    case .success: throw failed("the agent sent no digests of them")
    case .failure(let error): throw failed(error.description)
    }
  }

  private func failed(_ reason: String) -> MediaError {
    MediaError(.io, operation: "fetching", subject: name, message: reason)
  }
}
