import ArgumentParser
import Client
import CompositionModel
import ContentStorage
import SwiftProtobuf
import SystemSupport
import Wire

struct SubmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "submit", abstract: "Submit a document to a farm.",
    discussion: """
      Uploads the media that the farm does not have, once, and prints the job's name. With --wait or -o it waits for \
      the job's end and reports its progress; Ctrl-C then cancels the job.

      --json prints the job, and with --wait what render --json prints.
      """)

  @Argument(help: ArgumentHelp("The document.", valueName: "edit.json"))
  var edit: String

  @OptionGroup var coordinator: CoordinatorOptions

  @Flag(help: "Wait for the job's end. [SHEAF_WAIT]")
  var wait = false

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("Wait, and fetch the film into this file. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @Option(
    help: ArgumentHelp(
      "Jobs of a higher priority go first; the default is 0. [SHEAF_PRIORITY]", valueName: "n"))
  var priority: String?

  @OptionGroup var segments: SegmentOptions
  @OptionGroup var json: JSONOption

  private struct Submitted: Encodable { var job: String }

  func run() async throws {
    try await reporting(json: json.isOn, document: edit) {
      let endpoint = try coordinator.endpoint()
      let limits = Int64(Int32.min)...Int64(Int32.max)
      let priority = try Setting.number(priority, "--priority", "SHEAF_PRIORITY", in: limits) ?? 0
      let edit = try EditFile(edit)
      let output = Setting.text(output, "SHEAF_OUTPUT")
      let file = try output.map { try OutputFile($0) }
      let (assets, missing) = try await edit.assets(FileContentCache())
      let problems = edit.document.problems + missing + (output.map { EditFile.replaced(by: $0, assets) } ?? [])
      guard problems.isEmpty else { throw CommandFailure(problems: problems) }
      let (isJSON, waits, duration) = (json.isOn, Setting.flag(wait, "SHEAF_WAIT") || file != nil, segments.value)
      try await Interruption.cancelling {
        try await CoordinatorClient.run(endpoint) { client in
          let run = JobRun(client)
          try await run.provide(assets)
          let job = try await run.submit(
            edit, assets, output: output ?? "", segmentDuration: duration, priority: Int32(priority))
          guard waits else {
            if isJSON { Console.printJSON(Submitted(job: job)) } else { Console.print(job) }
            return
          }
          if !isJSON { Console.print(job) }
          let progress = ProgressReport()
          defer { progress.end() }
          // The job is reported as done when the film is fetched.
          let status = try await run.wait(for: job, cancellingAt: endpoint) {
            if $0.state != .done { progress.report($0) }
          }
          try status.requireDone()
          if let file, let film = status.output.content { try await file.download(film, from: client) }
          progress.report(status)
          progress.end()
          if isJSON { Console.printJSON(RenderSummary(status, output: output)) }
        }
      }
    }
  }
}

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Fetch the film of a finished job.")

  @Argument(help: "The job's name.")
  var job: String

  @Option(
    name: [.short, .long], help: ArgumentHelp("The file to write. Required. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    try await reporting {
      let endpoint = try coordinator.endpoint()
      guard let output = Setting.text(output, "SHEAF_OUTPUT") else {
        throw ValidationError("name the file to write with -o")
      }
      let file = try OutputFile(output)
      try await Interruption.cancelling { [job] in
        try await CoordinatorClient.run(endpoint) { client in
          let status = try await JobRun(client).status(of: job)
          try status.requireDone()
          guard let film = status.output.content else { throw CoordinatorClient.unexpected }
          try await file.download(film, from: client)
        }
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
      let endpoint = try coordinator.endpoint()
      let state = try await CoordinatorClient.run(endpoint) { [job] client in
        guard case .cancelReply(let reply) = try await client.request(.cancelJob(.with { $0.job = job })) else {
          throw CoordinatorClient.unexpected
        }
        return reply.state
      }
      switch state {
      case .cancelled: break
      case .unspecified: throw CommandFailure(.work, "there is no job \(job)")
      default: throw CommandFailure(.work, "job \(job) had ended before: it is \(state.name)")
      }
    }
  }
}
