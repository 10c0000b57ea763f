import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import SwiftProtobuf
import Testing
import Wire

@testable import Coordinator

/// How long tasks wait after they have lost their leases.
@Suite struct RecoveriesTests {
  private static func lease(_ epoch: Int64, ordinal: Int32 = 1, job: String = "j") -> Lease {
    Lease(task: TaskID(job: JobID(job), ordinal: ordinal), epoch: epoch)
  }

  @Test func `a recovery is the time from the loss of the last lease to the next grant`() {
    var recoveries = Recoveries()
    recoveries.granted(Self.lease(1), now: .seconds(10))
    #expect(recoveries.durations.sum == 0)
    recoveries.lost(Self.lease(1), now: .seconds(20))
    // Its connection was closed before: the lease runs out too.
    recoveries.lost(Self.lease(1), now: .seconds(35))
    recoveries.granted(Self.lease(2), now: .seconds(37))
    #expect(recoveries.durations.sum == 17)
    #expect(recoveries.durations.counts.reduce(0, +) == 1)
  }

  @Test func `a task that has a backup lease does not wait`() {
    var recoveries = Recoveries()
    recoveries.granted(Self.lease(1), now: .zero)
    recoveries.granted(Self.lease(2), now: .seconds(5))
    recoveries.lost(Self.lease(1), now: .seconds(6))
    recoveries.granted(Self.lease(3), now: .seconds(9))
    recoveries.lost(Self.lease(2), now: .seconds(10))
    recoveries.lost(Self.lease(3), now: .seconds(11))
    recoveries.granted(Self.lease(4), now: .seconds(13))
    #expect(recoveries.durations.sum == 2)
  }

  @Test func `a worker that connects again ends the wait, and so do the task and the job`() {
    var recoveries = Recoveries()
    for ordinal: Int32 in 1...3 {
      recoveries.granted(Self.lease(1, ordinal: ordinal), now: .zero)
      recoveries.lost(Self.lease(1, ordinal: ordinal), now: .seconds(1))
    }
    recoveries.returned(Self.lease(1, ordinal: 1))
    recoveries.done(Self.lease(1, ordinal: 2).task)
    recoveries.ended(JobID("j"))
    for ordinal: Int32 in 1...3 { recoveries.granted(Self.lease(2, ordinal: ordinal), now: .seconds(90)) }
    #expect(recoveries.durations.counts.allSatisfy { $0 == 0 })
  }

  @Test func `the leases that another coordinator has granted are lost as well`() {
    var recoveries = Recoveries()
    recoveries.lost(Self.lease(7), now: .seconds(3))
    recoveries.granted(Self.lease(8), now: .seconds(4))
    #expect(recoveries.durations.sum == 1)
    // Granted once by another coordinator, and again by this one.
    recoveries.lost(Self.lease(8), now: .seconds(5))
    recoveries.granted(Self.lease(10), now: .seconds(99))
    #expect(recoveries.durations.sum == 1)
  }

  @Test func `what is known of tasks is bounded`() {
    var recoveries = Recoveries()
    recoveries.lost(Self.lease(1, ordinal: 0), now: .zero)
    for ordinal in 1..<Int32(Recoveries.maximumTasks) {
      recoveries.granted(Self.lease(1, ordinal: ordinal), now: .zero)
    }
    // One more: the wait of the first is forgotten.
    recoveries.granted(Self.lease(1, ordinal: -1), now: .zero)
    recoveries.granted(Self.lease(2, ordinal: 0), now: .seconds(9))
    #expect(recoveries.durations.sum == 0)
  }
}

