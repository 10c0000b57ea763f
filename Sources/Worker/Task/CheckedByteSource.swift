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
  private static let blocksAhead = 4

  let byteCount: Int64
  private let file: OpenFile
  private let input: Int
  private let name: String
  private let isFetched: Bool
  private let isReported: Bool
  private let known: Mutex<Known>
  /// The block that was read last, and how many before it were read one after the other.
  private let sequence = Mutex((last: -1, run: 0))
  private let agent: AgentConnection
  private let buffers: BlockBuffers

  /// - Parameters:
  ///   - input: Its index in the task's inputs.
  ///   - size: Of the content, in bytes.
  ///   - name: What messages call the file.
  ///   - buffers: Of all inputs of the task.
  init(
    file: OpenFile, input: Int, size: Int64, name: String, digests: Digests, agent: AgentConnection,
    buffers: BlockBuffers
  ) throws(ControlError) {
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

  /// Has the blocks after `block` read ahead, if a few before it were read one after the other. What the agent has not
  /// fetched yet is not read ahead: it may never be needed.
  private func readAhead(of block: Int) {
    if isFetched { return }
    let run = sequence.withLock { sequence in
      if block != sequence.last { sequence.run = block == sequence.last + 1 ? sequence.run + 1 : 0 }
      sequence.last = block
      return sequence.run
    }
    guard run >= Self.sequentialBlocks else { return }
    for next in (block + 1)..<min(block + 1 + Self.blocksAhead, ContentBlock.count(of: byteCount)) {
      buffers.readAhead(BlockBuffers.Key(input: input, block: next)) { bytes throws(MediaError) in
        guard try self.load(next, into: bytes) else {
          throw MediaError(.io, operation: "reading ahead", subject: self.name, message: "wrong bytes")
        }
      }
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

  /// Reads a block from the file. Returns whether its bytes are the content's. A block that is read again must be the
  /// same.
  private func load(_ block: Int, into memory: UnsafeMutableRawBufferPointer) throws(MediaError) -> Bool {
    let range = ContentBlock.bytes(of: block, size: byteCount)
    let count: Int
    do {
      count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: memory[..<range.count]), at: range.lowerBound)
    } catch {
      throw MediaError(.io, operation: "reading", subject: name, message: "\(error)")
    }
    let found = SHA256Digest.of(UnsafeRawBufferPointer(rebasing: memory[..<count])).bytes
    return known.withLock { known in
      if let expected = known[block] { return expected.elementsEqual(found) && count == range.count }
      known.set(found, from: block)
      return count == range.count
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
