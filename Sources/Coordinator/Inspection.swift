import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import Logging
import RenderTasks
import Runtime
import Segmenter
import SystemSupport

/// Answers `check`, `plan`, `probe` and `image`: probes the media and plans, and renders nothing but still pictures.
/// Each file is probed by a job of its own, so that a problem with one file does not hide the problems of the others.
struct Inspection: Sendable {
  /// An older inspection was abandoned, because its coordinator has stopped.
  static let longest: Duration = .seconds(600)

  private let service: CoordinatorService

  init(_ service: CoordinatorService) {
    self.service = service
  }

  func answer(_ inspected: InspectionRequest) async throws -> InspectionReply {
    let (request, found) = try await JobSubmission(service, owner: nil).read(
      inspected.document, inspected.assets, options: inspected.options, output: inspected.output)
    let probed = try await probe(request)
    var reply = InspectionReply()
    reply.descriptions = probed.descriptions
    reply.problems = found + probed.problems
    var build: String?
    var builds = ConnectedBuilds([])
    // A file that could not be probed has its problem already; that it has no description is not another one.
    var known: Set<String> = []
    if !inspected.document.isEmpty {
      let lacking: [Problem]
      (build, builds, lacking) = try await workerBuild(for: request)
      reply.problems += lacking
      known = Set(reply.problems.map(\.pointer)).subtracting([""])
      if lacking.isEmpty, let build {
        reply.problems += try await tryCompositors(request, probed.descriptions, build: build)
      }
    }
    if let images = inspected.images {
      do {
        if reply.problems.isEmpty { reply.images = try await self.images(images, request, probed, build: build) }
      } catch let error as DocumentError {
        reply.problems += error.problems
      } catch let error as PlanError {
        reply.problems = [error.problem]
      }
    } else if let build {
      do {
        let pace = await service.paces.pace(of: build)
        let (descriptions, fonts) = (probed.descriptions, probed.fonts)
        let report = try await BlockingWork.run(.planning) {
          [results = service.results, store = service.content.store, builds] in
          let planned = try PlannedJob(
            request, descriptions: descriptions, fonts: fonts, build: build,
            motion: { try MotionTasks.read($0, store: store) },
            measurement: { try Measurements.read($0, store: store) }, result: { results.result(of: $0) })
          if let problem = builds.problem(of: planned.tasks, build: build) {
            throw DocumentError(problems: [problem])
          }
          var report = try PlanReport(planned, request)
          report.estimate = try EstimateReport(
            planned, request, descriptions: descriptions, slots: builds.slots(of: build), pace: pace)
          return report
        }
        if reply.problems.isEmpty { reply.plan = report }
      } catch let error as DocumentError {
        let problems = reply.problems
        reply.problems += error.problems.filter { !problems.contains($0) && !known.contains($0.pointer) }
      } catch let error as PlanError {
        if reply.problems.isEmpty { reply.problems = [error.problem] }
      }
    }
    service.memory.used()
    return reply
  }

  /// The build that a job would be rendered by, whose results are in the cache. A farm that has just been started may
  /// have what is in the files in its cache before its first worker connects: then this waits for it, as the probe of a
  /// file does.
  /// Nobody waits here for a worker that has the author's own compositors: if there is none, that is a problem.
  private func workerBuild(
    for request: JobRequest
  ) async throws -> (build: String, builds: ConnectedBuilds, problems: [Problem]) {
    var seen = await service.changes.count
    while true {
      try Task.checkCancellation()
      let builds = try await ConnectedBuilds(service.store)
      if let build = builds.best(with: request.compositors ?? []) { return (build, builds, []) }
      if let build = builds.best(with: []) { return (build, builds, builds.problems(of: request)) }
      seen = await service.changes.wait(since: seen, atMost: .seconds(1))
    }
  }

  private struct Findings {
    var descriptions: [AssetID: AssetDescription] = [:]
    var fonts = FoundFonts()
    var problems: [Problem] = []
  }

