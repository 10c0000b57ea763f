import Client
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import Logging
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// Inputs that workers report as damaged or missing.
@Suite(.timeLimit(.minutes(10))) struct DamagedInputTests {
  private let job = TestCoordinator.job

  @Test func `a damaged input is removed and the job says how to go on`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let digest = SHA256Digest.of([1, 2, 3])
      try Data([9, 9, 9]).write(to: URL(filePath: coordinator.content.path(of: digest)))
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        let lease = try await worker.grant().lease
        try await worker.fail(lease, .released, damaged: digest)
        _ = try await worker.failureReply()
      }
      try await eventually("the job has failed") { try await coordinator.store.job(job)?.state == .failed }
      #expect(coordinator.content.size(of: digest) == nil)
      let status = try #require(try await coordinator.service.status.status(of: job))
      #expect(status.problems.isEmpty)
      #expect(
        status.error
          == "the file media/beach.mp4 was damaged on the coordinator's disk and was removed; submit the document again"
      )
    }
  }

  @Test func `an input that is intact is kept and its task tried again`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let digest = SHA256Digest.of([1, 2, 3])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        try await worker.fail(worker.grant().lease, .released, damaged: digest)
        _ = try await worker.failureReply()
        try await worker.heartbeat(free: 1)
        _ = try await worker.grant()
      }
      #expect(coordinator.content.size(of: digest) == 3)
    }
  }

  @Test func `damaged pieces are all made again and the job goes on`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let piece = try coordinator.keep([7])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        try await worker.publish(worker.grant().lease, piece)
        _ = try await worker.publishReply()
        try Data([8]).write(to: URL(filePath: coordinator.content.path(of: piece.digest)))
        try await worker.heartbeat(free: 1)
        try await worker.fail(worker.grant().lease, .released, damaged: piece.digest)
        _ = try await worker.failureReply()
      }
      let message = "results were damaged on the disk and are made again"
      try await eventually("the job is planned again") { !coordinator.logs.all(message).isEmpty }
      #expect(coordinator.logs.all(message).map { $0.metadata["tasks"] } == ["frames 0..9 of beach.mp4"])
      #expect(coordinator.content.size(of: piece.digest) == nil)
      // The request of this job is no document, so that it cannot be planned in earnest.
      let reasons = coordinator.logs.all("job failed").compactMap { $0.metadata["reason"] }
      #expect(reasons.allSatisfy { $0.hasPrefix("the job cannot be planned") })
    }
  }

  @Test func `what a worker reports names media as the document does`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let digest = SHA256Digest.of([1, 2, 3])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        try await worker.fail(
          worker.grant().lease, .released, message: "\(digest) cannot be read: Input/output error")
        _ = try await worker.failureReply()
        let text = "media/beach.mp4 cannot be read: Input/output error"
        #expect(try await coordinator.task()?.attempts.map(\.message) == [text])
        try await eventually("the release is logged") {
          coordinator.logs.all("task released").map { $0.metadata["reason"] } == [text]
        }
        // The pause is the task's: other tasks may be executed there.
        #expect(try await coordinator.store.workers().allSatisfy(\.paused.isEmpty))
      }
    }
  }

  // MARK: Files under the media root

  private func check(
    absence: Duration, _ replace: @escaping @Sendable (String) throws -> Void = { _ in },
    _ body: @escaping @Sendable (TestCoordinator, DamagedInputs, TemporaryFolder) async throws -> Void
  ) async throws {
    let media = try TemporaryFolder()
    let path = try media.write(Data([1, 2, 3]), "beach.mp4")
    try await TestCoordinator.run(mediaRoot: media.url.path) { coordinator in
      try await coordinator.render()
      let content = Content(digest: SHA256Digest.of([1, 2, 3]), size: 3)
      unlink(coordinator.content.path(of: content.digest))
      #expect(coordinator.service.content.has(content, hint: path))
      try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
      try replace(path)
      let logger = Logger(label: "test", factory: { _ in coordinator.logs.handler })
      let inputs = DamagedInputs(
        store: coordinator.store, content: coordinator.service.content, events: FarmEvents(logger: logger),
        logger: logger, longestAbsence: absence, pause: .milliseconds(5))
      await inputs.check(content.digest, of: TaskID(job: job, ordinal: 1))
      try await body(coordinator, inputs, media)
    }
  }

  @Test func `a file that is away for a while fails nothing`() async throws {
    try await check(absence: .seconds(3600)) { coordinator, inputs, media in
      let message = "a file under the media root is not there or cannot be read"
      try await eventually("it is missed") { !coordinator.logs.all(message).isEmpty }
      #expect(await !inputs.isIdle)
      try FileManager.default.moveItem(atPath: media.path("beach.mp4.away"), toPath: media.path("beach.mp4"))
      try await eventually("it is found") { await inputs.isIdle }
      #expect(try await coordinator.store.job(job)?.state == .rendering)
      #expect(coordinator.logs.all(message).count == 1)
    }
  }

  @Test func `a file that stays away fails the job with what to do`() async throws {
    try await check(absence: .zero) { coordinator, _, _ in
      try await eventually("the job has failed") { try await coordinator.store.job(job)?.state == .failed }
      let status = try #require(try await coordinator.service.status.status(of: job))
      #expect(
        status.error
          == "the file media/beach.mp4 is not there; put back what is missing and \"sheaf retry job\", or submit the "
          + "document again")
    }
  }

  @Test func `a file that cannot be read for a while fails nothing`() async throws {
    // A loop of links, because no permission stops the tests of a superuser.
    let loop = { @Sendable (path: String) in #expect(symlink(path, path) == 0) }
    try await check(absence: .seconds(3600), loop) { coordinator, inputs, media in
      let message = "a file under the media root is not there or cannot be read"
      try await eventually("it is missed") { !coordinator.logs.all(message).isEmpty }
      let logged = coordinator.logs.all(message).first?.metadata
      #expect(logged?["file"] == "beach.mp4")
      #expect(logged?["reason"] == "cannot be read: \(String(cString: strerror(ELOOP)))")
      unlink(media.path("beach.mp4"))
      try FileManager.default.moveItem(atPath: media.path("beach.mp4.away"), toPath: media.path("beach.mp4"))
      try await eventually("it is found") { await inputs.isIdle }
      #expect(try await coordinator.store.job(job)?.state == .rendering)
    }
  }

  enum Replacement: String, CaseIterable {
    case folder = "is not a regular file any more"
    case pipe = "is not a regular file any more "
    case shorter = "has other bytes now: 2 of them, and not 3"
    case other = "has other bytes now"
  }

  @Test(arguments: Replacement.allCases)
  func `a file that was replaced fails the job at once with the reason`(replacement: Replacement) async throws {
    let replace = { @Sendable (path: String) in
      switch replacement {
      case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      case .pipe: #expect(mkfifo(path, 0o600) == 0)
      case .shorter: try Data([1, 2]).write(to: URL(filePath: path))
      case .other: try Data([1, 2, 4]).write(to: URL(filePath: path))
      }
    }
    try await check(absence: .seconds(3600), replace) { coordinator, _, _ in
      try await eventually("the job has failed") { try await coordinator.store.job(job)?.state == .failed }
      let status = try #require(try await coordinator.service.status.status(of: job))
      let reason = replacement.rawValue.trimmingCharacters(in: .whitespaces)
      let error = status.error ?? ""
      #expect(error.hasPrefix("the file media/beach.mp4 \(reason); put back"), "\(error)")
    }
  }
}
