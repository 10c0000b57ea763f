import Foundation
import TestPrograms
import Testing

@testable import CompositionModel

/// The values of texts that count, beside other programs' numbers and plain counting.
@Suite struct CountingTextTests {
  private func text(
    _ count: CountingText.Count, at frame: Int, rate: Rational, start: MediaTime = .zero
  ) throws -> String {
    let duration = try MediaTime(.one / rate)
    return try CountingText(count, start: start).text(at: duration * Rational(frame), frameDuration: duration)
  }

  /// Every number in order, of which those of the first second of a minute are left out as SMPTE ST 12 says.
  private func timecodes(_ count: Int, frames: Int, dropped: Int) -> [String] {
    var codes: [String] = []
    var (minute, second, frame) = (0, 0, 0)
    while codes.count < count {
      if second > 0 || frame >= dropped || minute % 10 == 0 {
        codes.append(
          String(format: "%02d:%02d:%02d%@%02d", minute / 60, minute % 60, second, dropped > 0 ? ";" : ":", frame))
      }
      frame += 1
      if frame == frames { (second, frame) = (second + 1, 0) }
      if second == 60 { (minute, second) = (minute + 1, 0) }
    }
    return codes
  }

  @Test(
    arguments: [
      (Rational(25), 25, 0), (Rational(24000, over: 1001), 24, 0), (Rational(30000, over: 1001), 30, 0),
      (Rational(30000, over: 1001), 30, 2), (Rational(60000, over: 1001), 60, 4),
    ].spread(3))
  func `timecode counts every frame, and leaves out numbers where it is drop-frame`(
    _ rate: Rational, _ frames: Int, _ dropped: Int
  ) throws {
    let expected = timecodes(40_000, frames: frames, dropped: dropped)
    let first = dropped > 0 ? "00:00:00;00" : "00:00:00:00"
    let found = try (0..<40_000).map { try text(.timecode(first), at: $0, rate: rate) }
    #expect(found == expected)
    #expect(try text(.timecode(expected[17_990]), at: 20, rate: rate) == expected[18_010])
  }

  @Test func `timecode begins again after a day`() throws {
    #expect(try text(.timecode("23:59:59:24"), at: 1, rate: Rational(25)) == "00:00:00:00")
    #expect(try text(.timecode("23:59:59;29"), at: 1, rate: Rational(30000, over: 1001)) == "00:00:00;00")
  }

  @Test func `a frame's number has its digits, and counts from where it starts`() throws {
    #expect(try text(.frame(first: 1, digits: 6), at: 41, rate: Rational(25)) == "000042")
    #expect(try text(.frame(first: 0, digits: 1), at: 10, rate: Rational(25), start: MediaTime(seconds: -4)) == "110")
  }

  @Test func `a counter goes evenly from one number to the other`() throws {
    var number = CountingNumber(from: 0, to: 100, delay: MediaTime(seconds: 1), duration: MediaTime(seconds: 4))
    func shown(_ frames: [Int]) throws -> [String] {
      try frames.map { try text(.number(number), at: $0, rate: Rational(25)) }
    }
    #expect(try shown([0, 25, 26, 50, 75, 124, 125, 500]) == ["0", "0", "1", "25", "50", "99", "100", "100"])
    (number.to, number.grouping, number.decimals) = (-1_234_567.5, .comma, 1)
    #expect(try shown([0, 75, 125]) == ["0.0", "-617,283.8", "-1,234,567.5"])
    (number.grouping, number.digits) = (.point, 9)
    #expect(try shown([75, 125]) == ["-000.617.283,8", "-001.234.567,5"])
    number = CountingNumber(
      from: 5, to: 6, duration: MediaTime(seconds: 1), goesOn: true, decimals: 2, rounding: .down)
    #expect(try shown([0, 1, 25, 1000]) == ["5.00", "5.04", "6.00", "45.00"])
  }

