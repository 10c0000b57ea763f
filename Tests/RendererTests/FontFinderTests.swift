import CPango
import CompositionModel
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

@Suite struct FontFinderTests {
  private static func text(_ text: String, font: String = "sans-serif", style: Int = 0) -> StyledText {
    StyledText(text: text, font: font, isBold: style & 1 != 0, isItalic: style & 2 != 0, size: 45)
  }

  /// All pixels of a text's ink and its size.
  private static func pixels(_ block: TextBlock) throws -> [[UInt16]] {
    let picture = try block.draw(block.ink)
    let count = picture.size.width * picture.size.height
    return [[UInt16(block.size.width), UInt16(block.size.height), UInt16(picture.size.width)]]
      + (0..<4).map { plane in
        (0..<picture.size.height).flatMap { y in
          (0..<picture.size.width).map { picture.plane(plane)[y * picture.stride / 2 + $0] }
        }
      } + [[UInt16(truncatingIfNeeded: count)]]
  }

  /// All fonts and settings of the machine, which take a while to load.
  private nonisolated(unsafe) static let config = FcInitLoadConfigAndFonts()

  /// Pango's own choice with all fonts and settings of the machine is the oracle.
  @Test(arguments: [
    "Maroubra", "The sea · 海 · البحر · ים", "日本語と한국어", "😀 smile ❤️ 1️⃣ ❤ 👩‍👩‍👧", "हिन्दी ไทย ਪੰਜਾਬੀ", "a\nb\r\nc", " x ",
    "tab\there", "ﬁ e\u{301} Å", "1/2 → ½ ∞ ≠", "שלום (world) 123",
  ])
  func `a text is drawn with the fonts that were found as with all fonts of the machine`(text: String) throws {
    let config = try #require(Self.config)
    let map = try FontMap(config)
    for (index, font) in ["sans-serif", "DejaVu Serif", "Noto Sans", "No Such Family"].enumerated() {
      for style in TestExtent.of(index...index, whole: 0...3) {
        let styled = Self.text(text, font: font, style: style)
        let layout = try TextLayout(styled.fontRequest, map: map, size: styled.size)
        let expected = TextBlock(styled, layout: layout, wrapWidth: 300)
        let found = try FoundText(styled)
        #expect(found.list.covers([styled.fontRequest]))
        let same = try Self.pixels(found.block(wrapWidth: 300)) == Self.pixels(expected)
        #expect(same, "'\(text)' in \(font), style \(style): \(found.list)")
      }
    }
  }

  @Test func `a text of one script needs one font, and another script another`() throws {
    let latin = try FoundText(Self.text("Maroubra"))
    #expect(latin.fonts.fonts.count == 1 && latin.fonts.runs == [FontRun(length: 8, font: 0)])
    let both = try FoundText(Self.text("sea 海"))
    #expect(both.fonts.fonts.count == 2 && both.list.files.count == 2)
    #expect(both.fonts.fonts[0] == latin.fonts.fonts[0])
    #expect(both.fonts.runs.map(\.length).reduce(0, +) == 7)
  }

  @Test func `a list of fonts is read as it was written`() throws {
    let list = try FoundText(Self.text("sea 海")).list
    let bytes = try list.encoded()
    let length = try #require(FontList.length(inHead: Array(bytes.prefix(FontList.headSize))))
    #expect(bytes.count == FontList.headSize + length)
    #expect(try FontList(json: Array(bytes.dropFirst(FontList.headSize))) == list)
    #expect(FontList.length(inHead: Array(bytes.prefix(15))) == nil)
    #expect(!list.covers([Self.text("sea 海海").fontRequest]))
  }
}
