import CompositionModel
import TestPrograms
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Films whose keyframes are at the multiples of an interval. The reference for a keyframe is its definition: the first
/// frame at or after a multiple, found among all frames.
struct KeyframeGridTests {
  /// The keyframes of a film by their definition.
  private func keyframes(every interval: Rational, in count: Int) throws -> [Int] {
    var found: [Int] = []
    var multiple = 0
    for frame in 0..<count where try interval * Rational(multiple) <= Rational(frame) {
      found.append(frame)
      while try interval * Rational(multiple) <= Rational(frame) { multiple += 1 }
    }
    return found
  }

  @Test(arguments: [(60, 1), (60_000, 1001), (50_000, 1001), (5, 2), (11, 10), (999_999, 100_000)])
  func `each keyframe is the first frame at or after its multiple`(numerator: Int, denominator: Int) throws {
    let interval = try Rational(Int128(numerator), Int128(denominator))
    let grid = try #require(KeyframeGrid(interval: interval))
    let expected = try keyframes(every: interval, in: 2000)
    #expect(grid.keyframes(in: 0..<2000) == expected)
    #expect(grid.keyframes(in: 777..<1501) == expected.filter { 777 <= $0 && $0 < 1501 })
    let longest = zip(expected, expected.dropFirst()).map { $1 - $0 }.max()
    #expect(grid.longest == longest)
    for frame in 0..<(expected.last ?? 0) {
      let nearest = expected.min { (abs($0 - frame), -$0) < (abs($1 - frame), -$1) }
      if grid.nearest(to: frame) != nearest { Issue.record("\(frame): \(grid.nearest(to: frame))") }
    }
  }

  @Test func `an interval of a frame or less has no grid`() throws {
    #expect(KeyframeGrid(interval: .one) == nil)
    #expect(KeyframeGrid(interval: try Rational(1, 2)) == nil)
    #expect(KeyframeGrid(interval: try Rational(Int128(Int64.max) * 4 + 1, 2)) == nil)
  }

  private func film(_ interval: Rational, frameDuration: MediaTime) throws -> (Edit, [AssetID: PlannedAsset]) {
    var clips: [Clip] = []
    var start: Int64 = 0
    for (asset, count) in [("a", 143), ("b", 400), ("a", 31), ("b", 17), ("a", 900)] as [(AssetID, Int64)] {
      let target = try MediaTimeRange(
        start: frameDuration * Rational(start), duration: frameDuration * Rational(count))
      clips.append(Clip(asset: asset, sourceTrack: 0, source: target, target: target))
      start += count
    }
    var edit = try Synthetic.edit(
      tracks: [CompositionTrack(id: "A", type: .video, clips: clips)], frameDuration: frameDuration)
    let grid = try #require(KeyframeGrid(interval: interval))
    edit.export.video?.keyframeGrid = grid
    edit.export.video?.keyframeInterval = grid.longest
    let assets = Synthetic.assets([
      "a": try Synthetic.film(frames: 4000, interval: 37),
      "b": try Synthetic.film(frames: 4000, rate: 25, interval: 90),
    ])
    return (edit, assets)
  }

  @Test(arguments: [("1", 5), ("1", 60), ("2", 1), ("3/5", 2), ("41/3", 5)], [(1, 30), (1001, 30000)])
  func `segments begin at keyframes of the film, and their tasks have those`(
    times: (interval: String, segment: Int64), frame: (Int64, Int32)
  ) throws {
    let parts = times.interval.split(separator: "/").compactMap { Int128($0) }
    let frameDuration = MediaTime(value: frame.0, timescale: frame.1)
    let interval = try Rational(parts[0], parts.count > 1 ? parts[1] : 1) / frameDuration.exact
    let (edit, assets) = try film(interval, frameDuration: frameDuration)
    let plan = try RenderPlanner.plan(edit, assets: assets, segmentDuration: MediaTime(seconds: times.segment))
    let expected = try keyframes(every: interval, in: plan.frameCount)
    let grid = try #require(edit.export.video?.keyframeGrid)
    var found: [Int] = []
    for segment in plan.segments {
      let own = segment.task.keyframes ?? grid.keyframes(in: 0..<segment.frames.count)
      #expect(segment.task.frameCount == segment.frames.count)
      found += own.map { $0 + segment.frames.lowerBound }
    }
    #expect(found == expected)
    #expect(plan.segments.count > 1 || expected.count < 4)
    if interval.denominator == 1 { #expect(plan.segments.allSatisfy { $0.task.keyframes == nil }) }
  }
}
