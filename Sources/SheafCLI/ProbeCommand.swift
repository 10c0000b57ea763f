import ArgumentParser
import Client
import CompositionModel
import FarmAPI
import LocalFarm
import SystemSupport

struct ProbeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe", abstract: "Show what is in media files.",
    discussion: """
      Of each file: its tracks by number, with what they are for, their formats and times; chapters, pictures that are no \
      tracks, and metadata, by the common keys and by those of the format. A track that cannot be described is listed with \
      the reason, and the others are described.

      --json prints an object: the description of each file, exact and complete, by the file's name, as \
      docs/operations/commands.md describes it.
      """)

  @Argument(help: ArgumentHelp("Media files.", valueName: "file"))
  var files: [String]

  @Flag(help: "Print the time of each keyframe at which decoding can start. [SHEAF_KEYFRAMES]")
  var keyframes = false

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting {
      let configuration = try farm.configuration()
      let documents = try files.filter { try $0 != "-" && EditFile.isDocument($0) }
      let media = files.filter { !documents.contains($0) }
      let inspected = try await Interruption.cancelling {
        media.isEmpty ? nil : try await FileInspection(media, configuration)
      }
      let found = inspected?.reply.descriptions ?? [:]
      let unread = (inspected?.unread.map { "\($0.error)" } ?? []) + (inspected?.reply.problems.map(\.message) ?? [])
      let messages =
        documents.map { "\($0) is a document and no media file: sheaf check \($0.quotedForShell)" } + unread
      let problems = messages.map { Problem(pointer: "", message: $0) }
      if json.isOn {
        try Console.printJSON(found.mapValues { ProbeReport(description: $0) })
      } else {
        let showsKeyframes = Setting.flag(keyframes, "SHEAF_KEYFRAMES")
        for file in files {
          if let description = found[file] {
            for line in ProbeText.lines(file, description, keyframes: showsKeyframes) { try Console.print(line) }
          }
        }
      }
      if !problems.isEmpty { throw CommandFailure(problems: problems) }
    }
  }
}

/// A file's description as text.
enum ProbeText {
  static func lines(_ file: String, _ description: AssetDescription, keyframes: Bool = false) -> [String] {
    if let font = description.font {
      let characters = font.characters.reduce(0) { $0 + $1.count }
      return ["\(file): a \(font.format) font, \(font.family) \(font.style), \(characters) characters"]
    }
    if let table = description.colourTable {
      let shape = Array(repeating: "\(table.size)", count: table.dimensions).joined(separator: "x")
      return ["\(file): \(description.container), a look-up table of colours, \(shape)"]
    }
    let duration = description.duration == .zero ? "a still" : time(description.duration)
    var lines = [
      "\(file): " + ([description.container, duration] + bitRate(description.bitRate)).joined(separator: ", ")
    ]
    for track in description.tracks {
      lines.append("  \(track.index) \(track.type.rawValue): " + parts(track).joined(separator: ", "))
      lines += metadata(track.metadata, indent: "      ")
      if keyframes { lines += times(ofKeyframes: track).map { "      " + $0 } }
    }
    for failure in description.failures ?? [] {
      lines.append(
        "  \(failure.index) \(failure.type.rawValue): \(failure.codec), cannot be described: \(failure.message)")
    }
    for picture in description.attachedPictures ?? [] {
      let size = picture.size.map { ", \($0.width)x\($0.height)" } ?? ""
      let title = (picture.metadata["title"] ?? picture.metadata["comment"]).map { ", \($0)" } ?? ""
      lines.append("  \(picture.index) attached picture: \(picture.codec)\(size)\(title)")
    }
    for (number, chapter) in (description.chapters ?? []).enumerated() {
      lines.append("  chapter \(number + 1): \(range(chapter.range))" + (chapter.title.map { ", \($0)" } ?? ""))
    }
    let common = description.commonMetadata
    for key in CommonMetadataKey.allCases { if let value = common[key] { lines.append("  \(key.rawValue): \(value)") } }
    if !description.metadata.isEmpty { lines.append("  metadata by the format's keys:") }
    lines += metadata(description.metadata, indent: "    ")
    return lines + description.warnings.map { "  warning: \($0)" }
  }

