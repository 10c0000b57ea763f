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
    let track = CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("still", use: whole, at: whole)])
    let edit = try Synthetic.edit(tracks: [track], codec: .ffv1, interval: 1)
    let plan = try RenderPlanner.plan(edit, assets: Synthetic.assets(["still": Synthetic.still()]))
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
      return try RenderPlanner.plan(edit, assets: assets, fonts: Synthetic.fonts(edit)).segments
    }
    let (before, after) = (try titled("one"), try titled("another"))
    #expect(before.map(\.frames) == after.map(\.frames))
    for (one, other) in zip(before, after) {
      let shows = one.frames.overlaps(330..<420)
      #expect((one.task == other.task) != shows, "frames \(one.frames)")
    }
  }

  @Test
  func `a task has the fonts of the texts that it shows, and a text without fonts is an error`() throws {
    var (edit, assets) = try oneClip(seconds: 60, interval: 60)
    edit.videoComposition.overlays = [
      Overlay(
        content: .text(StyledText(text: "one", size: 72)), over: try Synthetic.range(11, 14),
        placement: .anchor(.bottom, inset: 96))
    ]
    for segment in try RenderPlanner.plan(edit, assets: assets, fonts: Synthetic.fonts(edit)).segments {
      #expect(segment.task.fontDigests == (segment.frames.overlaps(330..<420) ? ["font"] : []))
    }
    let error = #expect(throws: PlanError.self) { try RenderPlanner.plan(edit, assets: assets) }
    #expect(error?.code == .fontsNotFound(text: "one"))
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
      try RenderPlanner.plan(
        edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 100)]),
        segmentDuration: MediaTime(value: 1, timescale: 3))
    }
    #expect(error?.code == .time(.overflow))
  }
}

/// The numbers of "Exact rules" in docs/architecture.md. Each test moves one place frame by frame and computes from the
/// rule where the segment must start. A nominal segment has 100 frames, so a frame is 0.01 of one.
struct BoundaryRuleTests {
  private static let rate: Int32 = 30
  private static let nominal = 100

  /// The penalty of a place, if all frames up to it cost as much as a plain one.
  /// - Parameter runUp: the frames of a source of the output's size that are decoded and not shown. To decode one costs
  ///   0.08 of encoding one, and a plain frame costs both.
  private func penalty(_ frame: Int, runUp: Int = 0, isPlain: Bool = false) -> Double {
    let distance = Double(frame - Self.nominal) / Double(Self.nominal)
    let decoding = Double(runUp) / Double(Self.nominal) * 0.08 / 1.08
    return 0.1 * distance * distance + decoding + (isPlain ? 0.03 : 0)
  }

  /// A clip that shows an asset from a frame of its source on.
  private func clip(_ asset: AssetID, from first: Int = 0, at frames: Range<Int>) throws -> Clip {
    Synthetic.clip(
      asset, use: try Synthetic.range(Int64(first), Int64(first + frames.count), Self.rate),
      at: try Synthetic.range(Int64(frames.lowerBound), Int64(frames.upperBound), Self.rate))
  }

  /// The segments of tracks that show `still`, a still picture, and `film`, which has a keyframe every `keyframes`
  /// frames. The multiples of the output's keyframe interval are 100 frames apart.
  private func segments(
    _ tracks: [Clip]..., keyframes: Int = 1000, filmSize: PixelSize = PixelSize(width: 1280, height: 720)
  ) throws -> [Segment] {
    let tracks = tracks.enumerated().map { CompositionTrack(id: "track \($0)", type: .video, clips: $1) }
    let assets = try Synthetic.assets([
      "still": Synthetic.still(), "film": Synthetic.film(frames: 1400, interval: keyframes, size: filmSize),
    ])
    return try RenderPlanner.plan(
      Synthetic.edit(tracks: tracks, interval: Self.nominal), assets: assets,
      segmentDuration: MediaTime(value: Int64(Self.nominal), timescale: Self.rate)
    ).segments
  }

  @Test
  func `a cut is preferred to a plain place while a tenth of its distance squared is below 0.03`() throws {
    var chosen: [Int] = []
    for cut in 101...199 {
      let segments = try segments([clip("still", at: 0..<cut), clip("still", at: cut..<350)])
      let isCut = penalty(cut) < penalty(Self.nominal, isPlain: true)
      #expect(segments[1].boundary == (isCut ? .cut : .keyframeInterval), "a cut at \(cut)")
      #expect(segments[1].frames.lowerBound == (isCut ? cut : Self.nominal), "a cut at \(cut)")
      if isCut { chosen.append(cut) }
    }
    #expect(chosen == Array(101...154))
  }

