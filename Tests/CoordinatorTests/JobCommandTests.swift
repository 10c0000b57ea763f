import Client
import CompositionModel
import ContentStorage
import Digest
import FarmModel
import Foundation
import Jobs
import SwiftProtobuf
import Synchronization
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// What clients and the passage of time do to jobs: retries, deletion, repeated submissions, retention.
@Suite(.timeLimit(.minutes(10))) struct JobCommandTests {
  private let job = TestCoordinator.job

  private func request(_ message: WireMessage, at coordinator: TestCoordinator) async throws -> WireMessage {
    try await coordinator.client { try await $0.request(message) }
  }

  private func retry(at coordinator: TestCoordinator) async throws -> Sheaf_RetryReply {
    let message = WireMessage.retryJob(.with { $0.job = job.description })
    guard case .retryReply(let reply) = try await request(message, at: coordinator) else {
      throw CoordinatorClient.unexpected
    }
    return reply
  }

  private func delete(at coordinator: TestCoordinator) async throws -> Sheaf_DeleteReply {
    let message = WireMessage.deleteJob(.with { $0.job = job.description })
    guard case .deleteReply(let reply) = try await request(message, at: coordinator) else {
      throw CoordinatorClient.unexpected
    }
    return reply
  }

  @Test func `a failed job is taken up again`() async throws {
    try await TestCoordinator.run { coordinator in
      #expect(try await retry(at: coordinator).error == "there is no job job")
      try await coordinator.render()
      #expect(try await retry(at: coordinator).error.hasPrefix("the job is rendering"))
      _ = try await coordinator.store.fail(job, failure: JobFailure(reason: .farm, message: "the test says so"))
      let reply = try await retry(at: coordinator)
      #expect(reply.state == .probing && reply.error.isEmpty)
    }
  }

  @Test func `a job whose media are gone is not taken up`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      _ = try await coordinator.store.cancel(job)
      coordinator.content.remove(SHA256Digest.of([1, 2, 3]))
      #expect(
        try await retry(at: coordinator).error == "media/beach.mp4 is not there any more; submit the document again")
    }
  }

  @Test func `a job whose media cannot be read is not taken up and says what to do`() async throws {
    let media = try TemporaryFolder()
    let path = try media.write(Data([1, 2, 3]), "beach.mp4")
    try await TestCoordinator.run(mediaRoot: media.url.path) { coordinator in
      try await coordinator.render()
      _ = try await coordinator.store.cancel(job)
      let content = Content(digest: SHA256Digest.of([1, 2, 3]), size: 3)
      coordinator.content.remove(content.digest)
      #expect(coordinator.service.content.has(content, hint: path))
      try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
      let goesOn = "and \"sheaf retry job\" goes on, or submit the document again"
      #expect(try await retry(at: coordinator).error == "media/beach.mp4 is not there; put it back, \(goesOn)")
      // A loop of links, because no permission stops the tests of a superuser.
      #expect(symlink(path, path) == 0)
      let reason = "cannot be read: \(String(cString: strerror(ELOOP)))"
      #expect(try await retry(at: coordinator).error == "media/beach.mp4 \(reason); make it readable, \(goesOn)")
      unlink(path)
      try Data([9, 9, 9]).write(to: URL(filePath: path))
      #expect(
        try await retry(at: coordinator).error
          == "media/beach.mp4 has other bytes now; bring back the file that it was, \(goesOn)")
      unlink(path)
      try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
      try FileManager.default.moveItem(
        atPath: coordinator.content.directory, toPath: coordinator.content.directory + ".away")
      #expect(try await retry(at: coordinator).state == .probing)
    }
  }

  @Test func `a job whose descriptions are gone is taken up and probed again`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      _ = try await coordinator.store.cancel(job)
      coordinator.content.remove(SHA256Digest.of([5, 5, 5]))
      #expect(try await retry(at: coordinator).state == .probing)
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        #expect(try await worker.grant().kind == .probe)
      }
    }
  }

  @Test func `only a job that has ended is deleted`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let refused = try await delete(at: coordinator)
      #expect(!refused.deleted && refused.state == .rendering)
      _ = try await coordinator.store.cancel(job)
      #expect(try await delete(at: coordinator).deleted)
      #expect(try await coordinator.store.job(job) == nil)
    }
  }

  @Test func `a submission that is repeated is one job`() async throws {
    try await TestCoordinator.run { coordinator in
      let submit = Sheaf_Submit.with {
        let document = """
          { "sheaf": 1, "assets": {}, "tracks": [ { "id": "A", "type": "video", "clips": [] } ],
            "export": { "to": "a.mkv", "video": { "codec": "ffv1" } } }
          """
        $0.document = Data(document.utf8)
        $0.name = "edit.json"
        $0.submission = "submission-1"
      }
      var ids: [String] = []
      for _ in 0..<2 {
        guard case .submitReply(let reply) = try await request(.submit(submit), at: coordinator) else {
          throw CoordinatorClient.unexpected
        }
        #expect(reply.problems.isEmpty, "\(reply.problems)")
        ids.append(reply.job)
      }
      #expect(Set(ids).count == 1)
      #expect(coordinator.logs.all("job submitted").count == 1)
    }
  }

  @Test func `jobs that ended long ago are deleted`() async throws {
    let added = Mutex(Duration.zero)
    let clock = { @Sendable in added.withLock { $0 } }
    let configure = { (configuration: inout CoordinatorConfiguration) in
      configuration.keepJobs = .seconds(3600)
      configuration.retentionInterval = .milliseconds(20)
    }
    try await TestCoordinator.run(clock: clock, configure: configure) { coordinator in
      try await coordinator.render()
      _ = try await coordinator.store.cancel(job)
      added.withLock { $0 = .seconds(3601) }
      try await eventually("the job is deleted") { try await coordinator.store.job(job) == nil }
    }
  }

  /// Without a limit of the store too.
  @Test func `what an upload left long ago is removed`() async throws {
    let configure = { (configuration: inout CoordinatorConfiguration) in
      configuration.retentionInterval = .milliseconds(20)
    }
    try await TestCoordinator.run(configure: configure) { coordinator in
      let folder = "\(coordinator.content.directory)/temporary"
      let (old, young) = ("\(folder)/partial-old", "\(folder)/partial-young")
      for path in [young, old] { try Data(count: 1).write(to: URL(filePath: path)) }
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -90_000)], ofItemAtPath: old)
      try await eventually("the old one is removed") { !FileManager.default.fileExists(atPath: old) }
      #expect(FileManager.default.fileExists(atPath: young))
    }
  }

  @Test func `a film that is fetched is recorded as such though the client leaves at once`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let result = try coordinator.keep([7])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        for _ in 0..<2 {
          try await worker.heartbeat(free: 1)
          try await worker.publish(worker.grant().lease, result)
          #expect(try await worker.publishReply().outcome == .published)
        }
      }
      let kept = Duration.seconds(3600)
      #expect(try await coordinator.store.contentsInUse(keepingResults: kept) == [result.digest])
      try await coordinator.client { client in
        try await JobRun(client).fetched(job.description)
      }
      try await eventually("it is recorded") {
        try await coordinator.store.contentsInUse(keepingResults: kept).isEmpty
      }
    }
  }
}
