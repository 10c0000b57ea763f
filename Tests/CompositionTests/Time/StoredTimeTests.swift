import Composition
import Testing

struct StoredTimeTests {
  @Test
  func `thirty frames a second in Matroska's milliseconds show each frame once`() throws {
    let stored = (0..<300).map { (Double($0) * 1000 / 30).rounded() }.map { Int64($0) }
    let millisecond = MediaTime(value: 1, timescale: 1000)
    for frame in stored.indices {
      let tick = try StoredTime.lastTick(
        dueAt: Rational(Int128(frame), 30), timebase: millisecond, origin: 0, isRounded: true)
      #expect(stored.lastIndex { $0 <= tick } == frame)
    }
  }

  @Test
  func `exact timestamps are due at their time and not before`() throws {
    let timebase = MediaTime(value: 1, timescale: 30)
    #expect(try StoredTime.lastTick(dueAt: Rational(59, 60), timebase: timebase, origin: 7, isRounded: false) == 36)
    #expect(try StoredTime.lastTick(dueAt: Rational(60, 60), timebase: timebase, origin: 7, isRounded: false) == 37)
    #expect(try StoredTime.lastTick(dueAt: Rational(-1, 60), timebase: timebase, origin: 0, isRounded: false) == -1)
  }
}
