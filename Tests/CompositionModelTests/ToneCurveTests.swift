import CompositionModel
import TestPrograms
import Testing

/// Curves of samples against what they are defined to have.
@Suite struct ToneCurveTests {
  private func curve(_ points: [(Double, Double)]) -> ToneCurve {
    ToneCurve(points.map { ToneCurves.Point(x: $0.0, y: $0.1) })
  }

  @Test func `without points a curve is the sample itself`() {
    for value in [0, 0.125, 0.3, 1] { #expect(ToneCurve(nil).value(at: value) == value) }
  }

  @Test func `two points are a line, level beyond them`() {
    let line = curve([(0.25, 0.5), (0.75, 1)])
    for (x, y) in [(0, 0.5), (0.25, 0.5), (0.375, 0.625), (0.5, 0.75), (0.75, 1), (1, 1)] {
      #expect(abs(line.value(at: x) - y) < 1e-12)
    }
  }

  /// The cubic Hermite polynomial with its coefficients written out.
  @Test func `a piece is the cubic with the slopes of Fritsch and Butland`() {
    let made = curve([(0, 0), (0.5, 0.25), (0.75, 0.75), (1, 0.8)])
    // Of the steps 0.5, 2 and 0.2 in 0.5, 0.25 and 0.25.
    let left = 3 * 0.75 / (1.0 / 0.5 + 1.25 / 2)
    let right = 3 * 0.5 / (0.75 / 2 + 0.75 / 0.2)
    let (width, rise) = (0.25, 0.5)
    for part in stride(from: 0.0, through: 1, by: 1.0 / 16) {
      let distance = part * width
      let second = (3 * rise / width - 2 * left - right) / width
      let third = (left + right - 2 * rise / width) / (width * width)
      let exact = 0.25 + left * distance + second * distance * distance + third * distance * distance * distance
      #expect(abs(made.value(at: 0.5 + distance) - exact) < 1e-12)
    }
  }

  @Test func `a curve goes through its points and has no extremes between them`() {
    var generator = SeededRandom(seed: 11)
    for _ in 0..<300 {
      let count = Int.random(in: 2...9, using: &generator)
      let places = (0..<count).map { _ in Double.random(in: 0...1, using: &generator) }.sorted()
      guard zip(places, places.dropFirst()).allSatisfy({ $0 < $1 }) else { continue }
      let points = places.map { ($0, Double.random(in: 0...1, using: &generator)) }
      let made = curve(points)
      for (x, y) in points { #expect(abs(made.value(at: x) - y) < 1e-12) }
      for (a, b) in zip(points, points.dropFirst()) {
        var last = a.1
        for step in 1...32 {
          let value = made.value(at: a.0 + (b.0 - a.0) * Double(step) / 32)
          #expect(b.1 >= a.1 ? value >= last - 1e-12 : value <= last + 1e-12)
          last = value
        }
      }
    }
  }

  @Test func `the curve for all comes after that of a channel`() {
    let half = [ToneCurves.Point(x: 0, y: 0), .init(x: 1, y: 0.5)]
    let inverse = [ToneCurves.Point(x: 0, y: 1), .init(x: 1, y: 0)]
    let made = ToneCurves(all: inverse, green: half).value(red: 0.25, green: 0.5, blue: 1)
    #expect(made.red == 0.75 && made.green == 0.75 && made.blue == 0)
  }
}
