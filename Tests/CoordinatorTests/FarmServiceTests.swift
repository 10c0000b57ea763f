import Client
import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// What a client can ask of a farm, without the wire.
@Suite(.timeLimit(.minutes(10))) struct FarmServiceTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// A document of 8 s, whose media the farm has.
  /// - Parameter settings: Sections of the document beside those that every one has.
  private func submission(at coordinator: TestCoordinator, _ settings: String = "") async throws -> Submission {
    _ = try folder.write(Data("10".utf8), "a.mov")
    let text = """
      { "sheaf": 1, "assets": { "a": "a.mov" }, "tracks": [ { "clips": [ { "asset": "a", "use": "0..8" } ] } ],
        \(settings)"export": { "to": "film.mkv", "video": { "codec": "ffv1" } } }
      """
    let edit = try EditFile(try folder.write(Data(text.utf8), "edit.json"))
    let (assets, _) = try await edit.assets(FileContentCache())
    try await coordinator.client { try await JobRun($0).provide(assets) }
    return Submission(edit, assets, output: "film.mkv", options: RenderOptions(segmentDuration: "2"))
  }

  @Test func `the status of a job has the frames that its warnings are about`() async throws {
    try await TestCoordinator.run { coordinator in
      let farm = FarmService(coordinator.service)
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let working = Task { try await worker.run(at: coordinator.endpoint.addresses[0]) }
      let overlays = #"{ "text": "x", "over": "1..2", "opacity": 0 }, { "text": "y" }"#
      let composition = #""videoComposition": { "frameDuration": "1/25", "overlays": [ \#(overlays) ] }, "#
      let submission = try await submission(at: coordinator, composition)
      let job = try #require(try await farm.submit(submission).job.map { JobID($0) })
      var planned: JobStatus?
      for try await status in try await farm.watch(job) where status?.build != nil {
        planned = try await farm.status(of: job)
        break
      }
      working.cancel()
      _ = await working.result
      let status = try #require(planned)
      #expect(status.warnings.map(\.pointer).contains("/videoComposition/overlays/0"))
      #expect(status.film?.frameSeconds == 0.04)
      #expect(
        status.film?.places.filter { $0.pointer.hasPrefix("/videoComposition") }
          == [.init(pointer: "/videoComposition/overlays/0", frames: 25..<50)])
    }
  }

  @Test func `the life of a job is one stream of events`() async throws {
    try await TestCoordinator.run { coordinator in
      let farm = FarmService(coordinator.service)
      let events = farm.ownEvents()
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let working = Task { try await worker.run(at: coordinator.endpoint.addresses[0]) }
      let reply = try await farm.submit(try await submission(at: coordinator))
      let job = try #require(reply.job)
      var seen: [FarmEvent] = []
      for await event in events {
        seen.append(event)
        if case .jobEnded = event { break }
      }
      working.cancel()
      _ = await working.result
      // A worker may connect before or after the submission.
      let ofJob = seen.filter { event in
        switch event {
        case .workerConnected, .workerDisconnected, .workerPaused: false
        default: true
        }
      }
      #expect(ofJob.first == .jobSubmitted(job: job, name: "edit.json", files: 1, priority: 0))
      guard case .jobEnded(job, "edit.json", .done, .some, nil)? = ofJob.last else {
        Issue.record("\(ofJob)")
        return
      }
      let done = ofJob.compactMap { if case .taskDone(let task, _, _, _) = $0 { task.label } else { nil } }
      #expect(done.first == "probe of a.mov" && done.count == 6, "\(done)")
      let plans = ofJob.compactMap { event in
        if case .jobPlanned(let job, _, let tasks, let cached, let frames, _, false) = event {
          return "\(job) \(tasks) \(cached) \(frames)"
        }
        return nil
      }
      #expect(plans == ["\(job) 5 0 80"])
      #expect(seen.contains { if case .workerConnected(let worker) = $0 { worker.id == "w1" } else { false } })
    }
  }

  @Test func `a request that means nothing is an error and no refusal of the wire`() async throws {
    try await TestCoordinator.run { coordinator in
      let farm = FarmService(coordinator.service)
      var query = JobQuery()
      query.after = "none"
      let listed = await #expect(throws: FarmError.self) { try await farm.jobs(query) }
      #expect(listed == FarmError(.notFound, "there is no job none"))
      var wrong = try await submission(at: coordinator)
      wrong.id = "two words"
      let submitted = await #expect(throws: FarmError.self) { try await farm.submit(wrong) }
      #expect(submitted?.code == .invalid)
      wrong.id = ""
      wrong.document = Data("{".utf8)
      #expect(try await farm.submit(wrong).problems.count == 1)
      #expect(try await farm.status(of: JobID("none")) == nil)
      #expect(try await farm.cancel(JobID("none")) == nil)
      #expect(try await farm.retry(JobID("none")).refusal == "there is no job none")
      #expect(try await farm.delete(JobID("none")) == DeleteReply(isDeleted: false))
    }
  }
}
