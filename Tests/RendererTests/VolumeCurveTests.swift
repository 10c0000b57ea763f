import CKernels
import CompositionModel
import TestPrograms
import Testing

@testable import Renderer

@Suite struct VolumeCurveTests {
  /// Sample by sample through the model's own definition, which works in fractions.
  private func oracle(_ list: RampList, rate: Int, _ samples: Range<Int64>) throws -> [Float] {
    try samples.map { Float(try list.value(at: MediaTime(value: $0, timescale: Int32(rate)))) }
  }

  /// Samples that are all 1, with the curve applied by the kernels, a block at a time.
  private func applied(_ list: RampList, rate: Int, _ samples: Range<Int64>, block: Int64) throws -> [Float] {
    let curve = try VolumeCurve(list, rate: rate)
    let ones = [Float](repeating: 1, count: samples.count)
    var mix = [Float](repeating: 0, count: samples.count)
    var start = samples.lowerBound
    while start < samples.upperBound {
      let runs = try curve.runs(in: start..<min(samples.upperBound, start + block))
      for run in runs {
        let offset = Int(run.samples.lowerBound - samples.lowerBound)
        mix.withUnsafeMutableBufferPointer { to in
          ones.withUnsafeBufferPointer { from in
            guard let to = to.baseAddress, let from = from.baseAddress else { return }
            switch run.shape {
            case .constant(let gain): sheaf_mix_scaled(to + offset, from, gain, run.samples.count)
            case .line(let begin, let rise, let first, let step, let whole):
              sheaf_mix_line(to + offset, from, begin, rise, first, step, whole, run.samples.count)
            }
          }
        }
      }
      start += block
    }
    return mix
  }

  private func ramp(_ start: MediaTime, _ end: MediaTime, _ from: Double, _ to: Double) throws -> Ramp {
    Ramp(over: try MediaTimeRange(start: start, end: end), from: from, to: to)
  }

  private func time(_ value: Int64, _ timescale: Int32 = 1) -> MediaTime {
    MediaTime(value: value, timescale: timescale)
  }

  @Test(arguments: [64, 1000, 8192] as [Int64])
  func `every sample has the model's own value`(block: Int64) throws {
    let list = RampList([
      try ramp(time(1, 10), time(1, 3), 0, 0.8), try ramp(time(1, 2), time(1, 2), 0.3, 0.3),
      try ramp(time(1001 * 17, 30000), time(1001 * 25, 30000), 0.9, 0.1),
    ])
    for rate in [44100, 48000] {
      let samples = Int64(0)..<Int64(rate)
      #expect(try applied(list, rate: rate, samples, block: block) == oracle(list, rate: rate, samples))
    }
  }

  private static let easings: [Easing] = [
    .hold, .easeInOut, .cubicBezier(x1: 0, y1: 1, x2: 1, y2: 0), .cubicBezier(x1: 0.1, y1: 0.7, x2: 0.9, y2: 0.2),
    .cubicBezier(x1: 1, y1: 0, x2: 0, y2: 1),
  ]

  /// The value of a long one that holds changes at its end and no sample earlier, and a curve that is nearly upright at
  /// its ends is followed there too.
  @Test(arguments: easings.spread(3))
  func `every sample of a long eased ramp is the model's`(easing: Easing) throws {
    var list = RampList([try ramp(time(17, 1000), time(913, 1000), 1, 0.1)])
    list.ramps[0].easing = easing
    let samples = Int64(0)..<48000
    let expected = try oracle(list, rate: 48000, samples)
    let made = try applied(list, rate: 48000, samples, block: 1000)
    #expect(zip(made, expected).allSatisfy { abs($0 - $1) <= 2e-6 })
    if easing == .hold { #expect(made == expected) }
  }

  /// Short ones are exact, long ones within two millionths.
  @Test func `an eased ramp is the model's, whatever the blocks`() throws {
    var list = RampList([
      try ramp(time(1, 100), time(9, 100), 0, 0.8), try ramp(time(1, 7), time(2, 3), 1, 0.1),
      try ramp(time(3, 4), time(7, 8), 0.2, 2),
    ])
    list.ramps[0].easing = .easeInOut
    list.ramps[1].easing = .easeIn
    list.ramps[2].easing = .hold
    let samples = Int64(0)..<48000
    let expected = try oracle(list, rate: 48000, samples)
    let made = try applied(list, rate: 48000, samples, block: 48000)
    #expect(Array(made.prefix(6000)) == Array(expected.prefix(6000)))
    #expect(zip(made, expected).allSatisfy { abs($0 - $1) <= 2e-6 })
    for block in [64, 1000, 8191] as [Int64] {
      #expect(try applied(list, rate: 48000, samples, block: block) == made)
    }
    // A curve that goes below 0 is silent there.
    list.ramps[0].easing = .cubicBezier(x1: 0.3, y1: -2, x2: 0.7, y2: 0)
    #expect(try applied(list, rate: 48000, samples, block: 1000).min() == 0)
  }

  @Test func `a ramp that starts between samples starts at the next`() throws {
    let list = RampList([try ramp(time(3, 200), time(7, 200), 0, 1)])
    let runs = try VolumeCurve(list, rate: 100).runs(in: 0..<10)
    #expect(runs.map(\.samples) == [0..<2, 2..<4, 4..<10])
    #expect(runs.first?.shape == .constant(1))
    #expect(runs.last?.shape == .constant(1))
    #expect(try applied(list, rate: 100, 0..<10, block: 3) == [1, 1, 0.25, 0.75, 1, 1, 1, 1, 1, 1])
  }

  @Test func `the last of ramps that start together counts`() throws {
    let list = RampList([try ramp(time(1), time(1), 0.2, 0.2), try ramp(time(1), time(2), 0.5, 0.7)])
    #expect(try applied(list, rate: 10, 0..<30, block: 7) == oracle(list, rate: 10, 0..<30))
  }

  @Test func `a constant holds from long before the start`() throws {
    #expect(
      try VolumeCurve(.constant(0.25), rate: 48000).runs(in: 0..<5) == [.init(samples: 0..<5, shape: .constant(0.25))])
  }

  @Test func `times too fine for a double stay within its precision`() throws {
    let range = try MediaTimeRange(start: time(1, 46337), duration: time(999_999_937, 46339))
    let list = RampList([Ramp(over: range, from: 0, to: 1)])
    let samples: Range<Int64> = 400_000_000..<400_040_000
    let (mix, expected) = try (
      applied(list, rate: 48000, samples, block: 4096), oracle(list, rate: 48000, samples)
    )
    for (a, b) in zip(mix, expected) { #expect(abs(a - b) <= 1e-7) }
  }
}
