import ArgumentParser
import Client
import CompositionModel
import ContentStorage
import Coordinator
import FoundationEssentials
import SystemSupport
import Wire

struct PlanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan", abstract: "Show how a document would be cut into segments, and why.",
    discussion: """
      --json prints an object: container, duration, frames, picture (codec, width, height, pixelFormat, frameDuration), \
      sound (codec, sampleRate, channels, samples, action), instructions (range, background, layers), segments \
      (firstFrame, endFrame, range, cost, boundary, action). Times are exact fractions of seconds as text; an action is \
      encoded or cached.
      """)

  @Argument(help: ArgumentHelp("The document.", valueName: "edit.json"))
  var edit: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The film's path, for its container; the default is the document's export.to. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var segments: SegmentOptions
  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn, document: edit) {
      let configuration = try farm.configuration()
      let edit = try EditFile(edit)
      let contents = FileContentCache()
      let (assets, missing) = try await edit.assets(contents)
      let inspection = LocalInspection(
        edit: edit, assets: assets, output: Setting.text(output, "SHEAF_OUTPUT") ?? "",
        segmentDuration: segments.value, contents: contents)
      let reply = try await Interruption.cancelling { try await inspection.run(configuration) }
      let problems = inspection.problems(reply, and: missing)
      guard problems.isEmpty else { throw CommandFailure(problems: problems) }
      let report = try JSONDecoder().decode(PlanReport.self, from: reply.plan)
      if json.isOn { Console.printJSON(report) } else { PlanText.lines(report).forEach(Console.print) }
    }
  }
}

/// A plan as text.
enum PlanText {
  static func lines(_ plan: PlanReport) -> [String] {
    var lines = ["film: \(plan.container), \(plan.duration) s, \(plan.frames) frames"]
    if let video = plan.video {
      lines.append(
        "video: \(video.codec), \(video.width)x\(video.height), \(video.pixelFormat), a frame every \(video.frameDuration) s"
      )
    }
    if let audio = plan.audio {
      lines.append(
        "audio: \(audio.codec), \(audio.sampleRate) Hz, channels: \(audio.channels), samples: \(audio.samples), \(audio.action)"
      )
    }
    lines.append("instructions:")
    for instruction in plan.instructions {
      let layers = instruction.layers.isEmpty ? "nothing" : instruction.layers.joined(separator: " over ")
      lines.append("  \(instruction.range)  \(layers) over \(instruction.background)")
    }
    lines.append("segments:")
    let total = plan.segments.reduce(0) { $0 + $1.cost }
    for (index, segment) in plan.segments.enumerated() {
      let share = total > 0 ? Int((segment.cost / total * 1000).rounded()) : 0
      lines.append(
        "  \(index)  frames \(segment.firstFrame)..<\(segment.endFrame)  \(segment.range)  cost \(share / 10).\(share % 10) %"
          + "  \(segment.action)  starts because: \(segment.boundary)")
    }
    return lines
  }
}
