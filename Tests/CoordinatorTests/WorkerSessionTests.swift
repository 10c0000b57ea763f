import Digest
import FarmModel
import Jobs
import Testing

@testable import Coordinator

struct WorkerSessionTests {
  private func lease(_ ordinal: Int32, epoch: Int64 = 1) -> Lease {
    Lease(task: TaskID(job: JobID("j"), ordinal: ordinal), epoch: epoch)
  }

  private func grant(_ ordinal: Int32) -> Grant {
    Grant(lease: lease(ordinal), holder: holder, kind: .video, payload: [], inputs: [], work: 10)
  }

  private let holder = Holder(worker: WorkerID("w"), session: SessionID(3))

  private func session(slots: Int = 2) -> WorkerSession {
    WorkerSession(holder: holder, slots: slots, silence: .seconds(15), now: .zero)
  }

  private func heartbeat(_ leases: Lease..., free: Int, draining: Bool = false) -> WorkerSession.Event {
    .heartbeat(
      renewals: leases.map(renewal), freeSlots: free, isDraining: draining)
  }

  private func renewal(_ lease: Lease) -> Renewal { Renewal(lease: lease, holder: holder, done: 1, moved: 2) }

  private let content = Content(digest: SHA256Digest.of([]), size: 1)

  @Test func `a heartbeat renews and reports the capacity`() {
    var session = session()
    #expect(session.handle(heartbeat(free: 2), now: .zero) == [.renew([]), .capacity(2)])
    #expect(session.handle(.renewed(lost: []), now: .zero) == [.replyToHeartbeat(cancelled: [])])
  }

