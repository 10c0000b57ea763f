import ArgumentParser
import Client
import FarmAPI
import FarmModel
import SystemSupport

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show jobs, or one job with its tasks.",
    discussion: """
      Of one job, every task is shown with its worker, its time, and every attempt that ended without a result. Of all \
      jobs, the newest 200 are shown: --limit says how many, and --state, --name, --since and --before select some. If \
      there are more, the last line is the command that shows the next, with --after (on standard error with --json). With \
      --watch the command connects again when the coordinator is away for less than 5 minutes.

      Of one job, --json prints an object: job, name, state (probing, measuring, rendering, done, failed, cancelled), \
      priority, framesDone, framesTotal, segmentsDone, segmentsTotal, segmentsCached, filesDone, filesTotal, \
      measuredDone, measuredTotal, running, hasAudio, audioDone, build, shortBuild, submittedAt, endedAt, \
      renderingSince (RFC 3339, UTC), submittedSecondsAgo, elapsedSeconds, renderingSeconds (from the first task of \
      the film to the end), waitsFor, waitReason (noWorker, noStore, noBuild, storage, away, plan, compositors, \
      memory, paused, noSlot, probing, grant, pausedJob, \
      held, after, quota, comparison), owner, isPaused, holdUntil, after, doubt (why a film may be wrong), notices, error, problems (pointer, message), output (digest, bytes), \
      warnings (pointer, message), losses (what, where, track, why), damage (of a film that is done: path, track, \
      type, count, places: sourceSeconds, filmSeconds), outputs (of a document with several: file, container, video: \
      codec, width, height, bitRate, quality, audio: codec, sampleRate, channels, bitRate), smart (of a film with smart rendering: copiedFrames, encodedFrames, refusals, moreRefusals), usage (attempts, total, \
      workers: worker, workerName, attempts, usage), tasks (task, kind, label, boundary, state, ordinal, epoch, \
      worker, workerName, secondWorker, secondWorkerName, done, work, grantedAt, endedAt, ranSeconds, usage, error, \
      cached, attempts). A kind is probe, measure, video, audio or stitch; a task's state is waiting, ready, running, \
      done or failed; boundary is why a segment starts where it does; secondWorker has a backup lease. The attempts \
      are those that ended without a result, oldest first: epoch, worker, workerName, endedAt, ranSeconds, end \
      (released, media, document, crashed, hung, exhausted, killed), message, exitCode, signal, cpuSeconds, \
      peakBytes, log, usage. What attempts took (total and usage), as their workers have measured it, is waitSeconds \
      (for a slot), fetchSeconds (for inputs), renderSeconds (of work), uploadSeconds (for the result), cpuSeconds, \
      peakBytes, fetchedBytes and uploadedBytes. Of all jobs, --json prints an array of the same without usage and \
      tasks, newest first. With --watch, one such object or array a line at each change, without tasks.
      """)

  @Argument(help: "The job's name; the default is every job, newest first.")
  var job: String?

  @OptionGroup var coordinator: CoordinatorOptions

  @OptionGroup var list: JobListOptions

  @Flag(help: "Continue until the job, or every job, has ended. [SHEAF_WATCH]")
  var watch = false

  @OptionGroup var long: LongOption
  @OptionGroup var json: JSONOption

  func run() async throws {
    let watches = Setting.flag(watch, "SHEAF_WATCH")
    guard job != "" else { throw ValidationError("the job's name is empty; leave it out to see every job") }
    if job != nil || watches, let given = list.given {
      throw ValidationError("\(given) is about the list of jobs: leave it out with a job, and with --watch")
    }
    try await reporting(json: !json.isOn ? .none : watches ? .oneLine : .lines) {
      let query = try list.query(now: .now)
      let endpoint = try coordinator.endpoint()
      try await Interruption.cancelling { [self] in
        if watches {
          if let job { try await watch(job, endpoint) } else { try await watchAll(endpoint) }
          return
        }
        guard let job else {
          // One more than is shown: then there are more.
          var asked = query
          asked.limit += 1
          let all = asked
          let found = try await CoordinatorClient.run(endpoint) { try await JobRun($0).allJobs(all) }
          return try show(found, query)
        }
        let status = try await CoordinatorClient.run(endpoint) {
          try await JobRun($0).status(of: job, withTasks: true)
        }
        if json.isOn { return try Console.printJSON(status) }
        for line in StatusText.lines(status, long: long.isOn, width: Terminal.output?.width) { try Console.print(line) }
      }
    }
  }

  private func show(_ found: JobList, _ query: JobQuery) throws {
    let jobs = Array(found.jobs.prefix(query.limit))
    var more: String?
    if found.jobs.count > jobs.count, let last = jobs.last {
      more = "there are more: " + coordinator.command(["status"] + list.arguments(after: last.job, query))
    }
    if json.isOn {
      try Console.printJSON(jobs)
      if let more { Console.printError(more) }
      return
    }
    for line in StatusText.list(jobs, notices: found.notices, width: Terminal.output?.width) { try Console.print(line) }
    if let more { try Console.print(more) }
  }

  // MARK: Watching

  private func watch(_ job: String, _ endpoint: CoordinatorClient.Endpoint) async throws {
    let progress = ProgressReport()
    defer { progress.end() }
    let client = FarmClient(endpoint) { progress.report($0) }
    let isJSON = json.isOn
    do {
      let status = try await client.wait(for: job, cancelsJob: false) { status in
        if isJSON {
          try Console.printJSON(status, lines: false)
        } else {
          progress.report(status)
        }
      }
      progress.end()
      do {
        try status.requireDone()
      } catch {
        // In JSON the last line has the job's state and the reason.
        throw isJSON ? PrintedFailure(failure: error) : error
      }
    } catch var failure as CommandFailure where failure.code == .unavailable {
      failure.advice = ["the job goes on without this command; to watch it again:"]
      failure.advice += ["  " + coordinator.command(["status", "--watch", job])]
      throw failure
    }
  }

  /// Prints the jobs that have changed, once a second, until all have ended.
  private func watchAll(_ endpoint: CoordinatorClient.Endpoint) async throws {
    let progress = ProgressReport()
    let client = FarmClient(endpoint) { progress.report($0) }
    var list = JobListWatch()
    var painted = PaintedLines()
    while true {
      let found = try await client.run { try await $0.jobs() }
      let change = list.update(found)
      if json.isOn {
        if change.isNew { try Console.printJSON(change.jobs, lines: false) }
      } else if let terminal = Terminal.output {
        let lines = StatusText.list(change.jobs, notices: found.notices, width: terminal.width - 1)
        if change.haveEnded {
          try painted.print([], on: terminal)
          for line in lines { try Console.print(line) }
        } else {
          try painted.print(Array(lines.prefix(terminal.height - 1)), on: terminal)
        }
      } else {
        for job in change.changed.reversed() {
          try Console.print("\(job.job)  \(ProgressLine.plain(job))  \(job.name.onOneLine)")
        }
      }
      if change.haveEnded { return }
      try await Task.sleep(for: .seconds(1))
    }
  }
}

