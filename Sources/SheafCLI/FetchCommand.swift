import ArgumentParser
import Client
import SystemSupport
import Wire

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
