import CompositionModel
import Testing

/// Texts that are seen part by part.
@Suite struct RevealedTextTests {
  private func seen(_ text: String, _ unit: RevealedText.Unit, over duration: Int64, at time: Rational) throws -> String
  {
    let counting = CountingText(
      .revealed(RevealedText(text, by: unit, over: MediaTime(seconds: duration))), start: MediaTime(seconds: 2))
    return try counting.text(at: MediaTime(time), frameDuration: MediaTime(value: 1, timescale: 25))
  }

  @Test func `characters are seen evenly from the start to the end`() throws {
    let text = "Ae\u{301} 👩‍👩‍👧b"
    let expected: [(Rational, String)] = [
      (Rational(1), ""), (Rational(199, over: 100), ""), (Rational(2), "A"), (Rational(299, over: 100), "A"),
      (Rational(3), "Ae\u{301}"), (Rational(4), "Ae\u{301} 👩‍👩‍👧"), (Rational(499, over: 100), "Ae\u{301} 👩‍👩‍👧"),
      (Rational(5), text), (Rational(90), text),
    ]
    for (time, seen) in expected { #expect(try self.seen(text, .character, over: 3, at: time) == seen, "\(time)") }
  }

  @Test func `words are seen whole, in any lines`() throws {
    let text = "One, two\n three"
    let expected: [(Rational, String)] = [
      (Rational(2), "One,"), (Rational(7, over: 2), "One, two"), (Rational(5), text), (Rational(1), ""),
    ]
    for (time, seen) in expected { #expect(try self.seen(text, .word, over: 3, at: time) == seen, "\(time)") }
  }

  @Test func `a text of one part, of none and without time is seen at the start`() throws {
    #expect(try seen("x", .character, over: 3, at: Rational(2)) == "x")
    #expect(try seen(" \n", .word, over: 3, at: Rational(3)) == " \n")
    #expect(try seen("ab", .character, over: 0, at: Rational(2)) == "ab")
  }
}
