import Client
import FarmAPI
import FarmModel
import Jobs
import Synchronization
import Testing
import Wire

@testable import Coordinator

struct LookScheduleTests {
  private let jobs = (1...9).map { JobID("j\($0)") }

  @Test func `all jobs together are looked at four times a second`() {
    var schedule = LookSchedule()
    for job in jobs { schedule.add(job) }
    var looks: [JobID] = []
    var now = Duration.zero
    while now < .seconds(10) {
      schedule.changed()
      switch schedule.next(now: now) {
      case .look(let job): looks.append(job)
      case .wait(let time): now += time
      case .idle: now += .milliseconds(1)
      }
    }
    #expect((40...44).contains(looks.count))
    // In turn.
    #expect(Array(looks.prefix(18)) == jobs + jobs)
  }

  @Test func `a job that has not changed is not looked at again`() {
    var schedule = LookSchedule()
    schedule.add(jobs[0])
    #expect(schedule.next(now: .zero) == .look(jobs[0]))
    #expect(schedule.next(now: .zero) == .idle)
    schedule.changed()
    #expect(schedule.next(now: .zero) == .look(jobs[0]))
    schedule.changed()
    schedule.remove(jobs[0])
    #expect(schedule.next(now: .seconds(1)) == .idle)
  }

  @Test func `a pause allows a burst`() {
    var schedule = LookSchedule()
    for job in jobs { schedule.add(job) }
    for job in jobs.prefix(4) { #expect(schedule.next(now: .zero) == .look(job)) }
    #expect(schedule.next(now: .zero) == .wait(.milliseconds(250)))
    #expect(schedule.next(now: .milliseconds(250)) == .look(jobs[4]))
    #expect(schedule.next(now: .milliseconds(300)) == .wait(.milliseconds(200)))
  }
}

@Suite(.timeLimit(.minutes(10))) struct WatchTests {
  /// A program makes a coordinator for each file that it probes on its machine.
  @Test func `a coordinator that has ended is freed`() async throws {
    struct Ended: Sendable {
      weak let service: CoordinatorService?
    }
    let ended = try await TestCoordinator.run { coordinator in
      try await coordinator.render(4)
      _ = coordinator.service.watches
      return Ended(service: coordinator.service)
    }
    try await eventually("nothing keeps the coordinator") { ended.service == nil }
  }

  @Test func `watchers of one job share their looks and read no tasks`() async throws {
    try await TestCoordinator.runObstructed { coordinator, _ in
      try await coordinator.render(4)
      let watches = coordinator.service.watches
      let seen = Counter()
      try await withThrowingTaskGroup(of: JobState?.self) { group in
        for _ in 0..<12 {
          group.addTask {
            var last: JobState?
            for try await status in await watches.watch(TestCoordinator.job) {
              if last == nil { seen.add() }
              last = status?.state
            }
            return last
          }
        }
        try await eventually("each watcher has a status") { seen.count == 12 }
        _ = try await coordinator.store.cancel(TestCoordinator.job)
        for try await last in group { #expect(last == .cancelled) }
      }
      // Twelve watchers, each with a first and a last status, took far fewer looks.
      #expect(await watches.looks <= 8)
    }
  }

  @Test func `a watch says that the job store is away and that it is back`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      try await coordinator.render()
      var statuses = await coordinator.service.watches.watch(TestCoordinator.job).makeAsyncIterator()
      func next(_ isMeant: (JobStatus) -> Bool) async throws {
        while let status = try await statuses.next() {
          if let status, isMeant(status) { return }
        }
        Issue.record("the watch ended")
      }
      try await next { $0.waitReason != .noStore }
      store.fail()
      try await next { $0.waitReason == .noStore }
      store.free()
      try await next { $0.waitReason != .noStore }
    }
  }

  @Test func `a watch of a job that is not there says so`() async throws {
    try await TestCoordinator.run { coordinator in
      var statuses: [JobStatus?] = []
      for try await status in await coordinator.service.watches.watch(JobID("none")) { statuses.append(status) }
      #expect(statuses == [nil])
    }
  }
}

private final class Counter: Sendable {
  private let value = Mutex(0)

  var count: Int { value.withLock { $0 } }

  func add() { value.withLock { $0 += 1 } }
}
