import Client
import Digest
import FarmAPI
import FarmModel

/// Jobs and workers as text.
enum StatusText {
  // MARK: All jobs

  /// A table of jobs, under what holds up the whole farm.
  /// - Parameter width: The width of the terminal in columns; nil where lines may have any length.
  static func list(_ jobs: [JobStatus], notices: [String], width: Int?) -> [String] {
    var table = Table(columns: [
      .init(header: "JOB"), .init(header: "NAME", shortest: 8, dispensable: 1), .init(header: "STATE"),
      .init(header: "PROGRESS", shortest: 5), .init(header: "PRIORITY", isNumber: true, dispensable: 3),
      .init(header: "AGE", isNumber: true, dispensable: 2),
    ])
    for (index, job) in jobs.enumerated() {
      table.rows.append([
        job.job, job.name, job.state.nameOrUnknown, progress(job), "\(job.priority)",
        Measure.age(job.submittedSecondsAgo),
      ])
      if let wait = job.waitsFor, !job.hasEnded {
        let note = "  waits: \(wait.onOneLine)"
        table.notes[index] = [width.map(note.shortened(to:)) ?? note]
      }
    }
    let lines = jobs.isEmpty ? ["no jobs"] : table.lines(width: width)
    return notices.map { width.map($0.onOneLine.shortened(to:)) ?? $0 } + lines
  }

  /// In a column: as much as the state has to say.
  private static func progress(_ job: JobStatus) -> String {
    switch job.state {
    case .done:
      // Without the time in which the job waited and its media were probed. Of a film of the cache there is none.
      let frames = job.framesTotal > 0 ? [Measure.count(job.framesTotal, "frame")] : []
      let time = job.renderingSeconds.map { [Measure.duration($0)] } ?? []
      return (frames + time).joined(separator: " in ")
    case .measuring: return ProgressLine.measured(job)
    case .probing: return job.filesTotal == 0 ? "" : "\(job.filesDone) of \(Measure.count(job.filesTotal, "file"))"
    default:
      guard job.framesTotal > 0 else { return "" }
      let percent = "\(Measure.percent(job.framesDone, of: job.framesTotal)) %"
      return ProgressLine.step(job).map { "\(percent), \($0)" }
        ?? "\(percent), \(job.framesDone)/\(job.framesTotal) frames"
    }
  }

  // MARK: One job

  /// A job with its tasks.
  /// - Parameters:
  ///   - long: Whether builds and ids are shown in full.
  ///   - width: The width of the terminal in columns; nil where lines may have any length.
  static func lines(
    _ status: JobStatus, long: Bool = false, width: Int?
  ) -> [String] {
    var lines = [
      field("job", status.job), field("document", status.name.onOneLine), field("state", ProgressLine.plain(status)),
      field("priority", "\(status.priority)"),
      status.pool.map { field("pool", $0) },
      field("submitted", time(status.submittedAt, ago: status.submittedSecondsAgo)),
    ].compactMap(\.self)
    if let ended = status.endedAt {
      lines.append(field("ended", time(ended, ago: status.submittedSecondsAgo - status.elapsedSeconds)))
    }
    if let build = status.build { lines.append(field("build", long ? build : ShortBuild.of(build))) }
    lines += status.notices.map { field("farm", $0) }
    if let error = status.error { lines.append(field("error", error)) }
    if let doubt = status.doubt { lines.append(field("doubt", doubt.onOneLine)) }
    for problem in status.problems { lines.append(field("problem", "\(problem)")) }
    if let film = status.output {
      lines.append(field("film", "\(Measure.bytes(film.bytes)), SHA-256 \(film.digest)"))
    }
    if let usage = status.usage { lines += self.usage(usage) }
    for output in status.outputs ?? [] { lines.append(field("output", output.text)) }
    if let smart = status.smart {
      lines += zip(["smart"] + smart.lines.dropFirst().map { _ in "" }, smart.lines).map { field($0, $1) }
    }
    for warning in status.warnings { lines.append(field("warning", "\(warning)")) }
    for damage in status.damage { lines.append(field("damage", damage.text)) }
    switch status.state {
    case .done:
      lines.append(field("next", "sheaf fetch \(status.job) -o \(status.outputs == nil ? "FILE" : "FOLDER")"))
    case .failed where status.problems.isEmpty: lines.append(field("next", "sheaf retry \(status.job)"))
    default: break
    }
    if let usage = status.usage { lines += workers(of: usage, width: width) }
    guard !status.tasks.isEmpty else { return lines }
    return lines + [""] + tasks(status.tasks, long: long).lines(width: width)
  }

  /// What the measured attempts took of all workers, in two lines.
  private static func usage(_ usage: JobUsage) -> [String] {
    zip(["took", ""], costs(usage.total, attempts: usage.attempts)).map { field($0, $1) }
  }

  /// What attempts took of all workers, in two lines.
  static func costs(_ total: UsageReport, attempts: Int) -> [String] {
    [
      "\(Measure.duration(total.renderSeconds)) of work in \(Measure.count(attempts, "attempt")), "
        + "\(Measure.duration(total.cpuSeconds)) of CPU, \(Measure.bytes(total.peakBytes)) at most",
      "\(Measure.duration(total.fetchSeconds)) for \(Measure.bytes(total.fetchedBytes)) of inputs, "
        + "\(Measure.duration(total.uploadSeconds)) for \(Measure.bytes(total.uploadedBytes)) of results",
    ]
  }

