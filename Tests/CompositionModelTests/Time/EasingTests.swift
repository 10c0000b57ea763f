import CompositionModel
import Testing

@Suite struct EasingTests {
  /// Values that browsers show for CSS's timing functions.
  @Test func curvesAreThoseOfCSS() {
    let cases: [(Easing, Double, Double)] = [
      (.easeIn, 0.25, 0.0935), (.easeIn, 0.5, 0.3154), (.easeOut, 0.5, 0.6846), (.easeInOut, 0.5, 0.5),
      (.easeInOut, 0.25, 0.1292), (.easeInOut, 0.75, 0.8708),
      (.cubicBezier(x1: 0.25, y1: 0.1, x2: 0.25, y2: 1), 0.5, 0.8024),
      (.cubicBezier(x1: 0, y1: 0, x2: 1, y2: 1), 0.37, 0.37), (.easeIn, 0, 0), (.hold, 0, 0), (.hold, 0.999, 0),
    ]
    for (easing, position, value) in cases {
      #expect(abs(easing.value(at: position) - value) < 0.0001, "\(easing) at \(position)")
    }
  }

  @Test func aRampGoesAsItsEasingSays() throws {
    let over = try spanning("2", "4")
    let ramps = RampList([Ramp(over: over, from: 0, to: 10, easing: .hold)])
    #expect(try ["1", "2", "399/100", "4", "9"].map { try ramps.value(at: at($0)) } == [1, 0, 0, 10, 10])
    let eased = RampList([Ramp(over: over, from: 1, to: 0, easing: .easeInOut)])
    #expect(try eased.value(at: at("3")) == 0.5)
    // Beyond its ends on the way, and at them in the end.
    let springy = RampList([
      Ramp(over: over, from: 0, to: 1, easing: .cubicBezier(x1: 0.3, y1: 2, x2: 0.6, y2: 2))
    ])
    #expect(try springy.value(at: at("3")) > 1)
    #expect(try springy.value(at: at("4")) == 1)
  }
}
