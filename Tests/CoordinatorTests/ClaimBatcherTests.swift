import FarmModel
import Jobs
import Testing

@testable import Coordinator

struct ClaimBatcherTests {
  private func holder(_ worker: String, session: Int64 = 1) -> Holder {
    Holder(worker: WorkerID(worker), session: SessionID(session))
  }

  private func claim(_ workers: String..., build: String = "b") -> ClaimBatcher.Claim {
    ClaimBatcher.Claim(group: .init(build: build), slots: workers.map { holder($0) })
  }

  private func claimBatcher(_ workers: (String, slots: Int)..., maximumSlots: Int = 256) -> ClaimBatcher {
    var claimBatcher = ClaimBatcher(maximumSlots: maximumSlots)
    for (worker, slots) in workers {
      _ = claimBatcher.handle(.joined(holder(worker), slots: slots, group: .init(build: "b")))
    }
    return claimBatcher
  }

  /// The claim has returned with these grants, and they have reached the sessions, which report what is left.
  private func end(
    _ claim: ClaimBatcher.Claim, granted: [String], left: [(String, Int)] = [], _ claimBatcher: inout ClaimBatcher
  ) -> [ClaimBatcher.Claim] {
    var claims = claimBatcher.handle(
      .claimed(group: claim.group, slots: claim.slots, granted: granted.map { holder($0) }))
    for (worker, capacity) in left { claims += claimBatcher.handle(.capacity(holder(worker), capacity)) }
    for worker in granted { claims += claimBatcher.handle(.delivered(holder(worker), 1)) }
    return claims
  }

  @Test func `the free slots of a build are one claim`() {
    var claimBatcher = claimBatcher(("a", 2), ("b", 2))
    let first = claimBatcher.handle(.capacity(holder("a"), 2))
    #expect(first == [claim("a", "a")])
    // Under way: the build has one claim at a time.
    #expect(claimBatcher.handle(.capacity(holder("b"), 2)) == [])
    #expect(end(first[0], granted: [], &claimBatcher) == [claim("a", "b", "a", "b")])
  }

  @Test func `each build has a claim of its own`() {
    var claimBatcher = claimBatcher(("a", 1))
    _ = claimBatcher.handle(.joined(holder("z"), slots: 1, group: .init(build: "other")))
    #expect(claimBatcher.handle(.capacity(holder("z"), 1)) == [claim("z", build: "other")])
    #expect(claimBatcher.handle(.capacity(holder("a"), 1)) == [claim("a")])
  }

  /// Idle workers that take nothing, because their pools are closed, keep no slots of others from being tried.
  @Test func `workers of other pools have a claim of their own`() {
    var claimBatcher = ClaimBatcher(maximumSlots: 2)
    let gpu = ClaimBatcher.Group(build: "b", pools: ["gpu"])
    _ = claimBatcher.handle(.joined(holder("a"), slots: 2, group: gpu))
    _ = claimBatcher.handle(.joined(holder("c"), slots: 2, group: .init(build: "b")))
    let first = claimBatcher.handle(.capacity(holder("a"), 2))
    #expect(first == [ClaimBatcher.Claim(group: gpu, slots: [holder("a"), holder("a")])])
    #expect(claimBatcher.handle(.claimed(group: gpu, slots: first[0].slots, granted: [])) == [])
    #expect(claimBatcher.handle(.capacity(holder("c"), 1)) == [claim("c")])
  }

  @Test func `the idlest is first`() {
    var claimBatcher = claimBatcher(("a", 4), ("b", 8), ("c", 4), maximumSlots: 3)
    _ = claimBatcher.handle(.held(true))
    for (worker, capacity) in [("a", 2), ("b", 8), ("c", 4)] {
      #expect(claimBatcher.handle(.capacity(holder(worker), capacity)) == [])
    }
    #expect(claimBatcher.handle(.held(false)) == [claim("b", "c", "b")])
  }

  @Test func `equal workers are served in turn`() {
    var claimBatcher = claimBatcher(("a", 1), ("b", 1), ("c", 1))
    _ = claimBatcher.handle(.held(true))
    for worker in ["a", "b", "c"] { _ = claimBatcher.handle(.capacity(holder(worker), 1)) }
    var claims = claimBatcher.handle(.held(false))
    var order: [String] = []
    // One task at a time becomes ready, and each is done before the next one.
    for _ in 0..<6 {
      let first = claims[0].slots[0].worker.description
      order.append(first)
      #expect(end(claims[0], granted: [first], left: [(first, 0)], &claimBatcher) == [])
      #expect(claimBatcher.handle(.held(true)) == [])
      #expect(claimBatcher.handle(.capacity(holder(first), 1)) == [])
      claims = claimBatcher.handle(.held(false))
    }
    #expect(order == ["a", "b", "c", "a", "b", "c"])
  }

