import ArgumentParser
import Client
import CompositionModel
import EditDocument
import FarmAPI
import LocalFarm
import Runtime
import SystemSupport
import Timelines

struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Make an editor's timeline of a document.",
    discussion: """
      \(TimelineFormat.writable). Everything of the document that the timeline does not have, or has otherwise, is listed \
      on standard error with its place and the reason. Media are examined, because editors count from their timecode.

      --json prints an object: output (the timeline's path), tracks, clips, duration, and notes, an array of place, item \
      and reason.
      """)

  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("The timeline; its extension decides its format. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var frames: FrameRateOption
  @OptionGroup var parameters: ParameterOptions
  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var strict: StrictOption
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(document: edit) {
      guard let output = try OutputPath.value(output) else {
        throw ValidationError("where the timeline is written is missing: give -o a file")
      }
      guard let format = TimelineFormat(written: output) else {
        throw ValidationError("the extension of \(output) is that of no timeline; \(TimelineFormat.writable)")
      }
      let rate = try frames.value
      let written = try OutputFile(output)
      let edit = try EditFile(edit, values: parameters.values)
      let document = try Document(json: edit.bytes)
      let folder = try Directories.resolve(self.edit == "-" ? "." : Directories.parent(of: self.edit))
      var maker = TimelineOfDocument(
        document, rate: rate, facts: try await facts(of: document, in: folder), for: format)
      let target = try Directories.resolve(Directories.parent(of: output))
      let timeline = try mapErrors(to: failure) { () throws(TimelineError) in
        try maker.timeline(named: TimelineFile.name(ofPath: output)).movingPaths(from: folder, to: target)
      }
      let (bytes, notes) = try mapErrors(to: failure) { () throws(TimelineError) in
        try TimelineFile.write(timeline, as: format)
      }
      try await BlockingWork.run {
        try written.open().write(bytes)
        try written.commit()
      }
      let report = try TimelineReport(
        output: output, timeline: TimelineFile.part(of: timeline, in: format), duration: timeline.duration,
        notes: maker.notes + notes)
      try report.show(file: self.edit, json: json.isOn, document: nil)
      if strict.isOn, !report.isWhole { throw ExitCode(CommandFailure.Code.document.rawValue) }
    }
  }

  private func failure(_ error: TimelineError) -> CommandFailure { CommandFailure(.document, "\(edit): \(error)") }

  /// What those files contain that are there.
  private func facts(of document: Document, in folder: String) async throws -> [String: MediaFacts] {
    let paths = Set(document.files.values).sorted()
    let files = Dictionary(uniqueKeysWithValues: paths.map { ($0.hasPrefix("/") ? $0 : "\(folder)/\($0)", $0) })
    let present = files.keys.filter { TimelineFile.isFile($0) }.sorted()
    guard !present.isEmpty else { return [:] }
    let configuration = try farm.configuration()
    let inspection = try await Interruption.cancelling { try await FileInspection(present, configuration) }
    var facts: [String: MediaFacts] = [:]
    for (file, description) in inspection.reply.descriptions {
      if let path = files[file] { facts[path] = try MediaFacts(description) }
    }
    return facts
  }
}
