import Coordinator
import FarmAPI
import FarmModel
import FoundationEssentials
import NIOCore
import SystemSupport

/// What happens in the farm, at whichever coordinator, and what changes in its jobs and workers, for all who watch: one
/// ring of events, and one look at the store for everybody.
///
/// A watcher has no queue of its own. It has a place in the ring, and loses its connection when that is forgotten.
actor EventFeed {
  /// What a watcher gets next.
  enum Step: Sendable {
    /// With the place after the last of them.
    case events(ByteBuffer, EventID)
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
  /// The most jobs that are followed, whenever they were submitted, of those that are measured or rendered, and of
  /// those that are probed.
  private static let (mostRendered, mostProbed) = (1000, 200)
  /// The events that a watcher gets of the time before it came.
  private static let longestHistory = 2000
  /// Between two looks at the store, at least and at most.
  private static let (shortestPause, longestPause) = (Duration.milliseconds(250), Duration.seconds(1))
  /// Between two calls of those who wait, so that many events are one call.
  private static let signalPause = Duration.milliseconds(100)
  /// How long the farm is looked at when nobody watches any more, so that a watcher may come back.
  private static let patience = Duration.seconds(120)

  private let farm: FarmService
  /// For those who watch.
  private let signal = ChangeSignal()
  /// What has happened is a reason to look.
  private let happened = ChangeSignal()
  private var feed = EventFeed.freshName()
  private var ring = EventRing()
  private var jobs: [String: JobStatus] = [:]
  private var workers: [WorkerStatus] = []
  private var notices: [String] = []
  /// The newest events of the farm, so that a page shows what happened before it was opened.
  private var history: [FarmEventReport] = []
  /// Up to where the farm's events are in the ring.
  private var place = EventPlace.beginning
  private var watchers = 0
  private var lastWatched: ContinuousClock.Instant?
  /// The look that is under way.
  private var looking: Task<Void, Never>?
  /// Whether `jobs` and `workers` are those of the farm.
  private var isCurrent = false
  private var hasEnded = false
  /// The snapshot as it is sent, and the place that it is of.
  private var encoded: (number: UInt64, frame: ByteBuffer)?
  /// The events that were joined last: after a number, to another one.
  private var lastJoined: (after: UInt64, to: UInt64, bytes: ByteBuffer)?
  /// Of the last event that those who wait were called for.
  private var called: UInt64 = 0

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
      group.addTask { await self.keepCalling() }
    }
  }

  /// Calls those who wait when there are events.
  private func keepCalling() async {
    while !Task.isCancelled {
      if ring.last != called {
        called = ring.last
        await signal.signal()
      }
      // It throws if it is cancelled, and then the loop ends.
      try? await Task.sleep(for: Self.signalPause)
    }
  }

  /// What this coordinator sees happen is a reason to look.
  private func follow() async {
    for await _ in farm.ownEvents() { await happened.signal() }
  }

  /// Whether somebody watches, or has a short time ago.
  var isWatched: Bool { watchers > 0 || lastWatched.map { .now - $0 < Self.patience } ?? false }

  private static var now: Double { Date.now.timeIntervalSince1970 }

  private func keepLooking() async {
    var seen = await happened.count
    while !Task.isCancelled {
      if isWatched {
        await look()
      } else if isCurrent {
        // No stream is open: one that is opened later begins with the whole state.
        begin()
      }
      // It throws if it is cancelled, and then the loop ends.
      try? await Task.sleep(for: Self.shortestPause)
      seen = await happened.wait(since: seen, atMost: Self.longestPause - Self.shortestPause)
    }
  }

  private func begin() {
    isCurrent = false
    (feed, ring, encoded, called, lastJoined) = (Self.freshName(), EventRing(), nil, 0, nil)
    (jobs, workers, notices, history, place) = ([:], [], [], [], .beginning)
  }

  /// Looks at the farm, or waits for the look that is under way: one for all, and none overtakes another.
  private func look() async {
    if let looking { return await looking.value }
    let task = Task { await lookOnce() }
    looking = task
    await task.value
    looking = nil
  }

  /// Looks at the farm, and appends what has changed. Without an answer of the store everything stays as it is.
  private func lookOnce() async {
    do {
      // Before the state, so that it has what they tell of.
      try await readEvents()
      let list = try await farm.jobs(Self.query([], Self.newestJobs))
      var found = list.jobs
      found += try await farm.jobs(Self.query([.measuring, .rendering], Self.mostRendered)).jobs
      found += try await farm.jobs(Self.query([.probing], Self.mostProbed)).jobs
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

  /// Appends what has happened since the last look.
  private func readEvents() async throws {
    if isCurrent {
      var next: FarmService.Events?
      repeat {
        next = try await farm.events(after: place, limit: Self.longestHistory)
        for report in next?.reports ?? [] { tell(report) }
        if let next { place = next.end }
      } while next?.isFull == true
      if next != nil { return }
      // So much happened since that some of it is not kept.
      begin()
    }
    let newest = try await farm.newestEvents(limit: Self.longestHistory)
    (history, place) = (newest.reports, newest.end)
  }

  private func tell(_ report: FarmEventReport) {
    place = report.id
    // In steps, because the array moves when its first elements are removed.
    if history.count >= Self.longestHistory * 5 / 4 {
      history.removeFirst(history.count - Self.longestHistory + 1)
    }
    history.append(report)
    append("event", report)
    if report.event == .jobDeleted, let job = report.job, jobs.removeValue(forKey: job) != nil {
      append("deleted", Deleted(job: job))
    }
  }

  private static func query(_ states: [JobState], _ limit: Int) -> JobQuery {
    var query = JobQuery()
    query.limit = limit
    query.states = states
    return query
  }

  private func take(_ now: [String: JobStatus], _ workers: [WorkerStatus], _ notices: [String]) {
    // Ages change without events.
    encoded = nil
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
    isCurrent = true
  }

  private func append(_ name: String, _ value: some Encodable) {
    // Every value is finite, so it can be written.
    guard let data = try? JSONCoding.encoder.encode(value) else { return }
    let id = EventID(feed: feed, number: ring.last + 1, place: place)
    ring.append(ServerSentEvent.frame(name, "\(id)", data), at: place)
  }

  // MARK: Watching

  /// A watcher comes. `leave` must follow.
  func enter() { watchers += 1 }

  func leave() {
    watchers -= 1
    lastWatched = .now
  }

  /// The event with the whole state, the same bytes for all, and the place from which events go on. Nil: the store does
  /// not answer, or the coordinator shuts down.
  /// - Parameter seen: Up to where the client has the farm's events, from this coordinator or another one.
  func snapshot(after seen: EventPlace?) async -> (id: EventID, frame: ByteBuffer)? {
    if !isCurrent { await look() }
    // Another coordinator has looked later than this one. A look that was under way may have begun too early.
    for _ in 0..<2 where isCurrent && place < seen ?? .beginning { await look() }
    guard isCurrent, !hasEnded else { return nil }
    let id = EventID(feed: feed, number: ring.last, place: place)
    if let encoded, encoded.number == ring.last { return (id, encoded.frame) }
    let newest = jobs.values.sorted { $0.submittedSecondsAgo < $1.submittedSecondsAgo }
    let snapshot = Snapshot(
      jobs: newest, workers: workers, notices: notices, history: history.suffix(Self.longestHistory), time: Self.now)
    guard let data = try? JSONCoding.encoder.encode(snapshot) else { return nil }
    let frame = ServerSentEvent.frame("reset", "\(id)", data)
    encoded = (ring.last, frame)
    return (id, frame)
  }

  /// The farm's events between what a client has seen, at whichever coordinator, and a snapshot: the first of them, as
  /// they are sent. Empty: there are none, or some of them are not kept any more.
  func missed(after seen: EventPlace, before snapshot: EventPlace) async throws -> (
    frames: [ByteBuffer], to: EventPlace
  ) {
    guard let found = try await farm.events(after: seen, limit: Self.longestHistory) else { return ([], snapshot) }
    let missed = found.reports.prefix { $0.id <= snapshot }
    let frames = try missed.map { report in
      ServerSentEvent.frame("event", "\(EventID(report.id))", try JSONCoding.encoder.encode(report))
    }
    return (frames, found.isFull ? min(found.end, snapshot) : snapshot)
  }

  /// What comes after a place, waiting for it.
  func next(after id: EventID, atMost limit: Duration) async -> Step {
    let end = ContinuousClock.now + limit
    var seen = await signal.count
    while !hasEnded {
      guard isCurrent, id.feed == feed, let events = ring.events(after: id.number) else { return .lost }
      if let last = events.last {
        let next = EventID(feed: feed, number: last.number, place: last.place)
        return .events(joined(events, after: id.number), next)
      }
      guard .now < end, !Task.isCancelled else { return .quiet }
      seen = await signal.wait(since: seen, atMost: end - .now)
    }
    return .ended
  }

  /// Events as one part of a stream. Most who watch are at the same place, and get the same bytes: one write for each,
  /// so that a request does not wait for thousands of them.
  private func joined(_ events: ArraySlice<EventRing.Event>, after number: UInt64) -> ByteBuffer {
    let last = events.last?.number ?? number
    if let lastJoined, lastJoined.after == number, lastJoined.to == last { return lastJoined.bytes }
    var bytes = ByteBuffer()
    bytes.reserveCapacity(events.reduce(0) { $0 + $1.frame.readableBytes })
    for event in events { bytes.writeImmutableBuffer(event.frame) }
    lastJoined = (number, last, bytes)
    return bytes
  }

  /// Ends every watch.
  func stop() async {
    hasEnded = true
    await signal.signal()
  }
}

/// The bytes of an event, as a stream has them.
enum ServerSentEvent {
  /// - Parameter data: On one line.
  static func frame(_ name: String, _ id: String?, _ data: Data) -> ByteBuffer {
    var frame = ByteBuffer()
    if let id { frame.writeString("id: \(id)\n") }
    frame.writeString("event: \(name)\ndata: ")
    frame.writeBytes(data)
    frame.writeString("\n\n")
    return frame
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
