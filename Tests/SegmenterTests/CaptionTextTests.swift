import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// The texts of captions as tracks have them: what libass shows of the text, found by a plain reading of its rules.
@Suite struct CaptionTextTests {
  private func plainly(_ text: String, isStyled: Bool, for codec: CaptionCodec) -> String {
    let scalars = Array(text.unicodeScalars)
    var (result, hasText, index) = ("", false, 0)
    func add(_ part: String) {
      if result.hasSuffix("{"), part.hasPrefix("\\") { result += "\u{2060}" }
      result += codec == .webVTT && part == "&" ? "&amp;" : codec == .webVTT && part == "<" ? "&lt;" : part
      hasText = true
    }
    while index < scalars.count {
      let next = index + 1 < scalars.count ? scalars[index + 1] : nil
      if scalars[index] == "{", let end = scalars[index...].firstIndex(of: "}") {
        let block = scalars[index...end].map(String.init)
        if block.contains("\\") { result += block.joined() } else if !isStyled { block.forEach(add) }
        index = end + 1
        continue
      }
      switch (scalars[index], next) {
      case ("\\", "N"), ("\\", "n"): add("\\N")
      case ("\\", "h"): add("\u{A0}")
      case ("\\", "{"): add("{")
      case ("\\", "}"): add("}")
      default:
        add(String(scalars[index]))
        index -= 1
      }
      index += 2
    }
    return hasText ? "0,0,Default,,0,0,0,," + result : ""
  }

