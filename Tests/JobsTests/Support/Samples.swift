@testable import Jobs

func content(_ number: Int, size: Int64 = 10) -> Content {
  let hexadecimal = String(number, radix: 16)
  return Content(digest: String(repeating: "0", count: 64 - hexadecimal.count) + hexadecimal, size: size)
}

extension NewTask {
  static func sample(
    _ kind: TaskKind, _ number: Int = 0, cost: Double = 1, work: Int64 = 100, inputs: [Content] = [],
    cached: Content? = nil
  ) -> NewTask {
    NewTask(
      kind: kind, payload: Array("\(kind.rawValue) \(number)".utf8), inputs: inputs,
      fingerprint: content(0xf000 + number).digest, cost: cost, work: work, cached: cached)
  }
}

extension [NewTask] {
  static func pictures(_ count: Int) -> [NewTask] { (0..<count).map { .sample(.picture, $0) } }
}

extension NewJob {
  static func sample(_ id: String, priority: Int32 = 0, tasks: [NewTask] = []) -> NewJob {
    NewJob(id: JobID(id), name: "film \(id)", priority: priority, request: [1, 0, 255], tasks: tasks)
  }
}

extension WorkerID {
  static let anna = WorkerID("anna")
  static let bert = WorkerID("bert")
  static let carl = WorkerID("carl")
}

extension JobStore {
  /// A job that is rendering: tasks of the plan, then a stitch.
  func submitRendering(_ id: String, priority: Int32 = 0, tasks: [NewTask], build: String = "b1") async throws {
    try await submit(.sample(id, priority: priority))
    guard try await plan(JobID(id), build: build, tasks: tasks + [.sample(.stitch)]) else {
      throw JobStoreError(.internal, "the sample job \(id) was not planned")
    }
  }

  func claimOne(_ worker: WorkerID = .anna, build: String = "b1") async throws -> Grant? {
    try await claim(worker: worker, build: build, limit: 1).first
  }

  func task(_ job: String, _ ordinal: Int) async throws -> RenderTask {
    let tasks = try await tasks(of: JobID(job))
    guard tasks.indices.contains(ordinal) else {
      throw JobStoreError(.internal, "job \(job) has no task \(ordinal), but \(tasks.count) tasks")
    }
    return tasks[ordinal]
  }

  func state(_ job: String) async throws -> JobState? { try await self.job(JobID(job))?.state }
}

extension Grant {
  var name: String { "\(lease.task)" }
}
