import FarmModel
import Jobs

/// How long tasks wait for their next grant after they have lost their last lease, by its end or because its worker's
/// connection was closed: pure. `now` is the time since any fixed moment.
struct Recoveries: Sendable {
  private struct Entry: Sendable {
    /// The epochs of the leases that are held, as far as this coordinator has granted them.
    var held: Set<Int64> = []
    /// The latest epoch that is known.
    var latest: Int64 = 0
    /// When the last of them was lost. Nil: one is held.
    var since: Duration?
  }

  /// Beyond this number what is known of tasks is forgotten.
  static let maximumTasks = 100_000

  private var tasks: [JobID: [Int32: Entry]] = [:]
  private var count = 0
  private(set) var durations = DurationHistogram(bounds: DurationHistogram.waits)

  mutating func granted(_ lease: Lease, now: Duration) {
    if count >= Self.maximumTasks { (tasks, count) = ([:], 0) }
    var lostAt: Duration?
    change(lease.task) { entry in
      entry.held.insert(lease.epoch)
      // Another coordinator may have granted it in between.
      lostAt = lease.epoch == entry.latest + 1 ? entry.since : nil
      entry.latest = max(entry.latest, lease.epoch)
      entry.since = nil
    }
    if let lostAt { durations.add(now - lostAt) }
  }

  /// The lease has ended without a result, or its worker's connection was closed.
  mutating func lost(_ lease: Lease, now: Duration) {
    change(lease.task) { entry in
      entry.held.remove(lease.epoch)
      entry.latest = max(entry.latest, lease.epoch)
      if entry.held.isEmpty, entry.since == nil { entry.since = now }
    }
  }

  /// The worker has connected again and goes on with the lease.
  mutating func returned(_ lease: Lease) {
    change(lease.task) { entry in
      entry.held.insert(lease.epoch)
      entry.since = nil
    }
  }

  mutating func done(_ task: TaskID) {
    if tasks[task.job]?.removeValue(forKey: task.ordinal) != nil { count -= 1 }
  }

  mutating func ended(_ job: JobID) {
    count -= tasks.removeValue(forKey: job)?.count ?? 0
  }

  private mutating func change(_ task: TaskID, _ body: (inout Entry) -> Void) {
    if tasks[task.job]?[task.ordinal] == nil { count += 1 }
    body(&tasks[task.job, default: [:]][task.ordinal, default: Entry()])
  }
}