/// What a coordinator counts of a worker's connection.
@Suite(.timeLimit(.minutes(10))) struct WorkCountsTests {
  @Test func `a lost worker's task counts as recovered, its late result as refused, and content in both directions`()
    async throws
  {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let farm = FarmService(coordinator.service)
      let hello = coordinator.hello(.worker, worker: "w1", slots: 1)
      let lost = try await ManualWorker.run(hello, at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        let lease = try await worker.grant().lease
        try await worker.fail(lease, .released)
        _ = try await worker.failureReply()
        return lease
      }
      let result = try coordinator.keep([7])
      let other = coordinator.hello(.worker, worker: "w2", slots: 1)
      try await ManualWorker.run(other, at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        let lease = try await worker.grant().lease
        #expect(lease.epoch == lost.epoch + 1)
        #expect(await farm.ownCounts().recoveries.counts.reduce(0, +) == 1)
        #expect(await farm.ownCounts().workerConnections == 1)
        try await worker.publish(lost, result)
        #expect(try await worker.publishReply().outcome == .stale)
        #expect(await farm.ownCounts().lateResults == 1)
        try await worker.publish(lease, result)
        #expect(try await worker.publishReply().outcome == .published)
        try await worker.connection.send(
          .readContent(
            .with {
              $0.request = 1
              $0.digest = Data(result.digest.bytes)
              $0.length = 10
            }))
        #expect(try await worker.next { if case .contentData(let data) = $0 { data.data } else { nil } } == Data([7]))
      }
      let counts = await farm.ownCounts()
      #expect(counts.lateResults == 1)
      #expect(counts.traffic[.worker]?.sent == 1 && counts.traffic[.client] == nil)
      #expect(counts.storage.freeBytes ?? 0 > 0 && counts.storage.diskBytes ?? 0 > counts.storage.freeBytes ?? 0)
      try await eventually("the store is measured") { await farm.ownCounts().storage.contentBytes ?? -1 >= 0 }
    }
  }
}

/// How many workers the work at hand needs.
@Suite struct WorkerDemandTests {
  private static func demand(
    ready: Int64, running: Int64 = 0, measured: Int64 = 0, seconds: Double = 0, workers: Int64 = 1, slots: Int64 = 4
  ) -> WorkerDemand {
    var demand = WorkerDemand()
    (demand.ready, demand.running, demand.measured, demand.measuredSeconds) = (ready, running, measured, seconds)
    (demand.workers, demand.slots) = (workers, slots)
    return demand
  }

  @Test func `without work no worker is needed`() {
    #expect(Self.demand(ready: 0).desiredWorkers == 0)
    #expect(Self.demand(ready: 0, workers: 0, slots: 0).desiredWorkers == 0)
    #expect(Self.demand(ready: 0, workers: 9, slots: 90).desiredSlots == 0)
  }

  @Test func `the work is to be done within the target`() {
    // 100 tasks of 60 s are 6000 s: 50 slots need 120 s for them.
    let demand = Self.demand(ready: 100, measured: 100, seconds: 6000, workers: 3, slots: 12)
    #expect(demand.desiredSlots == 50 && demand.desiredWorkers == 13)
    #expect(Self.demand(ready: 100, measured: 100, seconds: 6001, workers: 3, slots: 12).desiredSlots == 51)
    // A little is left.
    #expect(Self.demand(ready: 3, measured: 3, seconds: 0.001).desiredWorkers == 1)
  }

  @Test func `there are no more slots than tasks, and no fewer than tasks that run`() {
    #expect(Self.demand(ready: 2, measured: 2, seconds: 1e9).desiredSlots == 2)
    #expect(Self.demand(ready: 0, running: 8, measured: 8, seconds: 3, workers: 4, slots: 16).desiredSlots == 8)
    #expect(Self.demand(ready: 0, running: 8, measured: 8, seconds: 3, workers: 4, slots: 16).desiredWorkers == 2)
    #expect(Self.demand(ready: .max / 4, measured: .max / 4, seconds: .infinity).desiredSlots >= .max / 4 - 1024)
  }

  @Test func `a task of which nothing is known counts with ten seconds`() {
    #expect(Self.demand(ready: 24).seconds == 240 && Self.demand(ready: 24).desiredSlots == 2)
    #expect(Self.demand(ready: 24, running: 2, measured: 25, seconds: 100).seconds == 110)
  }

  @Test func `without a worker one is needed, whatever the work, and slots need not be whole numbers of a worker`() {
    #expect(Self.demand(ready: 1000, measured: 1000, seconds: 1e6, workers: 0, slots: 0).desiredWorkers == 1)
    // Three workers with 8 slots together: 9 slots are 3.4 workers.
    #expect(
      Self.demand(ready: 9, measured: 9, seconds: 1e6, workers: 3, slots: 8).desiredWorkers == 4)
  }
}