/// What has changed among all jobs since the last look. Pure.
struct JobListWatch {
  struct Change {
    /// Every job, with progress that is never less than before.
    var jobs: [JobStatus]
    /// Those that have changed, newest first.
    var changed: [JobStatus]
    /// Whether anything has changed, or this is the first look.
    var isNew: Bool
    /// Whether no job goes on.
    var haveEnded: Bool
  }

  private var trackers: [String: ProgressTracker] = [:]
  private var known: [String: JobStatus]?

  mutating func update(_ found: JobList) -> Change {
    let jobs = found.jobs.map { job in
      // The rate is not shown, so the time does not matter.
      trackers[job.job, default: ProgressTracker()].show(job, at: .zero).status
    }
    let changed = jobs.filter { known?[$0.job] != $0.compared }
    let isNew = known == nil || !changed.isEmpty || known?.count != jobs.count
    known = Dictionary(jobs.map { ($0.job, $0.compared) }) { first, _ in first }
    trackers = trackers.filter { known?[$0.key] != nil }
    return Change(jobs: jobs, changed: changed, isNew: isNew, haveEnded: jobs.allSatisfy(\.hasEnded))
  }
}

extension JobStatus {
  /// What makes a status another one in a list: not the times, nor what holds up the whole farm.
  fileprivate var compared: JobStatus {
    var status = withoutTimes
    status.notices = []
    return status
  }
}

struct WorkersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workers", abstract: "Show the farm's workers.",
    discussion: """
      --json prints an array: name, id, slots, busy, build, shortBuild, connectedSeconds, connectedAt (RFC 3339, UTC), coordinator, paused (why the \
      worker takes no tasks for now), account (by which 'sheaf worker' names it), hold (paused, draining, quarantined), \
      holdReason.
      """)

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var long: LongOption
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none) {
      let workers = try await coordinator.ask { try await $0.workers() }
      if json.isOn { return try Console.printJSON(workers) }
      for line in StatusText.workers(workers, long: long.isOn, width: Terminal.output?.width) {
        try Console.print(line)
      }
    }
  }
}
