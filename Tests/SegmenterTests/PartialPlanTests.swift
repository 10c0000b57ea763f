import CompositionModel
import TestPrograms
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Plans of some segments of a film.
struct PartialPlanTests {
  private func plan(outputs: Int = 0) throws -> RenderPlan {
    let whole = try Synthetic.range(0, 600, 30)
    let track = CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    var edit = try Synthetic.edit(tracks: [track], layers: [.track(TrackLayer(track: "A"))])
    if outputs > 0 {
      let half = PixelSize(
        width: edit.videoComposition.renderSize.width / 2, height: edit.videoComposition.renderSize.height / 2)
      edit.outputs = (0..<outputs).map { number in
        var export = edit.export
        if number > 0 { export.size = half }
        return EditOutput(name: "\(number)", export: export)
      }
    }
    return try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": try Synthetic.film(frames: 600)]))
  }

  @Test func `segments that stay have the tasks that they have in the whole film`() throws {
    let whole = try plan(outputs: 2)
    let last = whole.segments.count - 1
    try #require(last >= 2)
    let part = whole.keeping([0, last, 1000, -1])
    #expect(part.segments == [whole.segments[0], whole.segments[last]])
    #expect(part.frameCount == whole.segments[0].frames.count + whole.segments[last].frames.count)
    #expect(part.stitch.segmentCount == 2 && part.stitch.outputs.count == 2)
    for output in part.stitch.outputs {
      #expect(output.file.video?.frameCounts == part.segments.map(\.frames.count))
    }
    #expect(part.audio == whole.audio && part.stitch.hasAudio == whole.stitch.hasAudio)
  }

  @Test func `all segments are the whole film without what is on its timeline`() throws {
    var whole = try plan()
    let all = whole.keeping(Set(whole.segments.indices))
    #expect(all == whole)
    whole.stitch.outputs[0].file.chapters = []
    #expect(whole.keeping(Set(whole.segments.indices)).stitch.outputs[0].file.chapters == nil)
    whole.segments = []
    #expect(whole.keeping([0]) == whole)
  }
}
