import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Which frames of a film are copied, and why others are not. Films have 30 frames a second and a keyframe every
/// second.
@Suite struct SmartPlannerTests {
  /// A described film whose runs can end with each second picture.
  private func film(
    _ seconds: Int = 20, sets: [UInt8] = [1], size: PixelSize = PixelSize(width: 1280, height: 720),
    change: (inout VideoFormat) -> Void = { _ in }
  ) throws -> AssetDescription {
    var film = try Synthetic.film(frames: 30 * seconds, interval: 30, size: size)
    film.tracks[0].video?.startsProvedBy = .bitstream
    film.tracks[0].video?.copyable = CopyableStream(
      parameterSets: sets, reorderDepth: 2, ends: (0..<(30 * seconds)).map { $0 % 2 == 1 || $0 % 30 == 29 })
    if var video = film.tracks[0].video {
      change(&video)
      film.tracks[0].video = video
    }
    return film
  }

  private func plan(
    _ clips: [Clip], _ assets: [AssetID: AssetDescription], overlays: [Overlay] = [], layer: TrackLayer? = nil,
    isSmart: Bool = true
  ) throws -> RenderPlan {
    var edit = try Synthetic.edit(
      tracks: [CompositionTrack(id: "A", type: .video, clips: clips)],
      layers: [.track(layer ?? TrackLayer(track: "A"))],
      overlays: overlays)
    if isSmart { edit.export.isSmart = true }
    return try RenderPlanner.plan(edit, assets: Synthetic.assets(assets), fonts: Synthetic.fonts(edit))
  }

  private func copied(_ plan: RenderPlan) -> [Range<Int>] {
    plan.segments.filter { $0.task.smart?.copy != nil }.map(\.frames)
  }

  private func reasons(_ plan: RenderPlan) -> [String: Int] {
    Dictionary((plan.smart?.refusals ?? []).map { ($0.reason, $0.frames) }) { $0 + $1 }
  }

  private func overlay(_ over: MediaTimeRange) -> Overlay {
    Overlay(content: .text(StyledText(text: "Title", size: 40)), over: over, placement: .anchor(.bottom, inset: 96))
  }

  @Test func `a film without smart rendering has the tasks that it had`() throws {
    let clip = Synthetic.clip("a", use: try Synthetic.range(0, 20), at: try Synthetic.range(0, 20))
    let plan = try plan([clip], ["a": film()], isSmart: false)
    #expect(plan.smart == nil && plan.segments.allSatisfy { $0.task.smart == nil })
    #expect(plan.segments.allSatisfy { $0.task.sources.allSatisfy { $0.video.copyable == nil } })
  }

  @Test func `a whole film is one copy`() throws {
    let clip = Synthetic.clip("a", use: try Synthetic.range(0, 20), at: try Synthetic.range(0, 20))
    let plan = try plan([clip], ["a": film()])
    #expect(copied(plan) == [0..<600] && plan.segments.count == 1)
    let smart = try #require(plan.segments[0].task.smart)
    #expect(smart.parameterSets == [1] && smart.copy?.reorderDepth == 2 && smart.copy?.followsCopy == nil)
    #expect(smart.copy?.times.count == 600 && smart.copy?.times.first == 0)
    #expect(plan.smart == SmartRenderingPlan(copiedFrames: 600, encodedFrames: 0, refusals: []))
  }

