import ArgumentParser
import Client
import Coordinator
import SwiftProtobuf
import SystemSupport
import Wire

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show jobs, or one job with its tasks.",
    discussion: """
      Of one job, --json prints an object: job, name, state (probing, rendering, done, failed, cancelled), priority, \
      framesDone, framesTotal, segmentsDone, segmentsTotal, segmentsCached, submittedSecondsAgo, elapsedSeconds, waitsFor, \
      error, problems (pointer, message), output (digest, bytes), tasks (task, kind, state, ordinal, epoch, worker, \
      secondWorker, done, work, error, cached, attempts). A kind is probe, video, audio or stitch; a task's state is \
      waiting, ready, running, done or failed; secondWorker has a backup lease. The attempts are those that ended without \
      a result, oldest first: epoch, worker, end (released, media, document, crashed, hung), message, exitCode, signal, \
      cpuSeconds, peakBytes, log. Of all jobs, --json prints an array of the same without tasks, newest first. With \
      --watch, one such object or array a line at each change.
      """)

  @Argument(help: "The job's name; the default is every job, newest first.")
  var job: String?

  @OptionGroup var coordinator: CoordinatorOptions

  @Flag(help: "Continue until the job, or every job, has ended. [SHEAF_WATCH]")
  var watch = false

  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn) {
      let endpoint = try coordinator.endpoint()
      let (isJSON, watches) = (json.isOn, Setting.flag(watch, "SHEAF_WATCH"))
      try await Interruption.cancelling { [job] in
        try await CoordinatorClient.run(endpoint) { client in
          let run = JobRun(client)
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
            if isJSON { Console.printJSON(JobView(status), lines: false) } else { progress.report(status) }
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

  /// Prints the jobs that have changed, once a second, until all have ended.
  private func watchAll(_ client: CoordinatorClient, _ isJSON: Bool) async throws {
    var known: [String: Sheaf_JobStatus] = [:]
    while true {
      let jobs = try await jobs(client)
      let changed = jobs.filter { known[$0.job] != $0.withoutTimes }
      known = Dictionary(jobs.map { ($0.job, $0.withoutTimes) }) { first, _ in first }
      if isJSON, !changed.isEmpty { Console.printJSON(jobs.map(JobView.init), lines: false) }
      if !isJSON { for job in changed.reversed() { Console.print(line(job)) } }
      if jobs.allSatisfy(\.state.hasEnded) { return }
      try await Task.sleep(for: .seconds(1))
    }
  }

  private func jobs(_ client: CoordinatorClient) async throws -> [Sheaf_JobStatus] {
    guard case .statusReply(let reply) = try await client.request(.statusQuery(.init())) else {
      throw CoordinatorClient.unexpected
    }
    return reply.jobs
  }

  private func line(_ job: Sheaf_JobStatus) -> String {
    "\(job.job)  \(ProgressLine.plain(job, rate: nil))  \(job.name)"
  }
}

struct WorkersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workers", abstract: "Show the farm's workers.",
    discussion: "--json prints an array: name, id, slots, busy, build, connectedSeconds, coordinator.")

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  private struct View: Encodable {
    var name: String
    var id: String
    var slots: UInt32
    var busy: UInt32
    var build: String
    var connectedSeconds: Double
    var coordinator: String
  }

  func run() async throws {
    try await reporting(json: json.isOn) {
      let endpoint = try coordinator.endpoint()
      let workers = try await CoordinatorClient.run(endpoint) { client in
        guard case .workersReply(let reply) = try await client.request(.workersQuery(.init())) else {
          throw CoordinatorClient.unexpected
        }
        return reply.workers
      }
      if json.isOn {
        Console.printJSON(
          workers.map { worker in
            View(
              name: worker.name, id: worker.id, slots: worker.slots, busy: worker.busy, build: worker.build,
              connectedSeconds: Double(worker.connectedMilliseconds) / 1000, coordinator: worker.coordinator)
          })
      } else if workers.isEmpty {
        Console.print("no workers")
      } else {
        for worker in workers {
          let seconds = worker.connectedMilliseconds / 1000
          Console.print(
            "\(worker.name)  \(worker.busy)/\(worker.slots) busy  \(seconds) s  at \(worker.coordinator)  \(worker.build)"
          )
        }
      }
    }
  }
}
