import Testing

@testable import Client

@Suite struct SilenceWatchTests {
  @Test func `silence while this process was stopped does not count`() {
    let start = ContinuousClock.now
    func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
    var watch = SilenceWatch(longestGap: .seconds(10), now: start)
    #expect(watch.silence(since: at(0), now: at(3)) == .seconds(3))
    // Stopped for 60 s.
    #expect(watch.silence(since: at(0), now: at(63)) == .zero)
    #expect(watch.silence(since: at(0), now: at(66)) == .seconds(3))
    #expect(watch.silence(since: at(65), now: at(69)) == .seconds(4))
  }

  @Test func `a peer that is silent while this process runs is silent`() {
    let start = ContinuousClock.now
    var watch = SilenceWatch(longestGap: .seconds(10), now: start)
    var silence = Duration.zero
    for second in stride(from: 3, through: 21, by: 3) {
      silence = watch.silence(since: start, now: start + .seconds(second))
    }
    #expect(silence == .seconds(21))
  }
}
