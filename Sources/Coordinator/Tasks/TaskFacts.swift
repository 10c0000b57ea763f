import Digest
import FarmAPI
import FarmModel
import Jobs

/// What the coordinator needs to know of tasks beyond their leases: labels for its log, and the fingerprints under
/// which results are recorded. Kept for the jobs that were used last, and read from the store when they are not there,
/// such as those of a job that another coordinator has planned.
actor TaskFacts {
  struct Fact: Sendable, Hashable {
    var kind: TaskKind
    var label: String
    /// The task's fingerprint. That of a stitch task is not the one under which its result is recorded, because that
    /// one depends on the pieces.
    var fingerprint: SHA256Digest
    /// How much of the film it makes.
    var duration: Duration
    /// The estimated work.
    var cost: Double

    init(_ kind: TaskKind, label: String, fingerprint: SHA256Digest, duration: Duration, cost: Double) {
      self.cost = cost
      self.kind = kind
      self.label = label
      self.fingerprint = fingerprint
      self.duration = duration
    }
  }

  /// How many tasks are kept, of all jobs together; the job that was used last is kept in any case.
  static let maximumTasks = 250_000

  private let store: any JobStore
  private var jobs: [JobID: [Fact]] = [:]
  /// The job that was used last is at the end.
  private var order: [JobID] = []
  private var count = 0
  private var reading: [JobID: Task<[Fact], Never>] = [:]

  init(store: any JobStore) {
    self.store = store
  }

  /// What an attempt took, for the metrics. Nil: the worker did not say, or nothing is known of the task.
  static func usage(_ usage: AttemptUsage?, _ fact: Fact?, isDone: Bool = true) -> FarmEvent.TaskUsage? {
    guard let usage, let fact else { return nil }
    return FarmEvent.TaskUsage(fact.kind, filmSeconds: isDone ? fact.duration / .seconds(1) : 0, usage: usage)
  }

  /// Records the tasks of a job by ordinal.
  func keep(_ facts: [Fact], of job: JobID) {
    forget(job)
    jobs[job] = facts
    order.append(job)
    count += facts.count
    while count > Self.maximumTasks, let oldest = order.first, oldest != job { forget(oldest) }
  }

  /// Removes a job's tasks: they have changed, or the job has ended.
  func forget(_ job: JobID) {
    guard let facts = jobs.removeValue(forKey: job) else { return }
    order.removeAll { $0 == job }
    count -= facts.count
  }

  /// Nil if the store does not have the task, or does not answer.
  func fact(of task: TaskID) async -> Fact? {
    let ordinal = Int(task.ordinal)
    if let facts = jobs[task.job], facts.indices.contains(ordinal) {
      if order.last != task.job {
        order.removeAll { $0 == task.job }
        order.append(task.job)
      }
      return facts[ordinal]
    }
    // A job that was planned since has more tasks than are kept.
    let facts = await read(task.job)
    return facts.indices.contains(ordinal) ? facts[ordinal] : nil
  }

  /// Tasks that ask for the same job at once share one look.
  private func read(_ job: JobID) async -> [Fact] {
    if let reading = reading[job] { return await reading.value }
    let task = Task { [store] in
      // Without an answer the log has no labels, and a result is not recorded for later jobs.
      let tasks = (try? await store.tasks(of: job, payloads: false)) ?? []
      return tasks.map {
        Fact($0.kind, label: $0.label, fingerprint: $0.fingerprint, duration: $0.duration, cost: $0.cost)
      }
    }
    reading[job] = task
    let facts = await task.value
    reading[job] = nil
    if !facts.isEmpty { keep(facts, of: job) }
    return facts
  }
}