  @Test func `a countdown lasts its whole time, and stays at zero`() throws {
    let number = CountingNumber(
      from: 75, to: 0, duration: MediaTime(seconds: 75), rounding: .up, format: .minutes)
    let rate = Rational(30000, over: 1001)
    let shown = try (0..<2400).map { try text(.number(number), at: $0, rate: rate) }
    let expected = (0..<2400).map { frame in
      // What is left, rounded up, in whole numbers alone.
      let left = max(0, (75 * 30000 - frame * 1001 + 29999) / 30000)
      return "\(left / 60):" + String(format: "%02d", left % 60)
    }
    #expect(shown == expected)
    for (format, written) in [
      (CountingNumber.Format.paddedMinutes, "61:01"),
      (.hours, "1:01:01"), (.paddedHours, "01:01:01"), (.number, "3661"),
    ] {
      let number = CountingNumber(from: 3661, to: 0, duration: MediaTime(seconds: 9), rounding: .up, format: format)
      #expect(try text(.number(number), at: 0, rate: rate) == written)
    }
  }

  /// The C library counts days and writes dates.
  @Test func `dates are those of the C library`() throws {
    let conversions = "%Y|%y|%m|%d|%e|%B|%b|%A|%a|%j|%H|%I|%M|%S|%p|%F|%T|%%"
    let format = try #require(DateFormat(conversions))
    for start in ["0001-01-01", "1600-02-29T23:59:59", "1969-12-31T23:59", "2026-11-28T09:30:00", "2000-12-31"] {
      let date = try #require(CalendarDate(start))
      for days in stride(from: 0, through: 3000, by: 1) {
        let later = date.advanced(by: days * 86_400 + days * 977)
        var (seconds, parts, buffer) = (time_t(later.seconds), tm(), [CChar](repeating: 0, count: 400))
        gmtime_r(&seconds, &parts)
        let length = strftime(&buffer, buffer.count, conversions, &parts)
        var expected = String(decoding: buffer.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // glibc does not pad years below 1000.
        if let mark = expected.firstIndex(of: "|"), expected.distance(from: expected.startIndex, to: mark) < 4 {
          let year = Int(parts.tm_year) + 1900
          let padded = String(format: "%04d", year)
          expected = expected.replacing("|\(year)-", with: "|\(padded)-")
          expected = padded + expected[(expected.firstIndex(of: "|") ?? expected.startIndex)...]
        }
        guard format.text(of: later) == expected else {
          Issue.record("\(start) + \(days) days: \(format.text(of: later)), and not \(expected)")
          return
        }
      }
    }
    for wrong in ["2026-02-29", "2026-13-01", "2026-1-1", "0000-01-01", "2026-11-28T24:00", "2026-11-28 09:30"] {
      #expect(CalendarDate(wrong) == nil, "\(wrong)")
    }
    #expect(DateFormat("%Q") == nil && DateFormat("100%") == nil)
  }

  @Test func `a sample has every character that may be shown`() throws {
    let format = try #require(DateFormat("le %e %B (%a) %p %%"))
    let counts: [CountingText.Count] = [
      .timecode("00:00:00;00"), .frame(first: 0, digits: 3), .date(CalendarDate(seconds: 0), format: format),
      .number(CountingNumber(from: -5, to: 9e9, duration: MediaTime(seconds: 400), decimals: 2, grouping: .space)),
      .number(CountingNumber(from: -5, to: 9e3, duration: MediaTime(seconds: 400), decimals: 1, format: .hours)),
    ]
    for count in counts {
      let counting = CountingText(count, prefix: "→", suffix: " ok")
      let known = Set(counting.sample.unicodeScalars)
      for second in stride(from: 0, to: 40_000_000, by: 86_399) {
        let shown = try counting.text(
          at: MediaTime(value: Int64(second), timescale: 1000), frameDuration: MediaTime(value: 1001, timescale: 30000))
        #expect(known.isSuperset(of: shown.unicodeScalars), "\(shown)")
      }
    }
  }
}