  @Test func `lines are broken when they are drawn, and the fonts stay those of the text`() throws {
    let text = "{\\i1}We {\\k50}went to{\\i0} 海岸へ行く and\\Nback"
    let format = CaptionsFormat(
      header: "", hasStyles: false,
      events: [CaptionEvent(start: 0, end: 9, fields: "0,0,Default,,0,0,0,,\(text)")])
    let frame = PixelSize(width: 640, height: 360)
    var style = CaptionStyle(size: 40, outline: 2, margin: 20)
    let whole = CaptionScript(format, style: style, frame: frame)
    style.wording = CaptionWording(lineLength: 8)
    let wrapped = CaptionScript(format, style: style, frame: frame)
    #expect(wrapped.requests == whole.requests)
    // One font for each character that is not ASCII, by turns, so that a wrong place shows.
    func font(_ name: String) -> PlannedFont {
      PlannedFont(
        digest: name, index: 0, format: "TrueType", weight: 80, slant: 0, variations: "", isColor: false,
        pictureSize: nil)
    }
    let fonts = CaptionFonts(
      whole.requests.map { request in
        TextFonts(
          fonts: [font("a"), font("b"), font("c")],
          runs: request.text.unicodeScalars.map {
            FontRun(length: UTF8.width($0), font: $0.isASCII ? 0 : 1 + Int($0.value) % 2)
          })
      })
    var used: [PlannedFont] = []
    let drawn = wrapped.fields(try #require(wrapped.events.first), fonts: fonts, used: &used)
    let expected = whole.fields(try #require(whole.events.first), fonts: fonts, used: &used)
    func shown(_ fields: String) -> String { fields.replacing("\\N", with: "|") }
    #expect(drawn != expected)
    #expect(shown(drawn).filter { $0 != "|" && $0 != " " } == shown(expected).filter { $0 != "|" && $0 != " " })
    let lines = drawn.replacing(/\{[^}]*\}/, with: "").commaFields()[8]
    #expect(lines == "We went\\Nto 海岸へ\\N行く and\\Nback")
  }

  @Test func `speakers are drawn in their colours, with the times of their words, and marks are not drawn`() throws {
    let format = CaptionsFormat(
      header: "", hasStyles: false,
      events: [
        CaptionEvent(start: 0, end: 2000, fields: "0,0,Default,,0,0,0,,{\\k50}{\\=Fred}Hi {\\k150}you{\\=}\\N(rain)")
      ])
    func drawn(_ style: CaptionStyle) throws -> String {
      let script = CaptionScript(format, style: style, frame: PixelSize(width: 640, height: 360))
      let fonts = CaptionFonts(script.requests.map { _ in TextFonts(fonts: [], runs: []) })
      var used: [PlannedFont] = []
      return script.fields(try #require(script.events.first), fonts: fonts, used: &used).commaFields()[8]
    }
    var style = CaptionStyle(size: 40, outline: 2, margin: 20)
    #expect(try drawn(style) == "Hi you\\N(rain)")
    let red = Color(red: 255, green: 0, blue: 0)
    style.wording = CaptionWording(speakers: ["Fred": CaptionSpeaker(color: red)], showsSpeakers: true)
    #expect(try drawn(style) == "{\\1c&H0000FF&}Fred: Hi you{\\1c}\\N(rain)")
    style.spokenColor = Color(red: 0, green: 255, blue: 0)
    #expect(
      try drawn(style)
        == "{\\1c&H0000FF&}{\\1c&H00FF00&}Fred: Hi {\\1c&H0000FF&\\t(500,500,\\1c&H00FF00&)}you{\\1c}"
        + "{\\1c&HFFFFFF&\\t(500,500,\\1c&H00FF00&)}\\N(rain)")
    // What fonts are found for is the text with the names.
    let script = CaptionScript(format, style: style, frame: PixelSize(width: 640, height: 360))
    style.wording?.lineLength = 8
    #expect(CaptionScript(format, style: style, frame: PixelSize(width: 9, height: 9)).requests == script.requests)
    #expect(script.requests.map(\.text) == ["Fred: Hi \nyou\n\n(rain)\n"])
  }

  @Test func `tracks have no marks of voices`() {
    let event = CaptionEvent(start: 0, end: 9, fields: "0,0,Default,,0,0,0,,{\\=Fred}Hi{\\=}")
    #expect(CaptionWording().written(event).text == "Hi")
    #expect(CaptionWording(showsSpeakers: true).written(event).text == "Fred: Hi")
  }

  @Test func `escapes, tags and comments are those of libass`() {
    var state: UInt64 = 1
    func random(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    let parts = ["\\", "\\", "{", "}", "N", "h", "a", " ", "&", "<", "{\\i1}", "ö", ","]
    for _ in 0..<20_000 {
      let text = (0..<(1 + random(9))).map { _ in parts[random(parts.count)] }.joined()
      for (isStyled, codec) in [(false, CaptionCodec.subRip), (true, .movText), (false, .webVTT)] {
        let found = CaptionText.plain("0,0,Default,,0,0,0,,\(text)", isStyled: isStyled, for: codec)
        #expect(found == plainly(text, isStyled: isStyled, for: codec), "\(text)")
      }
    }
  }

  @Test func `a font is found for each character that is shown`() {
    let captions = CaptionsFormat(
      header: "", hasStyles: true,
      events: [CaptionEvent(start: 0, end: 1, fields: "0,0,Default,,0,0,0,,\\\\{x}{\\i1}y\\{z{hidden}\\}")])
    let script = CaptionScript(captions, style: nil, frame: PixelSize(width: 640, height: 360))
    #expect(script.requests.map(\.text) == ["\\{x}\n", "y{z\n}\n"])
  }

  @Test func `a tag without a value returns to the latest style`() {
    let header = """
      [V4+ Styles]
      Format: Name, Fontname, Fontsize, Bold, Italic
      Style: Default,One,20,0,0
      Style: Sign,Two,20,-1,0
      """
    let text = "a{\\rSign}b{\\fnThree\\b0}c{\\fn\\b}d{\\rNone}e{\\b1}{\\b}f"
    let captions = CaptionsFormat(
      header: header, hasStyles: true,
      events: [CaptionEvent(start: 0, end: 1, fields: "0,0,Default,,0,0,0,,\(text)")])
    let script = CaptionScript(captions, style: nil, frame: PixelSize(width: 640, height: 360))
    #expect(
      script.requests.map { "\($0.font) \($0.isBold) \($0.text.filter { !$0.isNewline })" }
        == ["One false aef", "Two true bd", "Three false c"])
  }
}
