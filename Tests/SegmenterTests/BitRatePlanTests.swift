import CompositionModel
import TestPrograms
import Testing

import func Foundation.exp
import func Foundation.log

@testable import RenderTasks
@testable import Segmenter

struct BitRatePlanTests {
  private func plan(bitRate: Int? = 1_000_000, frames: Int = 600, segment: Int64 = 5) throws -> RenderPlan {
    let whole = try Synthetic.range(0, Int64(frames), 30)
    let track = CompositionTrack(
      id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    var edit = try Synthetic.edit(tracks: [track], layers: [.track(TrackLayer(track: "A"))])
    edit.export.video?.rateControl = bitRate.map { .averageBitRate($0) } ?? .quality(23)
    return try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["a": Synthetic.film(frames: frames)]),
      segmentDuration: MediaTime(value: segment, timescale: 1))
  }

  /// The segments differ in their bits, and in how these fall.
  private func measurements(of plan: RenderPlan, seed: UInt64 = 1) throws -> [Measurement] {
    var random = SeededRandom(seed: seed)
    let factors = try #require(plan.stitch.main.file.video?.encoder.bitRateModel).measuringFactors
    let span = factors[1] - factors[0]
    var measured: [Measurement] = []
    for segment in plan.segments {
      let level = Double.random(in: 1_000...90_000, using: &random)
      let fall = exp(-Double.random(in: 0.08...0.2, using: &random) * span)
      var low = (0..<segment.task.frameCount).map { Int(level * Double(1 + $0 % 3) / 2) }
      low[0] = Int(level * 6)
      measured.append(Measurement(rateFactors: factors, frameBits: [low, low.map { Int(Double($0) * fall) }]))
    }
    return measured
  }

  private func factors(_ plan: RenderPlan) -> [Double?] {
    plan.segments.map { segment in
      if case .quality(let factor) = segment.task.renditions[0].encoder.rateControl { factor } else { nil }
    }
  }

  /// What is added to the film's rate factor for a segment: 1.6 for each doubling of its bits a pixel.
  private func offset(_ measured: Measurement, _ plan: RenderPlan) throws -> Double {
    let size = try #require(plan.format).size
    let pixels = Double(size.width * size.height * measured.frameBits[1].count)
    let offset = 1.6 * log(Double(measured.frameBits[1].reduce(0, +)) / pixels / 0.05) / log(2)
    return (min(max(offset, -5), 5) * 10).rounded() / 10
  }

  /// The reference tries every rate factor.
  @Test(arguments: 1...30)
  func `the film has the rate factor whose bits are nearest to the average bit rate`(seed: Int) throws {
    let plan = try plan(bitRate: [200_000, 1_000_000, 6_000_000][seed % 3])
    let measured = try measurements(of: plan, seed: UInt64(seed))
    let model = try #require(plan.stitch.main.file.video?.encoder.bitRateModel)
    let rate = try #require(plan.segments[0].task.renditions[0].encoder.averageBitRate)
    let target = Double(rate) * Double(plan.frameCount) / 30
    let offsets = try measured.map { try offset($0, plan) }
    let predictions = measured.map { BitPrediction($0, model: model) }
    var (best, least) = (0.0, Double.infinity)
    for step in -40...560 {
      let factor = Double(step) / 10
      let bits = zip(offsets, predictions).reduce(0.0) { $0 + $1.1.bits(at: min(max(factor + $1.0, 1), 51)) }
      let miss = abs(log(bits / target))
      if miss < least { (best, least) = (factor, miss) }
    }
    let shared = try plan.sharingBits(measured.map { [$0] })
    #expect(factors(shared) == offsets.map { min(max(best + $0, 1), 51) })
    let bits = shared.segments.flatMap { $0.task.renditions[0].share?.frameBits ?? [] }
    #expect(bits.count == plan.frameCount)
    let isReached = abs(Double(bits.reduce(0, +)) / target - 1) < 0.015
    // Or no segment's rate factor can be another.
    #expect(isReached || factors(shared).allSatisfy { $0 == 1 } || factors(shared).allSatisfy { $0 == 51 })
    // What the pieces must agree with, and all else of the tasks, is as before.
    #expect(shared.stitch == plan.stitch)
    #expect(shared.segments.map(\.task.spans) == plan.segments.map(\.task.spans))
  }

  @Test
  func `bits are shared out by what the segments need, and quiet ones get more than that`() throws {
    let plan = try plan(frames: 300)
    var measured = try measurements(of: plan)
    measured[1] = measured[0]
    measured[1].frameBits = measured[0].frameBits.map { $0.map { 5 * $0 } }
    let shared = try plan.sharingBits(measured.map { [$0] })
    let shares = shared.segments.map { $0.task.renditions[0].share?.frameBits.reduce(0, +) ?? 0 }
    #expect((2..<4).contains(Double(shares[1]) / Double(shares[0])))
  }

  @Test
  func `a change of one segment of many leaves the tasks of the others as they are`() throws {
    let plan = try plan(frames: 3000, segment: 1)
    var same = 0
    for seed in 1...20 {
      let measured = try measurements(of: plan, seed: UInt64(seed))
      let before = try plan.sharingBits(measured.map { [$0] })
      for index in measured.indices.prefix(2) {
        var changed = measured
        changed[index].frameBits = measured[index].frameBits.map { $0.map { $0 * 11 / 10 } }
        let after = try plan.sharingBits(changed.map { [$0] })
        let others = plan.segments.indices.filter { $0 != index }
        if others.allSatisfy({ after.segments[$0].task == before.segments[$0].task }) { same += 1 }
      }
    }
    #expect(same >= 32, "\(same) of 40")
  }

  @Test
  func `a bit rate that cannot be reached takes the last rate factor`() throws {
    for (rate, expected) in [(1_000, 51.0), (1_000_000_000, 1.0)] {
      let plan = try plan(bitRate: rate)
      #expect(try factors(plan.sharingBits(measurements(of: plan).map { [$0] })).allSatisfy { $0 == expected })
    }
  }

  @Test(arguments: ["ultrafast", "veryfast", "medium", "veryslow"])
  func `the predicted bits fall with the rate factor, whatever was measured`(preset: String) throws {
    var random = SeededRandom(seed: 3)
    var settings = try #require(try plan().stitch.main.file.video).encoder
    settings.preset = preset
    let model = try #require(settings.bitRateModel)
    for _ in 0..<200 {
      let bits = (0..<2).map { _ in
        [Int.random(in: 0...1_000, using: &random), Int.random(in: 0...9_999_999, using: &random)]
      }
      let prediction = BitPrediction(Measurement(rateFactors: model.measuringFactors, frameBits: bits), model: model)
      let totals = stride(from: 1.0, through: 51, by: 0.5).map(prediction.bits)
      #expect(zip(totals, totals.dropFirst()).allSatisfy { $0 > $1 } && totals.allSatisfy(\.isFinite))
      #expect(prediction.frameBits(at: 23).allSatisfy { $0 > 0 })
    }
  }

  @Test
  func `what is measured does not depend on the bit rate`() throws {
    #expect(try plan(bitRate: 200_000).measureTasks == plan(bitRate: 900_000).measureTasks)
    #expect(try plan(bitRate: nil).measureTasks.isEmpty)
  }

  @Test
  func `measurements that do not fit the plan are rejected`() throws {
    let plan = try plan()
    let measured = try measurements(of: plan)
    var short = measured
    short[1].frameBits[0].removeLast()
    var other = measured
    other[0].rateFactors = [1, 2]
    for wrong in [Array(measured.dropLast()), short, other] {
      #expect(throws: PlanError.self) { try plan.sharingBits(wrong.map { [$0] }) }
    }
  }
}
