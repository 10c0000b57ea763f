import ArgumentParser
import Client
import CompositionModel
import ContentStorage
import FoundationEssentials
import SwiftProtobuf
import Wire

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
      let contents = FileContentCache()
      var assets: [Sheaf_SubmittedAsset] = []
      var problems: [Problem] = []
      for file in files {
        switch try await BlockingWork.run({ AssetFile.content(file, contents) }) {
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
        let inspection = LocalInspection(edit: nil, assets: assets, contents: contents)
        let reply = try await Interruption.cancelling { try await inspection.run(configuration) }
        found = try reply.descriptions.mapValues { try JSONDecoder().decode(AssetDescription.self, from: $0) }
        problems += reply.problems.map { Problem(pointer: "", message: $0.message) }
      }
      if json.isOn {
        Console.printJSON(found)
      } else {
        for file in files {
          if let description = found[file] { ProbeText.lines(file, description).forEach(Console.print) }
        }
      }
      if !problems.isEmpty { throw CommandFailure(problems: problems) }
    }
  }
}

/// A file's description as text.
enum ProbeText {
  static func lines(_ file: String, _ description: AssetDescription) -> [String] {
    let duration = description.duration == .zero ? "a still" : "\(description.duration) s"
    var lines = ["\(file): \(description.container), \(duration)"]
    for track in description.tracks {
      var parts = [track.codec + (track.profile.map { " (\($0))" } ?? "")]
      if let video = track.video { parts += self.parts(video) }
      if let audio = track.audio { parts.append("\(audio.sampleRate) Hz, \(audio.layout)") }
      if let language = track.language { parts.append(language) }
      if track.video?.isStill != true { parts.append("\(track.range)") }
      lines.append("  \(track.index) \(track.type.rawValue): " + parts.joined(separator: ", "))
    }
    for (key, value) in description.metadata.sorted(by: { $0.key < $1.key }) { lines.append("  \(key): \(value)") }
    return lines
  }

  private static func parts(_ video: VideoFormat) -> [String] {
    let seen = video.presentationSize
    var parts = [
      "\(video.size.width)x\(video.size.height)"
        + (seen == video.size ? "" : ", shown as \(seen.width)x\(seen.height)"), video.pixelFormat,
    ]
    if !video.isStill {
      let keyframes = video.keyframes.count
      parts += [
        "\(video.nominalFrameRate) frames/s",
        "\(video.frames.count) frames, \(keyframes == 0 ? "decoded from the start" : "\(keyframes) keyframes")",
      ]
    }
    if video.orientation != .upright { parts.append("rotated by \(video.orientation.clockwise)°") }
    if video.isInterlaced { parts.append("interlaced") }
    return parts
  }
}
