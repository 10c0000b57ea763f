import FarmAPI
import FarmModel
import Jobs

extension JobWait {
  /// A job that is younger may just not have been started.
  static let patience = Duration.seconds(2)

  /// What a job waits for: pure. Nil if it has ended, or its tasks run.
  /// - Parameters:
  ///   - disk: What `DiskSpace.notice` says.
  ///   - pools: Those that have working hours.
  ///   - mostRunning: How many tasks of its owner may run, if so many run. Nil: another one may run.
  ///   - compositors: The names of the author's own compositors that the job's document uses.
  static func of(
    _ summary: JobSummary, workers: [WorkerRecord], disk: String?, compositors: [String] = [],
    pools: [Pool] = [], mostRunning: Int64? = nil
  ) -> JobWait? {
    let job = summary.job
    if job.state.hasEnded { return nil }
    let runs = summary.running > summary.away
    let probes = summary.probes
    let probing = JobWait(.probing, "\(probes.done) of \(probes.total) files probed")
    if runs { return job.state == .probing ? probing : nil }
    if job.isPaused { return JobWait(.pausedJob, "it is paused; to go on: sheaf resume \(job.id)") }
    if let time = job.heldUntil, time > job.submittedAt + job.age {
      return JobWait(.held, "it is held until \(Timestamp(since1970: time)); to go on at once: sheaf resume \(job.id)")
    }
    if let before = job.unfinishedBefore {
      let state = before.state.hasEnded ? ", which is \(before.state.rawValue)" : ""
      return JobWait(.after, "it comes after job \(before.job)\(state)")
    }
    if let pool = job.pool, let closed = pools.first(where: { $0.name == pool && !$0.isOpen }) {
      return JobWait(.poolClosed, "its pool \(pool) is closed\(until(closed.changesAt))")
    }
    guard !workers.isEmpty else { return noWorker }
    let workers = workers.filter { PoolName.takes($0.pools, jobsOf: job.pool) }
    guard !workers.isEmpty else {
      return JobWait(.noPoolWorker, "no worker of its pool \(job.pool ?? "") is connected")
    }
    if workers.allSatisfy(\.isClosed) {
      let closed = Set(workers.flatMap(\.pools))
      let opening = pools.filter { closed.contains($0.name) }.compactMap(\.changesAt).min()
      return JobWait(.poolClosed, "all pools of the workers are closed\(until(opening))")
    }
    if job.state.isBound, let build = job.build, !workers.contains(where: { $0.build == build }) {
      return JobWait(.noBuild, "no worker of the job's build is connected; it will be planned for another build")
    }
    if let disk { return JobWait(.storage, disk) }
    if summary.running > 0 { return JobWait(.away, "the workers that have its tasks are not connected now") }
    guard job.age >= patience else { return nil }
    if job.state == .probing, probes.done == probes.total {
      if let lacking = ConnectedBuilds(workers).lacking(compositors) { return JobWait(.compositors, lacking) }
      return JobWait(
        .plan, "its files are probed and it is to be planned; if this stays, the coordinator's log has the reason")
    }
    if let mostRunning {
      return JobWait(.quota, "its owner has \(mostRunning) running tasks, and may have no more")
    }
    let able = workers.filter { !$0.isClosed && (job.state == .probing || $0.build == job.build) }
    if able.isEmpty { return JobWait(.poolClosed, "all pools of the workers of its build are closed") }
    if let lacking = lackingMemory(summary.memory, able) { return JobWait(.memory, lacking) }
    let pauses = able.map(\.pause)
    if let first = able.first, let paused = pauses.first ?? nil, pauses.allSatisfy({ $0 != nil }) {
      return JobWait(
        .paused,
        able.count == 1
          ? "its worker takes no tasks: \(paused)"
          : "its \(able.count) workers take no tasks; \(first.name): \(paused)")
    }
    if able.filter({ $0.pause == nil }).allSatisfy({ $0.busy >= $0.slots }) {
      return JobWait(.noSlot, "the workers have no free slot")
    }
    if summary.compared > 0 {
      let results = summary.compared == 1 ? "a result of its tasks waits" : "\(summary.compared) of its results wait"
      return JobWait(
        .comparison, "\(results) to be compared with another worker's, and none that has not made it takes the task")
    }
    if job.state == .probing, probes.done < probes.total { return probing }
    return JobWait(.grant, "no worker with a free slot has taken its tasks yet")
  }

  private static func until(_ time: Duration?) -> String {
    time.map { " until \(Timestamp(since1970: $0))" } ?? ""
  }

  /// Says that tasks need more memory than each of some workers gives one. Nil if one gives as much, or there is none.
  static func lackingMemory(_ memory: Int64, _ workers: [WorkerRecord]) -> String? {
    guard let most = workers.map(\.memory).max(), most < memory else { return nil }
    return "a task needs about \(memory >> 20) MiB of memory, and no worker that is connected gives one more than "
      + "\(most >> 20) MiB"
  }
}

extension WorkerRecord {
  /// Why it takes no tasks, for a person. Nil: it takes some.
  fileprivate var pause: String? {
    if let hold { return "\(hold.rawValue): \(holdReason)" }
    return paused.isEmpty ? nil : paused
  }
}
