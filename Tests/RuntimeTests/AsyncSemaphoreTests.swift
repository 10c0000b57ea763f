import Testing

@testable import Runtime

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
