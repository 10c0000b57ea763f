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