  private func probe(_ request: JobRequest) async throws -> Findings {
    let tasks = try await BlockingWork.run { [results = service.results] in
      try ProbeTasks.make(request, results: results)
    }
    return try await withJobs(tasks, request, named: "inspection") { jobs in
      var result = Findings()
      for id in jobs {
        let found = try await results(of: id, request)
        if let failure = found.failure {
          result.problems += failure.all
        }
        result.descriptions.merge(found.descriptions) { first, _ in first }
        if !found.fonts.texts.isEmpty { result.fonts = found.fonts }
      }
      return result
    }
  }

  /// Makes still pictures: a job for each task, so that those of the others are made if one fails.
  private func images(
    _ images: ImageRequest, _ request: JobRequest, _ probed: Findings, build: String?
  ) async throws -> ImageReply {
    let motion = try await motion(request, probed, build: build)
    let (planned, tasks) = try await BlockingWork.run(.planning) {
      let planned = try ImageTasks(
        images, request, descriptions: probed.descriptions, fonts: probed.fonts, motion: motion)
      return (planned, try planned.tasks())
    }
    return try await withJobs(tasks, request, named: "pictures") { jobs in
      var results: [Result<Content, ImageFailure>] = []
      for id in jobs {
        let (job, tasks) = try await end(of: id)
        if let result = tasks.first?.result {
          results.append(.success(result))
        } else {
          let failure = FailureReport(job, tasks, request)
          let messages = (failure?.problems.map(\.message) ?? []) + [failure?.error ?? "the job was cancelled"]
          results.append(.failure(ImageFailure(message: messages.first { !$0.isEmpty } ?? "it failed")))
        }
      }
      return try await BlockingWork.run(.hashing) { [results, store = service.content.store] in
        try planned.reply(results, store: store)
      }
    }
  }

  /// The motion of the camera in the stabilized clips of a document: as it was measured for a film that the build has
  /// rendered, or for an inspection before. Any worker may have a probe task, so no film has it from here.
  private func motion(
    _ request: JobRequest, _ probed: Findings, build: String?
  ) async throws -> [MotionTask: CameraMotion] {
    guard let build, !request.document.text.isEmpty else { return [:] }
    let (known, store) = (service.results, service.content.store)
    let (motions, missing) = try await BlockingWork.run(.planning) {
      let edit = try request.document.read().lower(assets: probed.descriptions, output: request.document.output)
      let maker = try TaskMaker(request, fonts: probed.fonts, build: build, result: { known.result(of: $0) })
      var motions = try MotionTasks(
        edit, assets: request.planned(probed.descriptions), maker: maker,
        result: { try MotionTasks.read($0, store: store) })
      let missing = try motions.inspected { fingerprint in
        try known.result(of: fingerprint).flatMap { try MotionTasks.read($0.content, store: store) }
      }
      return (motions, missing)
    }
    let tasks = missing.map(\.task)
    return try await withJobs(tasks, request, named: "inspection") { jobs in
      var found = motions.found
      for (id, missing) in zip(jobs, missing) {
        let (job, tasks) = try await end(of: id)
        if let failure = FailureReport(job, tasks, request) { throw DocumentError(problems: failure.all) }
        let result = tasks.first?.result
        let motion = try await BlockingWork.run { try result.flatMap { try MotionTasks.read($0, store: store) } }
        guard let motion else {
          let label = missing.task.label
          throw ContentStoreError(.missing, "the result of the \(label) is gone from the coordinator's disk")
        }
        found[missing.motion] = motion
      }
      return found
    }
  }

