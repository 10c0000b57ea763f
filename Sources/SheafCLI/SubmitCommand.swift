import ArgumentParser
import CompositionModel
import Digest
import FoundationEssentials
import Wire

struct SubmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "submit", abstract: "Give a document to a farm.",
    discussion: """
      Media that the farm does not have is uploaded, once. Prints the job's name. With --wait or -o it goes on to the \
      job's end and tells of it; Ctrl-C then cancels the job.

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

  @Option(help: ArgumentHelp("Higher goes first; 0 unless said. [SHEAF_PRIORITY]", valueName: "n"))
  var priority: Int?

  @OptionGroup var segments: SegmentOptions
  @OptionGroup var json: JSONOption

  private struct Submitted: Encodable { var job: String }

  func run() async throws {
    try await reporting(json: json.isOn, document: edit) {
      let endpoint = try coordinator.endpoint()
      let limits = Int(Int32.min)...Int(Int32.max)
      let priority = Int32(
        clamping: try Setting.number(priority, "--priority", "SHEAF_PRIORITY", in: limits) ?? 0)
      let edit = try EditFile(edit)
      let output = Setting.text(output, "SHEAF_OUTPUT")
      let file = try output.map { try OutputFile($0) }
      let (assets, missing) = try await edit.assets(DigestCache())
      let problems = edit.document.problems + missing + (output.map { EditFile.replaced(by: $0, assets) } ?? [])
      guard problems.isEmpty else { throw CommandFailure(problems: problems) }
      let (isJSON, waits, duration) = (json.isOn, Setting.flag(wait, "SHEAF_WAIT") || file != nil, segments.value)
      try await Interruption.cancelling {
        try await CoordinatorClient.run(endpoint) { client in
          let run = JobRun(client: client)
          try await run.provide(assets)
          let job = try await run.submit(
            edit, assets, output: output ?? "", segmentDuration: duration, priority: priority)
          guard waits else {
            if isJSON { Console.printJSON(Submitted(job: job)) } else { Console.print(job) }
            return
          }
          if !isJSON { Console.print(job) }
          let progress = ProgressReport()
          defer { progress.end() }
          let status = try await run.wait(for: job, cancellingAt: endpoint) { progress.tell($0, unless: "done") }
          try status.requireDone()
          if let file, let digest = status.output.sha256 {
            try await Download(client: client, digest: digest, size: status.output.size).write(to: file)
          }
          progress.tell(status)
          progress.end()
          if isJSON { Console.printJSON(RenderSummary(status, output: output)) }
        }
      }
    }
  }
}

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Get a finished job's film.")

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
          let status = try await JobRun(client: client).status(of: job)
          try status.requireDone()
          guard let digest = status.output.sha256 else { throw CoordinatorClient.unexpected }
          try await Download(client: client, digest: digest, size: status.output.size).write(to: file)
        }
      }
    }
  }
}
