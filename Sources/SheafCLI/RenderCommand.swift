import ArgumentParser
import CompositionModel
import Digest
import Wire

struct RenderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render", abstract: "Render a document on this machine.",
    discussion: """
      Finished pieces stay in the vault: a render that was stopped goes on where it was, and after an edit only what \
      the edit touches is rendered again.

      --json prints, when done: job, state, output, digest, bytes, frames, segments, cached, seconds; when not: state, \
      error, problems (pointer, message).
      """)

  @Argument(help: ArgumentHelp("The document.", valueName: "edit.json"))
  var edit: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("The film; the document's own export.to unless said. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var segments: SegmentOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn, document: edit) {
      let edit = try EditFile(edit)
      guard let named = Setting.text(output, "SHEAF_OUTPUT") ?? edit.outputPath else {
        if !edit.document.problems.isEmpty { throw CommandFailure(problems: edit.document.problems) }
        throw ValidationError("the document has no export.to, so name the film with -o")
      }
      let segmentDuration = segments.value
      let summary = try await Interruption.cancelling { [farm] in
        try await LocalRender(edit: edit, output: named, segmentDuration: segmentDuration).run(farm)
      }
      if json.isOn { Console.printJSON(summary) }
    }
  }
}

/// What `render --json` and `submit --wait --json` print of a film that was made.
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

  init(_ status: Sheaf_JobStatus, output: String?) {
    job = status.job
    self.output = output
    digest = status.output.sha256?.hex ?? ""
    bytes = status.output.size
    frames = status.framesTotal
    segments = status.segmentsTotal
    cached = status.segmentsCached
    seconds = Double(status.elapsedMilliseconds) / 1000
  }
}
