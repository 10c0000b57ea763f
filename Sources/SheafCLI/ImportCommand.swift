import ArgumentParser
import Client
import CompositionModel
import EditDocument
import FarmAPI
import LocalFarm
import Runtime
import SystemSupport
import Timelines

struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Make a document of an editor's timeline.",
    discussion: """
      \(TimelineFormat.readable). Everything of it that the document does not have, or has otherwise, is listed on \
      standard error with its place and the reason, and so are media that are not found: the document has the path that \
      they would have. The command ends with 65 if the document that is written cannot be rendered, which is said as \
      sheaf check says it.

      --json prints an object on standard output: output (the document's path), tracks, clips, duration, notes, an array \
      of place, item and reason, and missing, an array of the paths of media that are not found.
      """)

  @Argument(help: ArgumentHelp("The timeline.", valueName: "file"))
  var file: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("The document; the default is standard output. [SHEAF_OUTPUT]", valueName: "edit.json"))
  var output: String?

  @Option(
    help: ArgumentHelp(
      """
      A folder in which media are looked for by their names, if they are not where the timeline has them. Once for each \
      folder. [SHEAF_MEDIA, one on each line]
      """, valueName: "dir"))
  var media: [String] = []

  @OptionGroup var frames: FrameRateOption
  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var strict: StrictOption
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting {
      let output = try OutputPath.value(output).flatMap { $0 == "-" ? nil : $0 }
      if output == nil, json.isOn { throw ValidationError("--json needs -o: both would be on standard output") }
      let written = try output.map { try OutputFile($0) }
      let rate = try frames.value
      let timeline = try mapErrors(to: failure) { () throws(TimelineError) in try TimelineFile(file, rate: rate) }
      let media = try await located(timeline, for: output)
      var maker = DocumentOfTimeline(media: media)
      let document = try mapErrors(to: failure) { () throws(TimelineError) in try maker.document(of: timeline.timeline)
      }
      let text = try document.json
      if let written {
        try await BlockingWork.run {
          try written.open().write(Array(text.utf8))
          try written.commit()
        }
      }
      let report = try TimelineReport(
        output: output ?? "-", timeline: timeline.timeline, duration: try duration(of: document),
        notes: timeline.notes + media.notes + maker.notes,
        missing: maker.missing)
      try report.show(file: file, json: json.isOn, document: output == nil ? text : nil)
      do throws(DocumentError) {
        _ = try Document(json: text)
      } catch {
        // A timeline may have what no document can: a size, or a speed.
        throw CommandFailure(
          .document, error.problems.map { $0.text(in: output ?? "-") }.joined(separator: "\n"))
      }
      if strict.isOn, !report.isWhole { throw ExitCode(CommandFailure.Code.document.rawValue) }
    }
  }

  /// Longer than the timeline if a transition goes on after its end.
  private func duration(of document: Document) throws -> Rational {
    var maker = TimelineOfDocument(document)
    return try mapErrors(to: failure) { () throws(TimelineError) in try maker.timeline(named: "") }.duration
  }

  private func failure(_ error: TimelineError) -> CommandFailure {
    CommandFailure(.document, "\(file): \(error)" + (TimelineFile.isFile(file) ? "" : NearbyFile.hint(file)))
  }

  /// The media of the timeline. Files are examined if the timeline does not say with which time they begin.
  private func located(_ file: TimelineFile, for output: String?) async throws -> TimelineMedia {
    let folders = media + (Setting.text(nil, "SHEAF_MEDIA")?.split(separator: "\n").map(String.init) ?? [])
    for folder in folders where !Directories.isFolder(folder) {
      throw CommandFailure(.document, "there is no folder \(folder)")
    }
    let folder = try Directories.resolve(output.map { Directories.parent(of: $0) } ?? ".")
    var media = TimelineMedia(
      of: file.timeline, by: MediaLocator(folder: file.folder, documentFolder: folder, others: folders))
    let unknown = media.unknown
    guard !unknown.isEmpty else { return media }
    let configuration = try farm.configuration()
    let inspection = try await Interruption.cancelling { try await FileInspection(unknown, configuration) }
    for (path, description) in inspection.reply.descriptions {
      media.facts[path] = try MediaFacts(description)
    }
    return media
  }
}

struct FrameRateOption: ParsableArguments {
  @Option(
    name: .customLong("rate"),
    help: ArgumentHelp(
      "Frames a second, such as 25, 23.976 or 30000/1001, in place of those that the file states. [SHEAF_FRAME_RATE]",
      valueName: "n"))
  var rate: String?

  var value: Rational? {
    get throws {
      guard let text = Setting.text(rate, "SHEAF_FRAME_RATE") else { return nil }
      guard let rate = TimelineRates.rate(text) else {
        throw ValidationError("--rate must be a number from 1 to 1000, such as 25, 23.976 or 30000/1001, not \(text)")
      }
      return rate
    }
  }
}

/// What became of a timeline or a document.
struct TimelineReport: Encodable {
  var output: String
  var tracks: Int
  var clips: Int
  /// In seconds.
  var duration: MediaTime
  var notes: [TimelineNote]
  var missing: [String]

  init(
    output: String, timeline: Timeline, duration: Rational, notes: [TimelineNote], missing: [String] = []
  ) throws(TimeError) {
    self.output = output
    (tracks, clips) = (timeline.tracks.count, timeline.clipCount)
    self.duration = try MediaTime(duration)
    (self.notes, self.missing) = (notes, missing)
  }

  var isWhole: Bool { notes.isEmpty && missing.isEmpty }

  /// - Parameters:
  ///   - file: What was read.
  ///   - document: What is printed in place of the report. Nil: it was written to a file.
  func show(file: String, json: Bool, document: String?) throws {
    if json {
      try Console.printJSON(self)
    } else if let document {
      try Console.print(whole: document)
    }
    for note in notes { Console.printError(note.text(in: file)) }
    for path in missing {
      Console.printError(
        "\(file): there is no file \(path): give its folder with --media, or change its path in the document")
    }
    guard !json, document == nil else { return }
    func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
    try Console.print(
      "\(output): \(count(tracks, "track")), \(count(clips, "clip")), \(ClockText.of(seconds: duration.approximateSeconds) ?? "\(duration) s")"
    )
  }
}
