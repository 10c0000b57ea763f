import CompositionModel
import EditDocument
import TestEdits
import Testing

/// What texts that count mean in a document.
@Suite struct CountingDocumentTests {
  private func document(_ text: String, _ overlay: String = "", _ composition: String = #", "frameRate": 25"#) -> String
  {
    documentText(
      tracks: #"[{"clips": [{"asset": "v", "use": "0..10"}]}]"#,
      #""videoComposition": {"renderSize": [1280, 720]\#(composition), "overlays": [{"text": \#(text)\#(overlay)}]}"#
    )
  }

  private func counting(_ text: String, _ overlay: String = "", _ composition: String = #", "frameRate": 25"#) throws
    -> CountingText?
  {
    let overlays = try lowered(document(text, overlay, composition)).videoComposition.overlays
    guard overlays.count == 1, case .text(let text) = overlays[0].content else { return nil }
    #expect(text.text == text.counting?.sample)
    return text.counting
  }

  @Test func `timecodes and frames count from the film's start`() throws {
    let ntsc = #", "frameRate": 29.97"#
    #expect(
      try counting(#"{"timecode": "01:00:00:00"}"#, #", "over": "2..4""#)
        == CountingText(.timecode("01:00:00:00")))
    #expect(try counting(#"{"timecode": "01:00:00;02"}"#, "", ntsc) == CountingText(.timecode("01:00:00;02")))
    #expect(
      try counting(##"{"frame": 1, "digits": 5, "prefix": "#"}"##, #", "over": "2..4""#)
        == CountingText(.frame(first: 1, digits: 5), prefix: "#"))
  }

  @Test func `counters, countdowns and dates count from the overlay's start`() throws {
    let over = #", "over": "2..6""#
    let start = MediaTime(seconds: 2)
    func number(_ number: CountingNumber) -> CountingText { CountingText(.number(number), start: start) }
    #expect(
      try counting(#"{"counter": [0, 50]}"#, over)
        == number(CountingNumber(from: 0, to: 50, duration: MediaTime(seconds: 4))))
    #expect(
      try counting(#"{"counter": [9.5, 1], "over": "1..end-1", "decimals": 1, "grouping": "'"}"#, over)
        == number(
          CountingNumber(
            from: 9.5, to: 1, delay: MediaTime(seconds: 1), duration: MediaTime(seconds: 2), decimals: 1,
            grouping: .apostrophe)))
    #expect(
      try counting(#"{"counter": 3, "rate": -0.5, "format": "m:ss", "rounding": "down"}"#, over)
        == number(
          CountingNumber(
            from: 3, to: 2.5, duration: MediaTime(seconds: 1), goesOn: true, rounding: .down, format: .minutes)))
    #expect(
      try counting(#"{"countdown": "90f"}"#, over)
        == number(
          CountingNumber(
            from: 3.6, to: 0, duration: MediaTime(value: 18, timescale: 5), rounding: .up, format: .minutes)))
    let date = try #require(CalendarDate("2026-11-28T09:30"))
    #expect(
      try counting(#"{"date": "2026-11-28T09:30", "format": "%d.%m.", "suffix": "!"}"#, over)
        == CountingText(.date(date, format: try #require(DateFormat("%d.%m."))), suffix: "!", start: start))
  }

  @Test func `what does not count is a problem in its place`() throws {
    for (text, place) in [
      (#"{"timecode": "1:00:00:00"}"#, "/timecode"), (#"{"timecode": "01:00:00:25"}"#, "/timecode"),
      (#"{"timecode": "24:00:00:00"}"#, "/timecode"), (#"{"timecode": "01:00:00;00"}"#, "/timecode"),
      (#"{"timecode": "00:00:00:00", "decimals": 2}"#, "/decimals"), (#"{"frame": -1}"#, "/frame"),
      (#"{"frame": 1, "counter": 2}"#, "/counter"), (#"{"counter": 5}"#, ""),
      (#"{"counter": [1, 2], "rate": 3}"#, "/rate"), (#"{"counter": 5, "rate": 1, "over": "0..1"}"#, "/over"),
      (#"{"counter": [1, 2, 3]}"#, "/counter"), (#"{"counter": [1, 2], "over": "0..11"}"#, "/over"),
      (#"{"counter": [1, 2], "format": "m:ss", "digits": 3}"#, "/digits"),
      (#"{"counter": [1, 2], "decimals": 7}"#, "/decimals"),
      (#"{"countdown": -1}"#, "/countdown"), (#"{"countdown": 5, "format": "ss"}"#, "/format"),
      (#"{"date": "2026-02-29"}"#, "/date"), (#"{"date": "2026-02-28T25:00"}"#, "/date"),
      (#"{"date": "2026-02-28", "format": "%Q"}"#, "/format"), (#"{"date": "now"}"#, "/date"),
    ] {
      let found = try problems(document(text)).map(\.pointer)
      #expect(found == ["/videoComposition/overlays/0/text\(place)"], "\(text)")
    }
    let dropped = try problems(document(#"{"timecode": "00:01:00;00"}"#, "", #", "frameRate": 29.97"#))
    #expect(dropped.map(\.message.first) == ["t"] && dropped.count == 1)
    #expect(try problems(document(#"{"timecode": "00:00:00:00"}"#, "", #", "frameRate": 12.5"#)).count == 1)
  }

  @Test func `a text that counts is one overlay, and its fonts are found once`() throws {
    let text = document(#"{"timecode": "00:00:00:00"}"#, "", #", "frameRate": 1000"#)
    let parsed = try Document.parse(Array(text.utf8))
    #expect(parsed.fontRequests.map(\.text) == ["0123456789:;"])
    let edit = try parsed.lower(assets: standardAssets(), output: nil)
    #expect(try edit.videoComposition.overlays.count == 1 && edit.frameCount == 10_000)
    #expect(parsed.textWarnings(edit, [:]).isEmpty)
  }
}
