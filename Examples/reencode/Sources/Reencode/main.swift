// Encodes a film again, as H.264 at half its size.
//
//   reencode INPUT OUTPUT.mp4              reads and writes in this process: for media that you trust
//   reencode INPUT OUTPUT.mp4 --confined   renders in task processes, or on the farm at SHEAF_COORDINATOR

import Foundation
import Sheaf

let arguments = CommandLine.arguments
guard arguments.count == 3 || arguments.count == 4 && arguments[3] == "--confined" else {
  fatalError("usage: reencode INPUT OUTPUT.mp4 [--confined]")
}
let (input, output) = (Asset(path: arguments[1]), URL(fileURLWithPath: arguments[2]))
let settings = ExportSettings.Video(codec: .h264, quality: 24, preset: "fast")

func halfSize(_ video: VideoFormat) -> PixelSize {
  PixelSize(width: video.size.width / 4 * 2, height: video.size.height / 4 * 2)
}

/// The pipeline of AVAssetReader and AVAssetWriter: both tracks are read and written alongside each other.
func reencode() async throws {
  let reader = try await AssetReader(input)
  let writer = try AssetWriter(to: output, metadata: reader.contents.metadata)
  try await withThrowingTaskGroup(of: Void.self) { group in
    if let track = reader.contents.defaultTrack(.video), let video = track.video {
      let rate = try video.nominalFrameRate.exact
      let pictures = try await writer.addVideo(
        settings, size: halfSize(video), frameDuration: MediaTime(Rational.one / rate), colour: video.colour)
      let samples = try reader.pictures(of: track, as: pictures.pool.format, size: pictures.pool.size)
      group.addTask { for try await sample in samples { try await pictures.append(sample) } }
    }
    if let track = reader.contents.defaultTrack(.audio), let audio = track.audio {
      let sound = try await writer.addAudio(
        .init(codec: .aac, bitRate: 128_000), sampleRate: audio.sampleRate, channels: audio.channels)
      let samples = try reader.sound(of: track)
      group.addTask { for try await sample in samples { try await sound.append(sample) } }
    }
    try await group.waitForAll()
  }
  let film = try await writer.finish()
  print("\(film.frames) frames, \(film.samples) samples, \(film.bytes) bytes")
}

/// The same film from an edit that shows the whole asset: decoders run in confined processes.
func reencodeConfined() async throws {
  var edit = Edit()
  let source = edit.add(try await input.load())
  try edit.composition.insert(source.whole())
  if let video = source.contents.defaultTrack(.video)?.video {
    edit.videoComposition.renderSize = halfSize(video)
  }
  edit.export.video = .settings(settings)
  edit.export.metadata = source.contents.metadata
  let film = try await ExportSession(edit, to: output, on: try .fromEnvironment()).export()
  print("\(film.frames) frames, \(film.bytes) bytes, SHA-256 \(film.digest)")
}

extension ExportSession.Place {
  /// The farm at SHEAF_COORDINATOR, or this machine.
  static func fromEnvironment() throws -> Self {
    let environment = ProcessInfo.processInfo.environment
    guard let address = environment["SHEAF_COORDINATOR"] else { return .thisMachine }
    return .farm(try Farm(address, token: environment["SHEAF_TOKEN"] ?? ""))
  }
}

if arguments.count == 4 { try await reencodeConfined() } else { try await reencode() }
