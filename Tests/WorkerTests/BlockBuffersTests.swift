import Digest
import Media
import SystemSupport
import TestPrograms
import Testing

@testable import Worker

/// The blocks that a task has in memory, some of them read ahead.
@Suite struct BlockBuffersTests {
  private static let size = Int(ContentBlock.size)

  /// Fills a block with bytes that tell which one it is, a thousand of one value at a time.
  private static func fill(_ bytes: UnsafeMutableRawBufferPointer, _ key: BlockBuffers.Key) {
    for start in stride(from: 0, to: size, by: 1000) {
      bytes[start..<min(start + 1000, size)].initializeMemory(as: UInt8.self, repeating: expected(key, start))
    }
  }

  private static func expected(_ key: BlockBuffers.Key, _ index: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: key.input &* 31 &+ key.block &* 7 &+ index / 1000)
  }

  private static let broken = MediaError(.io, operation: "reading", subject: "a test", message: "broken")

  @Test func `threads that read and read ahead get each block's own bytes, and errors only of broken blocks`() async {
    let buffers = BlockBuffers()
    let wrong = await withTaskGroup(of: [String].self) { group in
      for reader in 0..<4 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(reader))
          var wrong: [String] = []
          for _ in 0..<300 {
            let key = BlockBuffers.Key(
              input: Int.random(in: 0...1, using: &random), block: .random(in: 0..<40, using: &random))
            let isBroken = key.block % 10 == 9
            let load: BlockBuffers.Load = { bytes throws(MediaError) in
              if isBroken { throw Self.broken }
              Self.fill(bytes, key)
            }
            if Bool.random(using: &random) {
              // With the blocks after it, as many as a source may ask for.
              let count = Int.random(in: 1...BlockBuffers.greatestGroup, using: &random)
              buffers.readAhead((0..<count).map { BlockBuffers.Key(input: key.input, block: key.block + $0) }) {
                $0.map { key, bytes in
                  Self.fill(bytes, key)
                  return key.block % 10 != 9
                }
              }
              continue
            }
            let start = Int.random(in: 0..<Self.size, using: &random)
            var target = [UInt8](repeating: 0, count: min(100, Self.size - start))
            let result = target.withUnsafeMutableBytes { target in
              Result { () throws(MediaError) in try buffers.copy(key, from: start, to: target, load: load) }
            }
            switch result {
            case .success
            where !isBroken && target.indices.allSatisfy({ target[$0] == Self.expected(key, start + $0) }):
              break
            case .failure where isBroken: break
            default: wrong.append("\(key) at \(start): \(result)")
            }
          }
          return wrong
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(wrong == [])
  }

  @Test func `a block that is read ahead is not loaded again`() throws {
    let buffers = BlockBuffers()
    let key = BlockBuffers.Key(input: 0, block: 3)
    let begun = Semaphore(0)
    buffers.readAhead([key]) { blocks in
      begun.post()
      for block in blocks { Self.fill(block.memory, block.key) }
      return blocks.map { _ in true }
    }
    begun.wait()
    var target = [UInt8](repeating: 0, count: 10)
    try target.withUnsafeMutableBytes { target in
      try buffers.copy(key, from: 5000, to: target) { _ throws(MediaError) in throw Self.broken }
    }
    #expect(target.indices.allSatisfy { target[$0] == Self.expected(key, 5000 + $0) })
  }

  @Test func `blocks that were read ahead are kept until they are used`() throws {
    let buffers = BlockBuffers()
    let count = 3 * BlockBuffers.greatestGroup
    let loaded = Semaphore(0)
    for start in stride(from: 0, to: count, by: BlockBuffers.greatestGroup) {
      buffers.readAhead((start..<(start + BlockBuffers.greatestGroup)).map { BlockBuffers.Key(input: 0, block: $0) }) {
        for block in $0 { Self.fill(block.memory, block.key) }
        loaded.post()
        return $0.map { _ in true }
      }
    }
    for _ in 0..<3 { loaded.wait() }
    var target = [UInt8](repeating: 0, count: 10)
    // Another input is read from one place after another meanwhile.
    for block in 0..<200 {
      let key = BlockBuffers.Key(input: 1, block: block)
      try target.withUnsafeMutableBytes { target in
        try buffers.copy(key, from: 0, to: target) { bytes throws(MediaError) in Self.fill(bytes, key) }
      }
    }
    for block in 0..<count {
      let key = BlockBuffers.Key(input: 0, block: block)
      try target.withUnsafeMutableBytes { target in
        try buffers.copy(key, from: 7000, to: target) { _ throws(MediaError) in throw Self.broken }
      }
      #expect(target.indices.allSatisfy { target[$0] == Self.expected(key, 7000 + $0) })
    }
  }

  @Test func `who needs a block that could not be read ahead reads it again`() throws {
    let buffers = BlockBuffers()
    let key = BlockBuffers.Key(input: 0, block: 3)
    let begun = Semaphore(0)
    buffers.readAhead([key]) { blocks in
      begun.post()
      return blocks.map { _ in false }
    }
    begun.wait()
    var target = [UInt8](repeating: 0, count: 10)
    try target.withUnsafeMutableBytes { target in
      try buffers.copy(key, from: 0, to: target) { bytes throws(MediaError) in Self.fill(bytes, key) }
    }
    #expect(target.indices.allSatisfy { target[$0] == Self.expected(key, $0) })
  }
}
