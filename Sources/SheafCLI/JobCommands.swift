import ArgumentParser
import Client
import CompositionModel
import ContentStorage
import EditDocument
import FarmAPI
import FarmModel
import Runtime
import SwiftProtobuf
import SystemSupport

struct SubmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "submit", abstract: "Submit a document to a farm.",
    discussion: """
      Uploads the media that the farm does not have, once, and prints the job's name. With --wait or -o it waits for \
      the job's end and reports its progress; Ctrl-C then cancels the job, and SIGTERM leaves it. When the coordinator is \
      away for less than 5 minutes the command connects again and goes on where it was.

      --json prints the job, and with --wait what render --json prints.
      """)

  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String

  @OptionGroup var coordinator: CoordinatorOptions

  @Flag(help: "Wait for the job's end. [SHEAF_WAIT]")
  var wait = false

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "Wait, and fetch the film into this file, or several outputs into this folder. [SHEAF_OUTPUT]", valueName: "file")
  )
  var output: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Jobs of a higher priority go first; the default is 0. [SHEAF_PRIORITY]", valueName: "n"))
  var priority: String?

  @Option(
    help: ArgumentHelp(
      "Only workers of this pool take the job; by default all do, or those of the token's pool. [SHEAF_POOL]",
      valueName: "name"))
  var pool: String?

  @OptionGroup var schedule: ScheduleOptions
  @OptionGroup var parameters: ParameterOptions
  @OptionGroup var rows: RowOptions
  @OptionGroup var options: RenderingOptions
  @OptionGroup var json: JSONOption

  private struct Submitted: Encodable { var job: String }

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none, document: edit) {
      let values = try parameters.values
      let output = try OutputPath.value(output)
      let waits = Setting.flag(wait, "SHEAF_WAIT") || output != nil
      guard let films = try await rows.films(of: edit, values, output: output) else {
        let begun = try await begin(values, to: output, waits: waits)
        if waits { _ = try await end(begun) }
        return
      }
      // All are submitted before the first is waited for, so that the farm has them all.
      let form: CommandFailure.JSONForm = json.isOn ? .oneLine : .none
      var failures = RowFailures()
      var costs = RowCosts()
      var jobs: [(title: String, begun: BegunJob)] = []
      for film in films {
        do {
          if output != nil { try await BlockingWork.run { try film.makeFolder() } }
          jobs.append((film.title, try await begin(film.values, to: film.output, waits: waits, row: film.row)))
        } catch {
          try failures.add(error, in: film.title, json: form)
        }
      }
      for (title, begun) in waits ? jobs : [] {
        do {
          costs.add(try await end(begun))
        } catch {
          try failures.add(error, in: title, json: form)
          // What a job took that made no film counts too.
          let status = try? await coordinator.ask { try await $0.status(of: begun.job) }
          if let status { costs.add(status) }
        }
      }
      if waits { try costs.print(rows: films.count, asJSON: json.isOn) }
      try failures.end(of: films.count)
    }
  }

  /// A job that was submitted, and how it is submitted again.
  private struct BegunJob: Sendable {
    let job: String
    let edit: EditFile
    let output: String?
    let file: FilmDestination?
    let client: FarmClient
    let progress: ProgressReport
    let submit: @Sendable () async throws -> String
    /// Whether it is one of several, of each of which JSON is one line.
    let isRow: Bool
  }

  /// Submits the document, and prints the job.
  /// - Parameters:
  ///   - values: Of the document's parameters.
  ///   - output: The path that the film is fetched to. Nil: it is not fetched.
  ///   - row: The number of the row of which these are the values. Nil: they are of no row.
  private func begin(
    _ values: [ParameterValue], to output: String?, waits: Bool, row: Int? = nil
  ) async throws -> BegunJob {
    let endpoint = try coordinator.endpoint()
    let limits = Int64(Int32.min)...Int64(Int32.max)
    let priority = try Setting.number(priority, "--priority", "SHEAF_PRIORITY", in: limits) ?? 0
    let pool = Setting.text(pool, "SHEAF_POOL")
    if let pool, !PoolName.isValid(pool) { throw ValidationError("--pool is \(PoolName.rule), not '\(pool)'") }
    let options = try options.value
    let schedule = try schedule.schedule(now: .now)
    let edit = try EditFile(edit, output: output, values: values)
    try edit.checkOutput(output)
    let file = try output.map { try FilmDestination($0, outputs: edit.document.outputFiles) }
    // The containers of several outputs are the document's.
    let named = edit.document.hasOutputs ? "" : output ?? ""
    let name = row.map { "\(edit.name), row \($0) of \(rows.name)" } ?? edit.name
    let isJSON = json.isOn
    return try await Interruption.cancelling { [coordinator] in
      // Without a cache folder the digests are kept in memory, and the next command reads the files again.
      let contents = FileContentCache(directory: try? ProcessEnvironment.cacheDirectory)
      let (assets, missing) = try await edit.assets(contents)
      let problems = edit.document.problems + missing + (output.map { edit.replaced(by: $0, assets) } ?? [])
      guard problems.isEmpty else { throw CommandFailure(problems: edit.located(problems)) }
      let progress = ProgressReport()
      defer { progress.end() }
      let client = FarmClient(endpoint) { progress.report($0) }
      // Each call is a job of its own.
      let submit = { @Sendable in
        var submission = Submission(edit, assets, output: named, options: options, priority: Int32(priority))
        submission.name = name
        submission.pool = pool
        submission.schedule = schedule
        return try await client.submit(submission) { progress.report($0) }
      }
      let job = try await edit.locating(submit)
      progress.end()
      do {
        if isJSON {
          if !waits { try Console.printJSON(Submitted(job: job), lines: row == nil) }
        } else {
          try Console.print(job)
        }
      } catch let error as OutputError where !error.isClosedByReader {
        var failure = CommandFailure(.work, "\(error)")
        failure.advice = ["the job was submitted; to see it: " + coordinator.command(["status", job])]
        throw PrintedFailure(failure: failure)
      }
      return BegunJob(
        job: job, edit: edit, output: output, file: file, client: client, progress: progress, submit: submit,
        isRow: row != nil)
    }
  }

  /// Waits for a job's end, and fetches its film.
  private func end(_ begun: BegunJob) async throws -> JobStatus {
    let isJSON = json.isOn
    return try await Interruption.cancelling { [coordinator] in
      let (edit, progress) = (begun.edit, begun.progress)
      defer { progress.end() }
      let followed = FollowedJob(job: begun.job, file: begun.file, coordinator: coordinator)
      let status = try await edit.locating {
        try await followed.finish(begun.client, progress, submittingAgain: begun.submit)
      }
      progress.end()
      status.printWarnings(about: edit)
      if isJSON {
        var summary = RenderSummary(status, output: begun.output, files: begun.file?.written ?? [])
        summary.warnings = edit.located(summary.warnings)
        try Console.printJSON(summary, lines: !begun.isRow)
      }
      return status
    }
  }
}

