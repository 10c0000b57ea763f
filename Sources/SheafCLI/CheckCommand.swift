import ArgumentParser
import Client
import CompositionModel
import ContentStorage
import EditDocument
import FarmAPI
import LocalFarm
import Runtime
import SystemSupport

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Report every problem of a document and its media at once.",
    discussion: """
      A document without export.to is checked all the same. With --rows the films of all rows are checked; a problem or \
      a warning that only some rows have names them.

      --json prints an object: problems, an array of pointer (the place, a JSON pointer), message, line and column, and \
      warnings, an array of messages: what can be rendered but is most likely not meant, and what is wrong with the \
      media. notes has the warnings as problems are written; losses (what, where, track, why) are what of the media is \
      not in the film; smart is what smart rendering would copy, as sheaf plan --json has it, unless the rows differ in it.
      """)

  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The film, or the folder of several outputs, as for render; the default is export.to. [SHEAF_OUTPUT]",
      valueName: "file"))
  var output: String?

  @OptionGroup var parameters: ParameterOptions
  @OptionGroup var rows: RowOptions
  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var strict: StrictOption
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting {
      let report = try await report()
      if json.isOn {
        try Console.printJSON(report)
      } else {
        for warning in report.notes { Console.printError(warning.text(in: edit, kind: "warning")) }
      }
      guard report.problems.isEmpty, report.notes.isEmpty || !strict.isOn else {
        for problem in report.problems { Console.printError(problem.text(in: edit)) }
        throw ExitCode(CommandFailure.Code.document.rawValue)
      }
      if !json.isOn {
        try Console.print("\(edit): no problems")
        for line in SmartText.lines(report.smart) { try Console.print(line) }
      }
    }
  }

  /// What is found of the document; of several rows in one report.
  private func report() async throws -> CheckReport {
    let configuration = try farm.configuration()
    // A film that goes to standard output has the container of the document's own.
    let named = try OutputPath.value(output).flatMap { $0 == "-" ? nil : $0 }
    let values = try parameters.values
    let reports: [CheckReport]
    do {
      // Nil: nothing is known of a row but its problems.
      var documents: [(document: CheckedDocument?, problems: [Problem])] = []
      if let films = try await rows.films(of: edit, values, output: named, withProblems: true) {
        for film in films {
          let document =
            film.problems.isEmpty
            ? try await CheckedDocument(edit, film.values, film.output, configuration, isRow: true) : nil
          documents.append((document, film.problems))
        }
        guard documents.contains(where: { $0.document != nil }) else {
          let problems = RowOptions.merged(films.map(\.problems))
          return CheckReport(problems: problems, warnings: [], losses: [])
        }
      } else {
        documents = [(try await CheckedDocument(edit, values, named, configuration), [])]
      }
      reports = try await Interruption.cancelling { [documents] in
        try await LocalFarm.run(configuration) { farm in
          var reports: [CheckReport] = []
          for (document, problems) in documents {
            reports.append(
              try await document?.report(on: farm, configuration.contents)
                ?? CheckReport(problems: problems, warnings: [], losses: []))
          }
          return reports
        }
      }
    } catch let failure as CommandFailure where !failure.problems.isEmpty {
      return CheckReport(problems: failure.problems, warnings: [], losses: [])
    }
    if reports.count == 1 { return reports[0] }
    var losses: [LossReport] = []
    for loss in reports.flatMap(\.losses) where !losses.contains(loss) { losses.append(loss) }
    return CheckReport(
      problems: RowOptions.merged(reports.map(\.problems)), warnings: RowOptions.merged(reports.map(\.notes)),
      losses: losses, smart: Set(reports.map(\.smart)).count == 1 ? reports[0].smart : nil)
  }
}

/// A document with values of its parameters, whose media are known.
private struct CheckedDocument: Sendable {
  private let edit: EditFile
  private let assets: [SubmittedAsset]
  /// The problems of files that could not be read.
  private let missing: [Problem]
  private let output: String?
  private let inspection: LocalInspection
  private let isRow: Bool

  /// - Parameters:
  ///   - named: The film's path. Nil: the document's.
  ///   - isRow: Whether it is one of several, whose folders are made.
  init(
    _ path: String, _ values: [ParameterValue], _ named: String?, _ configuration: LocalFarm.Configuration,
    isRow: Bool = false
  ) async throws {
    self.isRow = isRow
    let (edit, examined) = try EditFile.examined(path, output: named, values: values)
    (assets, missing) = try await edit.assets(configuration.contents)
    (self.edit, output) = (edit, named ?? edit.outputPath)
    // The containers of several outputs are the document's.
    inspection = LocalInspection(edit: edit, assets: assets, output: edit.document.hasOutputs ? "" : examined ?? "")
  }

  /// Also of a file that is gone meanwhile. Throws if the farm cannot answer.
  func report(on farm: LocalFarm, _ contents: FileContentCache) async throws -> CheckReport {
    let reply = try await inspection.ask(farm, contents)
    var problems = inspection.problems(reply, and: missing)
    if let output {
      problems += try await BlockingWork.run {
        let isFolderMade = isRow && !Directories.isFolder(Directories.parent(of: output))
        return isFolderMade ? edit.replaced(by: output, assets) : edit.problems(ofOutputAt: output, assets)
      }
    }
    var warnings: [Problem] = []
    if let plan = reply.plan {
      warnings = plan.damage.map { Problem(pointer: "", message: $0.text) } + plan.warnings
    } else {
      // Without a plan there are only those about the media.
      for (asset, description) in reply.descriptions.sorted(by: { $0.key < $1.key }) {
        warnings += description.warnings.map { Problem(pointer: "/assets/\(asset)", message: $0) }
      }
    }
    return CheckReport(
      problems: edit.located(problems), warnings: edit.located(warnings), losses: reply.plan?.losses ?? [],
      smart: reply.plan?.smart)
  }
}
