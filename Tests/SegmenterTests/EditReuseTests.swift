import CompositionModel
import TestPrograms
import Testing

@testable import RenderTasks
@testable import Segmenter

/// After an edit, the segments that it does not touch must be the tasks that they were, because finished tasks are
/// found by their content. The reference for what is untouched is the pictures themselves, computed frame by frame from
/// the edit: a frame is untouched if the film before the edit has the same picture.
struct EditReuseTests {
  /// A film as an editor has it: clips one after the other, each with its own titles.
  private struct Film {
    struct Shot: Hashable {
      var asset: AssetID
      /// In frames of the film.
      var first: Int
      var count: Int
      /// Nil: no title. It is shown from the shot's tenth frame on.
      var title: String?
    }

    var shots: [Shot]
    var frameDuration: MediaTime
    /// Frames without a picture before the first shot.
    var lead = 0

    func edit() throws -> Edit {
      var clips: [Clip] = []
      var overlays: [Overlay] = []
      var start = lead
      for shot in shots {
        let target = try range(start, shot.count)
        clips.append(Clip(asset: shot.asset, sourceTrack: 0, source: try range(shot.first, shot.count), target: target))
        if let title = shot.title {
          overlays.append(
            Overlay(
              content: .text(StyledText(text: title, size: 40)), over: try range(start + 10, min(60, shot.count - 10)),
              placement: .anchor(.bottom, inset: 20)))
        }
        start += shot.count
      }
      let track = CompositionTrack(id: "A", type: .video, clips: clips)
      return try Synthetic.edit(tracks: [track], frameDuration: frameDuration, overlays: overlays)
    }

    private func range(_ start: Int, _ count: Int) throws -> MediaTimeRange {
      try MediaTimeRange(start: frameDuration * Rational(start), duration: frameDuration * Rational(count))
    }
  }

  private struct Picture: Hashable {
    var asset: AssetID?
    var pts: Int64
    var titles: [String]
  }

  private static let assets: [(id: AssetID, rate: Int32, interval: Int)] = [
    ("intra", 30, 1), ("broadcast", 25, 12), ("phone", 30, 30), ("web", 24, 48), ("archive", 30, 250),
  ]

  /// One of ten films: one shot of a minute, ten shots of six seconds, or 6 to 24 shots of 1 to 20 s.
  private static func film(_ number: Int, _ random: inout SeededRandom) -> Film {
    var shots: [Film.Shot]
    switch number {
    case 0, 1: shots = (0..<(number == 0 ? 1 : 10)).map { _ in shot(number == 0 ? 1800 : 180, &random) }
    default:
      let longest = [60, 90, 150, 240, 600][number % 5]
      shots = (0..<Int.random(in: 6...24, using: &random)).map { _ in
        shot(Int.random(in: 30...longest, using: &random), &random)
      }
    }
    let durations = [
      MediaTime(value: 1, timescale: 30), MediaTime(value: 1, timescale: 25), MediaTime(value: 1001, timescale: 30000),
    ]
    return Film(shots: shots, frameDuration: durations[number % 3])
  }

  private static func shot(_ count: Int, _ random: inout SeededRandom) -> Film.Shot {
    Film.Shot(
      asset: assets.randomElement(using: &random)?.id ?? "web", first: Int.random(in: 0..<10_000, using: &random),
      count: count,
      title: Int.random(in: 0..<4, using: &random) == 0 ? "title \(UInt32.random(in: 0...99_999, using: &random))" : nil
    )
  }

  private enum Change: CaseIterable { case shift, trimHead, trimTail, insert, remove, reorder, retitle, background }

  private static func changed(_ film: Film, by change: Change, _ random: inout SeededRandom) -> Film {
    var film = film
    let index = Int.random(in: film.shots.indices, using: &random)
    let count = film.shots[index].count
    switch change {
    case .shift: film.lead += Int.random(in: 1...60, using: &random)
    case .trimHead:
      let trimmed = Int.random(in: 1...(count / 2), using: &random)
      film.shots[index].first += trimmed
      film.shots[index].count -= trimmed
    case .trimTail: film.shots[index].count -= Int.random(in: 1...(count / 2), using: &random)
    case .insert: film.shots.insert(shot(Int.random(in: 30...150, using: &random), &random), at: index)
    case .remove where film.shots.count > 1: film.shots.remove(at: index)
    case .reorder:
      let shot = film.shots.remove(at: index)
      film.shots.insert(shot, at: Int.random(in: 0...film.shots.count, using: &random))
    case .retitle: film.shots[index].title = "another title"
    case .remove, .background: break
    }
    return film
  }

  private func described() throws -> [AssetID: PlannedAsset] {
    Synthetic.assets(
      try Dictionary(
        uniqueKeysWithValues: Self.assets.map {
          ($0.id, try Synthetic.film(frames: 20_000, rate: $0.rate, interval: $0.interval))
        }))
  }

