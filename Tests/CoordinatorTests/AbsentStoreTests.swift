import Client
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import Logging
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// The whole folder of the content store goes away, as when its disk is not mounted for a while, and comes back.
@Suite(.timeLimit(.minutes(10))) struct AbsentStoreTests {
  private let job = TestCoordinator.job
  private let away = "content store away; running tasks wait for it"
  private let back = "content store there again"

  private func takeAway(_ store: ContentStore) throws {
    try FileManager.default.moveItem(atPath: store.directory, toPath: store.directory + ".away")
  }

  private func bringBack(_ store: ContentStore) throws {
    #expect(!FileManager.default.fileExists(atPath: store.directory), "nothing was made in its place")
    try FileManager.default.moveItem(atPath: store.directory + ".away", toPath: store.directory)
  }

  @Test func `nothing is granted or lost meanwhile and the status says why`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render(2)
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        let lease = try await worker.grant().lease
        try takeAway(coordinator.content)
        try await worker.fail(lease, .released, damaged: SHA256Digest.of([1, 2, 3]))
        _ = try await worker.failureReply()
        try await eventually("it is missed") { !coordinator.logs.all(away).isEmpty }
        let path = coordinator.content.directory
        let notice =
          "the content store \(path) is not there: No such file or directory; until it is back no task is granted"
        #expect(coordinator.service.storage.notices == [notice])
        #expect(try await coordinator.service.status.status(of: job)?.waitsFor == notice)
        try await worker.heartbeat(free: 1)
        #expect(await !coordinator.service.inputs.isIdle, "the input is looked for again")
        try bringBack(coordinator.content)
        _ = try await worker.grant()
      }
      try await eventually("the input is found") { await coordinator.service.inputs.isIdle }
      #expect(try await coordinator.store.job(job)?.state == .rendering)
      #expect(coordinator.logs.all(away).count == 1 && coordinator.logs.all(back).count == 1)
    }
  }

  @Test func `reads and uploads wait for it`() async throws {
    try await TestCoordinator.run { coordinator in
      let film = try coordinator.keep([1, 2, 3])
      let folder = try TemporaryFolder()
      let file = try OpenFile.open(folder.write(Data([4, 5]), "new"))
      let new = try file.content()
      try await coordinator.client { client in
        try takeAway(coordinator.content)
        let error = await #expect(throws: WireError.self) { try await client.content.upload(file, new) }
        #expect(error?.code == .temporary && error?.message.contains("is not there") == true)
        let reading = Mutex(true)
        async let bytes = {
          defer { reading.withLock { $0 = false } }
          return try await client.content.read(film.digest, offset: 0, length: 3)
        }()
        try await eventually("it is missed") { !coordinator.logs.all(away).isEmpty }
        #expect(reading.withLock { $0 })
        try bringBack(coordinator.content)
        #expect(try await bytes == Data([1, 2, 3]))
        try await client.content.upload(file, new)
        #expect(coordinator.content.contains(new))
      }
    }
  }

  @Test func `no job is probed again for it`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let tasks = try await coordinator.store.tasks(of: job, payloads: false)
      let probes = LostProbes(store: coordinator.store, content: coordinator.content, logger: .init(label: "test"))
      try takeAway(coordinator.content)
      let error = await #expect(throws: ContentStoreError.self) { try await probes.makeAgain(job, tasks) }
      #expect(error?.code == .away)
      try bringBack(coordinator.content)
      #expect(try await !probes.makeAgain(job, tasks))
    }
  }
}