/// A job that a command waits for, and the file that its film goes to, or the folder of its outputs.
private struct FollowedJob {
  let job: String
  /// Nil if the film is not fetched.
  let file: FilmDestination?
  let coordinator: CoordinatorOptions

  /// How often a film is made that is lost before it is fetched.
  private static let maximumTries = 3

  /// As `finish`. A film that is lost, as one of an earlier job that the disk has changed since, is made again.
  func finish(
    _ client: FarmClient, _ progress: ProgressReport, submittingAgain submit: @Sendable () async throws -> String
  ) async throws -> JobStatus {
    var followed = self
    for _ in 1..<Self.maximumTries {
      do {
        return try await followed.finish(client, progress)
      } catch let error as LostFilm {
        progress.end()
        followed = FollowedJob(job: try await submit(), file: file, coordinator: coordinator)
        Console.printError(
          "sheaf: the film of job \(error.job) is lost: \(error.reason); it is made again as job \(followed.job)")
      }
    }
    return try await followed.finish(client, progress)
  }

  /// Waits for the job's end, and fetches the film. The job is cancelled if this task is, but not by SIGTERM. A failure
  /// of the way there, not of the job, has the commands that go on.
  func finish(_ client: FarmClient, _ progress: ProgressReport) async throws -> JobStatus {
    do {
      // The job is reported as done when the film is fetched.
      let status = try await client.wait(for: job, cancelsJob: !Interruption.isTermination) { status in
        if status.state != .done { progress.report(status) }
      }
      try status.requireDone()
      return try await fetch(status, client, progress)
    } catch  where Task.isCancelled && Interruption.isTermination {
      throw goingOn(CommandFailure(.terminated, ""))
    } catch let failure as CommandFailure where failure.code == .unavailable {
      throw goingOn(failure)
    } catch var failure as CommandFailure where failure.code == .work && failure.advice.isEmpty {
      failure.job = job
      throw failure
    }
  }

  /// The failure of a command without which the job goes on.
  private func goingOn(_ failure: CommandFailure) -> CommandFailure {
    var failure = failure
    failure.job = job
    failure.advice = ["the job goes on without this command; to see it, and to fetch the film:"]
    failure.advice.append("  " + coordinator.command(["status", "--watch", job]))
    failure.advice.append("  " + coordinator.command(["fetch", job, "-o", file?.path ?? "FILE"]))
    return failure
  }

