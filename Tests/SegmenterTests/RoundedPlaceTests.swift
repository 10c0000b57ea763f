import CompositionModel
import Foundation
import TestPrograms
import Testing

@testable import RenderTasks
@testable import Segmenter

/// A film of clips whose places are rounded.
struct RoundedPlaceTests {
  private func film(clips count: Int, seed: UInt64) throws -> (edit: Edit, assets: [AssetID: PlannedAsset]) {
    var random = SeededRandom(seed: seed)
    let assets: [AssetID: AssetDescription] = [
      "a": try Synthetic.film(frames: 300), "b": try Synthetic.film(frames: 290, rate: 29),
      "c": try Synthetic.film(frames: 500, rate: 50, interval: 7),
    ]
    var (video, audio) = (CompositionTrack(id: "A", type: .video), CompositionTrack(id: "A.sound", type: .audio))
    for _ in 0..<count {
      let asset = ["a", "b", "c"].randomElement(using: &random) ?? "a"
      let timescale = Int32.random(in: 1...192_000, using: &random)
      let range = try MediaTimeRange(
        start: MediaTime(value: Int64.random(in: 0...3003, using: &random), timescale: 1001),
        duration: MediaTime(
          value: max(1, Int64(timescale) * Int64.random(in: 2...9, using: &random) / 7), timescale: timescale))
      let part = AssetRange(asset: asset, contents: try #require(assets[asset]), range: range)
      try video.insert(part)
      try audio.insert(part)
    }
    return (try Synthetic.edit(tracks: [video, audio]), Synthetic.assets(assets))
  }

  /// The stored timestamp of the frame that each frame of the film shows, as its tasks have it.
  private func shown(_ plan: RenderPlan) throws -> [String] {
    var shown: [String] = []
    for segment in plan.segments {
      for span in segment.task.spans {
        for frame in span.frames {
          guard case .clip(let layer)? = span.layers.first else {
            shown.append("nothing")
            continue
          }
          let source = segment.task.sources[layer.source]
          let time = try layer.sourceTime(
            at: MediaTime(value: Int64(frame), timescale: 1) * (segment.task.format.frameDuration.exact))
          shown.append("\(source.digest) \(try (time / source.timebase.exact).floor / 512)")
        }
      }
    }
    return shown
  }

  @Test func `every frame shows the same picture, however the film is cut`() throws {
    let (edit, assets) = try film(clips: 16, seed: 3)
    let plan = try RenderPlanner.plan(edit, assets: assets)
    #expect((plan.roundedPlaces?.count ?? 0) > 20)
    let expected = try (0..<plan.frameCount).map { number in
      let time = try edit.videoComposition.frameDuration * Rational(number)
      let clip = try #require(edit.composition.tracks[0].clips.first { $0.target.contains(time) })
      let timebase = try #require(assets[clip.asset]).description.tracks[0].timebase
      // At its own speed, from the rounded place.
      let source = try clip.source.start.exact + time.exact - clip.target.start.exact
      return "digest of \(clip.asset) \(try (source / timebase.exact).floor / 512)"
    }
    #expect(try shown(plan) == expected)
    for duration in ["1/3", "1001/997"] {
      let other = try RenderPlanner.plan(edit, assets: assets, segmentDuration: MediaTime(duration))
      #expect(try shown(other) == expected)
      #expect(other.audio == plan.audio)
    }
  }

  @Test func `clips of sound share their edit points and keep their speed`() throws {
    let (edit, assets) = try film(clips: 60, seed: 4)
    let task = try #require(try RenderPlanner.plan(edit, assets: assets).audio?.mixes.first)
    let clips = task.tracks[0].clips
    #expect(clips.count == 60)
    for (clip, next) in zip(clips, clips.dropFirst()) {
      #expect(clip.targetRange.end == next.targetRange.start)
      #expect(clip.sourceRange.duration == clip.targetRange.duration && clip.pitch == nil)
    }
    // What is read from the task's JSON is the same.
    #expect(try JSONDecoder().decode(AudioMixdown.self, from: JSONEncoder().encode(task)) == task)
  }
}
