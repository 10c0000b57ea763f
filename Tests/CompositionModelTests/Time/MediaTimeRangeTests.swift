import CompositionModel
import TestEdits
import TestPrograms
import Testing

@Suite struct MediaTimeRangeTests {
  /// A range on a grid of thirds and the grid points in it, as the reference for every operation.
  private func someRange(_ random: inout SeededRandom) throws -> (range: MediaTimeRange, points: Set<Int64>) {
    let start = Int64.random(in: -10...10, using: &random)
    let length = Int64.random(in: 0...8, using: &random)
    let range = try MediaTimeRange(
      start: MediaTime(value: start, timescale: 3), duration: MediaTime(value: length * 2, timescale: 6))
    return (range, Set(start..<start + length))
  }

  @Test func `ranges are the sets of their times`() throws {
    var random = SeededRandom(seed: 6)
    for _ in 0..<2000 {
      let (a, inA) = try someRange(&random)
      let (b, inB) = try someRange(&random)
      for point in Int64(-12)...30 {
        #expect(a.contains(MediaTime(value: point, timescale: 3)) == inA.contains(point))
      }
      let both = try a.intersection(b)
      #expect((both == nil) == inA.isDisjoint(with: inB))
      if let both {
        #expect(both.start.value * 3 == inA.intersection(inB).min().map { $0 * Int64(both.start.timescale) })
        #expect(a.contains(both) && b.contains(both))
      }
      let union = try a.union(b)
      #expect(union.contains(a) && union.contains(b))
      #expect(union.start == min(a.start, b.start) && union.end == max(a.end, b.end))
      if !inB.isEmpty { #expect(a.contains(b) == inA.isSuperset(of: inB)) }
      #expect(a.isEmpty == inA.isEmpty)
    }
  }

  @Test func `a range does not contain its end`() throws {
    let range = try spanning("4", "9")
    let (first, last) = (try at("4"), try at("9"))
    #expect(range.contains(first) && !range.contains(last))
    let next = try spanning("9", "12")
    #expect(try range.intersection(next) == nil)
    let (shifted, expected) = (try range.shifted(by: at("1/2")), try spanning("9/2", "19/2"))
    #expect(shifted == expected)
  }

  @Test func `invalid ranges are refused`() throws {
    #expect(throws: TimeError.negativeDuration) { try MediaTimeRange(start: .zero, duration: MediaTime(seconds: -1)) }
    #expect(throws: TimeError.negativeDuration) { try MediaTimeRange(start: MediaTime(seconds: 3), end: .zero) }
    #expect(throws: TimeError.notNumeric) { try MediaTimeRange(start: .invalid, duration: .zero) }
    #expect(throws: TimeError.notNumeric) { try MediaTimeRange(start: .zero, duration: .positiveInfinity) }
    let greatest = try MediaTime(Rational(.max, 1))
    #expect(throws: TimeError.overflow) { try MediaTimeRange(start: greatest, duration: MediaTime(seconds: 1)) }
    #expect(throws: TimeError.overflow) {
      try MediaTimeRange(placing: MediaTime(value: .max, timescale: 1), lasting: MediaTime(seconds: 1))
    }
  }
}
