import ArgumentParser
import Client
import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmAPI
import FarmModel
import Glibc
import LocalFarm
import Runtime
import Synchronization
import SystemSupport

struct RenderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render", abstract: "Render a document on this machine.",
    discussion: """
      Finished pieces stay in the content store: a render that was stopped continues where it was, and after an edit \
      only what the edit affects is rendered again.

      --json prints, when done: job, state, output, digest, bytes, frames, segments, cached, seconds, damage (path, \
      track, type, count, places: sourceSeconds, filmSeconds), warnings (pointer, message, line, column), losses (what, where, track, why), outputs (of a document with \
      several: file, path, digest, bytes, container, video: codec, width, height, bitRate, quality, audio: codec, \
      sampleRate, channels, bitRate), smart (of a film with smart rendering, as sheaf plan --json has it); otherwise: state, error, \
      problems (pointer, message, line, column).
      """)

  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      """
      The film, or the folder of a document with several outputs; the default is the document's export.to. - writes it to \
      standard output, in the container of export.to or --container. [SHEAF_OUTPUT]
      """, valueName: "file"))
  var output: String?

  @Option(help: ArgumentHelp("The container of -o -, such as mkv. [SHEAF_CONTAINER]", valueName: "extension"))
  var container: String?

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var parameters: ParameterOptions
  @OptionGroup var rows: RowOptions
  @OptionGroup var options: RenderingOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none, document: edit) {
      let values = try parameters.values
      guard let films = try await rows.films(of: edit, values, output: try OutputPath.value(output)) else {
        _ = try await render(values, to: try OutputPath.value(output))
        return
      }
      var failures = RowFailures()
      var costs = RowCosts()
      for film in films {
        do {
          try await BlockingWork.run { try film.makeFolder() }
          costs.add(try await render(film.values, to: film.output, isRow: true))
        } catch {
          try failures.add(error, in: film.title, json: json.isOn ? .oneLine : .none)
        }
      }
      try costs.print(rows: films.count, asJSON: json.isOn)
      try failures.end(of: films.count)
    }
  }

  /// - Parameters:
  ///   - values: Of the document's parameters.
  ///   - output: The film's path. Nil: the document's.
  ///   - isRow: Whether it is one of several, of each of which JSON is one line.
  /// - Returns: The status of the job that made it.
  private func render(_ values: [ParameterValue], to output: String?, isRow: Bool = false) async throws -> JobStatus {
    let configuration = try farm.configuration()
    let options = try options.value
    var named = output
    let streamed = named == "-" ? Setting.text(container, "SHEAF_CONTAINER").map { "film.\($0)" } : named
    let edit = try EditFile(edit, output: streamed, values: values)
    let stream = try named == "-" ? StreamedFilm(edit, container, configuration, hasReport: json.isOn) : nil
    defer { stream?.remove() }
    guard stream != nil || container == nil else { throw ValidationError("--container is for -o -") }
    if let stream {
      try await BlockingWork.run { try Directories.make(stream.folder) }
      named = stream.path
    }
    guard let output = named ?? edit.outputPath else {
      if !edit.document.problems.isEmpty { throw CommandFailure(problems: edit.located(edit.document.problems)) }
      throw ValidationError(
        edit.document.hasOutputs
          ? "the document has no export.to, so name the folder of its outputs with -o"
          : "the document has no export.to, so name the film with -o")
    }
    try edit.checkOutput(named)
    let progress = ProgressReport()
    defer { progress.end() }
    let render = LocalRender(edit: edit, output: output, options: options)
    let made = try await edit.locating {
      try await Interruption.cancelling {
        let made = try await render.render(configuration) { status in
          // A film that is streamed is done when it is written.
          if stream == nil || status.state != .done { progress.report(status, film: output) }
        }
        if let stream {
          progress.end()
          try await stream.write()
          progress.report(made.status, film: "standard output")
        }
        return made
      }
    }
    progress.end()
    made.status.printWarnings(about: edit)
    if json.isOn {
      var summary = RenderSummary(made.status, output: output, files: made.files)
      summary.warnings = edit.located(summary.warnings)
      try Console.printJSON(summary, lines: !isRow)
    }
    return made.status
  }
}

/// A film that is written to standard output when it is complete.
private struct StreamedFilm: Sendable {
  /// The folder that it is rendered to: that of the store's temporary files.
  let folder: String
  let path: String

