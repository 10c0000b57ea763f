import Testing

@testable import Wire

struct AsyncSemaphoreTests {
  @Test func `tasks are admitted in their order`() {
    var queue = AsyncSemaphore.Queue(capacity: 2)
    #expect(queue.enter(1) == [1])
    #expect(queue.enter(2) == [2])
    #expect(queue.enter(3) == [])
    #expect(queue.enter(4) == [])
    #expect(queue.leave() == [3])
    #expect(queue.cancel(4) == true)
    #expect(queue.cancel(3) == false, "it is inside")
    #expect(queue.leave() == [])
    #expect(queue.enter(5) == [5])
  }

  @Test func `nobody is admitted during a hold`() {
    var queue = AsyncSemaphore.Queue(capacity: 1)
    queue.hold()
    queue.hold()
    #expect(queue.enter(1) == [])
    #expect(queue.endHold() == [])
    #expect(queue.endHold() == [1])
    queue.hold()
    #expect(queue.enter(2) == [])
    #expect(queue.leave() == [])
    #expect(queue.endHold() == [2])
  }

  @Test func `a task that is cancelled waits no longer`() async {
    let semaphore = AsyncSemaphore(capacity: 1)
    #expect(await semaphore.enter())
    let waiting = Task { await semaphore.enter() }
    let next = Task { await semaphore.enter() }
    waiting.cancel()
    #expect(await !waiting.value)
    semaphore.leave()
    #expect(await next.value)
  }
}

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