  @Test func `grants on their way to a session use its capacity`() {
    var claimBatcher = claimBatcher(("a", 2))
    let first = claimBatcher.handle(.capacity(holder("a"), 2))
    // Both slots were granted; the session has not reported that yet.
    #expect(
      claimBatcher.handle(
        .claimed(group: .init(build: "b"), slots: first[0].slots, granted: [holder("a"), holder("a")])) == [])
    #expect(claimBatcher.handle(.changed) == [])
    #expect(claimBatcher.handle(.capacity(holder("a"), 0)) == [])
    #expect(claimBatcher.handle(.delivered(holder("a"), 2)) == [])
    #expect(claimBatcher.handle(.capacity(holder("a"), 1)) == [claim("a")])
  }

  @Test func `a grant that arrives before its claim is known to have returned leaves its slot as it was`() {
    var claimBatcher = claimBatcher(("a", 2))
    let first = claimBatcher.handle(.capacity(holder("a"), 1))
    #expect(claimBatcher.handle(.capacity(holder("a"), 0)) == [])
    #expect(claimBatcher.handle(.delivered(holder("a"), 1)) == [])
    #expect(
      claimBatcher.handle(.claimed(group: .init(build: "b"), slots: first[0].slots, granted: [holder("a")])) == [])
    // Its task has ended.
    #expect(claimBatcher.handle(.capacity(holder("a"), 1)) == [claim("a")])
  }

  @Test func `a claim that came back short is not repeated until something changes`() {
    var claimBatcher = claimBatcher(("a", 8))
    let first = claimBatcher.handle(.capacity(holder("a"), 2))
    #expect(end(first[0], granted: ["a"], left: [("a", 1)], &claimBatcher) == [])
    #expect(claimBatcher.handle(.changed) == [claim("a")])
  }

  @Test func `a change during a claim is not lost`() {
    var claimBatcher = claimBatcher(("a", 1))
    let first = claimBatcher.handle(.capacity(holder("a"), 1))
    #expect(claimBatcher.handle(.changed) == [])
    // What has changed may have become ready after the claim.
    #expect(end(first[0], granted: [], &claimBatcher) == [claim("a")])
    #expect(end(claim("a"), granted: [], &claimBatcher) == [])
  }

  @Test func `a slot that becomes free is a reason to claim`() {
    var claimBatcher = claimBatcher(("a", 1))
    let first = claimBatcher.handle(.capacity(holder("a"), 1))
    #expect(end(first[0], granted: ["a"], left: [("a", 0)], &claimBatcher) == [])
    #expect(claimBatcher.handle(.capacity(holder("a"), 1)) == [claim("a")])
  }

  @Test func `a worker that has left is not claimed for`() {
    var claimBatcher = claimBatcher(("a", 1))
    let first = claimBatcher.handle(.capacity(holder("a"), 1))
    #expect(claimBatcher.handle(.left(holder("a"))) == [])
    #expect(end(first[0], granted: ["a"], &claimBatcher) == [])
    #expect(claimBatcher.handle(.changed) == [])
  }

  @Test func `an end of an earlier connection does not concern the later one`() {
    var claimBatcher = claimBatcher(("a", 1))
    _ = claimBatcher.handle(.joined(holder("a", session: 2), slots: 1, group: .init(build: "b")))
    #expect(claimBatcher.handle(.capacity(holder("a"), 1)) == [])
    _ = claimBatcher.handle(.left(holder("a")))
    let claims = claimBatcher.handle(.capacity(holder("a", session: 2), 1))
    #expect(claims == [ClaimBatcher.Claim(group: .init(build: "b"), slots: [holder("a", session: 2)])])
  }

  @Test func `nothing is claimed while claims are held`() {
    var claimBatcher = claimBatcher(("a", 1))
    #expect(claimBatcher.handle(.held(true)) == [])
    #expect(claimBatcher.handle(.capacity(holder("a"), 1)) == [])
    #expect(claimBatcher.handle(.changed) == [])
    #expect(claimBatcher.handle(.held(false)) == [claim("a")])
  }
}
