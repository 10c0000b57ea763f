import ArgumentParser
import Client
import CompositionModel
import ContentStorage

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Report every problem of a document and its media at once.",
    discussion: "--json prints an object: problems, an array of pointer (the place, a JSON pointer) and message.")

  @Argument(help: ArgumentHelp("The document.", valueName: "edit.json"))
  var edit: String

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  private struct Report: Encodable { var problems: [Problem] }

  func run() async throws {
    try await reporting {
      let configuration = try farm.configuration()
      var problems: [Problem]
      do {
        let edit = try EditFile(edit)
        let contents = FileContentCache()
        let (assets, missing) = try await edit.assets(contents)
        let inspection = LocalInspection(edit: edit, assets: assets, contents: contents)
        let reply = try await Interruption.cancelling { try await inspection.run(configuration) }
        problems = inspection.problems(reply, and: missing)
      } catch let failure as CommandFailure where !failure.problems.isEmpty {
        problems = failure.problems
      }
      if json.isOn { Console.printJSON(Report(problems: problems)) }
      guard problems.isEmpty else {
        for problem in problems { Console.printError("\(edit): \(problem)") }
        throw ExitCode(CommandFailure.Code.document.rawValue)
      }
      if !json.isOn { Console.print("\(edit): no problems") }
    }
  }
}
