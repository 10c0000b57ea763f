import CompositionModel
import TestPrograms
import Testing

@testable import RenderTasks
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

  @Test(arguments: [30, 31, 120, 121, 600, 3600])
  func `the length of segments does not depend on the film's`(seconds: Int64) throws {
    let (edit, assets) = try oneClip(seconds: seconds, interval: 1)
    let plan = try RenderPlanner.plan(edit, assets: assets)
    #expect(plan.segments.count == Int(seconds + 3) / 5)
    #expect(plan.segments.dropLast().allSatisfy { $0.frames.count == 150 }, "\(plan.segments.map(\.frames))")
  }

  @Test
  func `a segment starts at each cut`() throws {
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
    // The speed alone takes 94 bits, and the time since the clip's start 36. All but the 30 are primes.
    let length = try MediaTime(Rational(9_223_372_036_854_775_783, 9_223_372_036_854_775_337))
    let target = try MediaTimeRange(
      start: MediaTime(value: 1, timescale: 2_147_483_587),
      duration: MediaTime(value: 2_147_483_629, timescale: 2_147_483_579))
    let clip = Synthetic.clip("a", use: try MediaTimeRange(start: .zero, duration: length), at: target)
    let edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])])
    let error = #expect(throws: PlanError.self) {
      try RenderPlanner.plan(
        edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 100, rate: 25)]),
        segmentDuration: MediaTime(value: 7, timescale: 30))
    }
    #expect(error?.code == .time(.overflow))
  }
}

/// The numbers of "Exact rules" in docs/architecture.md. A nominal segment has 100 frames.
struct BoundaryRuleTests {
  private static let rate: Int32 = 30
  private static let nominal = 100

  /// A clip that shows an asset from a frame of its source on.
  private func clip(_ asset: AssetID, from first: Int = 0, at frames: Range<Int>) throws -> Clip {
    Synthetic.clip(
      asset, use: try Synthetic.range(Int64(first), Int64(first + frames.count), Self.rate),
      at: try Synthetic.range(Int64(frames.lowerBound), Int64(frames.upperBound), Self.rate))
  }

  /// The segments of tracks that show `still`, a still picture, and `film`, which has a keyframe every `keyframes`
  /// frames.
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

  /// The starts of the segments of a clip that shows the film from a frame of it on, as frames of the film.
  private func starts(from first: Int, keyframes: Int, count: Int = 1000) throws -> [Int] {
    try segments([clip("film", from: first, at: 0..<count)], keyframes: keyframes).dropFirst()
      .map { $0.frames.lowerBound + first }
  }

  @Test(arguments: [0, 1, 30, 99, 100, 101, 250])
  func `a clip is cut at multiples of the nominal length in its source, wherever it starts`(first: Int) throws {
    let expected = (1...13).map { $0 * 100 }.filter { $0 >= first + 25 && $0 <= first + 1000 - 25 }
    #expect(try starts(from: first, keyframes: 1) == expected)
    #expect(try starts(from: first, keyframes: 100_000) == expected)
  }

  @Test(arguments: [7, 12, 30, 48, 60, 90, 99, 101])
  func `a multiple moves to the nearest keyframe within half of the nominal length`(keyframes: Int) throws {
    let keys = stride(from: 0, to: 1400, by: keyframes)
    let expected = (1...9).map { multiple in keys.min { abs($0 - multiple * 100) < abs($1 - multiple * 100) } ?? 0 }
    #expect(try starts(from: 0, keyframes: keyframes) == expected.filter { $0 <= 975 })
  }

  @Test
  func `a multiple without a keyframe is left out if the one before or after it has one`() throws {
    #expect(try starts(from: 0, keyframes: 200) == [200, 400, 600, 800])
    #expect(try starts(from: 0, keyframes: 170) == [170, 340, 510, 680, 850])
    // 600 is the only keyframe, so 500 and 700 are left out.
    #expect(try starts(from: 0, keyframes: 600) == [100, 200, 300, 400, 600, 800, 900])
  }

