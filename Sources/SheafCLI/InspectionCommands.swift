import ArgumentParser
import Client
import CompositionModel
import ContentStorage
import Coordinator
import FoundationEssentials
import SwiftProtobuf
import SystemSupport
import Wire

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Report every problem of a document and its media at once.",
    discussion: """
      --json prints an object: problems, an array of pointer (the place, a JSON pointer) and message, and warnings, an \
      array of messages: what can be rendered but is most likely not meant, and what is wrong with the media.
      """)

  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var strict: StrictOption
  @OptionGroup var json: JSONOption

  private struct Report: Encodable {
    var problems: [Problem]
    var warnings: [String]
  }

  func run() async throws {
    try await reporting {
      let configuration = try farm.configuration()
      var problems: [Problem]
      var warnings: [String] = []
      do {
        let edit = try EditFile(edit)
        let (assets, missing) = try await edit.assets(configuration.contents)
        let inspection = LocalInspection(edit: edit, assets: assets)
        let reply = try await Interruption.cancelling { try await inspection.run(configuration) }
        problems = inspection.problems(reply, and: missing)
        for (asset, description) in reply.descriptions.sorted(by: { $0.key < $1.key }) {
          let description = try JSONDecoder().decode(AssetDescription.self, from: description)
          warnings += ProbeText.warnings(description).map { "asset '\(asset)': \($0)" }
        }
        if !reply.plan.isEmpty {
          let plan = try JSONDecoder().decode(PlanReport.self, from: reply.plan)
          warnings += (plan.damage ?? []).map(\.text)
          warnings += (plan.warnings ?? []).map(\.description)
        }
      } catch let failure as CommandFailure where !failure.problems.isEmpty {
        problems = failure.problems
      }
      if json.isOn { try Console.printJSON(Report(problems: problems, warnings: warnings)) }
      if !json.isOn { for warning in warnings { Console.printError("\(edit): warning: \(warning)") } }
      guard problems.isEmpty, warnings.isEmpty || !strict.isOn else {
        for problem in problems { Console.printError("\(edit): \(problem)") }
        throw ExitCode(CommandFailure.Code.document.rawValue)
      }
      if !json.isOn { try Console.print("\(edit): no problems") }
    }
  }
}

struct PlanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan", abstract: "Show how a document would be cut into segments, and why.",
    discussion: """
      --json prints an object: container, duration, frames, picture (codec, width, height, pixelFormat, frameDuration), \
      sound (codec, sampleRate, channels, samples, action), instructions (range, background, layers), segments \
      (firstFrame, endFrame, range, cost, boundary, action), damage (path, track, type, count, places: sourceSeconds, \
      filmSeconds), warnings (pointer, message). Times are exact fractions of seconds as text; an action is encoded, \
      cached, or measured for a segment that is measured before it is encoded.
      """)

  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The film's path, for its container; the default is the document's export.to. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var segments: SegmentOptions
  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var strict: StrictOption
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none, document: edit) {
      let name = edit
      let configuration = try farm.configuration()
      let edit = try EditFile(edit)
      let (assets, missing) = try await edit.assets(configuration.contents)
      let inspection = LocalInspection(
        edit: edit, assets: assets, output: try OutputPath.value(output) ?? "",
        segmentDuration: segments.value)
      let reply = try await Interruption.cancelling { try await inspection.run(configuration) }
      let problems = inspection.problems(reply, and: missing)
      guard problems.isEmpty else { throw CommandFailure(problems: problems) }
      let report = try JSONDecoder().decode(PlanReport.self, from: reply.plan)
      let warnings = (report.damage ?? []).map(\.text) + (report.warnings ?? []).map(\.description)
      if json.isOn {
        try Console.printJSON(report)
      } else {
        for line in PlanText.lines(report) { try Console.print(line) }
        for warning in warnings { Console.printError("\(name): warning: \(warning)") }
      }
      guard warnings.isEmpty || !strict.isOn else { throw ExitCode(CommandFailure.Code.document.rawValue) }
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

struct ProbeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe", abstract: "Show what is in media files.",
    discussion: "--json prints an object: the description of each file, exact and complete, by the file's name.")

  @Argument(help: ArgumentHelp("Media files.", valueName: "file"))
  var files: [String]

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting {
      let configuration = try farm.configuration()
      let contents = configuration.contents
      var assets: [Sheaf_SubmittedAsset] = []
      var problems: [Problem] = []
      for file in files {
        let result = try await BlockingWork.run(.hashing) { AssetFile.content(file, contents) }
        switch result {
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
        let inspection = LocalInspection(edit: nil, assets: assets)
        let reply = try await Interruption.cancelling { try await inspection.run(configuration) }
        found = try reply.descriptions.mapValues { try JSONDecoder().decode(AssetDescription.self, from: $0) }
        problems += reply.problems.map { Problem(pointer: "", message: $0.message) }
      }
      if json.isOn {
        try Console.printJSON(found)
      } else {
        for file in files {
          if let description = found[file] {
            for line in ProbeText.lines(file, description) { try Console.print(line) }
          }
        }
      }
      if !problems.isEmpty { throw CommandFailure(problems: problems) }
    }
  }
}

