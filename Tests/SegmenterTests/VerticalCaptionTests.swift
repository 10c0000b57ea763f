import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Captions whose lines run from top to bottom, as they are planned.
@Suite struct VerticalCaptionTests {
  private let frame = PixelSize(width: 640, height: 360)

  private func script(
    _ events: [(Int64, Int64, String)], anchor: Anchor = .topRight,
    _ change: (inout CaptionStyle) -> Void = { _ in }
  ) -> CaptionScript {
    let format = CaptionsFormat(
      header: "", hasStyles: false,
      events: events.map { CaptionEvent(start: $0.0, end: $0.1, fields: "0,0,Default,,0,0,0,,\($0.2)") })
    var style = CaptionStyle(size: 40, outline: 2, anchor: anchor, margin: 20, isVertical: true)
    change(&style)
    return CaptionScript(format, style: style, frame: frame)
  }

  /// The events' texts with a font of each.
  private func texts(_ script: CaptionScript) -> [String] {
    let font = PlannedFont(
      digest: "a", index: 0, format: "CFF", weight: 80, slant: 0, variations: "", isColor: false, pictureSize: nil)
    let fonts = CaptionFonts(
      script.requests.map { TextFonts(fonts: [font], runs: [FontRun(length: $0.text.utf8.count, font: 0)]) })
    var used: [PlannedFont] = []
    return script.events.map { script.fields($0, fonts: fonts, used: &used).commaFields()[8] }
  }

  @Test func `they are turned around their place, and their fonts are those of vertical lines`() {
    let script = script([(0, 1000, "海へ、{\\an8\\pos(3,4)}{\\i1\\frz20}行く{\\a6}")])
    #expect(
      texts(script) == [
        "{\\an7\\q2\\pos(620,20)}{\\fn@\u{1}0\u{1}}海へ、{\\i1}{\\fn@\u{1}0\u{1}}行く"
      ])
    #expect(script.header.contains(",0,0,100,100,0,270,1,"))
    #expect(script.events.allSatisfy { !$0.isPlacedFreely })
  }

  @Test(arguments: [
    (Anchor.topLeft, "{\\an1\\q2\\pos(12,20)}"), (.left, "{\\an2\\q2\\pos(12,180)}"),
    (.bottomLeft, "{\\an3\\q2\\pos(12,310)}"), (.top, "{\\an4\\q2\\pos(316,20)}"),
    (.center, "{\\an5\\q2\\pos(316,180)}"), (.bottom, "{\\an6\\q2\\pos(316,310)}"),
    (.topRight, "{\\an7\\q2\\pos(620,20)}"), (.right, "{\\an8\\q2\\pos(620,180)}"),
    (.bottomRight, "{\\an9\\q2\\pos(620,310)}"),
  ])
  func `each anchor has its place`(anchor: Anchor, place: String) {
    let script = script([(0, 1000, "海")], anchor: anchor) { $0.edges = CaptionMargins(left: 12, bottom: 50) }
    #expect(texts(script) == [place + "{\\fn@\u{1}0\u{1}}海"])
  }

  @Test func `lines are as long as the frame is high, or as it is written`() {
    let text = String(repeating: "海", count: 17)
    func lines(_ change: (inout CaptionStyle) -> Void) -> [Int] {
      texts(script([(0, 1, text)], change))[0].replacing(/\{[^}]*\}/, with: "").split(separator: "\\N").map(\.count)
    }
    // 320 pixels are 8 characters of 40.
    #expect(lines { _ in } == [5, 6, 6])
    #expect(lines { $0.edges = CaptionMargins(top: 0, bottom: 0) } == [8, 9])
    #expect(lines { $0.wording = CaptionWording(lineLength: 17) } == [17])
    #expect(lines { $0.size = 500 } == Array(repeating: 1, count: 17))
  }

  @Test func `those that are shown at once are one, with the times of their words`() {
    let script = script([(0, 10_000, "海"), (2000, 4000, "{\\k50}山{\\k50}川"), (4000, 9000, "空")]) {
      $0.highlightColor = Color(red: 255, green: 0, blue: 0)
    }
    #expect(script.events.map(\.start) == [0, 2000, 4000, 9000] && script.events.map(\.end).last == 10_000)
    let place = "{\\an7\\q2\\pos(620,20)}{\\fn@\u{1}0\u{1}}"
    let (red, white) = ("\\1c&H0000FF&", "\\1c&HFFFFFF&")
    let font = "{\\fn@\u{1}0\u{1}}"
    #expect(
      texts(script) == [
        "\(place)海",
        "\(place)海\\N{\\r}{\(red)\\t(500,500,\(white))}\(font)山"
          + "{\(white)\\t(500,500,\(red))\\t(1000,1000,\(white))}川",
        "\(place)海\\N{\\r}\(font)空", "\(place)海",
      ])
  }

  @Test func `at each time those are shown that a plain reading finds`() {
    var state: UInt64 = 3
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    for round in 0..<40 {
      let starts = (0..<1 + next(14)).map { _ in Int64(next(50)) }.sorted()
      let events = starts.enumerated().map { ($1, $1 + 1 + Int64(next(20)), "\($0)") }
      let found = script(events)
      let shown = texts(found).map { text in
        text.replacing(/\{[^}]*\}/, with: "").split(separator: "\\N").map { String($0) }
      }
      for time in Int64(0)..<75 {
        let now = zip(found.events, shown).filter { $0.0.start <= time && time < $0.0.end }
        let expected = events.filter { $0.0 <= time && time < $0.1 }.map(\.2)
        #expect(now.count <= 1 && now.first?.1 ?? [] == expected, "\(round) at \(time): \(events)")
      }
    }
    // Many at once stay a few.
    let many = script((0..<5000).map { (Int64($0), 9000, "\($0)") })
    #expect(many.events.map(\.end).last == 9000 && texts(many).map(\.utf8.count).max() ?? 0 < 1000)
  }
}
