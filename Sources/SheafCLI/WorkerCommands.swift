import ArgumentParser
import Client
import FarmAPI
import SystemSupport

struct WorkerGroupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker", abstract: "Hold workers, and let them go on.",
    discussion: """
      A worker is named as 'sheaf workers' lists it, and behind the owner of its token and a slash if it has one of its \
      own. All workers of the name are meant, also those that connect later. An operator may hold workers.
      """,
    subcommands: [
      PauseWorkerCommand.self, DrainWorkerCommand.self, QuarantineWorkerCommand.self, ResumeWorkerCommand.self,
      HeldWorkersCommand.self,
    ])
}

struct PauseWorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Grant workers no tasks until 'sheaf worker resume'.",
    discussion: "What they execute goes on to its end.")

  @OptionGroup var hold: HoldOptions

  func run() async throws {
    try await reporting { try await hold.set("paused") }
  }
}

struct DrainWorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drain", abstract: "Grant workers no tasks, and end them when they have none.",
    discussion: """
      What they execute goes on to its end, and is published. One that is started again ends again, until \
      'sheaf worker resume'.
      """)

  @OptionGroup var hold: HoldOptions

  func run() async throws {
    try await reporting { try await hold.set("draining") }
  }
}

struct QuarantineWorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine", abstract: "Grant workers no tasks, and believe nothing that they have made.",
    discussion: """
      What they execute is executed by others. Their results are not used any more: jobs that have some are planned \
      again without them, and the status of films that were made with some says so.
      """)

  @OptionGroup var hold: HoldOptions

  func run() async throws {
    try await reporting { try await hold.set("quarantined") }
  }
}

struct ResumeWorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Grant workers tasks again.",
    discussion: "One that was quarantined is new again: its first results are compared with those of others.")

  @OptionGroup var hold: HoldOptions

  func run() async throws {
    try await reporting { try await hold.set(nil) }
  }
}

struct HeldWorkersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "held", abstract: "List the workers that are held, whether they are connected or not.",
    discussion: """
      --json prints an array: worker, hold (paused, draining or quarantined), reason, since (RFC 3339, UTC).
      """)

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none) {
      let held = try await coordinator.ask { try await $0.holds() }
      if json.isOn { return try Console.printJSON(held) }
      guard !held.isEmpty else { return try Console.print("no worker is held") }
      var table = Table(columns: [
        .init(header: "WORKER", shortest: 8), .init(header: "HOLD"), .init(header: "SINCE", dispensable: 1),
      ])
      for (index, worker) in held.enumerated() {
        table.rows.append([worker.worker.onOneLine, worker.hold, worker.since.map { "\($0)" } ?? ""])
        table.notes[index] = ["  \(worker.reason.onOneLine)"]
      }
      for line in table.lines(width: Terminal.output?.width) { try Console.print(line) }
    }
  }
}

struct HoldOptions: ParsableArguments {
  @Argument(help: "The workers' name.")
  var worker: String

  @Option(help: ArgumentHelp("Why, for people; at most 256 bytes. [SHEAF_REASON]", valueName: "text"))
  var reason: String?

  @OptionGroup var coordinator: CoordinatorOptions

  /// - Parameter hold: As in `WorkerHoldReport`. Nil: they are granted tasks again.
  func set(_ hold: String?) async throws {
    let reason = hold == nil ? "" : Setting.text(reason, "SHEAF_REASON") ?? ""
    let request = WorkerHoldRequest(worker: worker, hold: hold, reason: reason)
    _ = try await coordinator.ask { try await $0.hold(request) }
  }
}
