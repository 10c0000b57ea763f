import FarmModel
import Jobs
import Testing

@testable import Coordinator

struct RenewalQueueTests {
  private func holder(_ worker: String, session: Int64 = 1) -> Holder {
    Holder(worker: WorkerID(worker), session: SessionID(session))
  }

  private func renewal(_ worker: String, _ ordinal: Int32) -> Renewal {
    Renewal(
      lease: Lease(task: TaskID(job: JobID("j"), ordinal: ordinal), epoch: 1), holder: holder(worker), done: 0, moved: 0
    )
  }

  private func heartbeat(_ worker: String, _ ordinals: Int32...) -> RenewalQueue.Event {
    .heartbeat(holder(worker), ordinals.map { renewal(worker, $0) })
  }

  @Test func `the heartbeats of a second are one call`() {
    var queue = RenewalQueue()
    #expect(queue.handle(heartbeat("a", 1), now: .zero) == [.renew([renewal("a", 1)])])
    #expect(queue.handle(.returned(lost: []), now: .milliseconds(5)) == [.reply(holder("a"), lost: [])])
    for (index, worker) in ["d", "b", "c"].enumerated() {
      #expect(queue.handle(heartbeat(worker, Int32(index)), now: .milliseconds(100)) == [])
    }
    #expect(queue.handle(.tick, now: .milliseconds(999)) == [])
    #expect(
      queue.handle(.tick, now: .seconds(1)) == [.renew([renewal("b", 1), renewal("c", 2), renewal("d", 0)])])
  }

  @Test func `each worker is answered with what it has lost`() {
    var queue = RenewalQueue(interval: .zero)
    _ = queue.handle(heartbeat("a", 1, 2), now: .zero)
    #expect(
      queue.handle(.returned(lost: [renewal("a", 2)]), now: .zero)
        == [.reply(holder("a"), lost: [renewal("a", 2).lease])])
  }

  @Test func `a heartbeat without leases is answered at once`() {
    var queue = RenewalQueue()
    #expect(queue.handle(heartbeat("a"), now: .zero) == [.reply(holder("a"), lost: [])])
  }

  @Test func `a store that does not answer holds up no reply for more than two seconds`() {
    var queue = RenewalQueue()
    _ = queue.handle(heartbeat("a", 1), now: .zero)
    #expect(queue.handle(heartbeat("b", 2), now: .seconds(1)) == [])
    #expect(queue.handle(.tick, now: .seconds(1.9)) == [])
    #expect(queue.handle(.tick, now: .seconds(2)) == [.reply(holder("a"), lost: [])])
    #expect(queue.handle(.tick, now: .seconds(3)) == [.reply(holder("b"), lost: [])])
    // Each is answered once, and what waits is renewed when the store answers again.
    #expect(queue.handle(heartbeat("b", 3), now: .seconds(60)) == [])
    #expect(
      queue.handle(.returned(lost: [renewal("a", 1)]), now: .seconds(61)) == [.renew([renewal("b", 3)])])
  }

  @Test func `a failed call cancels nothing`() {
    var queue = RenewalQueue()
    _ = queue.handle(heartbeat("a", 1), now: .zero)
    #expect(queue.handle(.returned(lost: nil), now: .zero) == [.reply(holder("a"), lost: [])])
  }

  @Test func `a later heartbeat takes the place of one that waits`() {
    var queue = RenewalQueue()
    _ = queue.handle(heartbeat("z", 9), now: .zero)
    _ = queue.handle(.returned(lost: []), now: .zero)
    _ = queue.handle(heartbeat("a", 1, 2), now: .milliseconds(100))
    _ = queue.handle(heartbeat("a", 2), now: .milliseconds(200))
    #expect(queue.handle(.tick, now: .seconds(1)) == [.renew([renewal("a", 2)])])
  }

  @Test func `a connection that is closed is not answered`() {
    var queue = RenewalQueue()
    _ = queue.handle(heartbeat("a", 1), now: .zero)
    _ = queue.handle(.left(holder("a")), now: .zero)
    #expect(queue.handle(.returned(lost: []), now: .zero) == [])
    #expect(queue.handle(.tick, now: .seconds(9)) == [])
  }
}
