import Client
import Jobs
import SwiftProtobuf
import Synchronization
import Testing
import Wire

@testable import Coordinator

/// The disk of the content store becomes full, and has room again.
@Suite(.timeLimit(.minutes(5))) struct LowDiskTests {
  @Test func nothingIsGrantedBelowTheMarkAndTheStatusSaysWhy() async throws {
    let free = Mutex<Int64>(429_496_730)
    let wait = "the coordinator's disk has 0.4 GiB free; below 1 GiB no task is granted"
    let configure = { (configuration: inout CoordinatorConfiguration) in configuration.minimumFree = 1 << 30 }
    let measure = { @Sendable in free.withLock { $0 } }
    try await TestCoordinator.run(configure: configure, availableBytes: measure) { coordinator in
      try await eventually("the disk is measured") { !coordinator.logs.all("disk low").isEmpty }
      try await coordinator.render()
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        _ = try await worker.heartbeatReply()
        try await eventually("the worker is registered") { try await coordinator.store.workers().count == 1 }
        let reply = try await CoordinatorClient.run(coordinator.endpoint) {
          try await $0.request(.statusQuery(.with { $0.job = TestCoordinator.job.description }))
        }
        guard case .statusReply(let status) = reply else { throw CoordinatorClient.unexpected }
        #expect(status.notices == [wait])
        #expect(status.jobs.first?.waitsFor == wait)
        #expect(try await coordinator.task()?.state == .ready)
        free.withLock { $0 = 2 << 30 }
        _ = try await worker.grant()
      }
      #expect(coordinator.logs.all("disk low").count == 1)
      #expect(coordinator.logs.all("disk has room again").count == 1)
    }
  }
}

struct DiskSpaceTests {
  @Test func aDiskIsLowBelowItsMark() {
    var disk = DiskSpace(minimum: 100 << 20)
    #expect(!disk.isLow && disk.notice == nil)
    let changes = [99 << 20, 1 << 20].map { disk.measured($0) }
    #expect(changes == [true, false] && disk.isLow)
    #expect(disk.notice == "the coordinator's disk has 1 MiB free; below 100 MiB no task is granted")
    let hasRoom = disk.measured(100 << 20)
    #expect(hasRoom && !disk.isLow && disk.notice == nil)
  }
}
