import CompositionModel
import Digest
import Jobs
import Logging
import Segmenter

/// Plans jobs whose assets are described. Any coordinator may, any number of times: the store takes the first.
struct Planner: Sendable {
  let store: any JobStore
  let library: Library
  let logger: Logger

  func plan(_ id: JobID) async throws(JobStoreError) {
    guard let job = try await store.job(id), job.state == .describing else { return }
    if Inspection.isInspection(id) {
      // Whoever asked reads the descriptions and ends it; here are those whose coordinator went away.
      if job.age > .seconds(600) { _ = try await store.cancel(id) }
      return
    }
    guard let build = try await build(for: job) else { return }
    let tasks = try await store.tasks(of: id, payloads: false)
    let planned: PlannedJob
    do {
      planned = try await BlockingWork.run { [library] in
        let request = try JobRequest(encoded: job.request)
        let descriptions = try ProbeTasks.read(tasks, request, vault: library.vault)
        return try PlannedJob(request, descriptions: descriptions, build: build) { library.vault.result(of: $0) }
      }
    } catch let error as DocumentError {
      _ = try await store.fail(id, error: FailureText.stored(error.problems))
      return
    } catch let error as PlanError {
      _ = try await store.fail(id, error: FailureText.stored([Problem(pointer: "", message: "\(error)")]))
      return
    } catch {
      logger.error("a job cannot be planned", metadata: ["job": "\(id)", "error": "\(error)"])
      _ = try await store.fail(id, error: "the job cannot be planned: \(error)")
      return
    }
    do throws(JobStoreError) {
      _ = try await store.plan(id, build: build, tasks: planned.tasks)
    } catch  where error.code == .invalid {
      _ = try await store.fail(id, error: "the job cannot be planned: \(error)")
    }
  }

  /// The build that the job is bound to, or else the one that most slots have; nil while there is no worker.
  private func build(for job: Job) async throws(JobStoreError) -> String? {
    if let build = job.build { return build }
    return try await Self.commonBuild(store)
  }

  static func commonBuild(_ store: any JobStore) async throws(JobStoreError) -> String? {
    var slots: [String: Int] = [:]
    for worker in try await store.workers() { slots[worker.build, default: 0] += Int(worker.slots) }
    return slots.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }
}
