import ArgumentParser
import Client
import CompositionModel
import EditDocument
import FarmAPI
import FoundationEssentials
import Glibc
import LocalFarm
import Runtime
import SwiftProtobuf
import SystemSupport

struct WaveformCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "waveform", abstract: "Write the waveform of a media file's sound, or of a document's mix, as JSON.",
    discussion: """
      The JSON is an object: sampleRate, channels, samples (of each channel), and min, max and rms, arrays with a number \
      for each point: the lowest and the highest sample, from -1 to 1, and the root mean square, over all channels. The \
      points divide the sound into equal parts.
      """)

  @Argument(
    help: ArgumentHelp("A media file, or a document; - reads a document from standard input.", valueName: "file"))
  var file: String

  @Option(
    help: ArgumentHelp(
      """
      Of a document an audio track's name, such as music or A.sound: the track as it is in the mix, but for ducking and \
      loudness. Of a media file the number of an audio track, from 0. The default is the mix, and the file's default \
      track. [SHEAF_TRACK]
      """, valueName: "name"))
  var track: String?

  @Option(help: ArgumentHelp("How many points; the default is 1000. [SHEAF_POINTS]", valueName: "n"))
  var points: String?

  @Option(help: ArgumentHelp("How many points a second, in place of --points. [SHEAF_RATE]", valueName: "n"))
  var rate: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("The JSON's file; the default is standard output. [SHEAF_OUTPUT]", valueName: "file"))
  var output: String?

  @OptionGroup var parameters: ParameterOptions
  @OptionGroup var farm: LocalFarmOptions

  func run() async throws {
    try await reporting(document: file) {
      let configuration = try farm.configuration()
      let resolution = try self.resolution()
      let output = Setting.text(output, "SHEAF_OUTPUT")
      // A place that cannot be written is reported before any work.
      let written = try output.map { try OutputFile($0) }
      let sound: String
      do throws(SystemError) {
        sound = try TemporaryFiles.path() + ".wav"
      } catch {
        throw CommandFailure(.document, "the sound cannot be kept while it is read: \(error)")
      }
      defer { unlink(sound) }
      let (edit, channels) = try await self.edit(sound, configuration)
      let render = LocalRender(edit: edit, output: sound)
      let status = try await Interruption.cancelling { try await render.run(configuration) { _ in } }
      status.printWarnings()
      let waveform = try await BlockingWork.run {
        try WaveformData(OpenFile.open(sound), resolution, channels: channels)
      }
      guard let written else { return try Console.printJSON(waveform, lines: false) }
      let json = try [UInt8](JSONCoding.encoder.encode(waveform)) + [UInt8(ascii: "\n")]
      try await BlockingWork.run {
        try written.open().write(json)
        try written.commit()
      }
    }
  }

  private func resolution() throws -> WaveformData.Resolution {
    let count = try Setting.number(
      points, "--points", "SHEAF_POINTS", in: 1...Int64(WaveformData.pointCounts.upperBound))
    guard let text = Setting.text(rate, "SHEAF_RATE") else { return .points(count.map { Int($0) } ?? 1000) }
    guard count == nil else { throw ValidationError("--points and --rate exclude each other") }
    guard let rate = Double(text), WaveformData.rates.contains(rate) else {
      throw ValidationError(
        "--rate must be a number from \(WaveformData.rates.lowerBound) to \(WaveformData.rates.upperBound), not \(text)"
      )
    }
    return .rate(rate)
  }

  /// The document that is rendered, that of the sound, and which channels of its output count; nil: all.
  private func edit(
    _ sound: String, _ configuration: LocalFarm.Configuration
  ) async throws -> (EditFile, channels: [Int]?) {
    let track = Setting.text(track, "SHEAF_TRACK")
    if try EditFile.isDocument(file) {
      let edit = try EditFile(file, values: parameters.values)
      let bytes = try mapErrors(to: Self.failure) { () throws(DocumentError) in
        try Document.ofSound(edit.bytes, track: track, output: sound)
      }
      return (try edit.replacing(bytes), nil)
    }
    let number = try track.map { text in
      guard let number = Int(text), number >= 0 else {
        throw ValidationError("--track of a media file is the number of an audio track, from 0, not \(text)")
      }
      return number
    }
    let path = file
    let asset = try await mapErrors(
      to: { CommandFailure(.document, "\($0)") }, AssetFile.asset(path, configuration.contents).get)
    let inspection = LocalInspection(edit: nil, assets: [asset])
    let reply = try await Interruption.cancelling { try await inspection.run(configuration) }
    guard let description = reply.descriptions[path] else {
      throw CommandFailure(problems: reply.problems.map { Problem(pointer: "", message: $0.message) })
    }
    let absolute = try Directories.resolve(path)
    let sound = try mapErrors(to: Self.failure) { () throws(DocumentError) in
      try Document.ofSound(path: absolute, description, track: number)
    }
    return (try EditFile(sound.document, name: path, folder: "/"), sound.channels)
  }

  private static func failure(_ error: DocumentError) -> CommandFailure { CommandFailure(problems: error.problems) }
}
