import ArgumentParser
import Client
import FarmAPI
import FarmModel
import SystemSupport

struct PauseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Hold a job up until it is resumed.",
    discussion: """
      What runs of it goes on to its end, and nothing else of it begins. With --now it is stopped at once, by which each \
      worker loses what it has done of one task.
      """)

  @Argument(help: "The job's name.")
  var job: String

  @Flag(help: "Stop what runs too. [SHEAF_NOW]")
  var now = false

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    try await reporting {
      let stops = Setting.flag(now, "SHEAF_NOW")
      try await coordinator.ask { [job] in try await $0.pause(job, stopping: stops) }
    }
  }
}

struct ResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Take up a job that is paused, or held until a time.",
    discussion: "Jobs that are to be done before it are still waited for.")

  @Argument(help: "The job's name.")
  var job: String

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    try await reporting {
      try await coordinator.ask { [job] in try await $0.resume(job) }
    }
  }
}

struct PriorityCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "priority", abstract: "Change the priority of a job.",
    discussion: """
      Jobs of a higher priority go first. Those of one priority share the farm: between their owners by weight, and then \
      between the jobs of each. A submitter's priorities are -100 to 100.
      """)

  @Argument(help: "The job's name.")
  var job: String

  @Argument(parsing: .allUnrecognized, help: "A whole number; that of a job is 0 unless it was submitted with another.")
  var priority: [String]

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    guard priority.count == 1, let number = Int32(priority[0]) else {
      throw ValidationError("give one priority, a whole number such as 10 or -10")
    }
    try await reporting {
      try await coordinator.ask { [job] in try await $0.setPriority(of: job, to: number) }
    }
  }
}

struct OwnersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "owners", abstract: "Show what each owner of jobs has, and may have.",
    discussion: """
      An owner is who the token is for with which a job was submitted ('sheaf token'). With --set what one may have is \
      changed first, by an operator. Of two owners who always have tasks the one with twice the weight gets twice as much.

      --json prints an array: owner, weight, mostRunning, mostJobs, mostBytes (of what it may have; absent: any number), running \
      (tasks), jobs (that have not ended).
      """)

  @Option(
    help: ArgumentHelp(
      "The owner that is changed; '' is whoever has the farm's own token. [SHEAF_OWNER]", valueName: "owner"))
  var set: String?

  @Option(help: ArgumentHelp("Its weight, 0.001 to 1000; that of others is 1. [SHEAF_OWNER_WEIGHT]", valueName: "n"))
  var weight: String?

  @Option(
    help: ArgumentHelp("How many of its tasks may run: a number, or any. [SHEAF_OWNER_MAX_RUNNING]", valueName: "n"))
  var maxRunning: String?

  @Option(
    help: ArgumentHelp(
      "How many of its jobs may not have ended: a number, or any. [SHEAF_OWNER_MAX_JOBS]", valueName: "n"))
  var maxJobs: String?

  @Option(
    help: ArgumentHelp(
      "How many bytes of the content store its jobs may name, such as 500G: a number, or any. [SHEAF_OWNER_MAX_BYTES]",
      valueName: "bytes"))
  var maxBytes: String?

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    let weight = Setting.text(weight, "SHEAF_OWNER_WEIGHT")
    let maxRunning = Setting.text(maxRunning, "SHEAF_OWNER_MAX_RUNNING")
    let maxJobs = Setting.text(maxJobs, "SHEAF_OWNER_MAX_JOBS")
    let maxBytes = Setting.text(maxBytes, "SHEAF_OWNER_MAX_BYTES")
    let changes = [weight, maxRunning, maxJobs, maxBytes].contains { $0 != nil }
    let set = changes ? Setting.text(set, "SHEAF_OWNER") : set
    guard changes == (set != nil) else {
      throw ValidationError(
        "with --set give --weight, --max-running, --max-jobs or --max-bytes, and these with it alone")
    }
    try await reporting(json: json.isOn ? .lines : .none) {
      var request = OwnerRequest()
      if let weight {
        guard let number = Double(weight) else { throw ValidationError("--weight is a number, not \(weight)") }
        request.weight = number
      }
      request.mostRunning = try Self.most(maxRunning, "--max-running")
      request.mostJobs = try Self.most(maxJobs, "--max-jobs")
      if let maxBytes {
        request.mostBytes =
          maxBytes == "any" ? OwnerRequest.any : try Setting.bytes(maxBytes, "--max-bytes", "SHEAF_OWNER_MAX_BYTES")
      }
      let found = try await coordinator.ask { [request, set] run in
        if let set { return [try await run.changeOwner(set, request)] }
        return try await run.owners()
      }
      if json.isOn { return try Console.printJSON(found) }
      for line in Self.lines(found, width: Terminal.output?.width) { try Console.print(line) }
    }
  }

  private static func most(_ text: String?, _ name: String) throws -> Int64? {
    guard let text else { return nil }
    if text == "any" { return OwnerRequest.any }
    guard let number = Int64(text), number >= 0 else {
      throw ValidationError("\(name) is a number from 0, or any, not \(text)")
    }
    return number
  }

  private static func lines(_ owners: [OwnerReport], width: Int?) -> [String] {
    guard !owners.isEmpty else { return ["nobody has jobs"] }
    var table = Table(columns: [
      .init(header: "OWNER", shortest: 6), .init(header: "WEIGHT", isNumber: true),
      .init(header: "RUNNING", isNumber: true), .init(header: "MAX RUNNING", isNumber: true),
      .init(header: "JOBS", isNumber: true), .init(header: "MAX JOBS", isNumber: true),
      .init(header: "MAX BYTES", isNumber: true),
    ])
    for owner in owners {
      let (running, jobs) = (owner.mostRunning.map { "\($0)" }, owner.mostJobs.map { "\($0)" })
      table.rows.append([
        owner.owner.isEmpty ? "-" : owner.owner, "\(owner.weight)", "\(owner.running)", running ?? "any",
        "\(owner.jobs)",
        jobs ?? "any", owner.mostBytes.map(ByteCount.text) ?? "any",
      ])
    }
    return table.lines(width: width)
  }
}

/// When a job that is submitted may begin.
struct ScheduleOptions: ParsableArguments {
  @Flag(help: "Hold the job up until 'sheaf resume'. [SHEAF_PAUSED]")
  var paused = false

  @Option(
    help: ArgumentHelp(
      "Hold the job up for a time, such as 8h, or until one, such as 2026-12-01T22:00:00Z. [SHEAF_HOLD]",
      valueName: "time"))
  var hold: String?

  @Option(
    help: ArgumentHelp(
      "Hold the job up until this one is done; may be repeated. [SHEAF_AFTER, with commas]", valueName: "job"))
  var after: [String] = []

  func schedule(now: Timestamp) throws -> JobSchedule {
    var schedule = JobSchedule()
    schedule.isPaused = Setting.flag(paused, "SHEAF_PAUSED")
    let before = after.isEmpty ? [Setting.text(nil, "SHEAF_AFTER") ?? ""] : after
    schedule.after = before.flatMap { $0.split(separator: ",").map(String.init) }
    guard let text = Setting.text(hold, "SHEAF_HOLD") else { return schedule }
    if let time = Timestamp(text) {
      schedule.holdUntil = time
    } else if let time = try Setting.duration(text, "--hold", "SHEAF_HOLD") {
      schedule.holdUntil = Timestamp(milliseconds: now.milliseconds + time.components.seconds * 1000)
    }
    return schedule
  }
}
