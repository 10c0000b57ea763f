import CompositionModel
import Foundation
import Testing

@Suite struct EasingTests {
  static let all: [Easing] = [
    .linear, .easeIn, .easeOut, .easeInOut, .hold, .cubicBezier(x1: 0.25, y1: 0.1, x2: 0.25, y2: 1),
    .cubicBezier(x1: 0.3, y1: -2, x2: 0.7, y2: 3),
  ]

  @Test(arguments: all) func `every easing goes from nothing to all`(easing: Easing) {
    #expect(easing(0) == 0 && easing(-1) == 0 && easing(1) == 1 && easing(2) == 1)
  }

  /// The values are those of a curve that is followed in a million steps.
  @Test(arguments: [
    (Easing.easeIn, 0.42, 0.0, 1.0, 1.0), (.easeOut, 0, 0, 0.58, 1), (.easeInOut, 0.42, 0, 0.58, 1),
    (.cubicBezier(x1: 0.25, y1: 0.1, x2: 0.25, y2: 1), 0.25, 0.1, 0.25, 1),
    (.cubicBezier(x1: 0.3, y1: -2, x2: 0.7, y2: 3), 0.3, -2, 0.7, 3),
    (.cubicBezier(x1: 1, y1: 0, x2: 0, y2: 1), 1, 0, 0, 1),
  ])
  func `a curve is that of its control points`(easing: Easing, x1: Double, y1: Double, x2: Double, y2: Double) {
    func point(_ t: Double, _ a: Double, _ b: Double) -> Double {
      let (p, q) = ((1 - t) * (1 - t), t * t)
      return p * (1 - t) * 0 + 3 * p * t * a + 3 * (1 - t) * q * b + q * t
    }
    for step in stride(from: 1, to: 1_000_000, by: 4999) {
      let t = Double(step) / 1_000_000
      let (x, y) = (point(t, x1, x2), point(t, y1, y2))
      // Where the curve is nearly upright, the height changes by more than the position's rounding.
      let slope = (point(t + 1e-7, y1, y2) - y) / max(1e-12, point(t + 1e-7, x1, x2) - x)
      #expect(abs(easing(x) - y) <= 1e-9 + abs(slope) * 1e-14)
    }
  }

  @Test func `two sounds that cross at equal power are as loud throughout`() {
    for step in 0...1000 {
      let position = Double(step) / 1000
      let rising = Easing.equalPowerRise(position)
      let falling = 1 - Easing.equalPowerFall(position)
      #expect(abs(rising - sin(position * .pi / 2)) < 0.0001 && abs(falling - cos(position * .pi / 2)) < 0.0001)
      #expect(abs(rising * rising + falling * falling - 1) < 0.0002)
    }
  }

  @Test func `hold changes at the end`() {
    #expect(Easing.hold(0.999_999) == 0)
    #expect(Easing.linear(0.3) == 0.3)
  }

  @Test(arguments: all) func `easings are stored as documents write them`(easing: Easing) throws {
    let json = try JSONEncoder().encode(easing)
    #expect(try JSONDecoder().decode(Easing.self, from: json) == easing)
    if easing == .easeInOut { #expect(String(decoding: json, as: UTF8.self) == "\"ease-in-out\"") }
  }
}
