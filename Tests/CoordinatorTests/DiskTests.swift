import Client
import ContentStorage
import Digest
import FarmModel
import Foundation
import Jobs
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// The disk of the content store becomes full, and has room again.
@Suite(.timeLimit(.minutes(10))) struct LowDiskTests {
  @Test func `nothing is granted below the mark and the status says why`() async throws {
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
        let reply = try await coordinator.client {
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

/// The content store's disk has no room for an upload, or is full of what interrupted uploads left.
@Suite(.timeLimit(.minutes(10))) struct UploadRoomTests {
  @Test func `an upload that waits for room is shown and logged once`() async throws {
    let size = Mutex<Int64>(16 << 20)
    let configure = { (configuration: inout CoordinatorConfiguration) in configuration.minimumFree = 14 << 20 }
    let diskSize = { @Sendable in size.withLock { $0 } }
    try await TestCoordinator.run(configure: configure, diskSize: diskSize) { coordinator in
      let folder = try TemporaryFolder()
      let file = try OpenFile.open(folder.write(Data(count: 3 << 20), "film"))
      let content = try file.content()
      try await coordinator.client { client in
        let notices = {
          guard case .statusReply(let status) = try await client.request(.statusQuery(.init())) else {
            throw CoordinatorClient.unexpected
          }
          return status.notices
        }
        let reason =
          "the disk has 16 MiB left beside other uploads, and 14 MiB must stay free beside the 3 MiB of this one"
        for _ in 0..<2 {
          let error = await #expect(throws: WireError.self) { try await client.content.upload(file, content) }
          #expect(error?.code == .temporary)
          #expect(try await notices() == ["an upload waits for room on the coordinator's disk: \(reason)"])
        }
        #expect(coordinator.logs.all("upload waits for room").map(\.metadata["reason"]) == [reason])
        size.withLock { $0 = 17 << 20 }
        try await client.content.upload(file, content)
        #expect(coordinator.content.contains(content))
        #expect(try await notices().isEmpty)
        #expect(coordinator.logs.all("upload has room").count == 1)
      }
    }
  }

  @Test func `what interrupted uploads left does not hold up tasks`() async throws {
    let configure = { (configuration: inout CoordinatorConfiguration) in configuration.minimumFree = 14 << 20 }
    let diskSize = { @Sendable () -> Int64 in 15 << 20 }
    try await TestCoordinator.run(configure: configure, diskSize: diskSize) { coordinator in
      let film = Content(digest: SHA256Digest.of("film".utf8), size: 3 << 20)
      do { try coordinator.content.upload(film).write(Data(count: 2 << 20)) }
      try await eventually("what is left is removed") { try coordinator.content.availableBytes() == 15 << 20 }
      try await coordinator.render()
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        _ = try await worker.grant()
      }
    }
  }

  @Test func `an upload waits until its sender has given up`() {
    var uploads = WaitingUploads()
    let contents = (1...2).map { Content(digest: SHA256Digest.of([$0]), size: 1) }
    let first = uploads.refused(contents[0], "it is full", now: .zero)
    let again = uploads.refused(contents[0], "it is full", now: .seconds(1))
    let second = uploads.refused(contents[1], "it is very full", now: .seconds(29))
    #expect([first, again, second] == [true, false, true])
    #expect(
      uploads.notice(now: .seconds(30))
        == "2 uploads wait; the first one waits for room on the coordinator's disk: it is full")
    #expect(
      uploads.notice(now: .seconds(40)) == "an upload waits for room on the coordinator's disk: it is very full")
    let begun = [uploads.begun(contents[1].digest), uploads.begun(contents[1].digest)]
    #expect(begun == [true, false] && uploads.notice(now: .seconds(40)) == nil)
  }
}

struct DiskSpaceTests {
  @Test func `a disk is low below its mark`() {
    var disk = DiskSpace(minimum: 100 << 20)
    #expect(!disk.isLow && disk.notice == nil)
    let changes = [99 << 20, 1 << 20].map { disk.measured($0) }
    #expect(changes == [true, false] && disk.isLow)
    #expect(disk.notice == "the coordinator's disk has 1 MiB free; below 100 MiB no task is granted")
    let hasRoom = disk.measured(100 << 20)
    #expect(hasRoom && !disk.isLow && disk.notice == nil)
  }
}
