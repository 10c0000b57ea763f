import ArgumentParser
import CompositionModel
import FoundationEssentials
import SwiftProtobuf
import Wire

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Tell every problem of a document, against its media, in one pass.",
    discussion: "--json prints an object: problems, an array of pointer (where, a JSON pointer) and message.")

  @Argument(help: ArgumentHelp("The document.", valueName: "edit.json"))
  var edit: String

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  private struct Report: Encodable { var problems: [Problem] }

  func run() async throws {
    try await reporting {
      var problems: [Problem]
      do {
        let edit = try EditFile(edit)
        let digests = DigestCache()
        let (assets, missing) = try await edit.assets(digests)
        let inspection = LocalInspection(edit: edit, assets: assets, digests: digests)
        let reply = try await Interruption.cancelling { [farm] in try await inspection.run(farm) }
        problems = inspection.problems(reply, beside: missing)
      } catch let failure as CommandFailure where !failure.problems.isEmpty {
        problems = failure.problems
      }
      if json.isOn { Console.printJSON(Report(problems: problems)) }
      guard problems.isEmpty else {
        for problem in problems { Console.complain("\(edit): \(problem)") }
        throw ExitCode(CommandFailure.Code.document.rawValue)
      }
      if !json.isOn { Console.print("\(edit): no problems") }
    }
  }
}

struct ProbeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe", abstract: "Show what is in media files.",
    discussion: "--json prints an object: each file's description, exact and complete, by its name.")

  @Argument(help: ArgumentHelp("Media files.", valueName: "file"))
  var files: [String]

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting {
      let digests = DigestCache()
      var assets: [Sheaf_SubmittedAsset] = []
      var problems: [Problem] = []
      for file in files {
        switch try await BlockingWork.run({ AssetFile.content(file, digests) }) {
        case .success(let content):
          assets.append(
            .with {
              $0.id = file
              $0.path = file
              $0.content = content
            })
        case .failure(let error): problems.append(Problem(pointer: "", message: "\(error)"))
        }
      }
      var found: [String: AssetDescription] = [:]
      if !assets.isEmpty {
        let inspection = LocalInspection(edit: nil, assets: assets, digests: digests)
        let reply = try await Interruption.cancelling { [farm] in try await inspection.run(farm) }
        found = try reply.descriptions.mapValues { try JSONDecoder().decode(AssetDescription.self, from: $0) }
        problems += reply.problems.map { Problem(pointer: "", message: $0.message) }
      }
      if json.isOn {
        Console.printJSON(found)
      } else {
        for file in files {
          if let description = found[file] { ProbeText.lines(file, description).forEach(Console.print) }
        }
      }
      if !problems.isEmpty { throw CommandFailure(problems: problems) }
    }
  }
}
