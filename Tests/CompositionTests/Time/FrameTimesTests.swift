import Composition
import Testing

@Suite struct FrameTimesTests {
  /// Against a plain list of the same times.
  @Test(arguments: 1...6 as ClosedRange<UInt64>) func timesAreFoundAsInAPlainList(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var times: [Int64] = []
    for _ in 0..<60 {
      let last = times.last ?? Int64.random(in: -50...50, using: &random)
      // Mostly steps that repeat, so that there are runs of many and of one.
      times.append(last + (Bool.random(using: &random) ? 10 : Int64.random(in: 1...30, using: &random)))
    }
    let found = FrameTimes(times)
    #expect(found.times == times)
    for time in (times[0] - 5)...(times[59] + 40) {
      let index = times.lastIndex { $0 <= time }
      #expect(found.last(atOrBefore: time) == index.map { times[$0] })
      for count in [0, 1, 2, 7, 32, 59, 60] {
        let expected = index.flatMap { $0 >= count ? times[$0 - count] : nil }
        #expect(found.time(count, before: time) == expected, "\(count) before \(time)")
      }
    }
  }
}