  @Test(arguments: [60, 65, 70, 75, 80])
  func `a keyframe before a cut is preferred if the cut's run-up costs more than its distance`(key: Int) throws {
    var runUps: [Int] = []
    for runUp in 0...40 {
      // The first clip shows the source's keyframe 1000 at frame `key`. The second starts `runUp` frames after
      // keyframe 0.
      let segments = try segments([
        clip("film", from: 1000 - key, at: 0..<Self.nominal), clip("film", from: runUp, at: Self.nominal..<350),
      ])
      let isCut = penalty(Self.nominal, runUp: runUp) < penalty(key)
      #expect(segments[1].boundary == (isCut ? .cut : .sourceKeyframe(asset: "film")), "a run-up of \(runUp)")
      #expect(segments[1].frames.lowerBound == (isCut ? Self.nominal : key), "a run-up of \(runUp)")
      if isCut { runUps.append(runUp) }
    }
    #expect(runUps.last == [60: 21, 65: 16, 70: 12, 75: 8, 80: 5][key])
  }

  @Test
  func `a boundary is 0.55 to 2.15 nominal segments after the last`() throws {
    for cut in 40...230 {
      // The first clip starts 200 frames after a keyframe, so that any plain place costs more than any cut.
      let segments = try segments([clip("film", from: 200, at: 0..<cut), clip("film", at: cut..<350)])
      let isReached = (55...215).contains(cut)
      let plain = penalty(
        Self.nominal, runUp: cut < Self.nominal ? Self.nominal - cut : 200 + Self.nominal, isPlain: true)
      #expect(penalty(cut) < plain)
      #expect(segments[1].frames.lowerBound == (isReached ? cut : Self.nominal), "a cut at \(cut)")
    }
  }

  @Test
  func `of places with equal penalties a cut is taken, then a keyframe`() throws {
    let cut = try segments([clip("film", at: 0..<100), clip("film", at: 100..<350)])
    #expect(cut[1].frames.lowerBound == 100)
    #expect(cut[1].boundary == .cut)
    let key = try segments([clip("film", from: 900, at: 0..<350)])
    #expect(key[1].frames.lowerBound == 100)
    #expect(key[1].boundary == .sourceKeyframe(asset: "film"))
  }

  @Test
  func `a rest of less than one and a half nominal segments stays in one`() throws {
    for frames in 50...260 {
      let starts = try segments([clip("still", at: 0..<frames)]).map(\.frames.lowerBound)
      let expected = [0, 100, 200].filter { $0 == 0 || frames - ($0 - 100) >= 150 }
      #expect(starts == expected, "\(frames) frames")
    }
  }

  @Test
  func `the last segment has at least a quarter of the nominal frames`() throws {
    for cut in 101...154 {
      let segments = try segments([clip("still", at: 0..<cut), clip("still", at: cut..<170)])
      #expect(segments.map(\.frames.lowerBound) == [0, cut <= 170 - 25 ? cut : 100], "a cut at \(cut)")
    }
  }

  /// The film over the still has 49 times the output's pixels, so a nominal segment's cost is that of 20 frames.
  @Test(arguments: [1, 1000])
  func `a segment of costly frames has at least a quarter of the nominal frames`(keyframes: Int) throws {
    for frames in 20...130 {
      let segments = try segments(
        [clip("film", at: 0..<frames)], [clip("still", at: 0..<frames)], keyframes: keyframes,
        filmSize: PixelSize(width: 7 * 1280, height: 7 * 720))
      let expected = (0..<max(1, frames / 25)).map { $0 * 25 }
      #expect(segments.map(\.frames.lowerBound) == expected, "\(frames) frames")
    }
  }

  @Test
  func `a frame costs its encoding, decoding, conversion and blending`() throws {
    func expect(_ cost: Double, _ segments: [Segment]) {
      #expect(abs(segments[0].cost / (10 * 1280 * 720) - cost) < 1e-9)
    }
    let (still, film) = (try clip("still", at: 0..<10), try clip("film", at: 0..<10))
    expect(1, try segments([still]))
    expect(1 + 0.08, try segments([film]))
    expect(1 + 0.08 / 2 + 0.1, try segments([film], filmSize: PixelSize(width: 1280, height: 360)))
    expect(1 + 0.03, try segments([still], [still]))
  }
}