  /// The same of each worker. Programs of one name are one.
  private static func workers(of usage: JobUsage, width: Int?) -> [String] {
    let names = Dictionary(grouping: usage.workers, by: \.workerName)
    guard names.count > 1 else { return [] }
    var table = Table(columns: [
      .init(header: "WORKER", shortest: 6), .init(header: "ATTEMPTS", isNumber: true),
      .init(header: "WORK", isNumber: true), .init(header: "CPU", isNumber: true),
      .init(header: "MEMORY", isNumber: true, dispensable: 1), .init(header: "FETCHED", isNumber: true, dispensable: 2),
      .init(header: "SENT", isNumber: true, dispensable: 3),
    ])
    for (name, workers) in names.sorted(by: { $0.key < $1.key }) {
      let sum = UsageReport(workers.map(\.usage.usage).reduce(AttemptUsage(), +))
      table.rows.append([
        name, "\(workers.reduce(0) { $0 + $1.attempts })", Measure.duration(sum.renderSeconds),
        Measure.duration(sum.cpuSeconds), Measure.bytes(sum.peakBytes), Measure.bytes(sum.fetchedBytes),
        Measure.bytes(sum.uploadedBytes),
      ])
    }
    return [""] + table.lines(width: width)
  }

  private static func time(_ time: Timestamp?, ago seconds: Double) -> String {
    "\(Measure.age(seconds)) ago" + (time.map { ", at \($0)" } ?? "")
  }

  private static func field(_ name: String, _ value: String) -> String {
    name + String(repeating: " ", count: max(1, 11 - name.count)) + value
  }

  private static func tasks(_ tasks: [TaskStatus], long: Bool) -> Table {
    var table = Table(columns: [
      .init(header: "TASK", isNumber: true), .init(header: "WHAT", shortest: 10), .init(header: "STATE"),
      .init(header: "WORKER", shortest: 6, dispensable: 1), .init(header: "TIME", isNumber: true, dispensable: 2),
    ])
    for (index, task) in tasks.enumerated() {
      let workers = [
        worker(task.workerName, task.worker, long: long),
        worker(task.secondWorkerName, task.secondWorker, long: long),
      ]
      table.rows.append([
        "\(task.ordinal)", label(task), state(task), workers.filter { !$0.isEmpty }.joined(separator: " and "),
        task.ranSeconds > 0 ? Measure.duration(task.ranSeconds) : "",
      ])
      let notes = task.attempts.flatMap { self.notes($0, long: long) }
      if !notes.isEmpty { table.notes[index] = notes }
    }
    return table
  }

  private static func label(_ task: TaskStatus) -> String {
    task.label ?? task.kind.nameOrUnknown
  }

  private static func state(_ task: TaskStatus) -> String {
    switch task.state {
    case .done where task.cached: "cached"
    case .running where task.work > 0: "running \(Measure.percent(task.done, of: task.work)) %"
    default: task.state.nameOrUnknown
    }
  }

  private static func worker(_ name: String?, _ id: String?, long: Bool) -> String {
    guard let name else { return id ?? "" }
    return long ? id.map { "\(name) (\($0))" } ?? name : name
  }

  /// An attempt that ended without a result, and the end of its log.
  private static func notes(_ attempt: TaskStatus.Attempt, long: Bool) -> [String] {
    let worker = worker(attempt.workerName, attempt.worker, long: long)
    let time = attempt.ranSeconds > 0 ? " after \(Measure.duration(attempt.ranSeconds))" : ""
    let log = (attempt.log ?? "").split(whereSeparator: \.isNewline).suffix(JobLog.Entry.shortLog)
    return [
      "      attempt \(attempt.epoch) on \(worker): \(attempt.end.nameOrUnknown)\(time): \(attempt.message.onOneLine)"
    ]
      + log.map { "        | \(String($0).onOneLine)" }
  }

  // MARK: Workers

  /// - Parameter long: Whether builds are shown in full.
  static func workers(_ workers: [WorkerStatus], long: Bool, width: Int?) -> [String] {
    guard !workers.isEmpty else { return ["no workers"] }
    var table = Table(columns: [
      .init(header: "NAME", shortest: 8), .init(header: "BUSY", isNumber: true), .init(header: "BUILD", dispensable: 1),
      .init(header: "CONNECTED", isNumber: true, dispensable: 3),
      .init(header: "COORDINATOR", shortest: 8, dispensable: 2),
    ])
    for (index, worker) in workers.enumerated() {
      table.rows.append([
        worker.name, "\(worker.busy)/\(worker.slots)", worker.shortBuild,
        Measure.age(worker.connectedSeconds), worker.coordinator,
      ])
      var notes: [String] = []
      if !worker.pools.isEmpty {
        let count = worker.pools.count == 1 ? "pool" : "pools"
        notes.append("  \(count) \(worker.pools.joined(separator: ", "))\(worker.isClosed ? ": closed now" : "")")
      }
      if let hold = worker.hold { notes.append("  \(hold): \((worker.holdReason ?? "").onOneLine)") }
      if let paused = worker.paused { notes.append("  paused: \(paused.onOneLine)") }
      if !notes.isEmpty { table.notes[index] = notes }
    }
    var lines = table.lines(width: width)
    if long {
      var seen: Set<String> = []
      lines += ["", "builds:"]
      for worker in workers where seen.insert(worker.build).inserted {
        lines.append("  \(worker.shortBuild)  \(worker.build)")
      }
    }
    return lines
  }
}
