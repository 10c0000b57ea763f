import CompositionModel
import ContentStorage
import Digest
import Jobs
import Logging
import Segmenter
import Wire

/// Plans the jobs whose assets are probed. Every coordinator may plan every job: the store accepts the first plan.
struct Planner: Sendable {
  let store: any JobStore
  let content: ContentLocator
  let results: ResultCache
  let logger: Logger

  func plan(_ id: JobID) async throws(JobStoreError) {
    guard let job = try await store.job(id), job.state == .probing, let build = try await build(for: job) else {
      return
    }
    let tasks = try await store.tasks(of: id, payloads: false)
    let planned: PlannedJob
    do {
      planned = try await BlockingWork.run { [content, results] in
        let request = try JobRequest(encoded: job.request)
        let descriptions = try ProbeTasks.read(tasks, request, store: content.store)
        return try PlannedJob(request, descriptions: descriptions, build: build) { results.result(of: $0) }
      }
    } catch let error as DocumentError {
      _ = try await store.fail(id, failure: JobFailure(problems: error.problems))
      return
    } catch let error as PlanError {
      _ = try await store.fail(id, failure: JobFailure(problems: [Problem(pointer: "", message: "\(error)")]))
      return
    } catch let error as ContentStoreError where error.code != .missing {
      // The disk may answer again, and the job is planned then.
      logger.error("job not planned yet", metadata: ["job": "\(id)", "error": "\(error)"])
      return
    } catch {
      logger.error("job not planned", metadata: ["job": "\(id)", "error": "\(error)"])
      try await fail(id, "\(error)")
      return
    }
    do throws(JobStoreError) {
      _ = try await store.plan(id, build: build, tasks: planned.tasks)
    } catch  where error.code == .invalid {
      try await fail(id, "\(error)")
    }
  }

  private func fail(_ id: JobID, _ reason: String) async throws(JobStoreError) {
    _ = try await store.fail(id, failure: JobFailure(reason: .farm, message: "the job cannot be planned: \(reason)"))
  }

  /// The build that the job is bound to, or else the one with the most slots; nil while no worker is connected.
  private func build(for job: Job) async throws(JobStoreError) -> String? {
    if let build = job.build { return build }
    return try await Self.commonBuild(store)
  }

  /// The build with the most slots among the connected workers.
  static func commonBuild(_ store: any JobStore) async throws(JobStoreError) -> String? {
    var slots: [String: Int] = [:]
    for worker in try await store.workers() { slots[worker.build, default: 0] += Int(worker.slots) }
    return slots.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }
}
