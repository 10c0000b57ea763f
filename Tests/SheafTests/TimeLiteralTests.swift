import Sheaf
import TestPrograms
import Testing

/// Times as they are written in code.
@Suite(.ownThreads) struct TimeLiteralTests {
  @Test(arguments: [
    (0.1, "1/10"), (2.5, "5/2"), (-0.04, "-1/25"), (1e-7, "1/10000000"), (0, "0"), (-0.0, "0"),
    (1e15, "1000000000000000"),
    (1.5e17, "150000000000000000"), (29.97, "2997/100"), (1e-18, "1/1000000000000000000"),
    (6e-19, "1/1000000000000000000"),
    (4e-19, "0"), (Double.leastNonzeroMagnitude, "0"), (.nan, "invalid"), (.infinity, "+inf"), (-.infinity, "-inf"),
    (1e18, "+inf"),
    (-1e300, "-inf"),
    (0.1 + 0.2, "30000000000000004/100000000000000000"),
  ])
  func `a number of seconds is the time that its decimals say`(number: Double, time: String) {
    #expect(number.seconds == MediaTime(time))
  }

  @Test func `whole seconds, fractions, multiples and parts`() throws {
    #expect(3.seconds == MediaTime(seconds: 3) && (-2).seconds == MediaTime(seconds: -2))
    #expect(MediaTime(1, 30) == MediaTime(value: 1, timescale: 30))
    #expect(MediaTime(1, 0) == .invalid && MediaTime(1, -5) == .invalid)
    #expect(try MediaTime(1001, 30000) * 3 == MediaTime(3003, 30000))
    #expect(try 2.5.seconds / 4 == MediaTime(5, 8))
    #expect(try 2.5.seconds / -2 == MediaTime(-5, 4))
    #expect(throws: TimeError.self) { try 1.seconds / 0 }
    #expect(throws: TimeError.self) { try MediaTime(seconds: .max) * .max * .max }
  }

  @Test func `a track is edited in a closure of several statements`() throws {
    var edit = Edit()
    let id = try edit.composition.addTrack(.video)
    try edit.composition.editTrack(id) { track in
      let gap = 2.5.seconds
      try track.insertEmpty(MediaTimeRange(start: .zero, duration: gap))
    }
    #expect(throws: EditingError.unknownTrack("none")) { try edit.composition.editTrack("none") { _ in } }
  }
}
