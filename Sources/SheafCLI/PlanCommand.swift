import ArgumentParser
import Client
import CompositionModel
import EditDocument
import FarmAPI
import LocalFarm
import SystemSupport

/// A document that is planned and not rendered.
struct PlannedEdit: ParsableArguments {
  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The film's path, for its container; the default is the document's export.to. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var segments: SegmentOptions
  @OptionGroup var parameters: ParameterOptions
  @OptionGroup var farm: LocalFarmOptions

  /// The document and its plan. Throws the problems of the document, and of a film that would replace one of its files.
  func plan() async throws -> (edit: EditFile, report: PlanReport) {
    let configuration = try farm.configuration()
    let named = try OutputPath.value(output)
    let options = RenderOptions(segmentDuration: try segments.value)
    let (edit, examined) = try EditFile.examined(edit, output: named, values: parameters.values)
    let (assets, missing) = try await edit.assets(configuration.contents)
    let inspection = LocalInspection(edit: edit, assets: assets, output: examined ?? "", options: options)
    let reply = try await Interruption.cancelling { try await inspection.run(configuration) }
    var problems = inspection.problems(reply, and: missing)
    if let output = named ?? edit.outputPath { problems += edit.replaced(by: output, assets) }
    guard problems.isEmpty, let report = reply.plan else { throw CommandFailure(problems: edit.located(problems)) }
    return (edit, report)
  }
}

struct PlanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan", abstract: "Show how a document would be cut into segments, and why.",
    discussion: """
      --json prints an object: container, duration, frames, picture (codec, width, height, pixelFormat, frameDuration), \
      sound (codec, sampleRate, channels, samples, action), instructions (range, background, layers), segments \
      (firstFrame, endFrame, range, cost, boundary, action), damage (path, track, type, count, places: sourceSeconds, \
      filmSeconds), warnings (pointer, message, line, column), losses (what, where, track, why), outputs (of a document with several: file, container, \
      video: codec, width, height, bitRate, quality, audio: codec, sampleRate, channels, bitRate), roundedPlaces (of clips whose places do \
      not fit an exact time: track, clip, asset, start), smart (of a film with smart rendering: copiedFrames, encodedFrames, refusals: track, \
      asset, start, frames, reason), estimate (as sheaf estimate --json prints it). Times are exact fractions of seconds as text; an action is encoded, \
      copied, cached, or measured for a segment that is measured before it is encoded.
      """)

  @OptionGroup var planned: PlannedEdit
  @OptionGroup var strict: StrictOption
  @OptionGroup var json: JSONOption

  func run() async throws {
    let name = planned.edit
    try await reporting(json: json.isOn ? .lines : .none, document: name) {
      let (edit, plan) = try await planned.plan()
      var report = plan
      report.warnings = edit.located(report.warnings)
      let warnings = report.damage.map { Problem(pointer: "", message: $0.text) } + report.warnings
      if json.isOn {
        try Console.printJSON(report)
      } else {
        for line in PlanText.lines(report) { try Console.print(line) }
        for warning in warnings { Console.printError(warning.text(in: name, kind: "warning")) }
      }
      guard warnings.isEmpty || !strict.isOn else { throw ExitCode(CommandFailure.Code.document.rawValue) }
    }
  }
}

/// What smart rendering copies, as text.
enum SmartText {
  /// Empty if there is no smart rendering.
  static func lines(_ report: SmartReport?) -> [String] {
    guard let lines = report?.lines, let sum = lines.first else { return [] }
    return ["smart rendering: \(sum)"] + lines.dropFirst().map { "  \($0)" }
  }
}

/// Exact times as people read them.
enum SecondsText {
  /// A fraction of a second has the nearest thousandth beside it.
  static func of(_ time: MediaTime) -> String {
    time.timescale == 1 ? "\(time) s" : "\(time) s (\(decimals(time)))"
  }

  static func of(_ range: MediaTimeRange) -> String {
    let isWhole = range.start.timescale == 1 && range.end.timescale == 1
    return isWhole ? "\(range)" : "\(range) (\(decimals(range.start))..\(decimals(range.end)))"
  }

  private static func decimals(_ time: MediaTime) -> String {
    // A time that is too large for decimals is shown as it is.
    guard let thousandths = try? time.rescaled(to: 1000).time.value else { return "\(time)" }
    let (whole, rest) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1000)
    return (thousandths < 0 ? "-" : "") + "\(whole)." + "\(1000 + rest)".dropFirst()
  }
}

/// A plan as text.
enum PlanText {
  static func lines(_ plan: PlanReport) -> [String] {
    var lines = ["film: \(plan.container), \(SecondsText.of(plan.duration)), \(plan.frames) frames"]
    if let video = plan.video {
      lines.append(
        "video: \(video.codec), \(video.width)x\(video.height), \(video.pixelFormat), a frame every \(SecondsText.of(video.frameDuration))"
      )
    }
    if let audio = plan.audio {
      lines.append(
        "audio: \(audio.codec), \(audio.sampleRate) Hz, channels: \(audio.channels), samples: \(audio.samples), \(audio.action)"
          + (audio.parts.map { ", \($0) parts" } ?? "")
      )
    }
    if let rounded = plan.roundedPlaces, let first = rounded.first {
      lines.append(
        "rounded: \(rounded.count) \(rounded.count == 1 ? "clip starts" : "clips start") at the nearest "
          + "1/\(MediaTime.roundingTimescale) s, the first of them "
          + "'\(first.asset)' on '\(first.track)' at \(SecondsText.of(first.start)); their places are too finely divided to "
          + "be kept exactly")
    }
    if plan.video == nil, plan.audio == nil {
      return lines + ["what is stored is copied, and nothing is rendered"]
    }
    for output in plan.outputs ?? [] { lines.append("output: \(output.text)") }
    lines += SmartText.lines(plan.smart)
    lines.append("instructions:")
    for instruction in plan.instructions {
      let layers = instruction.layers.isEmpty ? "nothing" : instruction.layers.joined(separator: " over ")
      lines.append("  \(SecondsText.of(instruction.range))  \(layers) over \(instruction.background)")
    }
    lines.append("segments:")
    let total = plan.segments.reduce(0) { $0 + $1.cost }
    for (index, segment) in plan.segments.enumerated() {
      let share = total > 0 ? Int((segment.cost / total * 1000).rounded()) : 0
      lines.append(
        "  \(index)  frames \(segment.firstFrame)..<\(segment.endFrame)  \(SecondsText.of(segment.range))  cost \(share / 10).\(share % 10) %"
          + "  \(segment.action)  starts because: \(segment.boundary)")
    }
    return lines
  }
}
