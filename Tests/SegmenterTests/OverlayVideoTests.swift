import CompositionModel
import TestPrograms
import Testing

@testable import RenderTasks
@testable import Segmenter

/// A moving overlay shows in each segment what it shows in the film.
@Suite struct OverlayVideoTests {
  /// 0.7 s at 10 frames a second, as a GIF is described: decoded from the start.
  private static func sticker() throws -> AssetDescription {
    var film = try Synthetic.film(frames: 7, rate: 10)
    film.tracks[0].video?.keyframes = []
    return film
  }

  private static func plan(_ overlay: Overlay, segment: MediaTime) throws -> RenderPlan {
    let whole = try Synthetic.range(0, 20)
    let track = CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    return try RenderPlanner.plan(
      try Synthetic.edit(tracks: [track], overlays: [overlay]),
      assets: Synthetic.assets([
        "a": Synthetic.film(frames: 600), "b": Synthetic.film(frames: 500, rate: 25, interval: 12, origin: 700),
        "sticker": sticker(),
      ]), segmentDuration: segment)
  }

  private static func stored(_ time: Rational, _ asset: AssetDescription) throws -> Int64? {
    let track = asset.tracks[0]
    let tick = try StoredTime.lastTick(dueAt: time, timebase: track.timebase, origin: track.origin, isRounded: false)
    return track.video?.frames.last(atOrBefore: tick)
  }

  @Test(arguments: 1...40)
  func `every frame of a random overlay shows in its segment what the overlay shows there`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let isSticker = Bool.random(using: &random)
    let asset = isSticker ? try Self.sticker() : try Synthetic.film(frames: 500, rate: 25, interval: 12, origin: 700)
    let ends =
      isSticker ? (0, 7) : (Int64.random(in: 0...50, using: &random), Int64.random(in: 51...200, using: &random))
    let source = try Synthetic.range(ends.0, ends.1, 10)
    let turns = Bool.random(using: &random) ? nil : Int.random(in: 1...6, using: &random)
    let start = MediaTime(value: Int64.random(in: 0...100, using: &random), timescale: 24)
    let overlay = Overlay(
      content: .video(
        OverlayVideo(asset: isSticker ? "sticker" : "b", sourceTrack: 0, source: source, turns: turns)),
      over: try MediaTimeRange(start: start, duration: MediaTime(seconds: Int64.random(in: 1...30, using: &random))),
      placement: .anchor(.center, inset: 0))
    let segmentDuration = MediaTime(value: Int64.random(in: 4...80, using: &random), timescale: 10)
    var shown = 0
    for segment in try Self.plan(overlay, segment: segmentDuration).segments {
      for planned in segment.task.overlays {
        guard case .video(let video) = planned.content else { continue }
        let read = segment.task.sources[video.source]
        for frame in planned.frames.flatMap({ $0 }) {
          let local = try segment.task.format.frameDuration * Rational(frame)
          let time = try segment.task.format.frameDuration * Rational(frame + segment.frames.lowerBound)
          let elapsed = try time.exact - start.exact
          let period = try source.duration.exact
          let turn = try (elapsed / period).floor
          var expected = try source.start.exact + elapsed - period * Rational(turn)
          if let turns, turn >= turns {
            // A hundredth of a frame before the end.
            expected = try source.end.exact - Rational(1, 2500)
          }
          let made = try video.sourceTime(at: local)
          let stored = try Self.stored(made, asset)
          #expect(try stored == Self.stored(expected, asset), "frame \(frame) of \(segment.frames)")
          if let keyframe = read.decodeFrom, let stored { #expect(keyframe.pts <= stored) }
          shown += 1
        }
      }
    }
    #expect(shown > 0)
  }

  /// What came before the segment has no effect on its task.
  @Test func `a turn of an overlay is the same task wherever it is in the film`() throws {
    func tasks(_ source: MediaTimeRange, from start: Int64, turns: Int?) throws -> [VideoTask] {
      let overlay = Overlay(
        content: .video(OverlayVideo(asset: "b", sourceTrack: 0, source: source, turns: turns)),
        over: try Synthetic.range(start, 20), placement: .anchor(.center, inset: 0))
      return try Self.plan(overlay, segment: MediaTime(seconds: 2)).segments.map { segment in
        var task = segment.task
        // Only the overlay is compared.
        task.spans = []
        task.sources = task.sources.filter { $0.digest == "digest of b" }
        for index in task.overlays.indices {
          guard case .video(var video) = task.overlays[index].content else { continue }
          video.source = 0
          task.overlays[index].content = .video(video)
        }
        return task
      }
    }
    let whole = try tasks(Synthetic.range(0, 16), from: 2, turns: 1)
    let later = try tasks(Synthetic.range(6, 16), from: 8, turns: nil)
    // Segments of 2 s: from the fifth on both show the same part of the asset.
    #expect(whole.count == 10 && whole[4...7] == later[4...7] && whole[2] != later[2])
    // A repeated sticker is the same in every turn.
    let turns = try tasks(Synthetic.range(0, 1), from: 0, turns: nil)
    #expect(turns[1] == turns[5])
    // When its turns are over, how many there were has no effect.
    #expect(
      try tasks(Synthetic.range(0, 1), from: 0, turns: 3)[6] == tasks(Synthetic.range(0, 1), from: 0, turns: 5)[6])
  }
}
