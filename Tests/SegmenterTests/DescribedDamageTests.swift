import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// The damage of a film that is known before it is rendered. The asset has 30 frames a second.
@Suite struct DescribedDamageTests {
  /// The damaged frames that a film shows of an asset, by number, with the time in the film at which each is first
  /// shown.
  private func shown(
    _ damaged: [Int], use: MediaTimeRange, for duration: MediaTime? = nil, exported: MediaTimeRange? = nil,
    retiming: Retiming? = nil, then: MediaTimeRange? = nil, isCopied: Bool = false
  ) throws -> [Int: Double] {
    var asset = try Synthetic.film(frames: 120)
    asset.tracks[0].video?.damagedFrames = FrameTimes(damaged.map { Int64($0) * 512 })
    let target = try MediaTimeRange(start: .zero, duration: duration ?? use.duration)
    var clips = [Synthetic.clip("a", use: use, at: target)]
    clips[0].retiming = retiming
    if let then {
      clips.append(
        Synthetic.clip("b", use: then, at: try MediaTimeRange(start: target.end, duration: then.duration)))
    }
    var edit = try Synthetic.edit(tracks: [CompositionTrack(id: "V", type: .video, clips: clips)])
    edit.export.timeRange = exported
    if isCopied { (edit.export.video, edit.export.passthrough) = (nil, [.video]) }
    let assets = Synthetic.assets(["a": asset, "b": try Synthetic.film(frames: 120)])
    let damage = try RenderPlanner.plan(edit, assets: assets).damage
    #expect(damage.tracks.count <= 1)
    var places: [Int: Double] = [:]
    for place in damage.tracks.first?.places ?? [] { places[Int((place.source * 30).rounded())] = place.output }
    #expect(places.count == damage.tracks.first?.count ?? 0)
    return places
  }

  private func expect(_ places: [Int: Double], _ expected: [Int: Double], at line: SourceLocation = #_sourceLocation) {
    #expect(Set(places.keys) == Set(expected.keys), sourceLocation: line)
    for (frame, time) in expected { #expect(abs((places[frame] ?? -1) - time) < 1e-6, sourceLocation: line) }
  }

  @Test func `frames are counted from the one that is shown first to the last`() throws {
    let use = try Synthetic.range(101, 200, 100)
    expect(try shown([29, 30, 59, 60, 61], use: use), [30: 0, 59: 59.0 / 30 - 1.01])
    expect(try shown([29, 30, 59, 60], use: Synthetic.range(1, 2)), [30: 0, 59: 29.0 / 30])
  }

  @Test func `a frame that is shown when the exported part begins is counted there`() throws {
    let use = try Synthetic.range(0, 4)
    expect(
      try shown([29, 30, 31, 59, 60], use: use, exported: Synthetic.range(101, 200, 100)),
      [30: 0, 31: 31.0 / 30 - 1.01, 59: 59.0 / 30 - 1.01])
    // It begins with frame 31.
    expect(try shown([30, 31], use: use, exported: Synthetic.range(31, 60, 30)), [31: 0])
  }

  @Test func `backwards, a frame is shown from the time of the next one to its own`() throws {
    let reversed = Retiming(isReversed: true)
    // It ends in the middle of frame 30.
    expect(
      try shown([29, 30, 59, 60], use: Synthetic.range(101, 200, 100), retiming: reversed),
      [59: 0, 30: 2 - 31.0 / 30])
    // It ends when frame 29 would begin to be shown, and another clip follows.
    expect(
      try shown([29, 30, 60], use: Synthetic.range(1, 2), retiming: reversed, then: Synthetic.range(0, 1)),
      [30: 29.0 / 30])
    expect(
      try shown(
        [30, 35, 36, 44, 45], use: Synthetic.range(1, 2), exported: Synthetic.range(51, 80, 100), retiming: reversed),
      [44: 0, 36: 2 - 37.0 / 30 - 0.51])
  }

  @Test func `a film that is copied has the damage of its pictures`() throws {
    expect(try shown([10, 70], use: Synthetic.range(0, 2), isCopied: true), [10: 1.0 / 3])
  }
}
