import CompositionModel
import Foundation
import Testing

@testable import RenderTasks
@testable import Segmenter

struct TimeRangeTests {
  private func film() throws -> (edit: Edit, assets: [AssetID: PlannedAsset]) {
    let whole = try Synthetic.range(0, 10)
    let sound = Clip(asset: "a", sourceTrack: 1, source: whole, target: whole)
    let late = Clip(asset: "b", sourceTrack: 1, source: whole, target: try Synthetic.range(10, 20))
    let edit = try Synthetic.edit(tracks: [
      CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)]),
      CompositionTrack(id: "A.sound", type: .audio, clips: [sound, late]),
    ])
    let film = try Synthetic.film(frames: 300)
    return (edit, Synthetic.assets(["a": film, "b": film]))
  }

  @Test func `frame n shows the composition at the start of the range and n frame durations`() throws {
    var (edit, assets) = try film()
    // Between two frames of the source.
    edit.export.timeRange = try Synthetic.range(201, 402, 100)
    let plan = try RenderPlanner.plan(edit, assets: assets)
    #expect(plan.frameCount == 61 && plan.duration == MediaTime(value: 201, timescale: 100))
    #expect(plan.start == MediaTime(value: 201, timescale: 100))
    let grid = FrameGrid(
      frameDuration: MediaTime(value: 1, timescale: 30), frameCount: 61, start: MediaTime(value: 201, timescale: 100))
    #expect(try grid.time(of: 3) == MediaTime(value: 211, timescale: 100))
    #expect(try grid.firstFrame(atOrAfter: MediaTime(seconds: 3)) == 30)
    #expect(try grid.frames(in: Synthetic.range(0, 3)) == 0..<30)
    // At 2.01 s the source shows its frame 60, which is due at 2 s.
    guard case .clip(let first) = plan.segments[0].task.spans[0].layers[0] else {
      Issue.record("there is no clip")
      return
    }
    #expect(first.sourceRange.start == MediaTime(seconds: 2) && first.targetRange.start == .zero)
  }

  @Test func `sound is cut at the nearest samples and clips outside of the range are left out`() throws {
    var (edit, assets) = try film()
    edit.export.timeRange = try Synthetic.range(100, 201, 100)
    let plan = try RenderPlanner.plan(edit, assets: assets)
    let task = try #require(plan.audio?.mixes.first)
    #expect(task.firstSample == 44100 && task.sampleCount == 44541)
    #expect(task.sources.map(\.digest) == ["digest of a"])
    #expect(plan.stitch.main.file.audio?.sampleCount == 44541)
  }

  @Test func `a whole film has the tasks that it had before there were ranges`() throws {
    let (edit, assets) = try film()
    let plan = try RenderPlanner.plan(edit, assets: assets)
    let json = String(decoding: try JSONEncoder().encode(try #require(plan.audio)), as: UTF8.self)
    #expect(!json.contains("firstSample"))
    var all = edit
    all.export.timeRange = try all.exportedRange
    let same = try RenderPlanner.plan(all, assets: assets)
    #expect(same.segments == plan.segments && same.audio == plan.audio && same.stitch == plan.stitch)
  }
}
