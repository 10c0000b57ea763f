import ArgumentParser
import Client
import CompositionModel
import ContentStorage
import EditDocument
import FarmAPI
import FoundationEssentials
import LocalFarm
import SwiftProtobuf
import SystemSupport

struct PresetsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "presets", abstract: "Show the presets of exports, and what they make of a document or a file.",
    discussion: """
      Without an input it prints the presets, with the containers that each can be written to. With a document or a \
      media file it adds which of them the input can meet, and why not the others; of passthrough, which copies what is \
      stored, it has the containers that the input can be copied into. With --preset it prints the settings and the \
      container that this preset gives for the input.

      --json prints an array of preset (name, avFoundationName, video: codec, quality, longerSide, shorterSide; audio: \
      codec, bitRate; containers, problems: pointer, message; without an input there are no problems; passthrough has \
      neither video nor audio), or with --preset an object (preset, container, width, height, frameDuration, video: \
      codec, quality, preset, keyframeInterval, pixelFormat; audio: codec, bitRate, bitDepth, sampleRate, channels), \
      which has for passthrough what is stored: video: codec, pixelFormat; audio: codec, sampleRate, channels.
      """)

  @Argument(
    help: ArgumentHelp(
      "A document (- reads it from standard input), or a media file.", valueName: "file"))
  var input: String?

  @Option(help: ArgumentHelp("The preset whose settings are printed. [SHEAF_PRESET]", valueName: "name"))
  var preset: String?

  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none, document: input) {
      let chosen = try chosenPreset()
      guard let input else {
        guard chosen == nil else { throw ValidationError("--preset needs a document or a media file") }
        return try print(PresetReport.all)
      }
      let configuration = try farm.configuration()
      let media = try await PresetInput.read(input, configuration)
      if let chosen { return try print(try media.settings(chosen)) }
      let reports: [PresetReport]
      do throws(DocumentError) {
        reports = try media.reports()
      } catch {
        throw CommandFailure(problems: error.problems)
      }
      try print(reports, withPlaces: media.document != nil)
    }
  }

  private func chosenPreset() throws -> PresetChoice? {
    guard let name = Setting.text(preset, "SHEAF_PRESET") else { return nil }
    if let preset = PresetChoice(name) { return preset }
    throw ValidationError(ExportPreset.unknown(name))
  }

  /// - Parameter withPlaces: Whether the places of problems are those of a document that the user has.
  private func print(_ reports: [PresetReport], withPlaces: Bool = false) throws {
    if json.isOn { return try Console.printJSON(reports) }
    var table = Table(columns: [
      .init(header: "PRESET"), .init(header: "VIDEO"), .init(header: "AT MOST"), .init(header: "AUDIO"),
      .init(header: "CONTAINERS"),
    ])
    if input != nil { table.columns.append(.init(header: "INPUT")) }
    for (index, report) in reports.enumerated() {
      table.rows.append(report.cells(withInput: input != nil))
      table.notes[index] = report.notes(withPlaces: withPlaces)
    }
    for line in table.lines(width: nil) { try Console.print(line) }
  }

  private func print(_ report: SettingsReport) throws {
    if json.isOn { return try Console.printJSON(report) }
    for line in report.lines { try Console.print(line) }
  }
}

extension PresetInput {
  /// The document or the media file for which presets are asked.
  fileprivate static func read(_ input: String, _ configuration: LocalFarm.Configuration) async throws -> PresetInput {
    let edit = try EditFile.isDocument(input) ? EditFile(input) : nil
    var assets: [SubmittedAsset] = []
    if let edit {
      let (found, missing) = try await edit.assets(configuration.contents)
      guard missing.isEmpty else { throw CommandFailure(problems: edit.located(missing)) }
      assets = found
    } else {
      switch try await AssetFile.asset(input, configuration.contents) {
      case .success(let asset): assets.append(asset)
      case .failure(let error): throw CommandFailure(problems: [Problem(pointer: "", message: "\(error)")])
      }
    }
    let (inspected, farm) = (assets, configuration)
    let reply = try await Interruption.cancelling {
      try await LocalInspection(edit: nil, assets: inspected).run(farm)
    }
    guard reply.problems.isEmpty else { throw CommandFailure(problems: reply.problems) }
    return PresetInput(document: edit?.bytes, descriptions: reply.descriptions)
  }
}

extension PresetReport {
  /// The problems of a preset that are shown.
  private static let mostNotes = 5

  /// Why the input cannot meet the preset. Nil: it can.
  func notes(withPlaces: Bool) -> [String]? {
    guard let problems, !problems.isEmpty else { return nil }
    let lines = problems.prefix(Self.mostNotes).map { withPlaces ? "  \($0)" : "  \($0.message)" }
    let more = problems.count - lines.count
    return lines + (more > 0 ? ["  and \(more) more"] : [])
  }

  func cells(withInput: Bool) -> [String] {
    guard let audio else {
      // It is copied.
      return [name, "as stored", "as stored", "as stored", containers.joined(separator: ", ")]
        + (withInput ? [problems?.isEmpty == true ? "yes" : "no"] : [])
    }
    let quality = video?.quality.map { " quality \(Int($0))" } ?? ""
    let size = video.map { video in
      if let long = video.longerSide, let short = video.shorterSide { "\(long)x\(short)" } else { "its own size" }
    }
    return [
      name, video.map { $0.codec + quality } ?? "-", size ?? "-",
      audio.codec + (audio.bitRate.map { " \($0 / 1000) kbit/s" } ?? ""), containers.joined(separator: ", "),
    ] + (withInput ? [problems?.isEmpty == true ? "yes" : "no"] : [])
  }
}

extension SettingsReport {
  var lines: [String] {
    var lines = ["preset: \(preset)", "container: \(container)"]
    if let video, let width, let height {
      var parts = [video.codec, "\(width)x\(height)", video.pixelFormat]
      if let frameDuration { parts.append("a frame every \(frameDuration) s") }
      if let quality = video.quality { parts.append("quality \(quality.formatted)") }
      if let preset = video.preset { parts.append("encoder's preset \(preset)") }
      if let interval = video.keyframeInterval { parts.append("a keyframe every \(interval) frames at least") }
      lines.append("video: " + parts.joined(separator: ", "))
    }
    if let audio {
      var parts = [audio.codec, "\(audio.sampleRate) Hz", "channels: \(audio.channels)"]
      if let bitRate = audio.bitRate { parts.append("\(bitRate) bit/s") }
      if let bitDepth = audio.bitDepth { parts.append("\(bitDepth) bits a sample") }
      lines.append("audio: " + parts.joined(separator: ", "))
    }
    return lines
  }
}

extension Double {
  /// Without a needless `.0`.
  fileprivate var formatted: String { self == rounded() ? "\(Int(self))" : "\(self)" }
}
