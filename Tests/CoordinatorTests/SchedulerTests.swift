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

  @Test func aWorkerClaimsHalfOfItsCapacity() {
    var scheduler = scheduler(("a", 8))
    #expect(scheduler.handle(.changed) == [])
    #expect(scheduler.handle(.capacity(WorkerID("a"), 8)) == [claim("a", 4)])
    // The claim was granted in full: there may be more.
    #expect(scheduler.handle(.claimed(WorkerID("a"), requested: 4, granted: 4, capacity: 4)) == [claim("a", 2)])
    // It came back short: there is no more until something changes.
    #expect(scheduler.handle(.claimed(WorkerID("a"), requested: 2, granted: 1, capacity: 3)) == [])
    #expect(scheduler.handle(.changed) == [claim("a", 2)])
  }

  @Test func theIdlestIsFirstAndTiesGoByName() {
    var scheduler = scheduler(("c", 4), ("a", 4), ("b", 8), maximumClaims: 1)
    var order: [Scheduler.Claim] = []
    for (worker, capacity) in [("a", 2), ("b", 8), ("c", 4)] {
      order += scheduler.handle(.capacity(WorkerID(worker), capacity))
    }
    // One claim at a time: `a` had capacity first; then b and c are equally idle, and b comes first.
    #expect(order == [claim("a", 1)])
    #expect(scheduler.handle(.claimed(WorkerID("a"), requested: 1, granted: 0, capacity: 2)) == [claim("b", 4)])
    #expect(scheduler.handle(.claimed(WorkerID("b"), requested: 4, granted: 0, capacity: 8)) == [claim("c", 2)])
    #expect(scheduler.handle(.claimed(WorkerID("c"), requested: 2, granted: 0, capacity: 4)) == [])
  }

  @Test func aChangeDuringAClaimIsNotLost() {
    var scheduler = scheduler(("a", 2))
    #expect(scheduler.handle(.capacity(WorkerID("a"), 2)) == [claim("a", 1)])
    #expect(scheduler.handle(.changed) == [])
    // What has changed may have become ready after the claim.
    #expect(scheduler.handle(.claimed(WorkerID("a"), requested: 1, granted: 0, capacity: 2)) == [claim("a", 1)])
    #expect(scheduler.handle(.claimed(WorkerID("a"), requested: 1, granted: 0, capacity: 2)) == [])
  }

  @Test func aSlotThatBecomesFreeIsAReasonToClaim() {
    var scheduler = scheduler(("a", 1))
    #expect(scheduler.handle(.capacity(WorkerID("a"), 1)) == [claim("a", 1)])
    #expect(scheduler.handle(.claimed(WorkerID("a"), requested: 1, granted: 1, capacity: 0)) == [])
    #expect(scheduler.handle(.capacity(WorkerID("a"), 1)) == [claim("a", 1)])
  }

  @Test func aWorkerThatHasLeftIsNotClaimedFor() {
    var scheduler = scheduler(("a", 1))
    #expect(scheduler.handle(.capacity(WorkerID("a"), 1)) == [claim("a", 1)])
    #expect(scheduler.handle(.left(WorkerID("a"))) == [])
    #expect(scheduler.handle(.claimed(WorkerID("a"), requested: 1, granted: 1, capacity: 0)) == [])
    #expect(scheduler.handle(.changed) == [])
  }

  @Test func noMoreClaimsAreUnderWayThanAllowed() {
    var scheduler = scheduler(("a", 1), ("b", 1), ("c", 1), maximumClaims: 2)
    var claims: [Scheduler.Claim] = []
    for worker in ["a", "b", "c"] { claims += scheduler.handle(.capacity(WorkerID(worker), 1)) }
    #expect(claims == [claim("a", 1), claim("b", 1)])
    #expect(scheduler.handle(.claimed(WorkerID("a"), requested: 1, granted: 0, capacity: 1)) == [claim("c", 1)])
  }
}
