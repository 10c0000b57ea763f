import Jobs
import Testing

@testable import Coordinator

struct SchedulerTests {
  private func claim(_ worker: String, _ limit: Int) -> Scheduler.Claim {
    Scheduler.Claim(worker: WorkerID(worker), limit: limit)
  }

  private func scheduler(_ workers: (String, slots: Int)..., maximumClaims: Int = 4) -> Scheduler {
    var scheduler = Scheduler(maximumClaims: maximumClaims)
    for (worker, slots) in workers { _ = scheduler.handle(.joined(WorkerID(worker), slots: slots)) }
    return scheduler
  }

  @Test func aWorkerWithRoomAsksForHalfOfIt() {
    var scheduler = scheduler(("a", 8))
    #expect(scheduler.handle(.woke) == [])
    #expect(scheduler.handle(.room(WorkerID("a"), 8)) == [claim("a", 4)])
    // Full: there is more, so it asks again.
    #expect(scheduler.handle(.claimed(WorkerID("a"), asked: 4, got: 4, room: 4)) == [claim("a", 2)])
    // Short: there is no more until something wakes.
    #expect(scheduler.handle(.claimed(WorkerID("a"), asked: 2, got: 1, room: 3)) == [])
    #expect(scheduler.handle(.woke) == [claim("a", 2)])
  }

  @Test func theIdlestAsksFirstAndTiesGoByName() {
    var scheduler = scheduler(("c", 4), ("a", 4), ("b", 8), maximumClaims: 1)
    var order: [Scheduler.Claim] = []
    for (worker, room) in [("a", 2), ("b", 8), ("c", 4)] { order += scheduler.handle(.room(WorkerID(worker), room)) }
    // Only one claim at a time: `a` was first to have room; then b and c are equally idle, and b comes first.
    #expect(order == [claim("a", 1)])
    #expect(scheduler.handle(.claimed(WorkerID("a"), asked: 1, got: 0, room: 2)) == [claim("b", 4)])
    #expect(scheduler.handle(.claimed(WorkerID("b"), asked: 4, got: 0, room: 8)) == [claim("c", 2)])
    #expect(scheduler.handle(.claimed(WorkerID("c"), asked: 2, got: 0, room: 4)) == [])
  }

  @Test func aWakeDuringAClaimIsNotLost() {
    var scheduler = scheduler(("a", 2))
    #expect(scheduler.handle(.room(WorkerID("a"), 2)) == [claim("a", 1)])
    #expect(scheduler.handle(.woke) == [])
    // What woke may have become ready after the claim looked.
    #expect(scheduler.handle(.claimed(WorkerID("a"), asked: 1, got: 0, room: 2)) == [claim("a", 1)])
    #expect(scheduler.handle(.claimed(WorkerID("a"), asked: 1, got: 0, room: 2)) == [])
  }

  @Test func aSlotThatBecomesFreeIsReasonToLook() {
    var scheduler = scheduler(("a", 1))
    #expect(scheduler.handle(.room(WorkerID("a"), 1)) == [claim("a", 1)])
    #expect(scheduler.handle(.claimed(WorkerID("a"), asked: 1, got: 1, room: 0)) == [])
    #expect(scheduler.handle(.room(WorkerID("a"), 1)) == [claim("a", 1)])
  }

  @Test func aWorkerThatLeftIsNotAskedFor() {
    var scheduler = scheduler(("a", 1))
    #expect(scheduler.handle(.room(WorkerID("a"), 1)) == [claim("a", 1)])
    #expect(scheduler.handle(.left(WorkerID("a"))) == [])
    #expect(scheduler.handle(.claimed(WorkerID("a"), asked: 1, got: 1, room: 0)) == [])
    #expect(scheduler.handle(.woke) == [])
  }

  @Test func noMoreClaimsAreUnderWayThanAllowed() {
    var scheduler = scheduler(("a", 1), ("b", 1), ("c", 1), maximumClaims: 2)
    var claims: [Scheduler.Claim] = []
    for worker in ["a", "b", "c"] { claims += scheduler.handle(.room(WorkerID(worker), 1)) }
    #expect(claims == [claim("a", 1), claim("b", 1)])
    #expect(scheduler.handle(.claimed(WorkerID("a"), asked: 1, got: 0, room: 1)) == [claim("c", 1)])
  }
}
