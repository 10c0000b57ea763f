import ArgumentParser
import Client
import CompositionModel
import Coordinator
import Digest
import SystemSupport
import Wire

struct RenderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render", abstract: "Render a document on this machine.",
    discussion: """
      Finished pieces stay in the content store: a render that was stopped continues where it was, and after an edit \
      only what the edit affects is rendered again.

      --json prints, when done: job, state, output, digest, bytes, frames, segments, cached, seconds, damage (path, \
      track, type, count, places: sourceSeconds, filmSeconds), warnings (pointer, message); otherwise: state, error, \
      problems (pointer, message).
      """)

  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("The film; the default is the document's export.to. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var segments: SegmentOptions
  @OptionGroup var strict: StrictOption
  @OptionGroup var strictMedia: StrictMediaOption
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none, document: edit) {
      let configuration = try farm.configuration()
      let named = try OutputPath.value(output)
      let edit = try EditFile(edit)
      guard let output = named ?? edit.outputPath else {
        if !edit.document.problems.isEmpty { throw CommandFailure(problems: edit.document.problems) }
        throw ValidationError("the document has no export.to, so name the film with -o")
      }
      try edit.checkOutput(named)
      let progress = ProgressReport()
      defer { progress.end() }
      let render = LocalRender(
        edit: edit, output: output, segmentDuration: segments.value, strictMedia: strictMedia.isOn,
        strict: strict.isOn)
      let status = try await Interruption.cancelling {
        try await render.run(configuration) { progress.report($0, film: output) }
      }
      progress.end()
      status.printWarnings()
      if json.isOn { try Console.printJSON(RenderSummary(status, output: output)) }
    }
  }
}

/// What `render --json` and `submit --wait --json` print of a finished film.
struct RenderSummary: Encodable, Sendable {
  var job: String
  var state = "done"
  var output: String?
  var digest: String
  var bytes: UInt64
  var frames: UInt64
  var segments: UInt32
  var cached: UInt32
  var seconds: Double
  var damage: [DamageReport]
  var warnings: [Problem]

  init(_ status: Sheaf_JobStatus, output: String?) {
    job = status.job
    self.output = output
    digest = status.output.content?.digest.hex ?? ""
    bytes = status.output.size
    frames = status.framesTotal
    segments = status.segmentsTotal
    cached = status.segmentsCached
    seconds = Double(status.elapsedMilliseconds) / 1000
    damage = status.damage.map { DamageReport($0) }
    warnings = status.warnings.map { Problem($0) }
  }
}

extension Sheaf_JobStatus {
  /// Warns on standard error of what is most likely not meant in the document, and of the damaged media that the film
  /// shows.
  func printWarnings() {
    for warning in warnings { Console.printError("warning: \(Problem(warning))") }
    for damage in damage { Console.printError("warning: \(DamageReport(damage).text)") }
  }
}
