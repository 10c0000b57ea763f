import CompositionModel
import EditDocument
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// A film of stills on one track with a transition between each two, from the document to its frames.
@Suite struct SlideshowTests {
  private static let document = ##"""
    { "sheaf": 1,
      "assets": { "a": "a.png", "b": "b.png", "c": "c.png", "d": "d.png", "e": "e.png", "m": "m.png", "f": "f.mov" },
      "tracks": [ { "clips": [
        { "asset": "a", "duration": 2, "fit": "cover" },
        { "asset": "b", "duration": 2, "transition": 1 },
        { "asset": "c", "duration": 2, "transition": { "kind": "wipe", "direction": "up-right", "softness": 0.2 } },
        { "asset": "d", "duration": 2, "transition": { "kind": "push", "easing": "ease-in-out" }, "opacity": 0.8 },
        { "asset": "f", "use": "0..1/2", "loop": true, "duration": 2, "transition": { "kind": "luma", "matte": "m" } },
        { "asset": "e", "duration": 2, "transition": { "kind": "fade", "color": "#80ff00" } },
        { "asset": "a", "duration": 2, "transition": { "kind": "circle", "duration": "20f" } } ] } ],
      "videoComposition": { "renderSize": [98, 62], "frameDuration": "1/30", "background": "#203040" },
      "export": { "to": "out.mkv", "video": { "codec": "ffv1", "pixelFormat": "yuv420p" } } }
    """##

  private let folder: TemporaryFolder
  private var assets: [AssetID: PlannedAsset] = [:]
  private var inputs: [String: any ByteSource] = [:]
  private let edit: Edit

  init() throws {
    folder = try TemporaryFolder()
    let sizes = ["a": "120x62", "b": "60x90", "c": "99x61", "d": "98x62", "e": "200x40", "m": "64x64"]
    for (index, (name, size)) in sizes.sorted(by: { $0.key < $1.key }).enumerated() {
      let filters = name == "e" ? "format=rgba,colorchannelmixer=aa=0.6" : "hue=h=\(index * 50),format=rgb24"
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "testsrc2=size=\(size),\(filters)", "-frames:v", "1", folder.path("\(name).png"),
      ])
    }
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=98x62:rate=30", "-frames:v", "15", "-c:v", "ffv1", "-pix_fmt", "yuv420p",
      folder.path("f.mov"),
    ])
    let document = try Document.parse(Array(Self.document.utf8))
    var descriptions: [AssetID: AssetDescription] = [:]
    for (id, path, _) in document.assetPaths {
      let file = folder.path(path)
      let description = try AssetProbe.probe(openSource(file), name: file)
      descriptions[id] = description
      assets[id] = PlannedAsset(description: description, digest: "digest of \(id)")
      inputs["digest of \(id)"] = try openSource(file)
    }
    edit = try document.lower(assets: descriptions, output: nil)
  }

  private func film(_ segmentDuration: MediaTime) throws -> (segments: Int, frames: [[UInt8]]) {
    let plan = try RenderPlanner.plan(edit, assets: assets, segmentDuration: segmentDuration)
    var frames: [[UInt8]] = []
    for segment in plan.segments {
      try segment.task.check()
      let maker = try FrameMaker(segment.task, inputs: inputs)
      for index in 0..<segment.task.frameCount { frames.append(try maker.frame(index).packed) }
    }
    return (plan.segments.count, frames)
  }

  /// 7 clips of 2 s less five transitions of 1 s and one of 20 frames.
  @Test func `any cut into segments gives the same pictures`() throws {
    let whole = try film(MediaTime(seconds: 1000))
    #expect(whole.segments == 1 && whole.frames.count == 250)
    for (duration, fewest) in [(MediaTime(seconds: 1), 7), (MediaTime(value: 1, timescale: 6), 40)] {
      let cut = try film(duration)
      #expect(cut.segments >= fewest)
      #expect(cut.frames.count == whole.frames.count)
      for index in whole.frames.indices where cut.frames[index] != whole.frames[index] {
        Issue.record("frame \(index) differs in \(cut.segments) segments")
      }
    }
    // Between the transitions the pictures stand still.
    #expect(whole.frames[0] == whole.frames[29] && whole.frames[29] != whole.frames[31])
  }
}
