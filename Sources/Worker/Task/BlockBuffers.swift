import Digest
import Media
import Synchronization
import SystemSupport

/// The blocks that a task has read last, of all its inputs, so that small reads, and reads of several places of a file
/// by turns, do not read and check a block each time. Blocks that will probably be read next are read and checked
/// ahead, in threads of their own: to check a block takes longer than most parsers need for it.
final class BlockBuffers: Sendable {
  struct Key: Sendable, Hashable {
    var input: Int
    var block: Int
  }

  /// Reads a block into the start of memory for a whole block, and checks it.
  typealias Load = @Sendable (UnsafeMutableRawBufferPointer) throws(MediaError) -> Void

  /// Reads several blocks, each into the start of its memory. Returns of each whether it was read and is right.
  typealias LoadEach = @Sendable ([(key: Key, memory: UnsafeMutableRawBufferPointer)]) -> [Bool]

  private final class Memory: @unchecked Sendable {
    // Sendable: while its buffer is loading, only the thread that loads it uses the memory, and otherwise only a thread
    // that has locked the state.
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(ContentBlock.size), alignment: 64)

    deinit { bytes.deallocate() }
  }

  private struct Buffer {
    /// Nil: the buffer has no block.
    var key: Key?
    let memory = Memory()
    var isLoading = false
    /// Whether it was read ahead, and has not been used.
    var isAhead = false
    /// The semaphores of the threads that wait until the block is loaded.
    var waiting: [Semaphore] = []
    var lastUse = 0
  }

  private struct State {
    var buffers: [Buffer] = []
    var uses = 0
    /// What is read ahead and has not been begun.
    var ahead: [(keys: [Key], load: LoadEach)] = []
    var threadCount = 0

    func index(of key: Key) -> Int? { buffers.firstIndex { $0.key == key } }

    /// Takes a new buffer, or the one that was used longest ago, for a block that is about to be loaded. Blocks that
    /// were read ahead are kept until they are used, unless there are too many of them.
    mutating func reserve(_ key: Key, isAhead: Bool) -> Memory {
      uses += 1
      var index: Int?
      if buffers.count >= maximumCount {
        let keepsAhead = buffers.count { $0.isAhead } <= maximumAhead
        func age(_ index: Int) -> (Int, Int) { (keepsAhead && buffers[index].isAhead ? 1 : 0, buffers[index].lastUse) }
        index = buffers.indices.filter { !buffers[$0].isLoading }.min { age($0) < age($1) }
      }
      if index == nil { buffers.append(Buffer()) }
      let taken = index ?? buffers.count - 1
      buffers[taken].key = key
      buffers[taken].isLoading = true
      buffers[taken].isAhead = isAhead
      buffers[taken].lastUse = uses
      return buffers[taken].memory
    }

    /// - Returns: Those that wait for the block.
    mutating func loaded(_ key: Key, isRight: Bool) -> [Semaphore] {
      guard let index = index(of: key) else { return [] }
      buffers[index].isLoading = false
      if !isRight {
        buffers[index].key = nil
        buffers[index].isAhead = false
      }
      defer { buffers[index].waiting = [] }
      return buffers[index].waiting
    }
  }

  /// The most blocks that are worth reading ahead at once.
  static let greatestGroup = max(4, SHA256Digest.hashedAtOnce)
  /// 16 MiB, whatever the number of inputs. There are more only while as many blocks are being loaded at once.
  private static let maximumCount = 64
  private static let maximumThreads = 2
  /// The most blocks that are read ahead, of all inputs together: three groups.
  private static let maximumAhead = 3 * greatestGroup

  private let state = Mutex(State())
  private let work = Semaphore(0)

  /// Copies bytes of a block.
  /// - Parameters:
  ///   - start: The place of the first byte in the block.
  ///   - load: Called if the block is not there, in this thread.
  func copy(
    _ key: Key, from start: Int, to target: UnsafeMutableRawBufferPointer, load: Load
  ) throws(MediaError) {
    enum Step {
      case done
      case wait(Semaphore)
      case load(Memory)
    }
    while true {
      let step = state.withLock { state -> Step in
        guard let index = state.index(of: key) else { return .load(state.reserve(key, isAhead: false)) }
        if state.buffers[index].isLoading {
          let loaded = Semaphore(0)
          state.buffers[index].waiting.append(loaded)
          return .wait(loaded)
        }
        state.uses += 1
        state.buffers[index].lastUse = state.uses
        state.buffers[index].isAhead = false
        let bytes = state.buffers[index].memory.bytes[start..<(start + target.count)]
        target.copyMemory(from: UnsafeRawBufferPointer(UnsafeMutableRawBufferPointer(rebasing: bytes)))
        return .done
      }
      switch step {
      case .done: return
      case .wait(let loaded): loaded.wait()
      case .load(let memory): try fill(memory, key, load)
      }
    }
  }

  /// Reads blocks ahead, at once, except those that are there, unless too many are read ahead already. An error is not
  /// kept: who needs the block reads it again.
  func readAhead(_ keys: [Key], load: @escaping LoadEach) {
    let isQueued = state.withLock { state in
      guard state.ahead.reduce(keys.count, { $0 + $1.keys.count }) <= Self.maximumAhead else { return false }
      if state.threadCount < Self.maximumThreads, startReading() { state.threadCount += 1 }
      guard state.threadCount > 0 else { return false }
      state.ahead.append((keys, load))
      return true
    }
    if isQueued { work.post() }
  }

  /// The thread lasts as long as the task's process. If it cannot be started, nothing is read ahead.
  private func startReading() -> Bool {
    (try? startThread { while true { self.readNext() } }) != nil
  }

  private func readNext() {
    work.wait()
    let (blocks, load) = state.withLock { state in
      let (keys, load) = state.ahead.removeFirst()
      let missing = keys.filter { state.index(of: $0) == nil }
      return (missing.map { ($0, state.reserve($0, isAhead: true)) }, load)
    }
    // Who needs a block that is wrong finds the error again.
    let areRight = load(blocks.map { ($0, $1.bytes) })
    let waiting = state.withLock { state in
      zip(blocks, areRight).flatMap { state.loaded($0.0, isRight: $1) }
    }
    for waiting in waiting { waiting.post() }
  }

  private func fill(_ memory: Memory, _ key: Key, _ load: Load) throws(MediaError) {
    let result = Result { () throws(MediaError) in try load(memory.bytes) }
    let isRight = if case .success = result { true } else { false }
    for waiting in state.withLock({ $0.loaded(key, isRight: isRight) }) { waiting.post() }
    try result.get()
  }
}
