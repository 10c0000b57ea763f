import FarmModel
import Jobs

/// Decides when to look at which watched job: pure. All jobs together are looked at at most `rate` times a second, in
/// turn, however many are watched. `now` is the time since any fixed moment.
struct LookSchedule: Sendable {
  enum Step: Sendable, Hashable {
    case look(JobID)
    /// No look before this time has passed.
    case wait(Duration)
    /// No job has changed since it was looked at.
    case idle
  }

  private let interval: Duration
  private let burst: Int
  /// Those that are to be looked at, in order.
  private var due: [JobID] = []
  private var watched: Set<JobID> = []
  private var available: Int
  private var filledAt: Duration = .zero

  /// - Parameter rate: Also how many looks may follow each other at once after a pause.
  init(rate: Int = 4) {
    interval = .seconds(1) / rate
    burst = rate
    available = rate
  }

  /// The job is watched from now on, and is to be looked at.
  mutating func add(_ job: JobID) {
    watched.insert(job)
    if !due.contains(job) { due.append(job) }
  }

  mutating func remove(_ job: JobID) {
    watched.remove(job)
    due.removeAll { $0 == job }
  }

  /// Something has changed: every job is to be looked at, those that wait already first.
  mutating func changed() {
    let waiting = Set(due)
    due += watched.subtracting(waiting).sorted()
  }

  mutating func next(now: Duration) -> Step {
    guard !due.isEmpty else { return .idle }
    while available < burst, now - filledAt >= interval {
      available += 1
      filledAt = available == burst ? now : filledAt + interval
    }
    guard available > 0 else { return .wait(interval - (now - filledAt)) }
    if available == burst { filledAt = now }
    available -= 1
    return .look(due.removeFirst())
  }
}
