import CompositionModel
import TestEdits
import Testing

@Suite struct EasedRampTests {
  @Test func `a ramp goes as its easing says`() throws {
    let over = try spanning("2", "4")
    let ramps = RampList([Ramp(over: over, from: 0, to: 10, easing: .hold)])
    #expect(try ["1", "2", "399/100", "4", "9"].map { try ramps.value(at: at($0)) } == [1, 0, 0, 10, 10])
    let eased = RampList([Ramp(over: over, from: 1, to: 0, easing: .easeInOut)])
    #expect(abs(try eased.value(at: at("3")) - 0.5) < 1e-12)
    // Beyond its ends on the way, and at them in the end.
    let springy = RampList([
      Ramp(over: over, from: 0, to: 1, easing: .cubicBezier(x1: 0.3, y1: 2, x2: 0.6, y2: 2))
    ])
    #expect(try springy.value(at: at("3")) > 1)
    #expect(try springy.value(at: at("4")) == 1)
  }
}
