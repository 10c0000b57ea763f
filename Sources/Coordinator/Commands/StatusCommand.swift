import ArgumentParser
import Wire

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show jobs, or one job with its tasks.",
    discussion: """
      Of one job, --json prints an object: job, name, state (describing, rendering, done, failed, cancelled), priority, \
      framesDone, framesTotal, segmentsDone, segmentsTotal, segmentsCached, submittedSecondsAgo, elapsedSeconds, error, \
      problems (pointer, message), output (digest, bytes), tasks (task, kind, state, ordinal, epoch, worker, \
      secondWorker, done, work, error, cached). Of all jobs, an array of the same without tasks, newest first. With \
      --watch, one such object a line at each change.
      """)

  @Argument(help: "The job's name; every job, newest first, unless said.")
  var job: String?

  @OptionGroup var coordinator: CoordinatorOptions

  @Flag(help: "Go on until the job has ended. [SHEAF_WATCH]")
  var watch = false

  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn) {
      let endpoint = try coordinator.endpoint()
      let (isJSON, watches) = (json.isOn, Setting.flag(watch, "SHEAF_WATCH"))
      if watches, job == nil { throw ValidationError("--watch needs a job's name") }
      try await Interruption.cancelling { [job] in
        try await CoordinatorClient.run(endpoint) { client in
          let run = JobRun(client: client)
          guard let job else {
            try await list(client, isJSON)
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
    guard case .statusReply(let reply) = try await client.ask(.statusQuery(.init())) else {
      throw CoordinatorClient.unexpected
    }
    if isJSON {
      Console.printJSON(reply.jobs.map(JobView.init))
    } else if reply.jobs.isEmpty {
      Console.print("no jobs")
    } else {
      for job in reply.jobs {
        Console.print("\(job.job)  \(ProgressLine.plain(job, rate: nil))  \(job.name)")
      }
    }
  }
}

/// A job in words.
enum StatusText {
  static func lines(_ status: Sheaf_JobStatus) -> [String] {
    var lines = [
      "job       \(status.job)", "document  \(status.name)", "state     \(ProgressLine.plain(status, rate: nil))",
    ]
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
