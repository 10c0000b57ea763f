import ArgumentParser
import Wire

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show jobs, or one job with its tasks.",
    discussion: """
      Of one job, --json prints an object: job, name, state (describing, rendering, done, failed, cancelled), priority, \
      framesDone, framesTotal, segmentsDone, segmentsTotal, segmentsCached, submittedSecondsAgo, elapsedSeconds, waitsFor, \
      error, problems (pointer, message), output (digest, bytes), tasks (task, kind, state, ordinal, epoch, worker, \
      secondWorker, done, work, error, cached). Of all jobs, an array of the same without tasks, newest first. With \
      --watch, one such object or array a line at each change.
      """)

  @Argument(help: "The job's name; every job, newest first, unless said.")
  var job: String?

  @OptionGroup var coordinator: CoordinatorOptions

  @Flag(help: "Go on until the job, or every job, has ended. [SHEAF_WATCH]")
  var watch = false

  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn) {
      let endpoint = try coordinator.endpoint()
      let (isJSON, watches) = (json.isOn, Setting.flag(watch, "SHEAF_WATCH"))
      try await Interruption.cancelling { [job] in
        try await CoordinatorClient.run(endpoint) { client in
          let run = JobRun(client: client)
          guard let job else {
            if watches { try await watchAll(client, isJSON) } else { try await list(client, isJSON) }
            return
          }
          guard watches else {
            let status = try await run.status(of: job)
            if isJSON { Console.printJSON(JobView(status)) } else { StatusText.lines(status).forEach(Console.print) }
            return
          }
          let progress = ProgressReport()
          defer { progress.end() }
          let status = try await run.wait(for: job) { status in
            if isJSON { Console.printLine(JobView(status)) } else { progress.tell(status) }
          }
          progress.end()
          try status.requireDone()
        }
      }
    }
  }

  private func list(_ client: CoordinatorClient, _ isJSON: Bool) async throws {
    let jobs = try await jobs(client)
    if isJSON {
      Console.printJSON(jobs.map(JobView.init))
    } else if jobs.isEmpty {
      Console.print("no jobs")
    } else {
      for job in jobs { Console.print(line(job)) }
    }
  }

  /// Prints the jobs that have changed, once a second, for as long as one is under way.
  private func watchAll(_ client: CoordinatorClient, _ isJSON: Bool) async throws {
    var known: [String: Sheaf_JobStatus] = [:]
    while true {
      let jobs = try await jobs(client)
      let changed = jobs.filter { known[$0.job] != $0.timeless }
      known = Dictionary(jobs.map { ($0.job, $0.timeless) }) { first, _ in first }
      if isJSON, !changed.isEmpty { Console.printLine(jobs.map(JobView.init)) }
      if !isJSON { for job in changed.reversed() { Console.print(line(job)) } }
      if jobs.allSatisfy(\.hasEnded) { return }
      try await Task.sleep(for: .seconds(1))
    }
  }

  private func jobs(_ client: CoordinatorClient) async throws -> [Sheaf_JobStatus] {
    guard case .statusReply(let reply) = try await client.ask(.statusQuery(.init())) else {
      throw CoordinatorClient.unexpected
    }
    return reply.jobs
  }

  private func line(_ job: Sheaf_JobStatus) -> String {
    "\(job.job)  \(ProgressLine.plain(job, rate: nil))  \(job.name)"
  }
}

/// A job in words.
enum StatusText {
  static func lines(_ status: Sheaf_JobStatus) -> [String] {
    var lines = [
      "job       \(status.job)", "document  \(status.name)", "state     \(ProgressLine.plain(status, rate: nil))",
    ]
    if !status.waitsFor.isEmpty { lines.append("waits     \(status.waitsFor)") }
    if !status.error.isEmpty { lines.append("error     \(status.error)") }
    for problem in status.problems {
      lines.append("problem   " + (problem.pointer.isEmpty ? "" : problem.pointer + ": ") + problem.message)
    }
    if status.hasOutput, let digest = status.output.sha256 {
      lines.append("film      \(digest) (\(status.output.size) bytes)")
    }
    for task in status.tasks {
      var line = "  \(task.ordinal)  \(TaskView.name(task.kind))  \(task.state)"
      if task.cached { line += " (from the vault)" }
      if task.work > 0, task.state == "leased" { line += "  \(task.done)/\(task.work)" }
      if task.state == "leased" { line += "  on \(task.worker)" }
      if !task.secondWorker.isEmpty { line += " and \(task.secondWorker)" }
      if task.attempts > 1 { line += "  attempt \(task.attempts)" }
      if !task.error.isEmpty, task.state != "done" { line += "  \(task.error)" }
      lines.append(line)
    }
    return lines
  }
}

extension Sheaf_JobStatus {
  /// Without what changes by itself.
  var timeless: Sheaf_JobStatus {
    var status = self
    status.elapsedMilliseconds = 0
    status.submittedMillisecondsAgo = 0
    return status
  }
}
