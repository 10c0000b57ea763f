import CompositionModel
import Digest
import FoundationEssentials
import Jobs
import Segmenter
import SwiftProtobuf
import Wire

/// What `check`, `plan` and `probe` ask: describes the media, plans, renders nothing. Each file is described by a job of
/// its own, so that what is wrong with one does not hide what is wrong with the next.
struct Inspection: Sendable {
  private static let prefix = "inspect-"

  static func isInspection(_ job: JobID) -> Bool { job.description.hasPrefix(prefix) }

  let store: any JobStore
  let library: Library
  let bell: Bell

  func answer(_ message: Sheaf_InspectDocument) async throws -> Sheaf_InspectReply {
    let submission = Submission(store: store, library: library)
    let (request, found) = try await BlockingWork.run {
      try submission.read(
        message.document, message.assets, segmentDuration: message.segmentDuration, output: message.output)
    }
    let described = try await describe(request)
    var problems = found + described.problems
    var reply = Sheaf_InspectReply()
    let encoder = JSONCoding.encoder
    for (id, description) in described.descriptions { reply.descriptions[id] = try encoder.encode(description) }
    if !message.document.isEmpty {
      let build = try await Planner.commonBuild(store) ?? ""
      do {
        let descriptions = described.descriptions
        let report = try await BlockingWork.run { [library] in
          try PlanReport(
            PlannedJob(request, descriptions: descriptions, build: build) { library.vault.result(of: $0) })
        }
        if problems.isEmpty { reply.plan = try encoder.encode(report) }
      } catch let error as DocumentError {
        // A file that could not be described is told once, by what is wrong with it.
        let told = Set(problems.map(\.pointer)).subtracting([""])
        problems += error.problems.filter { !problems.contains($0) && !told.contains($0.pointer) }
      } catch let error as PlanError {
        if problems.isEmpty { problems = [Problem(pointer: "", message: "\(error)")] }
      }
    }
    reply.problems = problems.map(Sheaf_Problem.init)
    return reply
  }

  private func describe(
    _ request: JobRequest
  ) async throws -> (descriptions: [AssetID: AssetDescription], problems: [Problem]) {
    let build = try await Planner.commonBuild(store)
    let encoded = try request.encoded()
    let name = Self.prefix + Submission.freshName()
    let tasks = try await BlockingWork.run { [library] in
      try ProbeTasks.make(request.files, build: build, vault: library.vault)
    }
    var jobs: [JobID] = []
    do {
      for (number, task) in tasks.enumerated() {
        let id = JobID("\(name)-\(number)")
        jobs.append(id)
        try await store.submit(NewJob(id: id, name: "inspection", priority: .max, request: encoded, tasks: [task]))
      }
      var result: (descriptions: [AssetID: AssetDescription], problems: [Problem]) = ([:], [])
      for id in jobs {
        let (job, tasks) = try await end(of: id)
        result.problems += FailureText.told(job, tasks, request).problems
        let told = FailureText.told(job, tasks, request).error
        if !told.isEmpty { result.problems.append(Problem(pointer: "", message: told)) }
        let descriptions = try await BlockingWork.run { [library] in
          try ProbeTasks.read(tasks, request, vault: library.vault)
        }
        result.descriptions.merge(descriptions) { first, _ in first }
      }
      try await cancel(jobs)
      return result
    } catch {
      try await cancel(jobs)
      throw error
    }
  }

  /// The job when it is described or has failed.
  private func end(of id: JobID) async throws -> (Job, [RenderTask]) {
    var seen = await bell.count
    while true {
      try Task.checkCancellation()
      guard let job = try await store.job(id) else {
        throw JobStoreError(.internal, "the job \(id) has disappeared")
      }
      let tasks = try await store.tasks(of: id, payloads: false)
      if job.state.hasEnded || tasks.allSatisfy({ $0.state == .done }) { return (job, tasks) }
      seen = await bell.wait(since: seen, atMost: .seconds(1))
    }
  }

  private func cancel(_ jobs: [JobID]) async throws {
    for job in jobs { _ = try await store.cancel(job) }
  }
}
