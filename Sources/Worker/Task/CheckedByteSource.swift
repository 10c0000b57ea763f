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

  let byteCount: Int64
  private let file: OpenFile
  private let input: Int
  private let name: String
  private let isFetched: Bool
  private let isReported: Bool
  private let known: Mutex<Known>
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
      let range = ContentBlock.bytes(of: block, size: byteCount)
      let wanted = range.clamped(to: offset..<end)
      let target = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<(done + wanted.count)])
      try buffers.copy(
        BlockBuffers.Key(input: input, block: block), from: Int(wanted.lowerBound - range.lowerBound), to: target
      ) { bytes throws(MediaError) in
        try self.load(block, range, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<range.count]))
      }
      done += wanted.count
    }
    return done
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

  /// Reads a block from the file and checks it. A block that is read again must be the same.
  private func load(
    _ block: Int, _ range: Range<Int64>, into buffer: UnsafeMutableRawBufferPointer
  ) throws(MediaError) {
    let count: Int
    do {
      count = try file.read(into: buffer, at: range.lowerBound)
    } catch {
      throw MediaError(.io, operation: "reading", subject: name, message: "\(error)")
    }
    let found = SHA256Digest.of(UnsafeRawBufferPointer(rebasing: buffer[..<count])).bytes
    let isRight = known.withLock { known in
      if let expected = known[block] { return expected.elementsEqual(found) }
      known.set(found, from: block)
      return true
    }
    guard isRight, count == range.count else {
      agent.reportWrong(range, ofInput: input)
      throw MediaError(
        .io, operation: "reading", subject: name,
        message: "bytes \(range.lowerBound)..<\(range.upperBound) of its file are not those of the content")
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

/// The blocks that a task has read last, of all its inputs, so that small reads, and reads of several places of a file
/// by turns, do not read and check a block each time.
final class BlockBuffers: Sendable {
  struct Key: Sendable, Hashable {
    var input: Int
    var block: Int
  }

  private struct Buffer {
    /// Nil: the buffer has no block.
    var key: Key?
    var bytes: [UInt8]
    var lastUse = 0
  }

  private struct State {
    var buffers: [Buffer] = []
    var uses = 0

    /// A new buffer, or the one that was used longest ago.
    mutating func leastUsed() -> Int {
      let oldest = buffers.indices.min { buffers[$0].lastUse < buffers[$1].lastUse }
      if let oldest, buffers.count == maximumCount { return oldest }
      buffers.append(Buffer(bytes: Array(repeating: 0, count: Int(ContentBlock.size))))
      return buffers.count - 1
    }
  }

  /// 8 MiB at most, whatever the number of inputs.
  private static let maximumCount = 32

  private let state = Mutex(State())

  /// Copies bytes of a block.
  /// - Parameters:
  ///   - start: Of the bytes in the block.
  ///   - load: Reads the whole block, if it is not there.
  func copy(
    _ key: Key, from start: Int, to target: UnsafeMutableRawBufferPointer,
    load: (UnsafeMutableRawBufferPointer) throws(MediaError) -> Void
  ) throws(MediaError) {
    try state.withLock { state throws(MediaError) in
      state.uses += 1
      let index = state.buffers.firstIndex { $0.key == key } ?? state.leastUsed()
      if state.buffers[index].key != key {
        state.buffers[index].key = nil
        try state.buffers[index].bytes.withUnsafeMutableBufferPointer { bytes throws(MediaError) in
          try load(UnsafeMutableRawBufferPointer(bytes))
        }
        state.buffers[index].key = key
      }
      state.buffers[index].lastUse = state.uses
      state.buffers[index].bytes.withUnsafeBytes {
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<(start + target.count)]))
      }
    }
  }
}
