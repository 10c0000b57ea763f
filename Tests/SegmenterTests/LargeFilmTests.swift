import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Films far larger than usual: their plans take time and memory in proportion to what is in them.
struct LargeFilmTests {
  /// One track of clips of a second.
  private func clips(_ count: Int) throws -> [Clip] {
    try (0..<Int64(count)).map { index in
      Synthetic.clip(
        "a", use: try Synthetic.range(index % 20, index % 20 + 1), at: try Synthetic.range(index, index + 1))
    }
  }

  /// One instruction for each clip, as a document's lowering makes them.
  private func instructions(_ clips: [Clip]) -> [Instruction] {
    clips.map { Instruction(over: $0.target, background: .black, layers: [.track(TrackLayer(track: "A"))]) }
  }

  // If every instruction and every segment looked at every clip, this would take hours.
  @Test(.timeLimit(.minutes(10)))
  func `a film of 20,000 clips and titles is planned, and each task has its own part only`() throws {
    let clips = try clips(20_000)
    var edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: clips)])
    edit.videoComposition.instructions = instructions(clips)
    edit.videoComposition.overlays = clips.map { clip in
      Overlay(
        content: .text(StyledText(text: "\(clip.target.start)", size: 20)), over: clip.target,
        placement: .anchor(.center, inset: 0),
        ramps: RampList([Ramp(over: clip.target, from: 0, to: 1)]))
    }
    let plan = try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["a": Synthetic.film(frames: 700)]), fonts: Synthetic.fonts(edit))
    #expect(plan.segments.last?.frames.upperBound == 20_000 * 30)
    for segment in plan.segments {
      let seconds = segment.frames.upperBound / 30 - segment.frames.lowerBound / 30 + 1
      #expect(segment.task.sources.count <= seconds)
      #expect(segment.task.overlays.count <= seconds)
      #expect(segment.task.spans.count <= seconds)
    }
  }

  @Test
  func `a task has the ramps of a track that have an effect in it, and no others`() throws {
    let whole = try Synthetic.range(0, 1000)
    let clip = Synthetic.clip("still", use: try Synthetic.range(0, 0), at: whole)
    var edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])])
    let ramps = try (0..<1000).map { Ramp(over: try Synthetic.range($0, $0), from: 0.5, to: 0.25) }
    edit.videoComposition.instructions = [
      Instruction(
        over: whole, background: .black, layers: [.track(TrackLayer(track: "A", opacity: RampList(ramps)))])
    ]
    let plan = try RenderPlanner.plan(edit, assets: Synthetic.assets(["still": Synthetic.still()]))
    for segment in plan.segments {
      guard case .clip(let layer) = try #require(segment.task.spans.first?.layers.first) else {
        Issue.record("the layer is not a clip")
        continue
      }
      #expect(layer.opacity.ramps.count <= segment.frames.count / 30 + 2)
    }
  }

  @Test(arguments: [nil, MediaTime(seconds: 1)])
  func `a film of any length has at most 20,000 segments`(segmentDuration: MediaTime?) throws {
    let whole = try Synthetic.range(0, 1_000_000)
    let clip = Synthetic.clip("still", use: try Synthetic.range(0, 0), at: whole)
    let edit = try Synthetic.edit(
      tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])],
      frameDuration: MediaTime(value: 1, timescale: 10),
      interval: 250)
    let plan = try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["still": Synthetic.still()]), segmentDuration: segmentDuration)
    #expect((5000...20_000).contains(plan.segments.count))
    #expect(plan.segments.last?.frames.upperBound == 10_000_000)
  }

  @Test
  func `a segment duration beyond any film makes one segment`() throws {
    let clip = Synthetic.clip("still", use: try Synthetic.range(0, 0), at: try Synthetic.range(0, 100))
    let title = Overlay(
      content: .text(StyledText(text: "A", size: 20)), over: clip.target, placement: .anchor(.center, inset: 0))
    let edit = try Synthetic.edit(
      tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])], overlays: [title])
    let plan = try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["still": Synthetic.still()]), fonts: Synthetic.fonts(edit),
      segmentDuration: MediaTime(seconds: .max))
    #expect(plan.segments.count == 1)
  }

  @Test
  func `segments of fewer than five frames are refused`() throws {
    let whole = try Synthetic.range(0, 20)
    let clip = Synthetic.clip("still", use: try Synthetic.range(0, 0), at: whole)
    let edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])])
    let assets = try Synthetic.assets(["still": Synthetic.still()])
    let error = #expect(throws: PlanError.self) {
      try RenderPlanner.plan(edit, assets: assets, segmentDuration: MediaTime(value: 4, timescale: 30))
    }
    #expect(error?.description == "the segment duration 2/15 s is too short; the shortest is 5 frames, 1/6 s")
    #expect(throws: Never.self) {
      try RenderPlanner.plan(edit, assets: assets, segmentDuration: MediaTime(value: 5, timescale: 30))
    }
  }

  @Test
  func `overlays that every segment of a long film would repeat are refused`() throws {
    let whole = try Synthetic.range(0, 100_000)
    let clip = Synthetic.clip("still", use: try Synthetic.range(0, 0), at: whole)
    let title = Overlay(
      content: .text(StyledText(text: "A", size: 20)), over: whole, placement: .anchor(.center, inset: 0))
    let edit = try Synthetic.edit(
      tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])],
      frameDuration: MediaTime(value: 1, timescale: 2),
      overlays: Array(repeating: title, count: 1000))
    let error = #expect(throws: PlanError.self) {
      try RenderPlanner.plan(edit, assets: Synthetic.assets(["still": Synthetic.still()]))
    }
    #expect(error?.code == .tooManyOverlays(limit: 1_000_000))
  }
}
