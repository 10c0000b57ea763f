import ArgumentParser
import Client
import FarmAPI
import FarmModel
import SystemSupport

struct PoolCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pool", abstract: "Show pools of workers, set their working hours, and move jobs between them.",
    discussion: """
      A job has at most one pool ('sheaf submit --pool'), a worker any number ('sheaf-worker --pool'). A worker takes the \
      jobs of its pools and those without one; a worker without pools takes only those without one.

      A pool may have working hours, and is always open without. Outside of them its jobs' tasks are granted to nobody, \
      and a worker all of whose pools are closed takes nothing, also no jobs without a pool. What runs goes on to its end.
      """,
    subcommands: [ListPoolsCommand.self, SetPoolCommand.self, RemovePoolCommand.self, MoveJobCommand.self])
}

struct ListPoolsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Show the pools that have working hours, workers or jobs.",
    discussion: """
      --json prints an array: pool, hours, timeZone (absent: it has no working hours), isOpen, changesAt (when it closes or \
      opens next, RFC 3339, UTC), workers (that are connected), slots (of them), jobs (that have not ended).
      """)

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none) {
      let pools = try await coordinator.ask { try await $0.pools() }
      if json.isOn { return try Console.printJSON(pools) }
      for line in PoolText.lines(pools, width: Terminal.output?.width) { try Console.print(line) }
    }
  }
}

struct SetPoolCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Give a pool working hours.",
    discussion: """
      The hours are spans with commas between them, such as 'mon-fri 19:00-07:00, sat-sun 00:00-24:00': days, which are a \
      day (mon), a range of days (fri-mon) or daily, and two times of day. A span that ends at or before its beginning ends \
      on the next day, and belongs to the day on which it begins.

      A time that the zone's clock skips when it is set on is as much later; of a time that it shows twice when it is set \
      back, the second one counts.
      """)

  @Argument(help: "The pool's name.")
  var pool: String

  @Option(help: ArgumentHelp("When it is open. [SHEAF_POOL_HOURS]", valueName: "spans"))
  var hours: String?

  @Option(
    help: ArgumentHelp(
      "The time zone of the hours, such as Europe/Berlin; the default is UTC. [SHEAF_TIME_ZONE]", valueName: "zone"))
  var timeZone: String?

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    guard let text = Setting.text(hours, "SHEAF_POOL_HOURS") else {
      throw ValidationError("give the pool's working hours, such as --hours '\(WorkingHours.example)'")
    }
    do { _ = try WorkingHours(parsing: text) } catch { throw ValidationError("--hours: \(error)") }
    guard PoolName.isValid(pool) else { throw ValidationError("a pool's name is \(PoolName.rule), not '\(pool)'") }
    try await reporting(json: json.isOn ? .lines : .none) {
      let request = PoolRequest(hours: text, timeZone: Setting.text(timeZone, "SHEAF_TIME_ZONE") ?? "UTC")
      let made = try await coordinator.ask { [pool] in try await $0.changePool(pool, request) }
      if json.isOn { return try Console.printJSON([made]) }
      for line in PoolText.lines([made], width: Terminal.output?.width) { try Console.print(line) }
    }
  }
}

struct RemovePoolCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a pool's working hours: it is always open.",
    discussion: "Its workers and jobs stay in the pool.")

  @Argument(help: "The pool's name.")
  var pool: String

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    try await reporting {
      _ = try await coordinator.ask { [pool] in try await $0.removePool(pool) }
    }
  }
}

struct MoveJobCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "move", abstract: "Give a job another pool, or none.",
    discussion: "What runs of it goes on to its end.")

  @Argument(help: "The job's name.")
  var job: String

  @Argument(help: "The pool's name; '' for none.")
  var pool: String

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    guard pool.isEmpty || PoolName.isValid(pool) else {
      throw ValidationError("a pool's name is \(PoolName.rule), not '\(pool)'")
    }
    try await reporting {
      try await coordinator.ask { [job, pool] in try await $0.setPool(of: job, to: pool.isEmpty ? nil : pool) }
    }
  }
}

/// Pools as text.
enum PoolText {
  static func lines(_ pools: [PoolReport], width: Int?) -> [String] {
    guard !pools.isEmpty else { return ["no pools"] }
    var table = Table(columns: [
      .init(header: "POOL", shortest: 6), .init(header: "STATE"), .init(header: "WORKERS", isNumber: true),
      .init(header: "SLOTS", isNumber: true, dispensable: 1), .init(header: "JOBS", isNumber: true),
      .init(header: "HOURS", shortest: 12),
    ])
    for pool in pools {
      let hours = pool.hours.map { "\($0) (\(pool.timeZone ?? ""))" }
      table.rows.append([
        pool.pool, state(pool), "\(pool.workers)", "\(pool.slots)", "\(pool.jobs)", hours ?? "always",
      ])
    }
    return table.lines(width: width)
  }

  private static func state(_ pool: PoolReport) -> String {
    let end = pool.changesAt.map { " until \($0)" } ?? ""
    return (pool.isOpen ? "open" : "closed") + end
  }
}