  private func segments(_ edit: Edit, _ assets: [AssetID: PlannedAsset]) throws -> [Segment] {
    try RenderPlanner.plan(edit, assets: assets, fonts: Synthetic.fonts(edit)).segments
  }

  private func pictures(_ film: Film, _ assets: [AssetID: PlannedAsset]) throws -> [Picture] {
    let edit = try film.edit()
    var pictures: [Picture] = []
    let clips = edit.composition.tracks[0].clips
    var next = 0
    for frame in 0..<(try edit.frameCount) {
      let time = try film.frameDuration * Rational(frame)
      while next < clips.count, clips[next].target.end <= time { next += 1 }
      let titles = edit.videoComposition.overlays.filter { $0.over.contains(time) }.map { overlay -> String in
        if case .text(let text) = overlay.content { text.text } else { "" }
      }
      guard next < clips.count, clips[next].target.contains(time) else {
        pictures.append(Picture(asset: nil, pts: 0, titles: titles))
        continue
      }
      // Timestamps are multiples of 512 ticks of 1/(512 * rate) s.
      let rate = Self.assets.first { $0.id == clips[next].asset }?.rate ?? 0
      let index = try (clips[next].sourceTime(at: time) * Rational(rate)).floor
      pictures.append(Picture(asset: clips[next].asset, pts: Int64(index) * 512, titles: titles))
    }
    return pictures
  }

  @Test(.timeLimit(.minutes(10)))
  func `at least nine tenths of the frames that 200 edits leave untouched are in segments that were there before`()
    throws
  {
    var random = SeededRandom(seed: 9)
    let assets = try described()
    var counts: [Change: (untouched: Int, reused: Int)] = [:]
    for number in 0..<10 {
      let film = Self.film(number, &random)
      let known = Set(try segments(film.edit(), assets).map(\.task))
      let before = Set(try pictures(film, assets))
      for edit in 0..<20 {
        let change = Change.allCases[edit % Change.allCases.count]
        let changed = Self.changed(film, by: change, &random)
        var edited = try changed.edit()
        if change == .background { edited.videoComposition.instructions[0].background = .white }
        let isUntouched = try pictures(changed, assets).map { before.contains($0) }
        for segment in try segments(edited, assets) {
          let untouched = segment.frames.count { isUntouched[$0] }
          counts[change, default: (0, 0)].untouched += untouched
          if known.contains(segment.task) { counts[change, default: (0, 0)].reused += untouched }
        }
      }
    }
    for change in Change.allCases {
      let (untouched, reused) = try #require(counts[change])
      #expect(Double(reused) >= 0.9 * Double(untouched), "\(change): \(Double(reused) / Double(untouched))")
    }
    let all = counts.values.reduce((0, 0)) { ($0.0 + $1.untouched, $0.1 + $1.reused) }
    #expect(Double(all.1) >= 0.9 * Double(all.0))
  }

  /// With fixed keyframes a group of pictures is between two multiples of the interval, so one that shows anything else
  /// than a group before the edit cannot be there already. What moves by another time than whole intervals is encoded
  /// again, so the edits of the second kind move by these.
  @Test(.timeLimit(.minutes(10)), arguments: [false, true])
  func `the same holds with fixed keyframes for the groups of pictures that an edit leaves untouched`(
    isWhole: Bool
  ) throws {
    let interval = 30
    var random = SeededRandom(seed: 10)
    let assets = try described()
    func fixed(_ edit: Edit) throws -> Edit {
      var edit = edit
      edit.export.video?.keyframeInterval = interval
      edit.export.video?.keyframeGrid = KeyframeGrid(interval: Rational(interval))
      return edit
    }
    func groups(_ film: Film) throws -> [[Picture]] {
      let all = try pictures(film, assets)
      return stride(from: 0, to: all.count, by: interval).map { Array(all[$0..<min($0 + interval, all.count)]) }
    }
    var counts = (untouched: 0, reused: 0)
    for number in 0..<10 {
      let film = Self.film(number, &random)
      let known = Set(try segments(fixed(film.edit()), assets).map(\.task))
      let before = Set(try groups(film))
      for edit in 0..<20 {
        var changed = Self.changed(film, by: Change.allCases[edit % Change.allCases.count], &random)
        if isWhole {
          func length(_ film: Film) -> Int { film.lead + film.shots.reduce(0) { $0 + $1.count } }
          let index = Int.random(in: changed.shots.indices, using: &random)
          let difference = (length(film) - length(changed)) % interval
          changed.shots[index].count += difference < 0 ? difference + interval : difference
        }
        let isUntouched = try groups(changed).map { before.contains($0) }
        for segment in try segments(fixed(changed.edit()), assets) {
          let untouched = segment.frames.count { isUntouched[$0 / interval] }
          counts.untouched += untouched
          if known.contains(segment.task) { counts.reused += untouched }
        }
      }
    }
    #expect(counts.untouched > 100_000)
    #expect(Double(counts.reused) >= 0.9 * Double(counts.untouched), "\(counts)")
  }
}
