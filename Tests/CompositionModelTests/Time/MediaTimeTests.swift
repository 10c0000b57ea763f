import CompositionModel
import TestPrograms
import Testing

/// A fraction that is never reduced, as the reference.
private struct SlowFraction {
  var numerator: Int128
  var denominator: Int128

  init(_ time: MediaTime) {
    (numerator, denominator) = (Int128(time.value), Int128(time.timescale))
  }

  init(_ numerator: Int128, _ denominator: Int128) {
    (self.numerator, self.denominator) = (numerator, denominator)
  }

  static func + (a: SlowFraction, b: SlowFraction) -> SlowFraction {
    SlowFraction(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)
  }

  func equals(_ time: MediaTime) -> Bool {
    numerator * Int128(time.timescale) == denominator * Int128(time.value)
  }
}

@Suite struct MediaTimeTests {
  private static let timescales: [Int32] = [1, 24, 25, 30, 600, 1000, 44100, 48000, 90000, 30000]

  private func someTime(_ random: inout SeededRandom) -> MediaTime {
    MediaTime(
      value: Int64.random(in: -1_000_000...1_000_000, using: &random),
      timescale: Self.timescales.randomElement(using: &random) ?? 1)
  }

  @Test func `sums and differences are exact`() throws {
    var random = SeededRandom(seed: 1)
    for _ in 0..<2000 {
      let (a, b) = (someTime(&random), someTime(&random))
      let sum = try a + b
      #expect((SlowFraction(a) + SlowFraction(b)).equals(sum))
      #expect(try (a + b) - b == a)
      #expect(try a - b == .zero - (b - a))
    }
  }

  @Test func `order and equality and hash are by value`() {
    var random = SeededRandom(seed: 2)
    for _ in 0..<2000 {
      let (a, b) = (someTime(&random), someTime(&random))
      let (left, right) = (Int128(a.value) * Int128(b.timescale), Int128(b.value) * Int128(a.timescale))
      #expect((a < b) == (left < right))
      #expect((a == b) == (left == right))
      let factor = Int32.random(in: 1...1000, using: &random)
      let same = MediaTime(value: a.value * Int64(factor), timescale: a.timescale * factor)
      #expect(a == same && a.hashValue == same.hashValue)
    }
    #expect(MediaTime(value: 200, timescale: 2) == MediaTime(value: 400, timescale: 4))
  }

  @Test func `rates and products are exact`() throws {
    var random = SeededRandom(seed: 3)
    for _ in 0..<2000 {
      let (a, b) = (someTime(&random), someTime(&random))
      guard b != .zero else { continue }
      let rate = try a / b
      #expect(
        rate.numerator * Int128(b.value) * Int128(a.timescale)
          == rate.denominator * Int128(a.value) * Int128(b.timescale))
      #expect(try b * rate == a)
    }
  }

  @Test func `rescaling rounds half away from zero and reports it`() throws {
    let cases: [(MediaTime, Int32, Int64, Bool)] = [
      (MediaTime(value: 1, timescale: 2), 1, 1, false), (MediaTime(value: -1, timescale: 2), 1, -1, false),
      (MediaTime(value: 3, timescale: 2), 1, 2, false), (MediaTime(value: -3, timescale: 2), 1, -2, false),
      (MediaTime(value: 1, timescale: 3), 1, 0, false), (MediaTime(value: 2, timescale: 3), 1, 1, false),
      (MediaTime(value: 1001, timescale: 30000), 600, 20, false),
      (MediaTime(value: 1, timescale: 25), 600, 24, true), (.zero, 7, 0, true),
    ]
    for (time, timescale, value, isExact) in cases {
      let rescaled = try time.rescaled(to: timescale)
      #expect(rescaled.time.value == value && rescaled.time.timescale == timescale)
      #expect(rescaled.isExact == isExact)
    }
    // Against doubling: round(x) = floor((2x + 1) / 2) above zero, mirrored below.
    var random = SeededRandom(seed: 4)
    for _ in 0..<2000 {
      let time = someTime(&random)
      let timescale = Self.timescales.randomElement(using: &random) ?? 1
      let twice = abs(Int128(time.value)) * Int128(timescale) * 2 + Int128(time.timescale)
      let magnitude = twice / (Int128(time.timescale) * 2)
      #expect(Int128(try time.rescaled(to: timescale).time.value) == (time.value < 0 ? -magnitude : magnitude))
    }
  }

  @Test func `a result that does not fit is an error`() throws {
    let greatest = try MediaTime(Rational(.max, 1))
    #expect(throws: TimeError.overflow) { try greatest + MediaTime(seconds: 1) }
    #expect(throws: TimeError.overflow) { try greatest + MediaTime(value: 1, timescale: 2) }
    #expect(throws: TimeError.overflow) { try greatest * Rational(2) }
    // The denominator of a difference of times of 64 over 32 bits fits; that of a time and such a difference may not.
    let primes = [2_147_483_647, 2_147_483_629, 2_147_483_587].map { MediaTime(value: 1, timescale: Int32($0)) }
    let sum = try primes[0] + primes[1]
    #expect(try sum.exact == Rational(4_294_967_276, 2_147_483_647 * 2_147_483_629))
    #expect(throws: TimeError.overflow) { try sum + primes[2] }
    #expect(throws: TimeError.overflow) { try MediaTime(value: .max, timescale: 1).rescaled(to: 2) }
    #expect(throws: TimeError.divisionByZero) { try MediaTime(seconds: 1) / .zero }
    #expect(throws: TimeError.overflow) { try Rational(.max, 1) + .one }
    #expect(throws: TimeError.overflow) { try Rational(.max, 1) * Rational(2) }
    #expect(throws: TimeError.divisionByZero) { try Rational(1, 0) }
    #expect(throws: TimeError.notNumeric) { try MediaTime.positiveInfinity + .zero }
    #expect(throws: TimeError.notNumeric) { try MediaTime.invalid.exact }
  }

  @Test func `the special times are ordered around the finite ones`() {
    let order: [MediaTime] = [
      .negativeInfinity, MediaTime(value: .min, timescale: 1), .zero, .positiveInfinity, .invalid,
    ]
    for (index, time) in order.enumerated() {
      for (other, later) in order.enumerated() { #expect((time < later) == (index < other)) }
    }
    #expect(MediaTime(value: 5, timescale: 0) == .invalid && MediaTime(value: 5, timescale: -1) == .invalid)
    #expect(!MediaTime.invalid.isValid && MediaTime.positiveInfinity.isValid && !MediaTime.positiveInfinity.isNumeric)
  }

  @Test func `descriptions read back as the same time`() {
    var random = SeededRandom(seed: 5)
    for _ in 0..<500 {
      let time = someTime(&random)
      #expect(MediaTime(time.description) == time)
    }
    for time in [MediaTime.invalid, .positiveInfinity, .negativeInfinity] {
      #expect(MediaTime(time.description) == time)
    }
    for text in ["", "1/", "/2", "1/0", "1/-2", "1/2/3", "1.5", "x", " 1"] { #expect(MediaTime(text) == nil) }
  }

  @Test func `floor and ceiling are integers around`() throws {
    for numerator in -20...20 {
      for denominator in 1...7 {
        let value = try Rational(Int128(numerator), Int128(denominator))
        #expect(Rational(value.floor) <= value && value < Rational(value.floor + 1))
        #expect(Rational(value.ceiling - 1) < value && value <= Rational(value.ceiling))
      }
    }
  }
}
