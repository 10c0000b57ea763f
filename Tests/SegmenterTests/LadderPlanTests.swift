import CompositionModel
import TestPrograms
import Testing

@testable import RenderTasks
@testable import Segmenter

/// The plan of a film with several outputs.
struct LadderPlanTests {
  private let edit: Edit
  private let assets: [AssetID: PlannedAsset]

  init() throws {
    let whole = try Synthetic.range(0, 600, 30)
    let track = CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    edit = try Synthetic.edit(tracks: [track], layers: [.track(TrackLayer(track: "A"))])
    assets = Synthetic.assets(["a": try Synthetic.film(frames: 600)])
  }

  private func output(_ name: String, _ change: (inout ExportSettings) -> Void = { _ in }) -> EditOutput {
    var export = edit.export
    change(&export)
    return EditOutput(name: name, export: export)
  }

  private func plan(_ outputs: [EditOutput]) throws -> RenderPlan {
    var edit = edit
    if !outputs.isEmpty { edit.outputs = outputs }
    return try RenderPlanner.plan(edit, assets: assets)
  }

  private func cost(_ plan: RenderPlan) -> Double { plan.segments.reduce(0) { $0 + $1.cost } }

  @Test func `outputs share the segments, and each kind of video is one rendition`() throws {
    let half = PixelSize(
      width: edit.videoComposition.renderSize.width / 2, height: edit.videoComposition.renderSize.height / 2)
    let ladder = try plan([
      output("a"), output("b") { $0.container = .mkv }, output("c") { $0.size = half },
      output("d") { $0.video?.rateControl = .averageBitRate(500_000) }, output("e") { $0.video = nil },
    ])
    let alone = try plan([])
    #expect(ladder.segments.map(\.frames) == alone.segments.map(\.frames))
    #expect(ladder.segments.map(\.task) == alone.segments.map(\.task))
    let found = try #require(ladder.ladder)
    #expect(found.renditions.map(\.size) == [edit.videoComposition.renderSize, half, edit.videoComposition.renderSize])
    #expect(found.stitches.map(\.rendition) == [0, 0, 1, 2, nil])
    #expect(found.stitches[0].stitch == alone.stitch)
    #expect(found.stitches[2].stitch.video?.format.size == half)
    #expect(alone.ladder == nil && alone.measureLadderTasks.isEmpty)
  }

  @Test func `a task costs what each rendition's encoder does`() throws {
    let alone = cost(try plan([]))
    let one = cost(try plan([output("a")]))
    let same = cost(try plan([output("a"), output("b") { $0.container = .mkv }]))
    let two = cost(try plan([output("a"), output("b") { $0.video?.rateControl = .quality(40) }]))
    #expect(one == alone && same == alone)
    #expect(two > 1.5 * alone && two < 2 * alone)
  }

  @Test func `what is measured does not depend on bit rates or on other outputs, and has a factor of its own`() throws {
    func outputs(_ rate: Int, _ quality: Double) -> [EditOutput] {
      [
        output("a") { $0.video?.rateControl = .quality(quality) },
        output("b") { $0.video?.rateControl = .averageBitRate(rate) },
        output("c") { $0.video?.rateControl = .averageBitRate(4 * rate) },
      ]
    }
    let plan = try plan(outputs(500_000, 20))
    let tasks = plan.measureLadderTasks
    #expect(tasks == (try self.plan(outputs(900_000, 30))).measureLadderTasks)
    #expect(tasks.count == plan.segments.count && tasks.allSatisfy { $0.renditions.count == 1 })
    let factors = try #require(tasks.first?.renditions.first?.encoder.bitRateModel).measuringFactors
    let measurements = plan.segments.map { segment in
      [
        Measurement(
          rateFactors: factors,
          frameBits: [40_000, 9_000].map { Array(repeating: $0, count: segment.task.frameCount) })
      ]
    }
    let renditions = try plan.sharingLadderBits(measurements)
    // As a film with that output alone.
    for (rendition, rate) in [(1, 500_000), (2, 2_000_000)] {
      var single = edit
      single.export.video?.rateControl = .averageBitRate(rate)
      let alone = try RenderPlanner.plan(single, assets: assets).sharingBits(measurements.map { $0[0] })
      #expect(renditions.map { $0[rendition].encoder } == alone.segments.map(\.task.encoder))
      #expect(renditions.map { $0[rendition].share } == alone.segments.map(\.task.share))
    }
    #expect(renditions.allSatisfy { $0[0].share == nil && $0[0].encoder.rateControl == .quality(20) })
    #expect(throws: PlanError.self) { try plan.sharingLadderBits(Array(measurements.dropLast())) }
    #expect(throws: PlanError.self) { try plan.sharingLadderBits(measurements.map { $0 + $0 }) }
  }
}
