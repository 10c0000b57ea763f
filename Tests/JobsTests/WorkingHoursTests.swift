import FarmModel
import Testing

@Suite("Texts of working hours")
struct WorkingHoursTests {
  typealias Span = WorkingHours.Span

  @Test func `a text is read as spans of days`() throws {
    let hours = try WorkingHours(parsing: " Mon-wed  19:00-07:00,SAT 00:00-24:00 , daily 12:30-12:31")
    #expect(hours.description == "mon-wed 19:00-07:00, sat 00:00-24:00, daily 12:30-12:31")
    let nights = (1...3).map { Span(day: $0, opens: 1_140, closes: 1_860) }
    let noons = (1...7).map { Span(day: $0, opens: 750, closes: 751) }
    #expect(hours.spans == (nights + noons + [Span(day: 6, opens: 0, closes: 1_440)]).sorted())
    #expect(try WorkingHours(parsing: hours.description) == hours)
    #expect(try WorkingHours(parsing: "sat-mon 23:59-00:00").spans.map(\.day) == [1, 6, 7])
    #expect(try WorkingHours(parsing: "sun 23:59-00:00").spans == [Span(day: 7, opens: 1_439, closes: 1_440)])
    #expect(try WorkingHours(parsing: "mon-mon 00:00-23:59").spans.count == 1)
    #expect(try WorkingHours(parsing: "mon 07:00-07:00").spans == [Span(day: 1, opens: 420, closes: 1_860)])
  }

  @Test(arguments: [
    "", " ", ",", "mon", "mon 7:00-08:00", "mon 07:00", "mon 24:00-07:00", "mon 07:60-08:00",
    "mon 07:00-24:01", "mo 07:00-08:00", "mon-tue-wed 07:00-08:00", "mon- 07:00-08:00", "mon 07:00-08:00-09:00",
    "mon 07:00-08:00,", "mon 07:00 - 08:00", "mon 0７:00-08:00", "mon 07:00-08:00; tue 07:00-08:00", "mon -1:00-08:00",
  ])
  func `a text that is none says what is wrong`(_ text: String) {
    #expect(throws: WorkingHours.Problem.self) { try WorkingHours(parsing: text) }
  }

  @Test func `there are not too many spans`() throws {
    let span = "mon 07:00-08:00"
    let many = Array(repeating: span, count: WorkingHours.mostEntries).joined(separator: ",")
    #expect(try WorkingHours(parsing: many).spans.count == 1)
    #expect(throws: WorkingHours.Problem.self) { try WorkingHours(parsing: "\(many),\(span)") }
  }
}
