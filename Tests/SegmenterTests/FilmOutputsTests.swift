import CompositionModel
import TestPrograms
import Testing

@testable import RenderTasks
@testable import Segmenter

/// What is planned for each output of a film.
struct FilmOutputsTests {
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
    let film = edit.videoComposition.renderSize
    for (several, one) in zip(ladder.segments.map(\.task), alone.segments.map(\.task)) {
      #expect(several.renditions.map(\.size) == [film, half, film])
      #expect(Array(several.renditions.prefix(1)) == one.renditions)
      var first = several
      first.renditions = one.renditions
      #expect(first == one)
    }
    #expect(ladder.stitch.outputs.map(\.name) == ["a.mp4", "b.mkv", "c.mp4", "d.mp4", "e.mp4"])
    #expect(ladder.stitch.outputs.map(\.rendition) == [0, 0, 1, 2, nil])
    #expect(ladder.stitch.outputs[0].file == alone.stitch.outputs[0].file)
    #expect(ladder.stitch.outputs[2].file.video?.format.size == half)
    #expect(alone.stitch.outputs.map(\.name) == [nil] && alone.measureTasks.isEmpty)
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
    let tasks = plan.measureTasks
    #expect(tasks == (try self.plan(outputs(900_000, 30))).measureTasks)
    #expect(tasks.count == plan.segments.count && tasks.allSatisfy { $0.renditions.count == 1 })
    let factors = try #require(tasks.first?.renditions.first?.encoder.bitRateModel).measuringFactors
    let measurements = plan.segments.map { segment in
      [
        Measurement(
          rateFactors: factors,
          frameBits: [40_000, 9_000].map { Array(repeating: $0, count: segment.task.frameCount) })
      ]
    }
    let renditions = try plan.sharingBits(measurements).segments.map(\.task.renditions)
    // As a film with that output alone.
    for (rendition, rate) in [(1, 500_000), (2, 2_000_000)] {
      var single = edit
      single.export.video?.rateControl = .averageBitRate(rate)
      let alone = try RenderPlanner.plan(single, assets: assets).sharingBits(measurements)
      #expect(renditions.map { $0[rendition].encoder } == alone.segments.map { $0.task.renditions[0].encoder })
      #expect(renditions.map { $0[rendition].share } == alone.segments.map { $0.task.renditions[0].share })
    }
    #expect(renditions.allSatisfy { $0[0].share == nil && $0[0].encoder.rateControl == .quality(20) })
    #expect(throws: PlanError.self) { try plan.sharingBits(Array(measurements.dropLast())) }
    #expect(throws: PlanError.self) { try plan.sharingBits(measurements.map { $0 + $0 }) }
  }
}
