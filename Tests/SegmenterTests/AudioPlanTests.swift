import CompositionModel
import Testing

@testable import Segmenter

struct AudioPlanTests {
  @Test
  func `the audio task has every audio clip, each source once, and the film's length in samples`() throws {
    func clip(_ asset: AssetID, _ start: Int64, _ end: Int64) throws -> Clip {
      Clip(
        asset: asset, sourceTrack: 1, source: try Synthetic.range(0, end - start),
        target: try Synthetic.range(start, end))
    }
    var edit = try Synthetic.edit(tracks: [
      CompositionTrack(id: "A.sound", type: .audio, clips: [try clip("a", 0, 2), try clip("b", 2, 5)]),
      CompositionTrack(id: "music", type: .audio, clips: [try clip("a", 0, 7)]),
    ])
    let ramp = Ramp(over: try Synthetic.range(0, 2), from: 0, to: 0.8)
    edit.audioMix.volumes["music"] = RampList([ramp])
    let film = try Synthetic.film(frames: 300)
    let audio = try #require(try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": film, "b": film])).audio)
    #expect(audio.sampleCount == 7 * 44100)
    #expect(audio.sources.map(\.digest) == ["digest of a", "digest of b"])
    #expect(audio.tracks.map { $0.clips.map(\.source) } == [[0, 1], [0]])
    #expect(audio.tracks.map(\.volume) == [.one, RampList([ramp])])
  }

  @Test
  func `an export without audio or without video has no task for it`() throws {
    let whole = try Synthetic.range(0, 4)
    var edit = try Synthetic.edit(tracks: [
      CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    ])
    let assets = Synthetic.assets(["a": try Synthetic.film(frames: 120)])
    edit.export.audio = nil
    #expect(try RenderPlanner.plan(edit, assets: assets).audio == nil)
    #expect(try RenderPlanner.plan(edit, assets: assets).stitch.audio == nil)
    edit.export.video = nil
    let plan = try RenderPlanner.plan(edit, assets: assets)
    #expect(plan.segments.isEmpty && plan.stitch.video == nil && plan.format == nil)
  }
}
