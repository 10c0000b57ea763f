import CompositionModel
import Digest
import EditDocument
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms

@testable import Renderer

/// A film that the product's own modules make in this process: its frames as they are before the encoder, and its sound
/// as the piece has it.
struct InProcessFilm {
  /// The SHA-256 of each frame, in hexadecimal.
  var frames: [String] = []
  /// Channels side by side, as integers of 24 bits.
  var samples: [Int32] = []
  var segmentCount = 0

  /// - Parameters:
  ///   - path: The document's one asset.
  ///   - segmentDuration: Nil: the default.
  init(
    _ document: String, of path: String, _ asset: AssetDescription, segmentDuration: String?,
    random: inout SeededRandom
  ) throws {
    let edit = try Document.parse(Array(document.utf8)).lower(assets: ["a": asset], output: "film.mkv")
    let digest = String(repeating: "0", count: 64)
    let length = segmentDuration.flatMap {
      MediaTime(notation: $0, frameDuration: edit.videoComposition.frameDuration)
    }
    let plan = try RenderPlanner.plan(
      edit, assets: ["a": PlannedAsset(description: asset, digest: digest)], segmentDuration: length)
    segmentCount = plan.segments.count
    frames = [String](repeating: "", count: plan.segments.isEmpty ? 0 : plan.frameCount)
    for segment in plan.segments.shuffled(using: &random) {
      let task = try JSONDecoder().decode(VideoTask.self, from: JSONEncoder().encode(segment.task))
      let maker = try FrameMaker(task, inputs: [digest: openSource(path)])
      for index in 0..<task.frameCount {
        frames[segment.frames.lowerBound + index] = SHA256Digest.of(try maker.frame(index).pixels).hex
      }
    }
    if let audio = plan.audio {
      let folder = try TemporaryFolder()
      let file = try folder.create("piece")
      try AudioRenderer.render(audio, inputs: [digest: openSource(path)], to: file.fileDescriptor) { _ in }
      for packet in try Pieces.read(Pieces.take(of: folder.path("piece"))).packets {
        packet.withBytes { samples += Data($0).samples24 }
      }
    }
  }
}
