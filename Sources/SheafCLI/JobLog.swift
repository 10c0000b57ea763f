import FarmAPI
import FarmModel

/// What has happened to a job, in order. Pure: it follows from the job's status with its tasks.
struct JobLog {
  /// One thing that has happened, with the keys of `--json`.
  struct Entry: Hashable, Encodable {
    /// The names of the farm's events (`FarmEventReport.Name`).
    enum Event: String, Hashable, Encodable {
      case jobSubmitted, jobPlanned, jobEnded
      /// It runs.
      case taskGranted
      case taskDone
      /// An attempt ended without a result.
      case taskFailed
    }

    var event: Event
    /// Nil: it is not known when.
    var at: Timestamp?
    /// Of the job, after it.
    var state: JobState?
    /// What there is to say about the job, for a person.
    var text: String?
    /// The ordinal of the task. Nil: it is about the job.
    var task: Int?
    var kind: TaskKind?
    /// What the task makes.
    var label: String?
    var epoch: Int64?
    /// The worker's id.
    var worker: String?
    var workerName: String?
    /// From the grant to the end, or to now.
    var ranSeconds: Double?
    /// Whether the task's result was known when it was planned.
    var cached: Bool?
    /// How the attempt ended, by its name.
    var end: String?
    var message: String?
    var exitCode: Int32?
    var signal: Int32?
    var cpuSeconds: Double?
    var peakBytes: Int64?
    /// The end of what the task process wrote to its standard error, as the farm keeps it.
    var log: String?
    /// What the attempt took, as its worker has measured it.
    var usage: UsageReport?

    /// What tells the entry from every other of its job, however often it is looked at.
    var identity: String {
      "\(event.rawValue) \(task ?? -1) \(epoch ?? 0) \(state?.rawValue ?? "") \(event == .jobPlanned ? text ?? "" : "")"
    }
  }

  /// The parts of a job's life, which follow one another.
  private enum Stage: Int, CaseIterable {
    case submission, probing, measuring, plan, rendering, stitching, end
  }

  private(set) var entries: [Entry]

  /// - Parameter task: The ordinal of the one task that it is about. Nil: every task, but for those whose results were
  ///   known.
  init(_ status: JobStatus, task: Int? = nil) {
    var stages: [Stage: [Entry]] = [:]
    for found in status.tasks where task == nil || task == found.ordinal {
      stages[Self.stage(of: found.kind), default: []] += Self.entries(of: found, isAlone: task != nil)
    }
    if task == nil {
      stages[.submission] = [Self.submission(of: status)]
      stages[.plan] = Self.plan(of: status)
      stages[.end] = Self.end(of: status)
    }
    // The tasks of one part run at the same time: their entries are in the order of their times if every one has one.
    entries = Stage.allCases.flatMap { stage in
      let entries = stages[stage] ?? []
      let times = entries.compactMap(\.at)
      guard times.count == entries.count else { return entries }
      return zip(times, entries).enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
        .map(\.element.1)
    }
  }

  private static func stage(of kind: TaskKind?) -> Stage {
    switch kind {
    case .probe: .probing
    case .measure: .measuring
    case .stitch: .stitching
    case .video, .audio, nil: .rendering
    }
  }

  // MARK: The job

  private static func submission(of status: JobStatus) -> Entry {
    Entry(
      event: .jobSubmitted, at: status.submittedAt,
      text: status.name + (status.priority == 0 ? "" : ", priority \(status.priority)"))
  }

  /// Empty: it is not planned.
  private static func plan(of status: JobStatus) -> [Entry] {
    let isPlanned = status.tasks.contains { stage(of: $0.kind) == .rendering || $0.kind == .stitch }
    guard isPlanned, let build = status.shortBuild else { return [] }
    var parts: [String] = []
    if status.segmentsTotal > 0 {
      let cached = status.segmentsCached == 0 ? "" : ", \(status.segmentsCached) of them from the cache"
      parts.append(Measure.count(status.segmentsTotal, "segment") + cached)
    }
    if status.framesTotal > 0 { parts.append(Measure.count(status.framesTotal, "frame")) }
    return [Entry(event: .jobPlanned, text: (parts + ["build \(build)"]).joined(separator: ", "))]
  }

  private static func end(of status: JobStatus) -> [Entry] {
    guard status.hasEnded else { return [] }
    var entry = Entry(event: .jobEnded, at: status.endedAt, state: status.state, ranSeconds: status.elapsedSeconds)
    let reasons = [status.error].compactMap(\.self) + status.problems.map { "\($0)" }
    entry.message = reasons.isEmpty ? nil : reasons.joined(separator: "\n")
    return [entry]
  }

  // MARK: A task