  private func fetch(
    _ status: JobStatus, _ client: FarmClient, _ progress: ProgressReport
  ) async throws -> JobStatus {
    guard let file else {
      progress.report(status)
      return status
    }
    do {
      let fetched = try await client.fetch(job, into: file) { progress.report($0) }
      progress.report(fetched, film: file.path)
      return fetched
    } catch let error as LostFilm {
      throw error
    } catch {
      var failure = CommandFailure(error)
      guard failure.code == .work else { throw error }
      failure.job = job
      // A film that is lost is not fetched by another try.
      guard failure.advice.isEmpty else { throw failure }
      failure.advice = ["the film is made; to fetch it: " + coordinator.command(["fetch", job, "-o", file.path])]
      throw failure
    }
  }
}

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Fetch the film of a finished job.",
    discussion: """
      A fetch that was interrupted goes on where it was when it is started again: until then, a hidden file beside the \
      output has what was fetched. When the coordinator is away for less than 5 minutes the command connects again.

      --json prints what render --json prints.
      """)

  @Argument(help: "The job's name.")
  var job: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The file to write, or the folder of a job with several outputs. Required. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none) {
      let endpoint = try coordinator.endpoint()
      guard let output = try OutputPath.value(output) else {
        throw ValidationError("name the file to write with -o")
      }
      let file = try FilmDestination(output, outputs: nil)
      let isJSON = json.isOn
      try await Interruption.cancelling { [job, coordinator] in
        let progress = ProgressReport()
        defer { progress.end() }
        let client = FarmClient(endpoint) { progress.report($0) }
        do {
          let status = try await client.fetch(job, into: file) { progress.report($0) }
          progress.report(status, film: output)
          progress.end()
          status.printWarnings()
          if isJSON { try Console.printJSON(RenderSummary(status, output: output, files: file.written)) }
        } catch {
          var failure = CommandFailure(error)
          // A signal has ended the command, which reports that itself.
          if Task.isCancelled { failure = CommandFailure(.interrupted, "") }
          guard Task.isCancelled || failure.code == .unavailable else { throw error }
          failure.advice = ["to go on: " + coordinator.command(["fetch", job, "-o", output])]
          throw failure
        }
      }
    }
  }
}

struct RetryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Take up a job that has failed or was cancelled.",
    discussion: """
      What the job has rendered is not rendered again. With --wait or -o the command waits as submit does; Ctrl-C then \
      cancels the job, and SIGTERM leaves it.

      --json prints the job, and with --wait what render --json prints.
      """)

  @Argument(help: "The job's name.")
  var job: String

  @OptionGroup var coordinator: CoordinatorOptions

  @Flag(help: "Wait for the job's end. [SHEAF_WAIT]")
  var wait = false

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "Wait, and fetch the film into this file, or several outputs into this folder. [SHEAF_OUTPUT]", valueName: "file")
  )
  var output: String?

  @OptionGroup var json: JSONOption

  private struct Retried: Encodable { var job: String }

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none) {
      let endpoint = try coordinator.endpoint()
      let output = try OutputPath.value(output)
      let file = try output.map { try FilmDestination($0, outputs: nil) }
      let waits = Setting.flag(wait, "SHEAF_WAIT") || file != nil
      let isJSON = json.isOn
      try await Interruption.cancelling { [job, coordinator] in
        try await CoordinatorClient.run(endpoint) { try await JobRun($0).retry(job) }
        guard waits else {
          if isJSON { try Console.printJSON(Retried(job: job)) }
          return
        }
        let progress = ProgressReport()
        defer { progress.end() }
        let client = FarmClient(endpoint) { progress.report($0) }
        let followed = FollowedJob(job: job, file: file, coordinator: coordinator)
        let status = try await followed.finish(client, progress)
        progress.end()
        status.printWarnings()
        if isJSON { try Console.printJSON(RenderSummary(status, output: output, files: file?.written ?? [])) }
      }
    }
  }
}

struct CancelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Stop a job.", discussion: "Its finished pieces stay in the content store.")

  @Argument(help: "The job's name.")
  var job: String

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    try await reporting {
      let state = try await coordinator.ask { [job] in try await $0.cancel(job) }
      guard state == .cancelled else {
        throw CommandFailure(.work, "job \(job) had ended before: it is \(state.nameOrUnknown)")
      }
    }
  }
}

struct DeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete a job that has ended.",
    discussion: "A film that no other job has may be removed from the content store afterwards.")

  @Argument(help: "The job's name.")
  var job: String

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    try await reporting {
      try await coordinator.ask { [job] in try await $0.delete(job) }
    }
  }
}
