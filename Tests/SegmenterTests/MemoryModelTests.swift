import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

struct MemoryModelTests {
  /// What the task process of two seconds of a 960x540 film allocated, in MiB (`VmData`), for each size of frames.
  @Test(arguments: [
    (PixelSize(width: 640, height: 360), 188.0), (PixelSize(width: 1280, height: 720), 407.0),
    (PixelSize(width: 1920, height: 1080), 530.0), (PixelSize(width: 3840, height: 2160), 1201.0),
    (PixelSize(width: 7680, height: 4320), 4347.0),
  ])
  func `the memory of a task is estimated as it was measured`(size: PixelSize, measured: Double) throws {
    let film = try Synthetic.film(frames: 60, size: PixelSize(width: 960, height: 540))
    let whole = try Synthetic.range(0, 2)
    let track = CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("film", use: whole, at: whole)])
    var edit = try Synthetic.edit(tracks: [track])
    edit.videoComposition.renderSize = size
    let plan = try RenderPlanner.plan(edit, assets: Synthetic.assets(["film": film]))
    let estimates = plan.segments.map { Double($0.memory) / 1_048_576 }
    #expect(estimates.count == 1)
    for estimate in estimates { #expect((0.75...1.25).contains(estimate / measured), "\(estimate)") }
  }
}