/// A file's description as text.
enum ProbeText {
  static func lines(_ file: String, _ description: AssetDescription) -> [String] {
    if let font = description.font {
      let characters = font.characters.reduce(0) { $0 + $1.count }
      return ["\(file): a \(font.format) font, \(font.family) \(font.style), \(characters) characters"]
    }
    if let table = description.colourTable {
      let shape = Array(repeating: "\(table.size)", count: table.dimensions).joined(separator: "x")
      return ["\(file): \(description.container), a look-up table of colours, \(shape)"]
    }
    let duration = description.duration == .zero ? "a still" : "\(description.duration) s"
    var lines = ["\(file): \(description.container), \(duration)"]
    for track in description.tracks {
      var parts = [track.codec + (track.profile.map { " (\($0))" } ?? "")]
      if let video = track.video { parts += self.parts(video) }
      if let damage = damage(track) { parts.append(damage) }
      if let audio = track.audio { parts.append("\(audio.sampleRate) Hz, \(audio.layout)") }
      if let language = track.language { parts.append(language) }
      if track.video?.isStill != true { parts.append("\(track.range)") }
      lines.append("  \(track.index) \(track.type.rawValue): " + parts.joined(separator: ", "))
    }
    for (key, value) in description.metadata.sorted(by: { $0.key < $1.key }) { lines.append("  \(key): \(value)") }
    return lines + warnings(description).map { "  warning: \($0)" }
  }

  /// At most so many places are listed.
  private static let mostPlaces = 20

  /// What may not be as the file's maker meant it: the places at which its timestamps jump, and a part that is not read.
  static func warnings(_ description: AssetDescription) -> [String] {
    jumps(description)
      + (description.unreadBytes.map { ["another file begins in its last \($0) bytes, which are not read"] } ?? [])
  }

  private static func jumps(_ description: AssetDescription) -> [String] {
    let jumps = description.timeJumps
    let listed = jumps.prefix(mostPlaces).map {
      "the timestamps jump by \($0.jump) s at \($0.time) s; what follows continues there"
    }
    let rest = jumps.count - listed.count
    return rest > 0 ? listed + ["the timestamps jump at \(rest) more places"] : listed
  }

  private static func parts(_ video: VideoFormat) -> [String] {
    let seen = video.presentationSize
    var parts = [
      "\(video.size.width)x\(video.size.height)"
        + (seen == video.size ? "" : ", shown as \(seen.width)x\(seen.height)"), video.pixelFormat,
    ]
    if !video.isStill {
      parts += [
        "\(video.nominalFrameRate) frames/s",
        "\(video.frames.count) frames", starts(video),
      ]
    }
    if video.orientation != .upright { parts.append("rotated by \(video.orientation.clockwise)°") }
    if video.isInterlaced { parts.append("interlaced") }
    return parts + brightness(video)
  }

  private static func brightness(_ video: VideoFormat) -> [String] {
    var parts: [String] = []
    if let display = video.hdr?.display {
      let (least, most) = (Double(display.minimumLuminance) / 10000, Double(display.maximumLuminance) / 10000)
      parts.append("mastered on a display of \(least) to \(most) cd/m2")
    }
    if let light = video.hdr?.light {
      parts.append("MaxCLL \(light.maximum) cd/m2, MaxFALL \(light.maximumAverage) cd/m2")
    }
    return parts
  }

  /// The frames that are damaged, as far as the probe has found them.
  private static func damage(_ track: TrackDescription) -> String? {
    guard let frames = track.video?.damagedFrames, let first = frames.first else { return nil }
    let seconds = (Double(first - track.origin) * track.timebase.approximateSeconds * 1000).rounded() / 1000
    return "\(frames.count) damaged \(frames.count == 1 ? "frame" : "frames"), the first at \(seconds) s"
  }

  /// Where decoding can start, and how that was proved.
  private static func starts(_ video: VideoFormat) -> String {
    let count = video.keyframes.count
    let keyframes = count == 1 ? "1 keyframe" : "\(count) keyframes"
    switch video.startsProvedBy {
    case .headOnly: return "decoded from the start"
    case .intraOnly: return "every frame a keyframe"
    case .bitstream: return "\(keyframes) (proved by the packets' headers)"
    case .decoding: return "\(keyframes) (proved by decoding)"
    case nil: return count == 0 ? "decoded from the start" : keyframes
    }
  }
}
