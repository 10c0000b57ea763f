import CompositionModel
import RenderTasks
import Testing

@testable import Renderer

@Suite struct TextBlockTests {
  static func block(
    _ text: String, size: Double = 40, alignment: StyledText.Alignment = .left, width: Int = 2000,
    font: String = "sans-serif"
  ) throws -> TextBlock {
    try FoundText(StyledText(text: text, font: font, size: size, alignment: alignment)).block(wrapWidth: width)
  }

  /// The pixels of the ink's rectangle, alpha in 65535ths.
  static func alpha(_ block: TextBlock) throws -> [[UInt16]] {
    let picture = try block.draw(block.ink)
    return (0..<picture.size.height).map { y in
      (0..<picture.size.width).map { picture.plane(3)[y * picture.stride / 2 + $0] }
    }
  }

  @Test func `ink is within its rectangle`() throws {
    for text in ["Maroubra", "ÅÉgjy", "f", "\u{1F600}", "日本"] {
      let block = try Self.block(text, size: 60)
      let margin = 40
      let ink = block.ink
      let around = PixelRect(
        x: (ink.x - margin)..<(ink.columns.upperBound + margin), y: (ink.y - margin)..<(ink.rows.upperBound + margin))
      let picture = try block.draw(around)
      var inside = 0
      for y in 0..<around.size.height {
        for x in 0..<around.size.width where picture.plane(3)[y * picture.stride / 2 + x] > 0 {
          let isInside = ink.contains(PixelRect(x: around.x + x, y: around.y + y, size: PixelSize(width: 1, height: 1)))
          #expect(isInside, "'\(text)' has ink at \(x), \(y), outside of \(ink)")
          inside += 1
        }
      }
      #expect(inside > 100, "'\(text)' has no ink")
    }
  }

  /// The size is the height of the em square. Without hinting, twice the size is twice as large.
  @Test func `size is the em's height in pixels`() throws {
    let (small, large) = (try Self.block("MMMMMMMMMM", size: 50), try Self.block("MMMMMMMMMM", size: 100))
    #expect(abs(large.size.width - 2 * small.size.width) <= 2)
    let ideographs = try Self.block("漢字漢字漢字漢字漢字", size: 64)
    #expect(abs(ideographs.size.width - 640) <= 1)
  }

  @Test func `lines wrap between words and never beyond the width`() throws {
    let text = "The quick brown fox jumps over the lazy dog"
    let one = try Self.block(text)
    let wrapped = try Self.block(text, width: 300)
    #expect(wrapped.size.width <= 300)
    #expect(wrapped.size.height >= 3 * one.size.height)
    let long = try Self.block("Donaudampfschifffahrtsgesellschaft", width: 200)
    #expect(long.size.width <= 200 && long.size.height >= 2 * one.size.height)
  }

  /// A broken word gets no hyphen: its lines set side by side are as wide as the word.
  @Test func `a broken word keeps its letters`() throws {
    let whole = try Self.alpha(Self.block("WWWWWW")).joined().reduce(0) { $0 + Int($1) }
    let broken = try Self.alpha(Self.block("WWWWWW", width: 130)).joined().reduce(0) { $0 + Int($1) }
    #expect(abs(whole - broken) < whole / 50)
  }

  @Test(arguments: ["a\nwide line of text", "ب\nسطر عريض من النص هنا"])
  func `alignment means the same in every script`(text: String) throws {
    /// The middle of the first line's ink, in pixels from the block's left.
    func middle(_ alignment: StyledText.Alignment) throws -> (middle: Double, width: Double) {
      let block = try Self.block(text, alignment: alignment)
      let rows = try Self.alpha(block).prefix(block.size.height / 2 - block.ink.y - 4)
      let columns = rows.flatMap { row in row.indices.filter { row[$0] > 0 } }.map { $0 + block.ink.x }
      let (left, right) = (try #require(columns.min()), try #require(columns.max()))
      return (Double(left + right) / 2, Double(block.size.width))
    }
    let (left, center, right) = (try middle(.left), try middle(.center), try middle(.right))
    #expect(left.middle < left.width * 0.15)
    #expect(abs(center.middle - center.width / 2) < center.width * 0.05)
    #expect(right.middle > right.width * 0.85)
  }

  /// A glyph that no font has is drawn as a box with its number. U+0378 is not assigned and so gives such a box.
  /// Letters of the scripts in use must look different from it and from each other.
  @Test func `scripts have glyphs of their own`() throws {
    let missing = try Self.alpha(Self.block("\u{0378}"))
    var seen: [[[UInt16]]] = [missing]
    for text in ["ع", "ש", "漢", "日", "한", "я", "ह", "😀", "é"] {
      let glyph = try Self.alpha(Self.block(text))
      #expect(!seen.contains(glyph), "'\(text)' looks like another")
      seen.append(glyph)
    }
    // Arabic letters join: the word is narrower than its letters apart.
    let (joined, apart) = (try Self.block("ببب"), try Self.block("ب ب ب"))
    #expect(joined.size.width < apart.size.width)
  }

  @Test func `emoji are in colour`() throws {
    let block = try Self.block("😀", size: 80)
    let picture = try block.draw(block.ink)
    var coloured = 0
    for index in 0..<(picture.size.width * picture.size.height)
    where Int(picture.plane(0)[index]) > Int(picture.plane(2)[index]) + 10_000 { coloured += 1 }
    #expect(coloured > 500)
  }

  @Test func `the same text is the same pixels`() throws {
    let text = "Maroubra مرحبا 日本 😀"
    #expect(try Self.alpha(Self.block(text)) == Self.alpha(Self.block(text)))
  }

  @Test func `an empty text has no ink`() throws {
    #expect(try Self.block("").ink.isEmpty)
    #expect(try Self.block("  \n ").ink.isEmpty)
  }
}
