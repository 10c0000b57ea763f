import CompositionModel
import TestPrograms
import Testing

@testable import RenderTasks
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
      for frame in segment.frames { try compare(frame, of: segment, with: edit, assets) }
    }
  }

  @Test func `a clip between the frames of an uneven source shows those that are due`() throws {
    // 15 frames a second in times of 1/100 s: 0, 7, 13, 20, …, so that some steps are those of the output and some are
    // not.
    var film = try Synthetic.film(frames: 120, interval: 120)
    film.tracks[0].timebase = MediaTime(value: 1, timescale: 100)
    film.tracks[0].video?.frames = FrameTimes((0..<60).map { ($0 * 20 + 1) / 3 })
    let assets = Synthetic.assets(["a": film])
    let frameDuration = MediaTime(value: 7, timescale: 100)
    for count in [1, 2, 3, 5] as [Int64] {
      let target = try Synthetic.range(0, 7 * count, 100)
      for start in stride(from: 999 as Int64, to: 30_000, by: 100) {
        let use = try Synthetic.range(start, start + 700 * count, 10_000)
        let track = CompositionTrack(id: "t", type: .video, clips: [Synthetic.clip("a", use: use, at: target)])
        let edit = try Synthetic.edit(tracks: [track], frameDuration: frameDuration)
        for segment in try RenderPlanner.plan(edit, assets: assets).segments {
          for frame in segment.frames { try compare(frame, of: segment, with: edit, assets) }
        }
      }
    }
  }

  /// Its frame is damaged, and was to be shown: the renderer reports that by the time.
  @Test(arguments: [1, 2, 20] as [Int64])
  func `a clip that begins with a frame that the source has lost begins at the time of that frame`(
    count: Int64
  ) throws {
    var film = try Synthetic.film(frames: 60)
    film.tracks[0].video?.frames = FrameTimes((0..<60).filter { $0 != 10 }.map { $0 * 512 })
    let clip = Synthetic.clip(
      "a", use: try Synthetic.range(10, 10 + count, 30), at: try Synthetic.range(0, count, 30))
    let edit = try Synthetic.edit(
      tracks: [CompositionTrack(id: "t", type: .video, clips: [clip])],
      frameDuration: MediaTime(value: 1, timescale: 30))
    let segments = try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": film])).segments
    guard case .clip(let first)? = segments.first?.task.spans.first?.layers.first else {
      Issue.record("the clip is not in the first task")
      return
    }
    #expect(try first.sourceTime(at: .zero) == Rational(1, over: 3))
  }

  /// The tasks of clips of "a", which fills the frame, of "wide", which leaves a border, and of a still with alpha: the
  /// first is on top.
  private func tasks(
    _ assets: [AssetID], opacity: RampList = .one, background: Color = .black
  ) throws -> [VideoTask] {
    let whole = try Synthetic.range(0, 4)
    let tracks = try assets.enumerated().map { number, asset in
      CompositionTrack(
        id: "track \(number)", type: .video,
        clips: [Synthetic.clip(asset, use: asset == "still" ? try Synthetic.range(0, 0) : whole, at: whole)])
    }
    let layers = tracks.enumerated().map { number, track in
      Layer.track(TrackLayer(track: track.id, opacity: number == 0 ? opacity : .one))
    }
    var edit = try Synthetic.edit(tracks: tracks, layers: layers)
    edit.videoComposition.instructions[0].background = background
    return try RenderPlanner.plan(
      edit,
      assets: Synthetic.assets([
        "a": Synthetic.film(frames: 200), "b": Synthetic.film(frames: 200), "still": Synthetic.still(),
        "wide": Synthetic.film(frames: 200, size: PixelSize(width: 1280, height: 640)),
      ])
    ).segments.map(\.task)
  }

  @Test
  func `what an opaque picture that fills the frame hides is not in the task`() throws {
    let alone = try tasks(["a"])
    #expect(try tasks(["a"], background: .white) == alone)
    #expect(try tasks(["a", "b", "still"]) == alone)
    #expect(try tasks(["wide", "a", "b"], background: .white) == tasks(["wide", "a"]))
  }

  @Test(arguments: [(-8.0, true), (8.0, false)])
  func `a picture that moves hides what is below if it always covers the frame`(left: Double, hides: Bool) throws {
    let whole = try Synthetic.range(0, 4)
    let tracks = ["a", "b"].map {
      CompositionTrack(id: $0, type: .video, clips: [Synthetic.clip($0, use: whole, at: whole)])
    }
    let moving = LayerGeometry(
      frame: ValueRampList([
        ValueRamp(
          over: whole, from: Rectangle(x: -64, y: -36, width: 1408, height: 792),
          to: Rectangle(x: left, y: -36, width: 1408, height: 792))
      ]))
    let edit = try Synthetic.edit(
      tracks: tracks,
      layers: [.track(TrackLayer(track: "a", fit: .fill, geometry: moving)), .track(TrackLayer(track: "b"))])
    let tasks = try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 200), "b": Synthetic.film(frames: 200)])
    ).segments.map(\.task)
    #expect(Set(tasks.flatMap(\.sources).map(\.digest)).count == (hides ? 1 : 2))
  }

  @Test
  func `filters, masks, pictures that move and overlays cost something`() throws {
    let whole = try Synthetic.range(0, 4)
    func cost(_ change: (inout TrackLayer, inout Edit) throws -> Void) throws -> Double {
      let tracks = ["a", "b"].map {
        CompositionTrack(id: $0, type: .video, clips: [Synthetic.clip($0, use: whole, at: whole)])
      }
      var layer = TrackLayer(track: "a")
      var edit = try Synthetic.edit(tracks: tracks)
      try change(&layer, &edit)
      edit.videoComposition.instructions[0].layers = [.track(layer)]
      return try RenderPlanner.plan(
        edit,
        assets: Synthetic.assets([
          "a": Synthetic.film(frames: 200), "b": Synthetic.film(frames: 200), "still": Synthetic.still(),
        ]), fonts: Synthetic.fonts(edit)
      ).segments.map(\.cost).reduce(0, +)
    }
    let plain = try cost { _, _ in }
    #expect(try cost { layer, _ in layer.filters = [.blur(radius: try .constant(9))] } > plain * 1.1)
    #expect(try cost { layer, _ in layer.geometry = LayerGeometry() } > plain * 1.05)
    #expect(try cost { layer, _ in layer.mask = LayerMask(.track("b"), channel: .luma) } > plain * 1.2)
    let graded = try cost { _, edit in edit.videoComposition.filters = [.contrast(amount: try .constant(2))] }
    #expect(graded > plain * 1.02)
    func overlay(_ seconds: Int64) throws -> Double {
      try cost { _, edit in
        edit.videoComposition.overlays = [
          Overlay(
            content: .video(OverlayVideo(asset: "b", sourceTrack: 0, source: whole, turns: nil)),
            over: try Synthetic.range(0, seconds), placement: .point(x: 0, y: 0))
        ]
      }
    }
    #expect(try overlay(1) > plain * 1.02)
    #expect(abs((try overlay(4) - plain) / (try overlay(1) - plain) - 4) < 0.01)
  }

  @Test
  func `what is below a border, alpha or an opacity below one is in the task`() throws {
    let half = try RampList.constant(0.5)
    for (top, opacity) in [("wide", RampList.one), ("still", .one), ("a", half)] as [(AssetID, RampList)] {
      #expect(try tasks([top], opacity: opacity) != tasks([top], opacity: opacity, background: .white))
      #expect(try tasks([top, "b"], opacity: opacity).allSatisfy { $0.sources.count == 2 })
    }
    let late = RampList([Ramp(over: try Synthetic.range(3, 4), from: 1, to: 0)])
    #expect(try tasks(["a", "b"], opacity: late).allSatisfy { $0.sources.count == 2 })
  }

  /// The source has the output's rate, so that a clip shows the same frames wherever it starts between two of them.
  @Test
  func `a clip has the same tasks wherever it lies between the output's frames`() throws {
    func tasks(at start: MediaTime) throws -> [VideoTask] {
      let length = MediaTime(seconds: 14)
      let clip = Synthetic.clip(
        "a", use: try MediaTimeRange(start: MediaTime(seconds: 3), duration: length),
        at: try MediaTimeRange(start: start, duration: length))
      let edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])])
      return try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 600)])).segments
        .map(\.task)
    }
    let first = try tasks(at: .zero)
    #expect(first.count == 3)
    for start in [
      MediaTime(value: 1, timescale: 90), MediaTime(value: 7, timescale: 1000), MediaTime(value: 2, timescale: 3),
    ] {
      let moved = try tasks(at: start)
      #expect(first.dropFirst().allSatisfy { moved.contains($0) }, "at \(start)")
    }
  }

  /// The noise of a frame is made from the time since then, which is the same however the film is cut.
  @Test func `grain begins with its clip in each task`() throws {
    let (start, length) = (MediaTime(value: 5, timescale: 7), MediaTime(seconds: 9))
    let clip = Synthetic.clip(
      "a", use: try MediaTimeRange(start: .zero, duration: length),
      at: try MediaTimeRange(start: start, duration: length))
    func grain(_ time: MediaTime) throws -> [Filter<RampList>] {
      [.grain(amount: try .constant(0.1), size: try .constant(2), seed: .one, time: time)]
    }
    var layer = TrackLayer(track: "A")
    layer.filters = try grain(start)
    var edit = try Synthetic.edit(
      tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])], layers: [.track(layer)])
    edit.videoComposition.filters = try grain(.zero)
    for seconds in [2, 3] {
      let segments = try RenderPlanner.plan(
        edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 600)]),
        segmentDuration: MediaTime(seconds: Int64(seconds))
      ).segments
      #expect(segments.count > 2)
      for segment in segments {
        let begin = try edit.videoComposition.frameDuration * Rational(segment.frames.lowerBound)
        let (ofFilm, ofClip) = (try .zero - begin, try start - begin)
        #expect(segment.task.filters?.map(\.extra.time) == [ofFilm])
        for case .clip(let shown) in segment.task.spans.flatMap(\.layers) {
          #expect(shown.filters?.map(\.extra.time) == [ofClip])
        }
      }
      #expect(segments.contains { $0.task.spans.contains { !$0.layers.isEmpty } })
    }
  }

  private func compare(
    _ frame: Int, of segment: Segment, with edit: Edit, _ assets: [AssetID: PlannedAsset]
  ) throws {
    let time = try edit.videoComposition.frameDuration * Rational(frame)
    let local = frame - segment.frames.lowerBound
    let localTime = try edit.videoComposition.frameDuration * Rational(local)
    let span = try #require(segment.task.spans.first { $0.frames.contains(local) })
    var expected: [(digest: String, pts: Int64?, opacity: Double)] = []
    for layer in edit.videoComposition.instructions[0].layers {
      guard case .track(let layer) = layer, let track = edit.composition.track(layer.track),
        let clip = track.clips.first(where: { $0.target.contains(time) })
      else { continue }
      let shown = clip.source.isEmpty ? nil : try clip.sourceTime(at: time)
      let stored = try #require(assets[clip.asset]?.description.tracks.first)
      expected.append(
        (
          "digest of \(clip.asset)",
          try shown.map { try pts(at: $0, timebase: stored.timebase, stored.origin, stored.video) },
          try layer.opacity.value(at: time)
        ))
    }
    // What is left out is below a picture that fills the frame, as those of "a" and "b" do.
    #expect(span.layers.count <= expected.count)
    if span.layers.count < expected.count, let hiding = expected.prefix(span.layers.count).last {
      #expect(hiding.pts != nil && hiding.opacity == 1)
      #expect(span.background == .black)
    }
    for (layer, expected) in zip(span.layers, expected) {
      guard case .clip(let layer) = layer else {
        Issue.record("a plain edit has no dissolve")
        return
      }
      let source = segment.task.sources[layer.source]
      #expect(source.digest == expected.digest)
      if let expected = expected.pts {
        let shown = try pts(
          at: layer.sourceTime(at: localTime), timebase: source.timebase, source.origin,
          assets.values.first { $0.digest == source.digest }?.description.tracks.first?.video)
        #expect(shown == expected)
        // Decoding must start at or before what is shown.
        if let key = source.decodeFrom { #expect(key.pts <= shown) }
      }
      #expect(abs(try layer.opacity.value(at: localTime) - expected.opacity) < 1e-12)
    }
  }

  /// The greatest timestamp of a frame that is not after a time of the asset, or the first.
  private func pts(at time: Rational, timebase: MediaTime, _ origin: Int64, _ video: VideoFormat?) throws -> Int64 {
    let times = try #require(video).frames.times
    let tick = try (time / timebase.exact).floor + Int128(origin)
    var (low, high) = (0, times.count - 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if Int128(times[middle]) <= tick { low = middle } else { high = middle - 1 }
    }
    return times[low]
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
