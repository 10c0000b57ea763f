import CompositionModel
import Foundation
import RenderTasks
import TestPrograms
import Testing

@testable import Segmenter

@Suite struct CameraPathTests {
  private static let (width, height) = (1920.0, 1080.0)
  private static let timebase = MediaTime(value: 1, timescale: 30)

  private func pixels(_ number: Double) -> Int { Int((number * MotionStep.unitsOfPixel).rounded()) }
  private func radians(_ number: Double) -> Int { Int((number * MotionStep.unitsOfRadian).rounded()) }

  private func path(_ steps: [MotionStep]) -> CameraPath {
    CameraPath(steps, width: Self.width, height: Self.height, timebase: Self.timebase)
  }

  /// A camera that pans, and shakes.
  private func shaking(_ count: Int, seed: UInt64, by amount: Double = 6) -> [MotionStep] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { index in
      func jolt() -> Double { Double.random(in: -amount...amount, using: &random) }
      return MotionStep(pts: Int64(index), x: pixels(3.5 + jolt()), y: pixels(jolt()), angle: radians(jolt() / 1500))
    }
  }

  @Test func `a camera that moves evenly keeps moving so`() {
    let steps = (0..<90).map { MotionStep(pts: Int64($0), x: pixels(7.25), y: pixels(-1.5), angle: radians(0.002)) }
    let planned = path(steps).stabilized(Stabilization(smoothing: MediaTime(seconds: 3)))
    #expect(planned.zoom == 1)
    #expect(planned.places == (0..<90).map { MotionStep(pts: $0) })
  }

  @Test func `a single jolt is spread over the time around it`() {
    var steps = (0..<121).map { MotionStep(pts: Int64($0)) }
    steps[60].x = pixels(20)
    let places = path(steps).stabilized(Stabilization(zoom: 1.5)).places
    // Just before the jolt the picture is drawn ahead, just after it behind, and far from it in its own place.
    #expect(abs(places[59].x + places[60].x) < pixels(0.5))
    #expect(places[60].x > pixels(9) && places[60].x < pixels(10))
    #expect(places[5].x == 0 && places[115].x == 0)
    let seen = zip(places, places.dropFirst()).enumerated().map { index, pair in
      steps[index + 1].x - (pair.1.x - pair.0.x)
    }
    #expect(seen.max().map { $0 < pixels(1) } == true)
  }

  /// The same by sums of Doubles and the exponential function.
  @Test(arguments: [(4, 211), (13, 97), (77, 150)] as [(Int64, Int)])
  func `the path is that of the lines that fit best`(tenths: Int64, count: Int) {
    let length = MediaTime(value: tenths, timescale: 10)
    let steps = shaking(count, seed: 7)
    let made = path(steps).stabilized(Stabilization(smoothing: length, zoom: 2))
    var sums = [0.0]
    for step in steps.dropFirst() { sums.append(sums[sums.count - 1] + Double(step.x)) }
    let deviation = length.approximateSeconds / 2
    for index in 0..<count {
      // By least squares: of a line a + b·t, what it has at the picture.
      var (s0, s1, s2, p0, p1) = (0.0, 0.0, 0.0, 0.0, 0.0)
      for other in 0..<count {
        let time = Double(other - index) / 30
        if abs(time) > 3 * deviation { continue }
        let weight = exp(-time * time / deviation / deviation / 2) * (other == 0 || other == count - 1 ? 0.5 : 1)
        (s0, s1, s2) = (s0 + weight, s1 + weight * time, s2 + weight * time * time)
        (p0, p1) = (p0 + weight * (sums[other] - sums[index]), p1 + weight * time * (sums[other] - sums[index]))
      }
      let fitted = (s2 * p0 - s1 * p1) / (s0 * s2 - s1 * s1)
      #expect(abs(Double(made.places[index].x) + fitted) < MotionStep.unitsOfPixel * 0.7, "\(index)")
    }
  }

  @Test func `a pan stays even where pictures are missing`() {
    var random = SeededRandom(seed: 5)
    var steps = [MotionStep(pts: 0)]
    while steps.count < 160 {
      let gap = steps.count > 70 ? 5 : Int.random(in: 1...3, using: &random)
      steps.append(MotionStep(pts: steps[steps.count - 1].pts + Int64(gap), x: pixels(2.25) * gap))
    }
    let planned = path(steps).stabilized(Stabilization(smoothing: MediaTime(seconds: 2)))
    #expect(planned.places.allSatisfy { abs($0.x) <= 2 } && planned.zoom <= 1.001)
  }

  @Test func `a great many pictures are planned like few`() {
    // 199 of 200 stand where the one before them does. With a sum over all of them for each, this takes minutes.
    let few = shaking(300, seed: 9)
    var many: [MotionStep] = []
    for step in few {
      for part in 0..<Int64(200) {
        var own = MotionStep(pts: step.pts * 200 + part)
        if part == 0 { (own.x, own.y) = (step.x, step.y) }
        many.append(own)
      }
    }
    let wanted = Stabilization(zoom: 1.4)
    let one = path(few).stabilized(wanted).places
    let other = CameraPath(
      many, width: Self.width, height: Self.height, timebase: MediaTime(value: 1, timescale: 6000)
    ).stabilized(wanted).places
    for index in stride(from: 0, to: 300, by: 7) {
      #expect(abs(one[index].x - other[index * 200 + 100].x) < pixels(1.5), "\(index)")
    }
  }

  @Test func `a clip that begins later has the same places away from its start`() {
    let steps = shaking(400, seed: 3)
    let wanted = Stabilization(smoothing: MediaTime(value: 3, timescale: 2), zoom: 1.2)
    let whole = path(steps).stabilized(wanted).places
    let cut = path(Array(steps[137...])).stabilized(wanted).places
    #expect(whole[220...] == cut[(220 - 137)...])
    #expect(whole[140] != cut[3])
  }

  @Test(arguments: [nil, 1.02, 1.25] as [Double?])
  func `no edge of a picture is seen`(zoom: Double?) {
    for seed in 1...20 {
      let steps = shaking(160, seed: UInt64(seed), by: Double(seed) * 2)
      let planned = path(steps).stabilized(Stabilization(zoom: zoom))
      #expect(planned.zoom <= (zoom ?? Stabilization.greatestZoom) && planned.zoom > 1)
      for place in planned.places {
        let angle = Double(place.angle) / MotionStep.unitsOfRadian
        let (cosine, sine) = (cos(angle), sin(angle))
        for (x, y) in [(-1.0, -1.0), (1, -1), (-1, 1), (1, 1)] {
          let (seenX, seenY) = (x * Self.width / 2 / planned.zoom, y * Self.height / 2 / planned.zoom)
          let storedX = cosine * seenX - sine * seenY + Double(place.x) / MotionStep.unitsOfPixel
          let storedY = sine * seenX + cosine * seenY + Double(place.y) / MotionStep.unitsOfPixel
          #expect(abs(storedX) <= Self.width / 2 + 1e-6 && abs(storedY) <= Self.height / 2 + 1e-6)
        }
      }
    }
  }

  @Test func `as little is enlarged as the largest movement needs`() {
    var steps = (0..<61).map { MotionStep(pts: Int64($0)) }
    steps[30].x = pixels(40)
    let planned = path(steps).stabilized(Stabilization())
    let farthest = planned.places.map { abs(Double($0.x)) / MotionStep.unitsOfPixel }.max() ?? 0
    #expect(farthest > 15 && farthest < 20)
    #expect(abs(planned.zoom - Self.width / 2 / (Self.width / 2 - farthest)) < 0.001)
  }

  @Test func `stretches of an asset are measured once, wherever its clips begin`() throws {
    let film = try Synthetic.film(frames: 1500, origin: 1024)
    func clips(_ ranges: [(Int64, Int64)], _ stabilization: Stabilization?) throws -> [MotionTask] {
      var track = CompositionTrack(id: "A", type: .video)
      var start: Int64 = 0
      for (first, end) in ranges {
        var clip = Clip(
          asset: "a", sourceTrack: 0, source: try Synthetic.range(first, end, 10),
          target: try Synthetic.range(start, start + end - first, 10))
        clip.stabilization = stabilization
        track.clips.append(clip)
        start += end - first
      }
      return try MotionPlanner.tasks(Synthetic.edit(tracks: [track]), assets: Synthetic.assets(["a": film]))
    }
    #expect(try clips([(3, 90)], nil).isEmpty)
    let one = try clips([(3, 90)], Stabilization())
    #expect(one.map(\.pictures) == [1024...(1024 + 299 * 512)])
    #expect(one[0].source.decodeFrom == nil || one[0].source.decodeFrom?.pts == 1024)
    let three = try clips([(95, 205), (3, 90), (110, 190)], Stabilization(zoom: 1.1))
    #expect(three.map { ($0.pictures.lowerBound - 1024) / 512 } == [0, 300, 600])
    #expect(three[0] == one[0])
    #expect(three[1].source.decodeFrom?.pts == Int64(1024 + 300 * 512))
    // With what is needed to decode the picture before the stretch.
    #expect(three[1].source.video.keyframes.contains { $0.pts < 1024 + 300 * 512 })
  }
}