  private static func metadata(_ values: [String: String], indent: String) -> [String] {
    values.sorted { $0.key < $1.key }.map { "\(indent)\($0.key): \($0.value)" }
  }

  private static func parts(_ track: TrackDescription) -> [String] {
    var codec = track.codec
    let profile = [track.profile, track.level.map { "level \($0)" }, track.formatTag.map { "'\($0)'" }]
      .compactMap(\.self)
    if !profile.isEmpty { codec += " (\(profile.joined(separator: ", ")))" }
    var parts = [codec]
    if let id = track.id, id != track.index { parts.append("id \(id)") }
    if !track.isEnabled { parts.append("not enabled") }
    if let video = track.video { parts += self.parts(video) }
    if let damage = damage(track) { parts.append(damage) }
    if let audio = track.audio {
      let channels = "\(audio.channels) \(audio.channels == 1 ? "channel" : "channels")"
      parts += ["\(audio.sampleRate) Hz"]
      // Of a file that does not state the speakers, libavutil's name of the layout is only the number of channels.
      parts += audio.layout.hasSuffix("channels") ? [channels, "speakers not stated"] : [audio.layout, channels]
      if let depth = audio.bitDepth { parts.append("\(depth) bits") }
    }
    if let count = track.packetCount { parts.append("\(count) \(count == 1 ? "packet" : "packets")") }
    parts += bitRate(track.bitRate)
    if let language = track.language { parts.append(language) }
    parts += track.characteristics ?? []
    if track.video?.isStill != true, track.packetCount != 0 { parts.append(range(track.range)) }
    return parts
  }

  private static func bitRate(_ rate: Int?) -> [String] { rate.map { ["\(($0 + 500) / 1000) kb/s"] } ?? [] }

  /// As people read it, with the exact fraction of seconds if that is another text: `1:02.500 (125/2 s)`.
  static func time(_ time: MediaTime) -> String {
    guard time.isNumeric, let clock = ClockText.of(seconds: time.approximateSeconds) else { return "\(time) s" }
    return "\(clock) (\(time) s)"
  }

  private static func range(_ range: MediaTimeRange) -> String { "\(time(range.start)) to \(time(range.end))" }

  /// On the asset's timeline, ten to a line.
  private static func times(ofKeyframes track: TrackDescription) -> [String] {
    let times = (track.video?.keyframes ?? []).map { keyframe in
      let seconds = Double(keyframe.pts &- track.origin) * track.timebase.approximateSeconds
      return "\((seconds * 1000).rounded() / 1000)"
    }
    return stride(from: 0, to: times.count, by: 10).map { start in
      (start == 0 ? "keyframes at " : "  ") + times[start..<min(start + 10, times.count)].joined(separator: ", ") + " s"
    }
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
    let colour = [video.colour.primaries, video.colour.transfer, video.colour.matrix].map { $0 ?? "?" }
    if colour.contains(where: { $0 != "?" }) { parts.append(colour.joined(separator: "/")) }
    parts.append(video.colour.isFullRange ? "full range" : "limited range")
    if let location = video.colour.chromaLocation { parts.append("chroma \(location)") }
    if video.pixelAspect != .square {
      parts.append("pixel aspect \(video.pixelAspect.horizontal):\(video.pixelAspect.vertical)")
    }
    if let clean = video.cleanAperture {
      parts.append("clean aperture \(clean.size.width)x\(clean.size.height) at (\(clean.x), \(clean.y))")
    }
    if video.hasAlpha { parts.append("alpha") }
    if video.orientation != .upright {
      parts.append("\(video.orientation.isMirrored ? "mirrored and " : "")rotated by \(video.orientation.clockwise)°")
    }
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