  /// The problems of compositors of the author's own with their parameters, as a worker of the build finds them. Any
  /// worker may have a probe task: where there are other builds, the compositors are tried when the job is submitted.
  private func tryCompositors(
    _ request: JobRequest, _ descriptions: [AssetID: AssetDescription], build: String
  ) async throws -> [Problem] {
    guard try await ConnectedBuilds(service.store).areAll(build) else { return [] }
    let made = try await BlockingWork.run(.planning) {
      try CompositorTasks.make(.probe, request, descriptions: descriptions, build: build)
    }
    guard let task = made else { return [] }
    let results = service.results
    let kept = try await BlockingWork.run { results.result(of: task.fingerprint)?.content }
    if let kept, let known = try await found(kept, request) { return known }
    return try await withJobs([task], request, named: "inspection") { jobs in
      let (job, tasks) = try await end(of: jobs[0])
      if let failure = FailureReport(job, tasks, request) {
        return failure.all
      }
      guard let result = tasks.first?.result, let found = try await found(result, request) else {
        throw ContentStoreError(.missing, "the result of the \(task.label) is gone from the coordinator's disk")
      }
      return found
    }
  }

  /// The problems that the result of a trial has. Nil if it is not there any more.
  private func found(_ result: Content, _ request: JobRequest) async throws -> [Problem]? {
    let store = service.content.store
    return try await BlockingWork.run { try CompositorTasks.problems(result, request, store: store) }
  }

  /// Submits each task as a job of its own, and cancels those that have not ended when `body` has.
  private func withJobs<R>(
    _ tasks: [NewTask], _ request: JobRequest, named title: String, _ body: ([JobID]) async throws -> R
  ) async throws -> R {
    let encoded = try request.encoded()
    let name = JobSubmission.freshName()
    var jobs: [JobID] = []
    let result: R
    do {
      for (number, task) in tasks.enumerated() {
        let id = JobID("\(name)-\(number)")
        jobs.append(id)
        _ = try await service.store.submit(
          NewJob(id: id, name: title, purpose: .inspection, priority: .max, request: encoded, tasks: [task]))
      }
      result = try await body(jobs)
    } catch {
      do {
        try await cancel(jobs)
      } catch let failure {
        // They are abandoned, and cancelled later.
        service.logger.info("jobs of an inspection not cancelled", metadata: ["error": "\(failure)"])
      }
      throw error
    }
    try await cancel(jobs)
    return result
  }

  /// What a job has found, when it has. What was lost meanwhile, or before, is found once more.
  private func results(of id: JobID, _ request: JobRequest) async throws -> (
    failure: FailureReport?, descriptions: [AssetID: AssetDescription], fonts: FoundFonts
  ) {
    while true {
      let (job, tasks) = try await end(of: id)
      do {
        let (descriptions, fonts) = try await BlockingWork.run { [store = service.content.store] in
          (try ProbeTasks.read(tasks, request, store: store), try FontTasks.read(tasks, request, store: store))
        }
        return (FailureReport(job, tasks, request), descriptions, fonts)
      } catch {
        let lost = LostProbes(store: service.store, content: service.content.store, logger: service.logger)
        guard !job.state.hasEnded, try await lost.makeAgain(id, tasks) else { throw error }
      }
    }
  }

  /// Waits until the job's files are probed or the job has ended.
  private func end(of id: JobID) async throws -> (Job, [RenderTask]) {
    var seen = await service.changes.count
    while true {
      try Task.checkCancellation()
      guard let summary = try await service.store.summary(of: id) else {
        throw JobStoreError(.internal, "the job \(id) has disappeared")
      }
      if summary.job.state.hasEnded || summary.probes.done == summary.probes.total {
        return (summary.job, try await service.store.tasks(of: id, payloads: false))
      }
      seen = await service.changes.wait(since: seen, atMost: .seconds(1))
    }
  }

  private func cancel(_ jobs: [JobID]) async throws {
    for job in jobs { _ = try await service.store.cancel(job) }
  }
}

extension FailureReport {
  /// What is wrong with the document, and what else has failed.
  fileprivate var all: [Problem] { problems + (error.isEmpty ? [] : [Problem(pointer: "", message: error)]) }
}