  @Test
  func `a multiple without a keyframe stays if a title is shown between the keyframes around it`() throws {
    func starts(_ titles: Range<Int64>...) throws -> [Int] {
      let clip = try clip("film", at: 0..<1000)
      let edit = try Synthetic.edit(
        tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])],
        overlays: titles.map {
          Overlay(
            content: .text(StyledText(text: "title", size: 20)),
            over: try Synthetic.range($0.lowerBound, $0.upperBound, Self.rate), placement: .anchor(.center, inset: 0))
        })
      return try RenderPlanner.plan(
        edit, assets: Synthetic.assets(["film": Synthetic.film(frames: 1400, interval: 200)]),
        fonts: Synthetic.fonts(edit), segmentDuration: MediaTime(value: Int64(Self.nominal), timescale: Self.rate)
      ).segments.dropFirst().map(\.frames.lowerBound)
    }
    #expect(try starts() == [200, 400, 600, 800])
    #expect(try starts(20..<80) == [100, 200, 400, 600, 800])
    #expect(try starts(399..<590) == [200, 300, 400, 500, 600, 800])
    #expect(try starts(400..<600, 0..<1) == [100, 200, 400, 500, 600, 800])
    #expect(try starts(0..<201, 300..<900) == [200, 400, 600, 800], "overlays that are shown for long")
  }

  @Test(arguments: [(1, 2), (3, 2), (2, 1)])
  func `at another speed the multiples are further apart in the source`(numerator: Int64, denominator: Int64) throws {
    let use = try Synthetic.range(0, 600 * numerator / denominator, Self.rate)
    let clip = Synthetic.clip("film", use: use, at: try Synthetic.range(0, 600, Self.rate))
    let starts = try segments([clip], keyframes: 100_000).map(\.frames.lowerBound)
    #expect(starts == [0, 100, 200, 300, 400, 500])
  }

  @Test
  func `a place that is less than a quarter of the nominal length from a cut or an end is left out`() throws {
    for cut in 1..<250 {
      let starts = try segments([clip("film", from: 10, at: 0..<cut), clip("still", at: cut..<250)], keyframes: 1)
        .map(\.frames.lowerBound)
      let isCut = (25...225).contains(cut)
      let inFilm = [90, 190].filter { $0 <= cut - (isCut ? 25 : 1) && $0 >= 25 && $0 <= 225 }
      let inStill = [cut + 100, cut + 200].filter { $0 <= 225 && $0 - (inFilm.last ?? 0) >= 25 }
      #expect(starts == [0] + inFilm + (isCut ? [cut] : []) + inStill, "a cut at \(cut)")
    }
  }

  @Test
  func `of cuts that are too near to each other the one with the lower hash is taken, wherever the film is`() throws {
    // Clips of ten frames, so that a segment has three or more.
    var random = SeededRandom(seed: 1)
    let firsts = (0..<60).map { _ in Int.random(in: 0..<1300, using: &random) }
    func starts(_ firsts: ArraySlice<Int>) throws -> [[Int]] {
      let clips = try firsts.enumerated().map { try clip("film", from: $1, at: ($0 * 10)..<($0 * 10 + 10)) }
      let segments = try segments(clips)
      #expect(segments.allSatisfy { $0.frames.count >= 25 })
      return segments.map {
        Array(firsts[(firsts.startIndex + $0.frames.lowerBound / 10)..<(firsts.startIndex + $0.frames.upperBound / 10)])
      }
    }
    let whole = try starts(firsts[...])
    #expect(whole.count > 12)
    for removed in 1..<30 {
      let rest = try starts(firsts[removed...])
      #expect(rest.filter { whole.contains($0) }.count >= rest.count - 3, "without the first \(removed)")
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
    expect(1 + 0.08 / 2 + 0.2, try segments([film], filmSize: PixelSize(width: 1280, height: 360)))
    expect(1 + 0.03, try segments([still], [still]))
  }

  /// Files of which the time of a frame was measured, at 720p.
  @Test(
    arguments: [
      // A lecture, a talk before a green screen, a trailer, flowers in the wind.
      ("h264", 0.009, 0.5), ("h264", 0.005, 0.4), ("h264", 0.046, 1), ("h264", 0.099, 1.3), ("av1", 0.025, 1),
      ("prores", 3.0, 1.6), ("h264", 0, 0.17),
    ])
  func `pictures with few bits take less of an encoder`(codec: String, bits: Double, detail: Double) {
    #expect(abs(CostModel.detail(CostModel.bits(ofPixel: bits, codec: codec)) - detail) < 0.06)
  }
}