  @Test func `a copy begins at a keyframe, and ends where no later picture is needed`() throws {
    // The pictures 40 to 354 of the file, of which those from 60 on follow a keyframe.
    let clip = Synthetic.clip("a", use: try Synthetic.range(40, 355, 30), at: try Synthetic.range(0, 315, 30))
    let plan = try plan([clip], ["a": film()])
    #expect(copied(plan) == [20..<314])
    #expect(plan.segments.map(\.frames) == [0..<20, 20..<314, 314..<315])
    #expect(plan.segments.map(\.boundary) == [.start, .copy(asset: "a"), .copyEnd])
    #expect(
      reasons(plan) == [
        "they are before the first keyframe of what is used": 20,
        "they are decoded with pictures after the end of what is used": 1,
      ])
    #expect(plan.segments[0].task.smart == SmartSegment(parameterSets: [1]))
    #expect(plan.segments[1].task.sources[0].decodeFrom?.pts == 30720)
    #expect(plan.smart?.copiedFrames == 294 && plan.smart?.encodedFrames == 21)
  }

  @Test func `what an overlay covers is encoded, up to the next keyframe`() throws {
    let clip = Synthetic.clip("a", use: try Synthetic.range(0, 20), at: try Synthetic.range(0, 20))
    let plan = try plan([clip], ["a": film()], overlays: [overlay(try Synthetic.range(100, 140, 30))])
    #expect(copied(plan) == [0..<100, 150..<600])
    #expect(
      reasons(plan) == [
        "an overlay is drawn over it": 40, "they are before the first keyframe of what is used": 10,
      ])
    let refusal = try #require(plan.smart?.refusals.first)
    #expect(refusal.asset == "a" && refusal.track == "A" && refusal.start == .zero)
  }

  @Test func `clips of one stream follow one another`() throws {
    let clips = [
      Synthetic.clip("a", use: try Synthetic.range(0, 5), at: try Synthetic.range(0, 5)),
      Synthetic.clip("b", use: try Synthetic.range(2, 8), at: try Synthetic.range(5, 11)),
    ]
    let plan = try plan(clips, ["a": film(), "b": film()])
    #expect(copied(plan) == [0..<150, 150..<330])
    #expect(plan.segments.map(\.task.smart?.copy?.followsCopy) == [nil, true])
  }

  @Test func `of different parameter sets those of the most frames are the film's`() throws {
    let clips = [
      Synthetic.clip("a", use: try Synthetic.range(0, 5), at: try Synthetic.range(0, 5)),
      Synthetic.clip("b", use: try Synthetic.range(0, 6), at: try Synthetic.range(5, 11)),
    ]
    let plan = try plan(clips, ["a": film(sets: [1]), "b": film(sets: [2])])
    #expect(copied(plan) == [150..<330])
    #expect(plan.segments.allSatisfy { $0.task.smart?.parameterSets == [2] })
    #expect(plan.smart?.refusals.map(\.frames) == [150])
    #expect(plan.smart?.refusals.first?.reason.contains("not those of 'b'") == true)
  }

  @Test func `a damaged picture ends a copy, which begins again at a keyframe`() throws {
    let clip = Synthetic.clip("a", use: try Synthetic.range(0, 20), at: try Synthetic.range(0, 20))
    let plan = try plan([clip], ["a": film { $0.damagedFrames = FrameTimes([100 * 512]) }])
    #expect(copied(plan) == [0..<100, 120..<600])
    #expect(reasons(plan)["it is damaged"] == 1)
  }

  @Test func `a long copy is cut at keyframes`() throws {
    let clip = Synthetic.clip("a", use: try Synthetic.range(0, 150), at: try Synthetic.range(0, 150))
    let plan = try plan([clip], ["a": film(150)])
    #expect(copied(plan) == [0..<1800, 1800..<3600, 3600..<4500])
    #expect(plan.segments.map(\.task.smart?.copy?.followsCopy) == [nil, true, true])
  }

  @Test func `an opacity that comes to 1 ends in a copy`() throws {
    let clip = Synthetic.clip("a", use: try Synthetic.range(0, 20), at: try Synthetic.range(0, 20))
    let fade = Ramp(over: try Synthetic.range(0, 40, 30), from: 0, to: 1)
    let layer = TrackLayer(track: "A", opacity: RampList([fade]))
    let plan = try plan([clip], ["a": film()], layer: layer)
    #expect(copied(plan) == [60..<600])
    #expect(reasons(plan)["its opacity is changed"] == 40)
  }

  /// What a clip has that the film does not, by the reason that is given.
  struct Change: CustomTestStringConvertible, Sendable {
    var reason: String
    var change: @Sendable (inout VideoFormat) -> Void
    var testDescription: String { reason }

    init(_ reason: String, _ change: @escaping @Sendable (inout VideoFormat) -> Void) {
      (self.reason, self.change) = (reason, change)
    }
  }

  @Test(arguments: [
    Change("it is interlaced", { $0.isInterlaced = true }),
    Change("its pictures have alpha", { $0.hasAlpha = true }),
    Change("its pictures are turned", { $0.orientation = Orientation(clockwise: 180) }),
    Change("its pixel format is yuv420p10le", { $0.pixelFormat = "yuv420p10le" }),
    Change("its colours are bt709", { $0.colour.primaries = "bt709" }),
    Change("its pixels have the shape 4:3", { $0.pixelAspect = AspectRatio(horizontal: 4, vertical: 3) }),
    Change("a part of its pictures is shown", { $0.cleanAperture = PixelRect(x: 8, y: 0, size: $0.size) }),
    Change("no keyframe is proved", { $0.startsProvedBy = .headOnly }),
    Change("its packets are not known", { $0.copyable = nil }),
    Change("it has fields", { $0.copyable = CopyableStream(parameterSets: [], obstacle: "it has fields") }),
    Change("its file does not store when", { $0.lacksStoredTimes = true }),
    Change("it has data of Dolby Vision", { $0.hasDolbyVision = true }),
  ])
  func `a clip whose pictures are not the film's is encoded with its reason`(
    _ changed: Change
  ) throws {
    let clip = Synthetic.clip("a", use: try Synthetic.range(0, 5), at: try Synthetic.range(0, 5))
    let plan = try plan([clip], ["a": film(change: changed.change)])
    #expect(copied(plan) == [] && plan.smart?.encodedFrames == 150)
    // Nothing is copied, so that the tasks are those of other films.
    #expect(plan.segments.allSatisfy { $0.task.smart == nil })
    let refusals = try #require(plan.smart?.refusals)
    #expect(refusals.count == 1 && refusals[0].reason.hasPrefix(changed.reason), "\(refusals)")
  }

  @Test func `frames that show pictures twice, or leave some out, are encoded`() throws {
    var edit = try Synthetic.edit(
      tracks: [
        CompositionTrack(
          id: "A", type: .video,
          clips: [Synthetic.clip("a", use: try Synthetic.range(0, 5), at: try Synthetic.range(0, 5))])
      ], frameDuration: MediaTime(value: 1, timescale: 25))
    edit.export.isSmart = true
    let plan = try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": film()]))
    #expect(copied(plan) == [])
    #expect(reasons(plan) == ["its pictures are not shown once each, one after the other": 125])
  }
}
