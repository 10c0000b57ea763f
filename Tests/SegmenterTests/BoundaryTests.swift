import CompositionModel
import Testing

@testable import Segmenter

struct BoundaryTests {
  private func oneClip(seconds: Int64, interval: Int) throws -> (Edit, [AssetID: PlannedAsset]) {
    let whole = try Synthetic.range(0, seconds)
    let track = CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    let film = try Synthetic.film(frames: Int(seconds) * 30, interval: interval)
    return (try Synthetic.edit(tracks: [track]), Synthetic.assets(["a": film]))
  }

  @Test
  func `segments of a plain clip start where its source has keyframes`() throws {
    let (edit, assets) = try oneClip(seconds: 60, interval: 130)
    let plan = try RenderPlanner.plan(edit, assets: assets, segmentDuration: MediaTime(seconds: 5))
    #expect(plan.segments.count > 8)
    for segment in plan.segments.dropFirst() {
      #expect(segment.boundary == .sourceKeyframe(asset: "a"))
      #expect(segment.frames.lowerBound % 130 == 0)
      #expect(segment.task.sources[0].decodeFrom?.pts == Int64(segment.frames.lowerBound) * 512)
    }
  }

  @Test(arguments: [(30, 150), (31, 225), (120, 225), (121, 300), (600, 300), (601, 600)])
  func `segments of a long film are longer`(seconds: Int64, frames: Int) throws {
    let whole = try Synthetic.range(0, seconds)
    let track = CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    let edit = try Synthetic.edit(tracks: [track], codec: .ffv1, interval: 1)
    let plan = try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["a": try Synthetic.film(frames: Int(seconds) * 30, interval: 1)]))
    #expect(plan.segments.count > 1)
    #expect(plan.segments.dropLast(2).allSatisfy { $0.frames.count == frames }, "\(plan.segments.map(\.frames))")
  }

  @Test
  func `without a keyframe or a cut nearby they start at multiples of the keyframe interval`() throws {
    let (edit, assets) = try oneClip(seconds: 60, interval: 100_000)
    let plan = try RenderPlanner.plan(edit, assets: assets)
    for segment in plan.segments.dropFirst() {
      #expect(segment.boundary == .keyframeInterval)
      #expect(segment.frames.lowerBound % 60 == 0)
    }
  }

  @Test
  func `a segment starts at a cut that is nearby`() throws {
    let clips = try [(0, 143), (143, 300), (300, 451), (451, 600)].map { start, end in
      Synthetic.clip("a", use: try Synthetic.range(0, end - start, 30), at: try Synthetic.range(start, end, 30))
    }
    let edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: clips)])
    let plan = try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["a": try Synthetic.film(frames: 300, interval: 300)]))
    #expect(plan.segments.map(\.frames.lowerBound) == [0, 143, 300, 451])
    #expect(plan.segments.dropFirst().allSatisfy { $0.boundary == .cut })
  }

  @Test(arguments: [1, 7, 40])
  func `a film can be cut into about as many segments as are asked for`(count: Int64) throws {
    let whole = try Synthetic.range(0, 20)
    let track = CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    let edit = try Synthetic.edit(tracks: [track], codec: .ffv1, interval: 1)
    let plan = try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["a": try Synthetic.film(frames: 600, interval: 1)]),
      segmentDuration: MediaTime(value: 20, timescale: Int32(count)))
    #expect(abs(plan.segments.count - Int(count)) <= max(0, Int(count) / 10))
  }

  @Test
  func `no segment of an even film costs less than a third of another`() throws {
    for seconds: Int64 in [7, 11, 29, 61, 300] {
      let (edit, assets) = try oneClip(seconds: seconds, interval: 48)
      let costs = try RenderPlanner.plan(edit, assets: assets).segments.map(\.cost)
      #expect(try #require(costs.max()) < 2.9 * (try #require(costs.min())), "\(seconds) s: \(costs)")
    }
  }

  @Test
  func `a change of a title leaves every segment that does not show it as it was`() throws {
    let (edit, assets) = try oneClip(seconds: 60, interval: 60)
    func titled(_ text: String) throws -> [Segment] {
      var edit = edit
      edit.videoComposition.overlays = [
        Overlay(
          content: .text(StyledText(text: text, size: 72)), over: try Synthetic.range(11, 14),
          placement: .anchor(.bottom, inset: 96))
      ]
      return try RenderPlanner.plan(edit, assets: assets).segments
    }
    let (before, after) = (try titled("one"), try titled("another"))
    #expect(before.map(\.frames) == after.map(\.frames))
    for (one, other) in zip(before, after) {
      let shows = one.frames.overlaps(330..<420)
      #expect((one.task == other.task) != shows, "frames \(one.frames)")
    }
  }

  @Test
  func `a longer end leaves the segments before it as they were`() throws {
    func plan(_ second: Int64) throws -> [Segment] {
      let clips = [
        Synthetic.clip("a", use: try Synthetic.range(0, 60), at: try Synthetic.range(0, 60)),
        Synthetic.clip("a", use: try Synthetic.range(0, second), at: try Synthetic.range(60, 60 + second)),
      ]
      let edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: clips)])
      return try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 1800)])).segments
    }
    let (before, after) = (try plan(10), try plan(30))
    let untouched = before.prefix { $0.frames.upperBound <= 60 * 30 }
    #expect(untouched.count > 6)
    #expect(Array(after.prefix(untouched.count)).map(\.task) == untouched.map(\.task))
  }

  @Test
  func `a gap before a large source in a tiny frame is planned, in segments of some length`() throws {
    let clip = Synthetic.clip("a", use: try Synthetic.range(1, 2), at: try Synthetic.range(1, 4, 3))
    var edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])])
    edit.videoComposition.renderSize = PixelSize(width: 2, height: 2)
    let plan = try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 100)]))
    #expect(plan.segments.last?.frames.upperBound == plan.frameCount)
    #expect(plan.segments.count <= 2)
  }

  @Test
  func `a time that cannot be kept exactly is an error with its subject`() throws {
    let clip = Synthetic.clip(
      "a", use: try Synthetic.range(0, 2_147_483_629, 2_147_483_629),
      at: try Synthetic.range(1, 2_147_483_588, 2_147_483_587))
    let edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])])
    let error = #expect(throws: PlanError.self) {
      try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 100)]), segmentDuration: .zero)
    }
    #expect(error?.code == .time(.overflow))
  }
}
