import FarmAPI
import Foundation
import Testing

/// Foundation's own reading and writing of dates is the measure.
struct TimestampTests {
  private let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  @Test func `a time is written as RFC 3339 in UTC with milliseconds`() {
    var milliseconds: Int64 = -62_135_596_800_000
    var count = 0
    // Steps of about 226 days come to every day of the year, and to leap years.
    while milliseconds < 253_402_300_799_999 {
      // Foundation rounds down what its binary fraction may be just below of.
      let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000 + 0.0004)
      let text = Timestamp(milliseconds: milliseconds).description
      // Before 1582 Foundation has the Julian calendar.
      if milliseconds > -12_000_000_000_000 {
        #expect(text == date.formatted(style))
        count += 1
      }
      #expect(Timestamp(text)?.milliseconds == milliseconds, "\(text)")
      milliseconds += 19_530_864_343
    }
    #expect(count > 13_000)
    #expect(Timestamp(milliseconds: .min).description == "0001-01-01T00:00:00.000Z")
    #expect(Timestamp(milliseconds: .max).description == "9999-12-31T23:59:59.999Z")
  }

  @Test func `a duration since 1970 is rounded down`() {
    #expect(Timestamp(since1970: .microseconds(1_767_225_600_123_999)).description == "2026-01-01T00:00:00.123Z")
    #expect(Timestamp(since1970: .microseconds(-1)).description == "1969-12-31T23:59:59.999Z")
    #expect(Timestamp(since1970: .microseconds(-1_001)).description == "1969-12-31T23:59:59.998Z")
    #expect(Timestamp(since1970: .seconds(Int64.max)).description == "9999-12-31T23:59:59.999Z")
    #expect(Timestamp(since1970: .seconds(Int64.min)).description == "0001-01-01T00:00:00.000Z")
  }

  @Test(arguments: [
    ("2026-11-28T04:05:06Z", "2026-11-28T04:05:06.000Z"), ("2026-11-28t04:05:06.7z", "2026-11-28T04:05:06.700Z"),
    ("2026-11-28T04:05:06.789999999Z", "2026-11-28T04:05:06.789Z"),
    ("2026-11-28T04:05:06+05:30", "2026-11-27T22:35:06.000Z"),
    ("2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00.000Z"), ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
    ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"), ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
    ("1969-07-20T20:17:40.5Z", "1969-07-20T20:17:40.500Z"),
  ])
  func `a time is read with any offset`(_ text: String, _ expected: String) {
    #expect(Timestamp(text)?.description == expected)
  }

  @Test(arguments: [
    "", "2026", "2026-11-28", "2026-11-28T04:05:06", "2026-11-28 04:05:06Z", "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z",
    "2026-11-28T24:00:00Z", "2026-11-28T04:60:00Z", "2026-11-28T04:05:61Z", "2026-11-28T04:05:06.Z",
    "2026-11-28T04:05:06+0530", "2026-11-28T04:05:06+24:00", "2026-11-28T04:05:06Z ", "+026-11-28T04:05:06Z",
    "2026-11-28T04:05:06ZZ", "0000-01-01T00:00:00Z", "２026-11-28T04:05:06Z",
  ])
  func `what is no time of RFC 3339 is not read`(_ text: String) {
    #expect(Timestamp(text) == nil)
  }
}