  @Test func `grants take capacity until a heartbeat lists them`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    #expect(session.handle(.claimed([grant(1)]), now: .zero) == [.grant(grant(1)), .capacity(1)])
    // Written before the grant was read: the slot that it counts as free is taken.
    #expect(session.handle(heartbeat(free: 2), now: .zero) == [.renew([])])
    #expect(session.capacity(now: .zero) == 1)
    // Written after.
    _ = session.handle(heartbeat(lease(1), free: 1), now: .zero)
    #expect(session.capacity(now: .zero) == 1)
    // A result that is being uploaded takes no slot.
    _ = session.handle(heartbeat(lease(1), free: 2), now: .zero)
    #expect(session.capacity(now: .zero) == 2)
  }

  @Test func `leases are bounded by twice the slots`() {
    var session = session(slots: 1)
    _ = session.handle(heartbeat(free: 1), now: .zero)
    _ = session.handle(.claimed([grant(1)]), now: .zero)
    _ = session.handle(heartbeat(lease(1), free: 1), now: .zero)
    _ = session.handle(.claimed([grant(2)]), now: .zero)
    _ = session.handle(heartbeat(lease(1), lease(2), free: 1), now: .zero)
    #expect(session.capacity(now: .zero) == 0)
    #expect(session.handle(.published(lease(1), .published), now: .zero).contains(.capacity(1)))
  }

  @Test func `free slots beyond the slots are ignored`() {
    var session = session()
    #expect(session.handle(heartbeat(free: 100), now: .zero).contains(.capacity(2)))
  }

  @Test func `a lease that the worker dropped is forgotten`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    _ = session.handle(.claimed([grant(1)]), now: .zero)
    _ = session.handle(heartbeat(lease(1), free: 1), now: .zero)
    _ = session.handle(heartbeat(free: 2), now: .zero)
    #expect(session.leases == [])
  }

  @Test func `lost leases are cancelled and forgotten`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    _ = session.handle(.claimed([grant(1), grant(2)]), now: .zero)
    #expect(
      session.handle(.renewed(lost: [lease(2)]), now: .zero) == [.replyToHeartbeat(cancelled: [lease(2)])])
    #expect(session.leases == [lease(1)])
  }

  @Test func `a result goes to the store and the answer back`() {
    var session = session()
    #expect(session.handle(.publish(lease(1), content), now: .zero) == [.publish(lease(1), content)])
    for outcome in [PublishOutcome.published, .duplicate, .stale, nil] {
      #expect(session.handle(.published(lease(1), outcome), now: .zero) == [.replyToPublish(lease(1), outcome)])
    }
  }

  @Test func `missing content leaves the lease with its worker`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    _ = session.handle(.claimed([grant(1)]), now: .zero)
    _ = session.handle(.published(lease(1), nil), now: .zero)
    #expect(session.leases == [lease(1)])
    _ = session.handle(.published(lease(1), .published), now: .zero)
    #expect(session.leases == [])
  }

  @Test func `a draining worker gets nothing more`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    #expect(session.handle(heartbeat(free: 2, draining: true), now: .zero).contains(.capacity(0)))
    // It stays so.
    _ = session.handle(heartbeat(free: 2), now: .zero)
    #expect(session.capacity(now: .zero) == 0)
  }

  @Test func `the first heartbeat of a connection brings the leases of the one before`() {
    var session = session(slots: 1)
    let effects = session.handle(heartbeat(lease(1), lease(2), free: 0), now: .zero)
    #expect(effects == [.renew([renewal(lease(1)), renewal(lease(2))])])
    #expect(session.leases == [lease(1), lease(2)])
    // The store does not know the second one any more.
    #expect(session.handle(.renewed(lost: [lease(2)]), now: .zero) == [.replyToHeartbeat(cancelled: [lease(2)])])
    #expect(session.leases == [lease(1)])
  }

  @Test func `a lease that ended is neither renewed nor cancelled by a heartbeat that still lists it`() {
    var session = session()
    _ = session.handle(heartbeat(lease(1), lease(2), free: 0), now: .zero)
    _ = session.handle(.publish(lease(1), content), now: .zero)
    // The renewal has crossed the result in the store.
    #expect(session.handle(.renewed(lost: [lease(1)]), now: .zero) == [.replyToHeartbeat(cancelled: [])])
    _ = session.handle(.published(lease(1), .published), now: .zero)
    #expect(session.handle(heartbeat(lease(1), lease(2), free: 0), now: .zero) == [.renew([renewal(lease(2))])])
    #expect(session.leases == [lease(2)])
  }

  private func release(
    _ ordinal: Int32, of session: inout WorkerSession, at now: Duration, counts: Bool = true, delaysTask: Bool = true
  ) {
    let failure = TaskFailure(end: .released, message: "no disk")
    let judged = TaskFailure(end: .released, message: "no disk", delaysTask: delaysTask)
    #expect(
      session.handle(.failure(lease(ordinal), failure, damagedInput: nil), now: now).first
        == .fail(lease(ordinal), judged, damagedInput: nil))
    let effects = session.handle(.failed(lease(ordinal), .released, counts: counts, message: "no disk"), now: now)
    #expect(effects.first == .replyToFailure(lease(ordinal)))
  }

  @Test func `a pause has a reason`() {
    var session = session()
    _ = session.handle(heartbeat(lease(1), lease(2), free: 1), now: .zero)
    release(1, of: &session, at: .zero)
    _ = session.handle(
      .failure(lease(2), TaskFailure(end: .released, message: "0af3 is not there"), damagedInput: nil), now: .zero)
    let effects = session.handle(.failed(lease(2), .released, counts: true, message: "no disk"), now: .zero)
    #expect(
      effects.last == .paused("it could not execute its last tasks, and takes the next one after a pause: no disk"))
    #expect(session.handle(.tick, now: .seconds(0.5)).isEmpty)
  }

  /// The pause is the task's: the worker takes others.
  @Test func `one task that cannot be executed does not pause its worker`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    for second in 0..<9 {
      release(1, of: &session, at: .seconds(second))
      #expect(session.capacity(now: .seconds(second)) == 2)
    }
    _ = session.handle(.published(lease(3), .published), now: .seconds(9))
    release(4, of: &session, at: .seconds(9))
    #expect(session.capacity(now: .seconds(9)) == 2)
  }

  /// Surroundings are what other tasks suffer too.
  @Test func `a kill counts if other tasks of the worker succeed`() {
    func end(of ordinal: Int32, _ session: inout WorkerSession) -> AttemptEnd? {
      let failure = TaskFailure(end: .killed, message: "killed")
      let effects = session.handle(.failure(lease(ordinal), failure, damagedInput: nil), now: .zero)
      guard case .fail(_, let judged, _) = effects.first else { return nil }
      _ = session.handle(.failed(lease(ordinal), judged.end, counts: true, message: "killed"), now: .zero)
      return judged.end
    }
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    #expect(end(of: 1, &session) == .killed)
    _ = session.handle(.published(lease(3), .stale), now: .zero)
    #expect(end(of: 2, &session) == .killed)
    _ = session.handle(.published(lease(3), .published), now: .zero)
    #expect(end(of: 1, &session) == .exhausted)
    #expect(end(of: 2, &session) == .killed)
    #expect(session.capacity(now: .zero) == 2)
  }

  @Test func `failures of its surroundings pause a worker longer each time`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    release(0, of: &session, at: .seconds(1))
    release(1, of: &session, at: .seconds(1))
    #expect(session.capacity(now: .seconds(1.9)) == 0)
    #expect(session.handle(.tick, now: .seconds(2)) == [.capacity(2), .paused("")])
    release(2, of: &session, at: .seconds(2))
    // Of tasks that end together, such as those of a fork server, only the first one counts.
    for ordinal in Int32(10)..<20 { release(ordinal, of: &session, at: .seconds(2)) }
    #expect(session.capacity(now: .seconds(3.9)) == 0 && session.capacity(now: .seconds(4)) == 2)
    // A result ends the series.
    _ = session.handle(.published(lease(3), .published), now: .seconds(4))
    release(4, of: &session, at: .seconds(4))
    release(5, of: &session, at: .seconds(4))
    #expect(session.capacity(now: .seconds(4.9)) == 0 && session.capacity(now: .seconds(5)) == 2)
  }

  @Test func `a report of a lease that the worker does not hold pauses nothing`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    for ordinal in Int32(0)..<4 { release(ordinal, of: &session, at: .zero, counts: false) }
    #expect(session.capacity(now: .zero) == 2)
  }

  @Test func `a drain pauses nothing`() {
    var session = session()
    _ = session.handle(heartbeat(lease(1), free: 1, draining: true), now: .zero)
    for ordinal in Int32(1)...3 { release(ordinal, of: &session, at: .zero, delaysTask: false) }
    #expect(session.capacity(now: .zero) == 0)
  }

  @Test func `failures of media do not pause the worker`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .zero)
    let failure = TaskFailure(end: .media, message: "bad frame")
    #expect(
      session.handle(.failure(lease(1), failure, damagedInput: content.digest), now: .zero)
        == [.fail(lease(1), failure, damagedInput: content.digest)])
    #expect(
      session.handle(.failed(lease(1), .media, counts: true, message: "bad frame"), now: .zero)
        == [.replyToFailure(lease(1))])
  }

  @Test func `silence for a lease closes the connection`() {
    var session = session()
    _ = session.handle(heartbeat(free: 2), now: .seconds(1))
    #expect(session.handle(.tick, now: .seconds(16)) == [])
    // A part of a long message has come.
    #expect(session.handle(.received(.seconds(4)), now: .seconds(16)) == [])
    #expect(session.handle(.tick, now: .seconds(19)) == [])
    #expect(session.handle(.tick, now: .seconds(19.001)) == [.close])
  }
}
