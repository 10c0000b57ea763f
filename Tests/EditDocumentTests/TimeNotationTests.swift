import TestEdits
import Testing

@testable import CompositionModel
@testable import EditDocument

@Suite struct TimeNotationTests {
  private let frame = MediaTime(value: 1001, timescale: 30000)

  @Test(arguments: [
    ("5", "5"), ("1.5", "3/2"), ("7/30", "7/30"), ("14/60", "7/30"), ("90f", "3003/1000"), ("0f", "0"),
    ("1:02.5", "125/2"), ("0:00.040", "1/25"), ("1:00:02.5", "7205/2"), ("100:00", "6000"),
    ("0.000000001", "1/1000000000"), ("1/2147483648", "1/2147483648"), ("3/281474976710656", "3/281474976710656"),
    ("1.50000000000000000000", "3/2"), ("-1.5", "-3/2"), ("-1/2", "-1/2"), ("-3f", "-1001/10000"), ("-1:30", "-90"),
    ("9223372036854775807", "9223372036854775807"),
  ])
  func `every notation is read exactly`(_ text: String, _ expected: String) throws {
    #expect(try Document.Time(text: text).resolved(frameDuration: frame) == (try at(expected)))
  }

  @Test(arguments: [
    ("5", "5"), ("1.5", "3/2"), ("0.1", "1/10"), ("1e3", "1000"), ("25E-2", "1/4"), ("0e999", "0"), ("-0.0", "0"),
    ("1.0000000000000000000000000", "1"), ("0.033366666", "16683333/500000000"),
  ])
  func `JSON numbers are read exactly and never as doubles`(_ text: String, _ expected: String) throws {
    #expect(try Document.Time(number: text).resolved(frameDuration: frame) == (try at(expected)))
  }

  @Test(arguments: [
    "", " ", "x", "5s", "1,5", ".5", "5.", "1..2", "1.2.3", "f", "1.5f", "--1", "+1", "1/2/3", "1/0", "/2", "1/",
    "1.5/2",
    "1:2", "1:60", "1:02:60", "1:2:03", ":30", "1:", "1:2:3:4", "1:30.5:10", "٣", "1e3", "1f0", "0x10", "-", "1 ",
  ])
  func `what is no time is refused`(_ text: String) {
    #expect(throws: TimeNotationError.notATime) { try Document.Time(text: text) }
  }

  @Test(arguments: [
    "9223372036854775808", "0.000000000000001", "1/281474976710657", "99999999999999999999f",
    "99999999999999999999999999999999999999999999999", "1/99999999999999999999999999999999999999999999999",
  ])
  func `times that do not fit are refused and not rounded`(_ text: String) {
    #expect(throws: TimeNotationError.tooPrecise) { try Document.Time(text: text) }
  }

  @Test func `huge numbers are refused`() {
    for number in [
      "1e400", "1e-400", "1e999999999", "1e9223372036854775807", "1e-9223372036854775808",
      String(repeating: "9", count: 100_000),
    ] {
      #expect(throws: TimeNotationError.tooPrecise) { try Document.Time(number: number) }
    }
  }

  @Test(arguments: [
    ("4..9", "4", "9"), ("4+5", "4", "9"), ("1/2..3/2", "1/2", "3/2"), ("30f..60f", "1001/1000", "1001/500"),
    ("1:00+1.5", "60", "123/2"), ("1.5..2.5", "3/2", "5/2"), ("0..90f", "0", "3003/1000"), ("-1..2", "-1", "2"),
    ("3..3", "3", "3"),
  ])
  func `ranges are read with any time on either side`(_ text: String, _ start: String, _ end: String) throws {
    #expect(try Document.TimeRange(text: text).resolved(frameDuration: frame) == (try spanning(start, end)))
  }

  @Test(arguments: ["", "4", "4..", "..9", "4...9", "4-9", "4+", "+5", "4..9..10", "4+5+6", "4 .. 9", "a..b"])
  func `what is no range is refused`(_ text: String) {
    #expect(throws: TimeNotationError.self) { try Document.TimeRange(text: text) }
  }

  @Test(arguments: ["9..4", "4+-5", "90f..1"])
  func `ranges that end before they start are not resolved`(_ text: String) throws {
    #expect(try Document.TimeRange(text: text).resolved(frameDuration: frame) == nil)
  }
}
