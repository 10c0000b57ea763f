import CompositionModel
import RenderTasks
import Testing

@testable import Renderer

/// The size of texts by the words that were measured is that of the block which is drawn.
@Suite struct TextRulerTests {
  private static let texts = [
    "The quick brown fox jumps over the lazy dog and goes home, where it is as warm as it was before.",
    "Incomprehensibilities characteristically misunderstood", "One\nTwo words\n\nand a longer third line of text",
    "Donaudampfschifffahrtsgesellschaftskapitän mit Mütze", "two-part words and a/slash, semi\u{AD}colons",
    "東京は日本の首都であり、世界最大の都市です。", "שלום עולם, זהו טקסט ארוך מספיק לכמה שורות", "a  b   c    d     e      f",
    "مرحبا بالعالم هذا نص طويل بما يكفي لعدة أسطر", "emoji 😀😀😀 and e\u{301}cle\u{301} combining marks",
  ]

  @Test(arguments: texts) func `a text takes as many lines as were measured`(_ text: String) throws {
    for (size, spacing) in [(40.0, nil), (23.5, 3.0), (61.0, -1.0)] as [(Double, Double?)] {
      let styled = StyledText(text: text, size: size, letterSpacing: spacing)
      let found = try FoundText(styled)
      let measure = try #require(found.list.findings[0].measure)
      for width in [90, 150, 220, 333, 500, 811, 1600] {
        let drawn = try found.block(wrapWidth: width).size
        let measured = measure.size(of: styled, wrappedAt: width)
        // A long word is wrapped between its letters, of which as many fit as do.
        let isBroken = measure.words?.joined().contains { ($0.end - $0.start) * size > Double(width) - size } == true
        let lineHeight =
          Double(measured.height) / max(1, (Double(measured.height) / (measure.lineHeight * size)).rounded())
        let difference = (Double(drawn.height - measured.height) / lineHeight).rounded()
        #expect(abs(difference) <= (isBroken ? 1 : 0), "\(size), \(width): \(drawn), measured \(measured)")
        if !isBroken {
          #expect(abs(drawn.width - measured.width) <= 4, "\(size), \(width): \(drawn), measured \(measured)")
        }
      }
    }
  }
}
