import FarmAPI
import FarmModel
import Jobs

/// When jobs will have ended: the work that is left of all of them, played forward on the slots of the farm in the
/// order in which its tasks are granted (X19). Pure.
///
/// A task takes its cost at the pace of its job, which is that of what was rendered of the job. Jobs that are not
/// planned yet, inspections, and tasks that will fail are not foreseen.
struct Forecast: Sendable {
  /// What is left of a job, in seconds.
  struct Job: Sendable {
    var id: JobID
    var owner: String
    var priority: Int32 = 0
    var pool: String?
    var build = ""
    /// Of tasks that workers have.
    var running: [(worker: WorkerID, seconds: Double)] = []
    /// Of the others, in the order in which they are granted.
    var waiting: [Double] = []
    /// What follows the last of them.
    var last = 0.0
  }

  /// How many jobs and slots are looked at in all; each task costs as many as there are. What ends later is not known.
  static let mostLooks = 2_000_000

  private struct Slot {
    var worker: WorkerRecord
    var free = 0.0
  }

  private struct Queue {
    var job: Job
    var next = 0
    var served = 0.0
    var end = 0.0
  }

  private var queues: [Queue]
  private var slots: [Slot]
  private let owners: [String: Owner]
  private var served: [String: Double] = [:]
  /// The ends of each owner's tasks, of those whose number is limited.
  private var ends: [String: [Double]] = [:]

  /// - Parameters:
  ///   - jobs: Those that go on, in the order of their submission.
  ///   - workers: All that are connected.
  ///   - owners: Those for whom something is set.
  /// - Returns: Seconds from now by job. A job is not there if it is not known when it ends, because no worker takes
  ///   its tasks.
  static func ends(of jobs: [Job], workers: [WorkerRecord], owners: [Owner]) -> [JobID: Double] {
    var forecast = Forecast(jobs, workers: workers, owners: owners)
    forecast.play()
    return Dictionary(
      uniqueKeysWithValues: forecast.queues.filter { $0.next == $0.job.waiting.count }.map {
        ($0.job.id, $0.end + $0.job.last)
      })
  }

  private init(_ jobs: [Job], workers: [WorkerRecord], owners: [Owner]) {
    queues = jobs.map { Queue(job: $0) }
    slots = workers.filter { !$0.isClosed && $0.hold == nil && $0.paused.isEmpty }
      .flatMap { worker in (0..<worker.slots).map { _ in Slot(worker: worker) } }
    self.owners = Dictionary(owners.map { ($0.owner, $0) }) { first, _ in first }
    for owner in owners where owner.mostRunning != nil { ends[owner.owner] = [] }
    var isTaken = slots.map { _ in false }
    for index in queues.indices {
      let job = queues[index].job
      for task in job.running {
        queues[index].end = max(queues[index].end, task.seconds)
        ends[job.owner]?.append(task.seconds)
        guard let slot = slots.indices.first(where: { !isTaken[$0] && slots[$0].worker.id == task.worker })
        else { continue }
        (isTaken[slot], slots[slot].free) = (true, task.seconds)
      }
    }
  }

  private mutating func play() {
    var looks = 0
    var open = queues.indices.filter { !queues[$0].job.waiting.isEmpty }
    while looks < Self.mostLooks, !open.isEmpty, let slot = slots.indices.min(by: { slots[$0].free < slots[$1].free }) {
      looks += open.count + slots.count
      let now = slots[slot].free
      let able = open.filter { slots[slot].worker.takes(queues[$0].job) }
      guard let index = able.filter({ hasRoom(queues[$0].job.owner, at: now) }).min(by: { rank($0) < rank($1) }) else {
        // It waits until an owner has room, or has nothing to do any more.
        let later = able.compactMap { ends[queues[$0].job.owner]?.filter { $0 > now }.min() }.min()
        if let later { slots[slot].free = later } else { slots.remove(at: slot) }
        continue
      }
      let task = queues[index].job.waiting[queues[index].next]
      let owner = queues[index].job.owner
      slots[slot].free = now + task
      queues[index].end = max(queues[index].end, now + task)
      queues[index].next += 1
      queues[index].served += task
      served[owner, default: 0] += task / (owners[owner]?.weight ?? 1)
      ends[owner]?.append(now + task)
      if queues[index].next == queues[index].job.waiting.count { open.removeAll { $0 == index } }
    }
  }

  /// Who goes first: lower values do.
  private func rank(_ index: Int) -> (Int32, Double, Double, Int) {
    let job = queues[index].job
    return (-job.priority, served[job.owner] ?? 0, queues[index].served, index)
  }

  private func hasRoom(_ owner: String, at time: Double) -> Bool {
    guard let most = owners[owner]?.mostRunning else { return true }
    return (ends[owner] ?? []).count { $0 > time } < most
  }
}

extension WorkerRecord {
  fileprivate func takes(_ job: Forecast.Job) -> Bool {
    build == job.build && PoolName.takes(pools, jobsOf: job.pool)
  }
}
