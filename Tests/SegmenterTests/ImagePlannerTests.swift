import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Which pictures are planned for times, without media.
struct ImagePlannerTests {
  private func asset(_ frames: Int = 300) throws -> (PlannedAsset, TrackDescription, VideoFormat) {
    let description = try Synthetic.film(frames: frames)
    let track = try #require(description.defaultTrack(.video))
    return (PlannedAsset(description: description, digest: "film"), track, try #require(track.video))
  }

  private func plan(
    _ times: [Rational], _ tolerance: ImageTolerance = .exact, isWhole: Bool = false
  ) throws -> ImagePlan {
    let (asset, track, video) = try asset()
    return try ImagePlanner.plan(asset, track, video, times: times, tolerance: tolerance, isWhole: isWhole)
  }

  /// The times of the planned pictures by number.
  private func times(_ plan: ImagePlan) throws -> [Int: Rational] {
    var times: [Int: Rational] = [:]
    for part in plan.parts {
      for picture in part.part.pictures { times[picture.number] = try part.time(of: picture.place) }
    }
    return times
  }

  @Test func `a picture is the one that is shown`() throws {
    let plan = try plan([Rational(1, 1), Rational(101, 100), try Rational(1, 31), Rational(10), Rational(-1)])
    #expect(try times(plan) == [0: .one, 1: .one, 2: .zero])
    #expect(Set(plan.errors.keys) == [3, 4])
  }

  @Test func `a tolerance takes the nearest keyframe within it`() throws {
    // Keyframes are at 0, 2, 4, 6 and 8 s.
    let near = ImageTolerance(before: MediaTime(value: 1, timescale: 2), after: MediaTime(seconds: 1))
    let plan = try plan([try Rational(23, 10), Rational(3), try Rational(16, 5), try Rational(26, 10)], near)
    #expect(try times(plan) == [0: Rational(2), 1: Rational(4), 2: Rational(4), 3: try Rational(13, 5)])
    let any = ImageTolerance(before: .positiveInfinity, after: .zero)
    #expect(try times(self.plan([try Rational(39, 10)], any)) == [0: Rational(2)])
  }

  @Test func `a tolerance reaches the last picture from after the end, and the first from before 0`() throws {
    // The last picture begins at 299/30 s.
    let near = ImageTolerance(before: MediaTime(value: 1, timescale: 20), after: MediaTime(value: 1, timescale: 4))
    let last = try Rational(299, 30)
    let asked = [
      Rational(10), try Rational(601, 60), try Rational(1003, 100), try Rational(-1, 4), Rational(-1),
    ]
    let plan = try plan(asked, near)
    #expect(try times(plan) == [0: last, 1: last, 3: .zero])
    #expect(Set(plan.errors.keys) == [2, 4])
    let any = ImageTolerance(before: .positiveInfinity, after: .positiveInfinity)
    #expect(try times(self.plan([Rational(99), Rational(-99)], any)) == [0: last, 1: .zero])
  }

  @Test func `pictures are read in order of time in a few parts`() throws {
    let times = (0..<100).map { Rational(Int128(99 - $0)) }.map { try! $0 / Rational(11) }
    let plan = try plan(times)
    // The film has 5 keyframes.
    #expect(plan.parts.count == 5)
    let places = plan.parts.flatMap { $0.part.pictures.map(\.place) }
    #expect(places == places.sorted() && places.count == 100)
    for part in plan.parts {
      guard case .asset(let source) = part.part.source else { continue }
      #expect(source.decodeFrom == nil && !source.video.keyframes.isEmpty)
    }
    #expect(try self.plan(times, isWhole: true).parts.count == 1)
  }

  @Test func `no frame is decoded in two tasks, and tasks have about equal work`() throws {
    let (asset, track, video) = try asset(18_000)
    let times = try (0..<100).map { try Rational(Int128(6 * $0 + 3)) + Rational(1, 7) * Rational($0 % 7) }
    let plan = try ImagePlanner.plan(asset, track, video, times: times, tolerance: .exact)
    #expect(plan.parts.flatMap(\.part.pictures).count == 100)
    #expect((20...32).contains(plan.parts.count))
    var starts: Set<Int64> = []
    var works: [Int64] = []
    for part in plan.parts {
      var reached: [Int64: Int64] = [:]
      for place in part.part.pictures.map(\.place) {
        reached[try #require(video.keyframes.last { $0.pts <= place }).pts] = place
      }
      #expect(starts.isDisjoint(with: reached.keys))
      starts.formUnion(reached.keys)
      works.append(reached.reduce(0) { $0 + $1.value - $1.key })
    }
    // What a task has beyond the least is the work of one start: 60 frames and their pictures.
    let step = Int64(video.frames.averageStep)
    #expect(try #require(works.max()) - works.reduce(0, +) / Int64(works.count) <= 80 * step)
  }

  @Test func `a picture is made smaller and never larger`() {
    func size(_ box: PixelSize, _ picture: PixelSize) -> PixelSize {
      ImageOutput(format: .png, quality: 90, box: box).size(of: picture)
    }
    let film = PixelSize(width: 1920, height: 1080)
    #expect(size(PixelSize(width: 640, height: 640), film) == PixelSize(width: 640, height: 360))
    #expect(size(PixelSize(width: 640, height: 100), film) == PixelSize(width: 178, height: 100))
    #expect(size(PixelSize(width: 4000, height: 4000), film) == film)
    #expect(size(PixelSize(width: 1, height: 1), film) == PixelSize(width: 1, height: 1))
  }

  @Test func `times are written as people read them`() throws {
    #expect(try Rational(1001, 30).clockText == "0:33.366")
    #expect(try Rational(3723).clockText == "1:02:03.000")
  }
}
