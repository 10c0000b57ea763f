import CompositionModel
import TestPrograms
import Testing

@testable import Segmenter

/// Each frame of a segment's task must show the same as the edit. The reference is the edit itself, evaluated at
/// n·frameDuration.
struct SegmentContentTests {
  @Test(arguments: 1...60)
  func `every frame of a random edit shows in its segment what the edit shows there`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let assets = Synthetic.assets([
      "a": try Synthetic.film(frames: 900, interval: 250), "b": try Synthetic.film(frames: 700, rate: 25, origin: 9000),
      "still": try Synthetic.still(),
    ])
    let edit = try randomEdit(&random)
    let segmentDuration = MediaTime(value: Int64.random(in: 4...80, using: &random), timescale: 10)
    let plan = try RenderPlanner.plan(edit, assets: assets, segmentDuration: segmentDuration)

    #expect(plan.segments.first?.frames.lowerBound == 0)
    #expect(plan.segments.last?.frames.upperBound == plan.frameCount)
    for (one, next) in zip(plan.segments, plan.segments.dropFirst()) {
      #expect(one.frames.upperBound == next.frames.lowerBound)
    }
    for segment in plan.segments {
      #expect(segment.task.frameCount == segment.frames.count)
      #expect(segment.task.spans.map(\.frames.count).reduce(0, +) == segment.frames.count)
      for frame in segment.frames { try compare(frame, of: segment, with: edit) }
    }
  }

  private func compare(_ frame: Int, of segment: Segment, with edit: Edit) throws {
    let time = try edit.videoComposition.frameDuration * Rational(frame)
    let local = frame - segment.frames.lowerBound
    let localTime = try edit.videoComposition.frameDuration * Rational(local)
    let span = try #require(segment.task.spans.first { $0.frames.contains(local) })
    var expected: [(digest: String, time: Rational?, opacity: Double)] = []
    for layer in edit.videoComposition.instructions[0].layers {
      guard case .track(let layer) = layer, let track = edit.composition.track(layer.track),
        let clip = track.clips.first(where: { $0.target.contains(time) })
      else { continue }
      let isStill = clip.source.isEmpty
      expected.append(
        ("digest of \(clip.asset)", isStill ? nil : try clip.sourceTime(at: time), try layer.opacity.value(at: time)))
    }
    #expect(span.layers.count == expected.count)
    for (layer, expected) in zip(span.layers, expected) {
      guard case .clip(let layer) = layer else {
        Issue.record("a plain edit has no dissolve")
        return
      }
      let source = segment.task.sources[layer.source]
      #expect(source.digest == expected.digest)
      if let time = expected.time {
        let shown = try layer.sourceTime(at: localTime)
        #expect(shown == time)
        // Decoding must start at or before what is shown.
        if let key = source.decodeFrom {
          let keyTime = try source.timebase.exact * Rational(key.pts - source.origin)
          #expect(keyTime <= max(shown, .zero))
        }
      }
      #expect(abs(try layer.opacity.value(at: localTime) - expected.opacity) < 1e-12)
    }
  }

  private func randomEdit(_ random: inout SeededRandom) throws -> Edit {
    var tracks: [CompositionTrack] = []
    var layers: [Layer] = []
    for id in ["A", "B"] {
      var clips: [Clip] = []
      var end = Int64.random(in: 0...40, using: &random)
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        let length = Int64.random(in: 1...90, using: &random)
        let target = try Synthetic.range(end, end + length, 10)
        let kind = Int.random(in: 0...3, using: &random)
        let from = Int64.random(in: 0...100, using: &random)
        switch kind {
        case 0: clips.append(Synthetic.clip("still", use: try Synthetic.range(0, 0), at: target))
        case 1:
          let used = length * Int64.random(in: 1...2, using: &random)
          clips.append(Synthetic.clip("b", use: try Synthetic.range(from, from + used, 10), at: target))
        default: clips.append(Synthetic.clip("a", use: try Synthetic.range(from, from + length, 10), at: target))
        }
        end += length + Int64.random(in: 0...1, using: &random) * Int64.random(in: 0...30, using: &random)
      }
      tracks.append(CompositionTrack(id: id, type: .video, clips: clips))
      var ramps: [Ramp] = []
      var time: Int64 = 0
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        time += Int64.random(in: 0...50, using: &random)
        let length = Int64.random(in: 0...40, using: &random)
        ramps.append(
          Ramp(
            over: try Synthetic.range(time, time + length, 10), from: Double.random(in: 0...1, using: &random),
            to: Double.random(in: 0...1, using: &random)))
        time += length
      }
      layers.append(.track(TrackLayer(track: id, opacity: RampList(ramps))))
    }
    let frameDuration = [
      MediaTime(value: 1, timescale: 30), MediaTime(value: 1001, timescale: 30000), MediaTime(value: 1, timescale: 24),
    ].randomElement(using: &random)
    return try Synthetic.edit(tracks: tracks, frameDuration: try #require(frameDuration), layers: layers)
  }
}
