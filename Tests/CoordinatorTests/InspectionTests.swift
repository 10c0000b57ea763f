import Client
import CompositionModel
import ContentStorage
import Digest
import FarmAPI
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

@Suite(.timeLimit(.minutes(10))) struct InspectionTests {
  /// What a client is answered while a worker, from a while after the client on, works.
  private func ask<R: Sendable>(
    _ document: String, files: [String: String], at coordinator: TestCoordinator, worker: ScriptedWorker,
    workerComesAfter delay: Duration = .zero,
    _ body: @escaping @Sendable (CoordinatorClient, EditFile, [SubmittedAsset]) async throws -> R
  ) async throws -> R {
    let folder = try TemporaryFolder()
    for (name, text) in files { _ = try folder.write(Data(text.utf8), name) }
    let path = try folder.write(Data(document.utf8), "edit.json")
    return try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        do {
          try await Task.sleep(for: delay)
          try await worker.run(at: coordinator.endpoint.addresses[0])
        } catch is CancellationError {}
        return nil
      }
      group.addTask {
        try await coordinator.client { client in
          let edit = try EditFile(path)
          let (assets, _) = try await edit.assets(FileContentCache())
          try await JobRun(client).provide(assets)
          return try await body(client, edit, assets)
        }
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let answer = ended { return answer } }
      throw CancellationError()
    }
  }

  private func inspect(
    _ document: String, files: [String: String], at coordinator: TestCoordinator, worker: ScriptedWorker,
    workerComesAfter delay: Duration = .zero
  ) async throws -> InspectionReply {
    try await ask(document, files: files, at: coordinator, worker: worker, workerComesAfter: delay) {
      client, edit, assets in
      var request = InspectionRequest(document: Data(edit.bytes), assets: assets)
      request.output = "film.mkv"
      request.options.segmentDuration = "2"
      return try await JobRun(client).inspect(request)
    }
  }

  private let document = """
    { "sheaf": 1, "assets": { "a": "a.mov", "b": "b.mov" },
      "tracks": [ { "id": "A", "type": "video", "clips": [ { "asset": "a", "use": "0..4" }, { "asset": "b", "use": "0..4" } ] } ],
      "export": { "video": { "codec": "ffv1" } } }
    """

  @Test func `a plan has segments and reasons`() async throws {
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let reply = try await inspect(document, files: ["a.mov": "10", "b.mov": "11"], at: coordinator, worker: worker)
      #expect(reply.problems.isEmpty, "\(reply.problems)")
      let plan = try #require(reply.plan)
      #expect(plan.frames == 80 && plan.container == "mkv")
      #expect(plan.segments.map(\.firstFrame) == [0, 20, 40, 60])
      #expect(plan.segments.first?.boundary == "the film starts")
      #expect(plan.segments.allSatisfy { $0.action == "encoded" })
      #expect(plan.instructions.map(\.layers) == [["A"], ["A"]])
      #expect(Set(reply.descriptions.keys) == ["a", "b"])
      // It has rendered nothing, and its jobs are not listed.
      #expect(Set(worker.kinds) == [.probe])
      let status = try await coordinator.client { try await $0.request(.statusQuery(.init())) }
      #expect(status == .statusReply(.init()))
    }
  }

  @Test func `a plan has what is cached even if the worker connects late`() async throws {
    try await TestCoordinator.run { coordinator in
      let files = ["a.mov": "10", "b.mov": "11"]
      let worker = ScriptedWorker(coordinator.hello(.worker))
      try await ask(document, files: files, at: coordinator, worker: worker) { client, edit, assets in
        let run = JobRun(client)
        let submission = Submission(
          edit, assets, output: "film.mkv", options: RenderOptions(segmentDuration: "2"))
        let job = try await run.submit(submission)
        #expect(try await run.wait(for: job) { _ in }.state == .done)
      }
      try await eventually("the worker has left") { try await coordinator.store.workers().isEmpty }
      let reply = try await inspect(
        document, files: files, at: coordinator, worker: worker, workerComesAfter: .milliseconds(300))
      let plan = try #require(reply.plan)
      #expect(plan.segments.map(\.action) == Array(repeating: "cached", count: 4))
    }
  }

  @Test func `a family that is not installed is a warning of the plan`() async throws {
    try await TestCoordinator.run { coordinator in
      let titled = document.replacing(
        "\"export\": {",
        with: #""videoComposition": { "overlays": [ { "text": "x", "font": "Gone" }, { "text": "x" } ] }, "export": {"#)
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let reply = try await inspect(titled, files: ["a.mov": "10", "b.mov": "11"], at: coordinator, worker: worker)
      let plan = try #require(reply.plan)
      let message = "the font family 'Gone' is not installed; 'Sea Sans' is used instead"
      #expect(plan.warnings == [Problem(pointer: "/videoComposition/overlays/0/font", message: message)])
    }
  }

  @Test func `a damaged description is made again`() async throws {
    try await TestCoordinator.run { coordinator in
      let files = ["a.mov": "10", "b.mov": "11"]
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let first = try await inspect(document, files: files, at: coordinator, worker: worker)
      let description = try JSONCoding.encoder.encode(try #require(first.descriptions["a"]))
      let path = coordinator.content.path(of: SHA256Digest.of(description))
      try Data(count: description.count).write(to: URL(filePath: path))
      let again = try await inspect(document, files: files, at: coordinator, worker: worker)
      #expect(again.problems.isEmpty && again.descriptions == first.descriptions && again.plan == first.plan)
      #expect(worker.kinds == [.probe, .probe, .probe])
    }
  }

  @Test func `every file that is not media is reported at once`() async throws {
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker)) { $0.kind == .probe ? .document : nil }
      let reply = try await inspect(document, files: ["a.mov": "10", "b.mov": "11"], at: coordinator, worker: worker)
      #expect(reply.problems.map(\.pointer).filter { $0.hasPrefix("/assets") } == ["/assets/a", "/assets/b"])
      #expect(reply.plan == nil)
    }
  }

  @Test func `problems of the document and of its media are reported together`() async throws {
    try await TestCoordinator.run { coordinator in
      let wrong = document.replacing("\"use\": \"0..4\" }, {", with: "\"use\": \"0..40\" }, {").replacing(
        "\"export\": {", with: "\"exprot\": 1, \"export\": {")
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let reply = try await inspect(wrong, files: ["a.mov": "10", "b.mov": "11"], at: coordinator, worker: worker)
      #expect(
        Set(reply.problems.map(\.pointer)).isSuperset(of: ["/exprot", "/tracks/0/clips/0/use"]), "\(reply.problems)")
    }
  }

  @Test func `an abandoned inspection is cancelled and never planned`() async throws {
    let added = Mutex(Duration.zero)
    let clock = { @Sendable in added.withLock { $0 } }
    try await TestCoordinator.run(clock: clock) { coordinator in
      let (store, id) = (coordinator.store, JobID("abandoned"))
      _ = try await store.submit(
        NewJob(id: id, name: "inspection", purpose: .inspection, priority: 0, request: [], tasks: []))
      #expect(try await store.jobsToPlan().isEmpty)
      try await Task.sleep(for: .seconds(1.5))
      #expect(try await store.job(id)?.state == .probing)
      added.withLock { $0 = Inspection.longest }
      try await eventually("the inspection is cancelled") { try await store.job(id)?.state == .cancelled }
    }
  }
}