  /// - Parameter isAlone: Whether the log is about this task.
  private static func entries(of task: TaskStatus, isAlone: Bool) -> [Entry] {
    var entries = task.attempts.map { entry(of: $0, task) }
    guard isAlone || !task.cached else { return entries }
    switch task.state {
    case .done, .running:
      var entry = entry(task.state == .done ? .taskDone : .taskGranted, task)
      if task.cached { entry.cached = true }
      entry.epoch = task.cached ? nil : task.epoch
      entry.at = task.cached ? nil : task.state == .done ? task.endedAt : task.grantedAt
      entry.usage = task.usage
      entry.worker = task.worker
      entry.workerName = task.workerName
      if !task.cached { entry.ranSeconds = task.ranSeconds }
      entries.append(entry)
      if task.state == .running, let second = task.secondWorker {
        var backup = self.entry(.taskGranted, task)
        // The backup lease is the later one.
        backup.epoch = task.epoch + 1
        backup.worker = second
        backup.workerName = task.secondWorkerName
        backup.message = "a backup lease"
        entries.append(backup)
      }
    case .waiting, .ready, .failed, nil: break
    }
    return entries
  }

  private static func entry(_ event: Entry.Event, _ task: TaskStatus) -> Entry {
    Entry(event: event, task: task.ordinal, kind: task.kind, label: task.label)
  }

  private static func entry(of attempt: TaskStatus.Attempt, _ task: TaskStatus) -> Entry {
    var entry = entry(.taskFailed, task)
    entry.epoch = attempt.epoch
    (entry.at, entry.usage) = (attempt.endedAt, attempt.usage)
    entry.worker = attempt.worker
    entry.workerName = attempt.workerName
    entry.ranSeconds = attempt.ranSeconds
    entry.end = attempt.end.nameOrUnknown
    entry.message = attempt.message
    (entry.exitCode, entry.signal) = (attempt.exitCode, attempt.signal)
    (entry.cpuSeconds, entry.peakBytes, entry.log) = (attempt.cpuSeconds, attempt.peakBytes, attempt.log)
    return entry
  }
}

// MARK: - Text

extension JobLog.Entry {
  /// How many lines of a task's log are shown if not all are.
  static let shortLog = 5

  /// The entry as lines: what happened, and under it the log of the task process.
  /// - Parameter full: Whether the log is shown whole.
  func lines(full: Bool) -> [String] {
    let time = at?.description ?? String(repeating: " ", count: 24)
    var lines = ["\(time)  " + sentence.onOneLine]
    if event == .jobEnded, let message {
      lines += message.split(whereSeparator: \.isNewline).map { "  \(String($0).onOneLine)" }
    }
    let log = (log ?? "").split(whereSeparator: \.isNewline)
    let shown = full ? log[...] : log.suffix(Self.shortLog)
    if shown.count < log.count { lines.append("  | … \(log.count - shown.count) lines before; --full shows them") }
    return lines + shown.map { "  | \(String($0).onOneLine)" }
  }

  private var sentence: String {
    switch event {
    case .jobSubmitted: "submitted: \(text ?? "")"
    case .jobPlanned: "planned: \(text ?? "")"
    case .jobEnded: "\(state.nameOrUnknown) after \(Measure.duration(ranSeconds ?? 0))"
    case .taskGranted where message == nil: "\(subject) runs\(place)\(after)"
    case .taskGranted: "\(subject) runs\(place) also: \(message ?? "")"
    case .taskDone where cached == true: "\(subject) from the cache"
    case .taskDone: "\(subject) done\(place)\(after)"
    case .taskFailed: "\(subject), attempt \(epoch ?? 0)\(place) \(end ?? "")\(after)\(process): \(message ?? "")"
    }
  }

  private var subject: String {
    let subject = "task \(task ?? 0), \(label ?? kind.nameOrUnknown)"
    return event == .taskFailed ? subject : subject + ":"
  }
  private var place: String { (workerName ?? worker).map { " on \($0)" } ?? "" }
  private var after: String {
    guard let ranSeconds, ranSeconds > 0 else { return "" }
    return (event == .taskDone ? " in " : event == .taskGranted ? " for " : " after ") + Measure.duration(ranSeconds)
  }

  /// How the task process ended, if it was reported.
  private var process: String {
    var parts: [String] = []
    if let signal, signal != 0 {
      parts.append("signal \(signal)")
    } else if let exitCode {
      parts.append("exit code \(exitCode)")
    }
    if let cpuSeconds { parts.append("\(Measure.decimal(cpuSeconds)) s of CPU") }
    if let peakBytes { parts.append("\(Measure.bytes(peakBytes)) at most") }
    return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
  }
}
