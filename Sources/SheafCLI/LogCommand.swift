import ArgumentParser
import Client
import FarmAPI
import SystemSupport

struct LogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Show what has happened to a job, in order.",
    discussion: """
      Its submission, its plan, each task with its worker and its time, each attempt that ended without a result with \
      how it ended and the last five lines of its process's log, and the job's end. Tasks whose results were known when \
      the job was planned are counted in the plan, and shown only with --task.

      With --follow the command prints what happens until the job has ended, whatever its end, and connects again when \
      the coordinator is away for less than 5 minutes.

      --json prints an array of objects; with --follow, one object a line: event (jobSubmitted, jobPlanned, taskGranted, \
      taskDone, taskFailed, jobEnded), at (RFC 3339, UTC, where it is known), state, text, task, kind, label, epoch, \
      worker, workerName, ranSeconds, cached, end, message, exitCode, signal, cpuSeconds, peakBytes, log, usage. Those that do \
      not apply are left out.
      """)

  @Argument(help: "The job's name.")
  var job: String

  @OptionGroup var coordinator: CoordinatorOptions

  @Flag(help: "Continue until the job has ended. [SHEAF_FOLLOW]")
  var follow = false

  @Flag(help: "Show the logs of the tasks' processes whole, as far as the farm keeps them. [SHEAF_FULL]")
  var full = false

  @Option(
    help: ArgumentHelp("Only this task, by its number, with its logs whole. [SHEAF_TASK]", valueName: "n"))
  var task: String?

  @OptionGroup var json: JSONOption

  func run() async throws {
    let follows = Setting.flag(follow, "SHEAF_FOLLOW")
    guard job != "" else { throw ValidationError("the job's name is empty") }
    try await reporting(json: !json.isOn ? .none : follows ? .oneLine : .lines) {
      let number = try Setting.number(task, "--task", "SHEAF_TASK", in: 0...Int64(Int32.max)).map { Int($0) }
      let endpoint = try coordinator.endpoint()
      let isFull = Setting.flag(full, "SHEAF_FULL") || number != nil
      try await Interruption.cancelling { [self] in
        if follows { return try await follow(number, isFull, endpoint) }
        let status = try await CoordinatorClient.run(endpoint) {
          try await JobRun($0).status(of: job, withTasks: true)
        }
        try check(number, status)
        let entries = JobLog(status, task: number).entries
        if json.isOn { return try Console.printJSON(entries) }
        for entry in entries { try print(entry, isFull) }
      }
    }
  }

  private func follow(_ number: Int?, _ isFull: Bool, _ endpoint: CoordinatorClient.Endpoint) async throws {
    let progress = ProgressReport(terminal: nil)
    let client = FarmClient(endpoint) { progress.report($0) }
    var follower = LogFollower(task: number)
    var last: JobStatus?
    while true {
      let status = try await client.run { [job] in try await $0.status(of: job) }
      if last?.withoutTimes != status.withoutTimes {
        let whole = try await client.run { [job] in try await $0.status(of: job, withTasks: true) }
        for entry in follower.new(in: whole) {
          if json.isOn { try Console.printJSON(entry, lines: false) } else { try print(entry, isFull) }
        }
        if whole.hasEnded { return try check(number, whole) }
        last = status
      }
      try await Task.sleep(for: .seconds(1))
    }
  }

  private func print(_ entry: JobLog.Entry, _ isFull: Bool) throws {
    for line in entry.lines(full: isFull) { try Console.print(line) }
  }

  /// Throws if the job does not have the task.
  private func check(_ number: Int?, _ status: JobStatus) throws {
    guard let number, !status.tasks.contains(where: { $0.ordinal == number }) else { return }
    throw CommandFailure(.work, "job \(job) has \(Measure.count(status.tasks.count, "task")) and none is \(number)")
  }
}

/// The entries of a log that are new since the last look. Pure.
struct LogFollower {
  private let task: Int?
  private var seen: Set<String> = []

  init(task: Int? = nil) { self.task = task }

  mutating func new(in status: JobStatus) -> [JobLog.Entry] {
    JobLog(status, task: task).entries.filter { seen.insert($0.identity).inserted }
  }
}
