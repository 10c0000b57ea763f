import FarmModel
import Jobs
import Testing

@testable import Coordinator

struct SchedulerTests {
  private func holder(_ worker: String, session: Int64 = 1) -> Holder {
    Holder(worker: WorkerID(worker), session: SessionID(session))
  }

  private func claim(_ workers: String..., build: String = "b") -> Scheduler.Claim {
    Scheduler.Claim(build: build, slots: workers.map { holder($0) })
  }

  private func scheduler(_ workers: (String, slots: Int)..., maximumSlots: Int = 256) -> Scheduler {
    var scheduler = Scheduler(maximumSlots: maximumSlots)
    for (worker, slots) in workers { _ = scheduler.handle(.joined(holder(worker), slots: slots, build: "b")) }
    return scheduler
  }

  /// The claim has returned with these grants, and they have reached the sessions, which report what is left.
  private func end(
    _ claim: Scheduler.Claim, granted: [String], left: [(String, Int)] = [], _ scheduler: inout Scheduler
  ) -> [Scheduler.Claim] {
    var claims = scheduler.handle(
      .claimed(build: claim.build, slots: claim.slots, granted: granted.map { holder($0) }))
    for (worker, capacity) in left { claims += scheduler.handle(.capacity(holder(worker), capacity)) }
    for worker in granted { claims += scheduler.handle(.delivered(holder(worker), 1)) }
    return claims
  }

  @Test func theFreeSlotsOfABuildAreOneClaim() {
    var scheduler = scheduler(("a", 2), ("b", 2))
    let first = scheduler.handle(.capacity(holder("a"), 2))
    #expect(first == [claim("a", "a")])
    // Under way: the build has one claim at a time.
    #expect(scheduler.handle(.capacity(holder("b"), 2)) == [])
    #expect(end(first[0], granted: [], &scheduler) == [claim("a", "b", "a", "b")])
  }

  @Test func eachBuildHasAClaimOfItsOwn() {
    var scheduler = scheduler(("a", 1))
    _ = scheduler.handle(.joined(holder("z"), slots: 1, build: "other"))
    #expect(scheduler.handle(.capacity(holder("z"), 1)) == [claim("z", build: "other")])
    #expect(scheduler.handle(.capacity(holder("a"), 1)) == [claim("a")])
  }

  @Test func theIdlestIsFirst() {
    var scheduler = scheduler(("a", 4), ("b", 8), ("c", 4), maximumSlots: 3)
    _ = scheduler.handle(.held(true))
    for (worker, capacity) in [("a", 2), ("b", 8), ("c", 4)] {
      #expect(scheduler.handle(.capacity(holder(worker), capacity)) == [])
    }
    #expect(scheduler.handle(.held(false)) == [claim("b", "c", "b")])
  }

  @Test func equalWorkersAreServedInTurn() {
    var scheduler = scheduler(("a", 1), ("b", 1), ("c", 1))
    _ = scheduler.handle(.held(true))
    for worker in ["a", "b", "c"] { _ = scheduler.handle(.capacity(holder(worker), 1)) }
    var claims = scheduler.handle(.held(false))
    var order: [String] = []
    // One task at a time becomes ready, and each is done before the next one.
    for _ in 0..<6 {
      let first = claims[0].slots[0].worker.description
      order.append(first)
      #expect(end(claims[0], granted: [first], left: [(first, 0)], &scheduler) == [])
      #expect(scheduler.handle(.held(true)) == [])
      #expect(scheduler.handle(.capacity(holder(first), 1)) == [])
      claims = scheduler.handle(.held(false))
    }
    #expect(order == ["a", "b", "c", "a", "b", "c"])
  }

  @Test func grantsOnTheirWayToASessionUseItsCapacity() {
    var scheduler = scheduler(("a", 2))
    let first = scheduler.handle(.capacity(holder("a"), 2))
    // Both slots were granted; the session has not reported that yet.
    #expect(
      scheduler.handle(.claimed(build: "b", slots: first[0].slots, granted: [holder("a"), holder("a")])) == [])
    #expect(scheduler.handle(.changed) == [])
    #expect(scheduler.handle(.capacity(holder("a"), 0)) == [])
    #expect(scheduler.handle(.delivered(holder("a"), 2)) == [])
    #expect(scheduler.handle(.capacity(holder("a"), 1)) == [claim("a")])
  }

  @Test func aClaimThatCameBackShortIsNotRepeatedUntilSomethingChanges() {
    var scheduler = scheduler(("a", 8))
    let first = scheduler.handle(.capacity(holder("a"), 2))
    #expect(end(first[0], granted: ["a"], left: [("a", 1)], &scheduler) == [])
    #expect(scheduler.handle(.changed) == [claim("a")])
  }

  @Test func aChangeDuringAClaimIsNotLost() {
    var scheduler = scheduler(("a", 1))
    let first = scheduler.handle(.capacity(holder("a"), 1))
    #expect(scheduler.handle(.changed) == [])
    // What has changed may have become ready after the claim.
    #expect(end(first[0], granted: [], &scheduler) == [claim("a")])
    #expect(end(claim("a"), granted: [], &scheduler) == [])
  }

  @Test func aSlotThatBecomesFreeIsAReasonToClaim() {
    var scheduler = scheduler(("a", 1))
    let first = scheduler.handle(.capacity(holder("a"), 1))
    #expect(end(first[0], granted: ["a"], left: [("a", 0)], &scheduler) == [])
    #expect(scheduler.handle(.capacity(holder("a"), 1)) == [claim("a")])
  }

  @Test func aWorkerThatHasLeftIsNotClaimedFor() {
    var scheduler = scheduler(("a", 1))
    let first = scheduler.handle(.capacity(holder("a"), 1))
    #expect(scheduler.handle(.left(holder("a"))) == [])
    #expect(end(first[0], granted: ["a"], &scheduler) == [])
    #expect(scheduler.handle(.changed) == [])
  }

  @Test func anEndOfAnEarlierConnectionDoesNotConcernTheLaterOne() {
    var scheduler = scheduler(("a", 1))
    _ = scheduler.handle(.joined(holder("a", session: 2), slots: 1, build: "b"))
    #expect(scheduler.handle(.capacity(holder("a"), 1)) == [])
    _ = scheduler.handle(.left(holder("a")))
    let claims = scheduler.handle(.capacity(holder("a", session: 2), 1))
    #expect(claims == [Scheduler.Claim(build: "b", slots: [holder("a", session: 2)])])
  }

  @Test func nothingIsClaimedWhileClaimsAreHeld() {
    var scheduler = scheduler(("a", 1))
    #expect(scheduler.handle(.held(true)) == [])
    #expect(scheduler.handle(.capacity(holder("a"), 1)) == [])
    #expect(scheduler.handle(.changed) == [])
    #expect(scheduler.handle(.held(false)) == [claim("a")])
  }
}
