import Testing

@testable import Wire

struct ChunkSizeTests {
  /// Content arrives at a rate, in chunks of the size that is asked for.
  private func size(at rate: Double, chunks: Int = 40, from size: ChunkSize = ChunkSize()) -> ChunkSize {
    var size = size
    let start = ContinuousClock.now
    var now = start
    for _ in 0..<chunks {
      now += .seconds(Double(size.bytes) / rate)
      size.arrived(size.bytes, requested: start, now: now)
    }
    return size
  }

  @Test func `a chunk takes a tenth of a second`() {
    #expect(size(at: 40_000).bytes == ChunkSize.smallest)
    #expect(size(at: 1e6).bytes == 64 << 10)
    #expect(size(at: 1e9).bytes == WireProtocol.maximumChunk)
  }

  @Test func `it follows the link`() {
    let fast = size(at: 1e9)
    let slow = size(at: 40_000, from: fast)
    #expect(slow.bytes == ChunkSize.smallest)
    #expect(size(at: 1e9, from: slow).bytes == WireProtocol.maximumChunk)
  }

  @Test func `a short end of content says nothing`() {
    var size = ChunkSize()
    let start = ContinuousClock.now
    for _ in 0..<100 { size.arrived(10, requested: start, now: start + .seconds(1)) }
    #expect(size.bytes == ChunkSize().bytes)
  }
}
