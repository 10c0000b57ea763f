import CompositionModel
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

/// The size of texts by the words that were measured is that of the block which is drawn.
@Suite struct TextRulerTests {
  private static let texts = [
    "The quick brown fox jumps over the lazy dog and goes home, where it is as warm as it was before.",
    "Incomprehensibilities characteristically misunderstood", "One\nTwo words\n\nand a longer third line of text",
    "Donaudampfschifffahrtsgesellschaftskapitän mit Mütze", "two-part words and a/slash, semi\u{AD}colons",
    "東京は日本の首都であり、世界最大の都市です。", "שלום עולם, זהו טקסט ארוך מספיק לכמה שורות",
    "مرحبا بالعالم هذا نص طويل بما يكفي لعدة أسطر", "emoji 😀😀😀 and e\u{301}cle\u{301} combining marks",
  ]

  @Test(arguments: texts) func `a text takes as many lines as were measured`(_ text: String) throws {
    let sizes: [(Double, Double?)] = [(40, nil), (23.5, 3), (61, -1)]
    for (size, spacing) in sizes.spread(2) {
      let styled = StyledText(text: text, size: size, letterSpacing: spacing)
      let found = try FoundText(styled)
      let measure = try #require(found.list.findings[0].measure)
      for width in [90, 150, 220, 333, 500, 811, 1600].spread(3) {
        let drawn = try found.block(wrapWidth: width).size
        // What just fits may be wrapped.
        let measured = [width, width - 1].map { measure.size(of: styled, wrappedAt: $0) }
          .min { abs($0.width - drawn.width) < abs($1.width - drawn.width) }
        guard let measured else { continue }
        // A long word is wrapped between its letters, which are not equally wide: its lines are known by about a third.
        let isBroken = measure.words?.joined().contains { ($0.end - $0.start) * size > Double(width) - size } == true
        let lineHeight =
          Double(measured.height) / max(1, (Double(measured.height) / (measure.lineHeight * size)).rounded())
        let difference = (Double(drawn.height - measured.height) / lineHeight).rounded()
        let count = Double(drawn.height) / lineHeight
        #expect(
          abs(difference) <= (isBroken ? max(1, count / 3) : 0), "\(size), \(width): \(drawn), measured \(measured)")
        if !isBroken {
          #expect(abs(drawn.width - measured.width) <= 4, "\(size), \(width): \(drawn), measured \(measured)")
        }
      }
    }
  }
}
