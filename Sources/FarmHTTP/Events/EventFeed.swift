import Coordinator
import FarmAPI
import FarmModel
import FoundationEssentials
import SystemSupport

/// What happens in the farm, and what changes in its jobs and workers, for all who watch: one ring of events, and one
/// look at the store for everybody.
///
/// A watcher has no queue of its own. It has a place in the ring, and loses its connection when that is forgotten.
actor EventFeed {
  /// What a watcher gets next.
  enum Step: Sendable {
    case events([EventRing.Event], feed: String)
    /// Nothing came within the time.
    case quiet
    /// The watcher's place is forgotten, or is of another feed: it begins anew.
    case lost
    /// The coordinator shuts down.
    case ended
  }

  /// Everything that events change, as it is at one place of the feed.
  struct Snapshot: Encodable, Sendable {
    /// Those that have not ended, and the newest.
    var jobs: [JobStatus]
    var workers: [WorkerStatus]
    var notices: [String]
    /// The newest of what has happened before, oldest first.
    var history: [FarmEventReport]
    /// The coordinator's clock, in seconds since 1970.
    var time: Double
  }

  private struct Deleted: Encodable {
    var job: String
  }

  private struct Workers: Encodable {
    var workers: [WorkerStatus]
    var notices: [String]
  }

  /// The newest jobs that are followed, whatever their state.
  private static let newestJobs = 200
  /// The most jobs that are followed in one state that has not ended.
  private static let mostOfState = 1000
  /// The events that a watcher gets of the time before it came.
  private static let longestHistory = 2000
  /// Between two looks at the store, at least and at most.
  private static let (shortestPause, longestPause) = (Duration.milliseconds(250), Duration.seconds(1))
  /// How long the farm is looked at when nobody watches any more, so that a watcher may come back.
  private static let patience = Duration.seconds(120)

  private let farm: FarmService
  private let signal = ChangeSignal()
  private var feed = EventFeed.freshName()
  private var ring = EventRing()
  private var jobs: [String: JobStatus] = [:]
  private var workers: [WorkerStatus] = []
  private var notices: [String] = []
  /// Kept whether somebody watches or not, so that a page shows what happened before it was opened.
  private var history: [FarmEventReport] = []
  private var watchers = 0
  private var lastWatched: ContinuousClock.Instant?
  /// Whether `jobs` and `workers` are those of the farm.
  private var isCurrent = false
  private var hasEnded = false
  /// The snapshot as JSON, and the place that it is of.
  private var encoded: (number: UInt64, data: [UInt8])?

  init(_ farm: FarmService) {
    self.farm = farm
  }

  private static func freshName() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

  // MARK: Following the farm

  /// Follows the farm until it is cancelled.
  func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.follow() }
      group.addTask { await self.keepLooking() }
    }
  }

  private func follow() async {
    for await event in farm.events() {
      let report = FarmEventReport(event, time: Self.now)
      remember(report)
      guard isCurrent else { continue }
      append("event", report)
      await signal.signal()
    }
  }

  private static var now: Double { Date.now.timeIntervalSince1970 }

  private func remember(_ report: FarmEventReport) {
    // In steps, because the array moves when its first elements are removed.
    if history.count >= Self.longestHistory * 5 / 4 {
      history.removeFirst(history.count - Self.longestHistory + 1)
    }
    history.append(report)
  }

  private func keepLooking() async {
    var seen = await signal.count
    while !Task.isCancelled {
      let isWatched = watchers > 0 || lastWatched.map { .now - $0 < Self.patience } ?? false
      if isWatched {
        await look()
      } else if isCurrent {
        // What happens from now on is not recorded: whoever comes later begins anew.
        isCurrent = false
        (feed, ring, encoded) = (Self.freshName(), EventRing(), nil)
        (jobs, workers, notices) = ([:], [], [])
      }
      // It throws if it is cancelled, and then the loop ends.
      try? await Task.sleep(for: Self.shortestPause)
      seen = await signal.wait(since: seen, atMost: Self.longestPause - Self.shortestPause)
    }
  }

  /// Looks at the farm, and appends what has changed. Without an answer of the store everything stays as it is.
  private func look() async {
    do {
      let list = try await farm.jobs(Self.query([], Self.newestJobs))
      var found = list.jobs
      for states in [[JobState.measuring, .rendering], [.probing]] {
        found += try await farm.jobs(Self.query(states, Self.mostOfState)).jobs
      }
      var now = Dictionary(found.map { ($0.job, $0) }) { first, _ in first }
      // Jobs that were followed, and are neither open nor new any more.
      for (id, known) in jobs where now[id] == nil && !known.hasEnded {
        if let status = try await farm.status(of: JobID(id)) { now[id] = status }
      }
      let workers = try await farm.workers()
      take(now, workers, list.notices)
    } catch {
      // Whoever watches sees that nothing comes; `/readyz` has the reason.
    }
  }

  private static func query(_ states: [JobState], _ limit: Int) -> JobQuery {
    var query = JobQuery()
    query.limit = limit
    query.states = states
    return query
  }

  private func take(_ now: [String: JobStatus], _ workers: [WorkerStatus], _ notices: [String]) {
    let before = ring.last
    let gone = jobs.filter { now[$0.key] == nil && !$0.value.hasEnded }.keys.sorted()
    // In the order of their submission, oldest first.
    for status in now.values.sorted(by: { $0.submittedSecondsAgo > $1.submittedSecondsAgo })
    where isCurrent && status.withoutTimes != jobs[status.job]?.withoutTimes {
      append("job", status)
    }
    for job in gone where isCurrent { append("deleted", Deleted(job: job)) }
    jobs = now
    if isCurrent, workers.map(\.withoutTime) != self.workers.map(\.withoutTime) || notices != self.notices {
      append("workers", Workers(workers: workers, notices: notices))
    }
    (self.workers, self.notices) = (workers, notices)
    if !isCurrent || ring.last != before {
      isCurrent = true
      let signal = signal
      Task { await signal.signal() }
    }
  }

  private func append(_ name: String, _ value: some Encodable) {
    // Every value is finite, so it can be written.
    guard let data = try? JSONCoding.encoder.encode(value) else { return }
    ring.append(name, [UInt8](data))
  }

  // MARK: Watching

  /// A watcher comes. `leave` must follow.
  func enter() { watchers += 1 }

  func leave() {
    watchers -= 1
    lastWatched = .now
  }

  /// The whole state as JSON, and the place from which events go on. Nil: the store does not answer, or the coordinator
  /// shuts down.
  func snapshot() async -> (id: EventID, data: [UInt8])? {
    if !isCurrent { await look() }
    guard isCurrent, !hasEnded else { return nil }
    if let encoded, encoded.number == ring.last { return (EventID(feed: feed, number: ring.last), encoded.data) }
    let newest = jobs.values.sorted { $0.submittedSecondsAgo < $1.submittedSecondsAgo }
    let snapshot = Snapshot(
      jobs: newest, workers: workers, notices: notices, history: history.suffix(Self.longestHistory), time: Self.now)
    guard let data = try? JSONCoding.encoder.encode(snapshot) else { return nil }
    encoded = (ring.last, [UInt8](data))
    return (EventID(feed: feed, number: ring.last), [UInt8](data))
  }

  /// What comes after a place, waiting for it.
  func next(after id: EventID, atMost limit: Duration) async -> Step {
    let end = ContinuousClock.now + limit
    var seen = await signal.count
    while !hasEnded {
      guard isCurrent, id.feed == feed, let events = ring.events(after: id.number) else { return .lost }
      if !events.isEmpty { return .events(Array(events), feed: feed) }
      guard .now < end, !Task.isCancelled else { return .quiet }
      seen = await signal.wait(since: seen, atMost: end - .now)
    }
    return .ended
  }

  /// Ends every watch.
  func stop() async {
    hasEnded = true
    await signal.signal()
  }
}

extension WorkerStatus {
  /// Without what changes even when nothing happens.
  fileprivate var withoutTime: WorkerStatus {
    var status = self
    status.connectedSeconds = 0
    return status
  }
}
