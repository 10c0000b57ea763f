import CompositionModel
import Testing

@Suite struct ClockTextTests {
  @Test(arguments: [
    (0, "0:00.000"), (62.5, "1:02.500"), (3723.0004, "1:02:03.000"), (-0.75, "-0:00.750"),
    (359_999.9996, "100:00:00.000"),
  ])
  func `a time is written as a clock shows it`(seconds: Double, text: String) {
    #expect(ClockText.of(seconds: seconds) == text)
  }

  @Test func `what no clock shows has no text`() {
    #expect(ClockText.of(seconds: 1e9) == nil && ClockText.of(seconds: .nan) == nil)
    #expect(ClockText.of(milliseconds: .min).hasPrefix("-2562047788015:12:55.808"))
  }
}