  /// - Parameters:
  ///   - option: The container that the command line names; nil: that of the document's output.
  ///   - hasReport: Whether something else is to be printed on standard output.
  init(
    _ edit: EditFile, _ option: String?, _ configuration: LocalFarm.Configuration, hasReport: Bool
  ) throws {
    guard !edit.document.hasOutputs else {
      throw CommandFailure(
        .document, "the document has several outputs, which standard output cannot take: name their folder with -o")
    }
    guard !hasReport else { throw ValidationError("--json and -o - both write to standard output: give one of them") }
    let indexFirst = edit.document.optimizesForNetworkUse
    let streamable = Container.allCases.filter { $0.isStreamable(indexFirst: indexFirst) }.map(\.rawValue)
    let ofDocument = edit.outputPath?.split(separator: ".").last.map { String($0) }
    guard let name = (Setting.text(option, "SHEAF_CONTAINER") ?? ofDocument)?.lowercased() else {
      throw ValidationError(
        "the document has no export.to, so name the container of -o - with --container: "
          + streamable.joined(separator: ", "))
    }
    guard streamable.contains(name) else {
      let reason =
        Container(rawValue: name) == nil
        ? "'\(name)' is no container"
        : !indexFirst && Container(rawValue: name)?.isStreamable(indexFirst: true) == true
          ? "a reader of standard output cannot find the index at the end of \(name) ('optimizeForNetworkUse' is false)"
          : "\(name) cannot be read from a pipe"
      throw CommandFailure(.document, "\(reason); -o - writes \(streamable.joined(separator: ", "))")
    }
    folder = configuration.store + "/temporary"
    path = "\(folder)/stream-\(UInt64.random(in: .min ... .max)).\(name)"
  }

  /// Copies the film to standard output. Throws `OutputError` if that cannot be written, and `CancellationError` if the
  /// task is cancelled while a reader lets it wait.
  func write() async throws {
    let isCancelled = Atomic(false)
    try await withTaskCancellationHandler {
      try await BlockingWork.run(.transfers) {
        let file = try OpenFile.open(path)
        remove()
        try StandardOutput.write(file) { !isCancelled.load(ordering: .relaxed) }
      }
    } onCancel: {
      isCancelled.store(true, ordering: .relaxed)
    }
    try Task.checkCancellation()
  }

  /// Removes the file, if it is there.
  func remove() { unlink(path) }
}

/// What `render --json` and `submit --wait --json` print of a finished film.
struct RenderSummary: Encodable, Sendable {
  var job: String
  var state = "done"
  var output: String?
  var digest: String
  var bytes: Int64
  var frames: Int
  var segments: Int
  var cached: Int
  var seconds: Double
  var damage: [DamageReport]
  var warnings: [Problem]
  var losses: [LossReport]
  /// Nil: the document has one output. Else `output` is their folder, and `digest` and `bytes` are of all together.
  var outputs: [OutputView]?
  /// Nil: the document has no smart rendering.
  var smart: SmartReport?

  /// - Parameter files: Those of several outputs that were written.
  init(_ status: JobStatus, output: String?, files: [ContentPackage.File] = []) {
    outputs = status.outputs?.map { OutputView($0, folder: output, files) }
    job = status.job
    self.output = output
    digest = status.output?.digest ?? ""
    bytes = status.output?.bytes ?? 0
    frames = status.framesTotal
    segments = status.segmentsTotal
    cached = status.segmentsCached
    seconds = status.elapsedSeconds
    damage = status.damage
    warnings = status.warnings
    losses = status.losses
    smart = status.smart
  }
}

/// One of several outputs as JSON. It is stable: keys may be added, but are never changed.
struct OutputView: Encodable, Sendable {
  var file: String
  /// The rest of these is absent if the file is not written.
  var path: String?
  var digest: String?
  var bytes: Int64?
  var container: String?
  var video: OutputReport.Video?
  var audio: OutputReport.Audio?

  /// - Parameter files: Those that were written.
  init(_ output: OutputReport, folder: String? = nil, _ files: [ContentPackage.File] = []) {
    (file, container, video, audio) = (output.file, output.container, output.video, output.audio)
    guard let written = files.first(where: { $0.name == output.file }) else { return }
    path = folder.map { "\(FilmDestination.folder(of: $0))/\(output.file)" }
    (digest, bytes) = (written.content.digest.hex, written.content.size)
  }
}

extension JobStatus {
  /// Warns on standard error of what is most likely not meant in the document, and of the damaged media that the film
  /// shows.
  /// - Parameter edit: the document, if this machine has it.
  func printWarnings(about edit: EditFile? = nil) {
    for warning in edit?.located(warnings) ?? warnings {
      Console.printError(warning.text(in: warning.line == nil ? nil : edit?.path, kind: "warning"))
    }
    for damage in damage { Console.printError("warning: \(damage.text)") }
    for line in SmartText.lines(smart) { Console.printError(line) }
  }
}
