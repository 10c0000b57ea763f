import Client
import FarmAPI
import FarmModel

/// What a coordinator answers to one look at the whole farm.
struct FarmLook: Sendable {
  /// How many of the jobs that have not ended are looked at, and how many of those that have.
  static let (mostActive, mostEnded) = (JobQuery.mostLimit, 20)

  var workers: [WorkerStatus] = []
  /// Those that have not ended, newest first.
  var active: [JobStatus] = []
  /// The newest of those that have ended, newest first.
  var ended: [JobStatus] = []
  var notices: [String] = []

  init() {}

  /// - Parameter run: A connection to the coordinator.
  init(_ run: JobRun) async throws {
    workers = try await run.workers()
    var query = JobQuery()
    query.limit = Self.mostActive
    query.states = JobState.allCases.filter { !$0.hasEnded }
    let found = try await run.jobs(query)
    (active, notices) = (found.jobs, found.notices)
    query.limit = Self.mostEnded
    query.states = JobState.allCases.filter(\.hasEnded)
    ended = try await run.jobs(query).jobs
  }
}

/// The order of the jobs.
enum TopOrder: Character, CaseIterable {
  /// That in which the farm takes their tasks.
  case queue = "o"
  case name = "n"
  case progress = "p"
  case rate = "r"
  case age = "a"

  var label: String {
    switch self {
    case .queue: "order"
    case .name: "name"
    case .progress: "progress"
    case .rate: "rate"
    case .age: "age"
    }
  }
}

/// What is shown of a farm, after any number of looks. Pure: each look comes with its time.
struct TopState {
  struct Job {
    /// Its progress is never less than before.
    var status: JobStatus
    /// Frames a second, over the last looks. Nil: not known yet.
    var rate: Double?
    /// In seconds. Nil: not known yet.
    var left: Double?
  }

  /// Those that have not ended, in the order that is selected.
  private(set) var jobs: [Job] = []
  /// The newest that have ended, newest first.
  private(set) var ended: [JobStatus] = []
  /// By name.
  private(set) var workers: [WorkerStatus] = []
  private(set) var notices: [String] = []
  /// Of the whole farm. Nil: not known yet.
  private(set) var framesPerSecond: Double?
  private(set) var segmentsPerMinute: Double?
  /// Why the coordinator does not answer. Nil: it does.
  var outage: String?
  var order = TopOrder.queue { didSet { sort() } }
  private(set) var hasLooked = false

  private var trackers: [String: ProgressTracker] = [:]
  private var known: [String: JobStatus] = [:]
  private var frames = Rate(window: .seconds(10))
  private var segments = Rate(window: .seconds(60))
  private var jobFrames: [String: Rate] = [:]

  mutating func update(_ look: FarmLook, at now: Duration) {
    (workers, ended, notices) = (look.workers, look.ended, look.notices)
    jobs = []
    var (newFrames, newSegments) = (0, 0)
    var seen: [String: JobStatus] = [:]
    for found in look.active + look.ended where seen[found.job] == nil {
      let shown = trackers[found.job, default: ProgressTracker()].show(found, at: now)
      let status = shown.status
      // What was done before the first look, and what comes from the cache, says nothing about the rate.
      let before = known[found.job] ?? status
      let isSamePlan = before.framesTotal == status.framesTotal && before.segmentsTotal == status.segmentsTotal
      let frames = isSamePlan ? max(0, status.framesDone - before.framesDone) : 0
      newFrames += frames
      newSegments += isSamePlan ? max(0, status.segmentsDone - before.segmentsDone) : 0
      seen[found.job] = status
      guard !status.hasEnded else { continue }
      let rate = jobFrames[found.job, default: Rate(window: .seconds(10))].add(frames, at: now)
      jobs.append(Job(status: status, rate: status.state == .rendering ? rate : nil, left: shown.left))
    }
    framesPerSecond = frames.add(newFrames, at: now)
    segmentsPerMinute = segments.add(newSegments, at: now).map { $0 * 60 }
    known = seen
    trackers = trackers.filter { seen[$0.key] != nil }
    jobFrames = jobFrames.filter { seen[$0.key] != nil }
    hasLooked = true
    sort()
  }

  private mutating func sort() {
    // By submission, oldest first, where the order does not say.
    let oldestFirst = jobs.enumerated().sorted { left, right in
      let (older, newer) = (left.element.status, right.element.status)
      return (older.submittedAt ?? .distantPast, older.job) < (newer.submittedAt ?? .distantPast, newer.job)
    }.map(\.element)
    func by<Key: Comparable>(_ key: (Job) -> Key) -> [Job] {
      oldestFirst.enumerated().sorted { (key($0.element), $0.offset) < (key($1.element), $1.offset) }.map(\.element)
    }
    jobs =
      switch order {
      case .queue: by { -Int($0.status.priority) }
      case .name: by { $0.status.name.lowercased() }
      case .progress: by { -Measure.part($0.status) }
      case .rate: by { -($0.rate ?? 0) }
      case .age: oldestFirst
      }
  }
}

extension Timestamp {
  fileprivate static var distantPast: Timestamp { Timestamp(milliseconds: .min) }
}

extension Measure {
  /// How much of a job's frames is done, from 0 to 1.
  static func part(_ status: JobStatus) -> Double {
    status.framesTotal == 0 ? 0 : min(1, Double(status.framesDone) / Double(status.framesTotal))
  }
}

/// How many of something come in a second, over the last while.
private struct Rate {
  private let window: Duration
  /// With how many had come until then.
  private var looks: [(time: Duration, total: Int)] = []

  init(window: Duration) { self.window = window }

  /// Nil: this is the first look.
  mutating func add(_ count: Int, at now: Duration) -> Double? {
    looks.append((now, (looks.last?.total ?? 0) + count))
    // The last look before the window is kept: the rate is over the window whole.
    while looks.count > 2, now - looks[1].time >= window { looks.removeFirst() }
    guard let first = looks.first, let last = looks.last, last.time > first.time else { return nil }
    return Double(last.total - first.total) / ((last.time - first.time) / .seconds(1))
  }
}
