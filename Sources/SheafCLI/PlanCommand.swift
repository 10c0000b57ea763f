import ArgumentParser
import CompositionModel
import FoundationEssentials
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
      "The film that it would be, for its container; export.to unless said. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var segments: SegmentOptions
  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn, document: edit) {
      let edit = try EditFile(edit)
      let digests = DigestCache()
      let (assets, missing) = try await edit.assets(digests)
      let inspection = LocalInspection(
        edit: edit, assets: assets, output: Setting.text(output, "SHEAF_OUTPUT") ?? "",
        segmentDuration: segments.value, digests: digests)
      let reply = try await Interruption.cancelling { [farm] in try await inspection.run(farm) }
      let problems = inspection.problems(reply, beside: missing)
      guard problems.isEmpty else { throw CommandFailure(problems: problems) }
      let report = try JSONDecoder().decode(PlanReport.self, from: reply.plan)
      if json.isOn { Console.printJSON(report) } else { PlanText.lines(report).forEach(Console.print) }
    }
  }
}

/// A plan in words.
enum PlanText {
  static func lines(_ plan: PlanReport) -> [String] {
    var lines = ["film: \(plan.container), \(plan.duration) s, \(plan.frames) frames"]
    if let picture = plan.picture {
      lines.append(
        "picture: \(picture.codec), \(picture.width)x\(picture.height), \(picture.pixelFormat), a frame each \(picture.frameDuration) s"
      )
    }
    if let sound = plan.sound {
      lines.append(
        "sound: \(sound.codec), \(sound.sampleRate) Hz, channels: \(sound.channels), samples: \(sound.samples), \(sound.action)"
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
