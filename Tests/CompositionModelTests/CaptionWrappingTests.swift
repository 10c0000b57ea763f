import Testing

@testable import CompositionModel

/// Where the lines of captions are broken.
@Suite struct CaptionWrappingTests {
  private func lines(_ text: String, _ length: Int) -> [String] {
    CaptionText.wrapped(text, CaptionWrapping(length)).split(separator: "\\N", omittingEmptySubsequences: false)
      .map { String($0) }
  }

  /// All ways of breaking a text of words, of which the best is taken.
  private func plainly(_ words: [String], _ length: Int) -> [String] {
    var best: (cost: [Int], lines: [String])?
    for choice in 0..<(1 << (words.count - 1)) {
      var lines = [words[0]]
      for (index, word) in words.dropFirst().enumerated() {
        if choice >> index & 1 == 1 { lines.append(word) } else { lines[lines.count - 1] += " " + word }
      }
      guard lines.allSatisfy({ $0.count <= length || !$0.contains(" ") }) else { continue }
      let widths = lines.map(\.count)
      let longest = widths.filter { $0 <= length }.max() ?? 0
      let cost = [lines.count, longest, widths.reduce(0) { $0 + $1 * $1 }] + widths
      if best.map({ cost.lexicographicallyPrecedes($0.cost) }) ?? true { best = (cost, lines) }
    }
    return best?.lines ?? []
  }

  @Test func `of all ways of breaking a text the best is taken`() {
    var state: UInt64 = 7
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    for _ in 0..<600 {
      let letters = ["a", "é", "e\u{301}", "👩‍🚀", "ж"]
      let words = (0..<1 + next(11)).map { _ in
        (0..<1 + next(next(9) == 0 ? 14 : 6)).map { _ in letters[next(letters.count)] }.joined()
      }
      let length = 8 + next(14)
      let found = lines(words.joined(separator: " "), length)
      #expect(found == plainly(words, length), "\(words) in \(length)")
    }
  }

  @Test func `lines are even, and the upper ones the shorter ones`() {
    #expect(lines("We went to the coast and came back", 42) == ["We went to the coast and came back"])
    #expect(lines("We went to the coast and came back", 32) == ["We went to the", "coast and came back"])
    #expect(lines("one two three four", 8) == ["one two", "three", "four"])
    #expect(lines("a unbreakablewordoftext b", 10) == ["a", "unbreakablewordoftext", "b"])
    // Lines that are written stay.
    #expect(lines("- Yes.\\N- No, we are not going there.", 16) == ["- Yes.", "- No, we are", "not going there."])
    #expect(lines("one two\\nthree", 9) == ["one two", "three"])
    #expect(lines("", 8) == [""] && lines("  ", 8) == ["  "])
  }

  @Test func `tags have no length, and stay where they are`() {
    #expect(lines("{\\i1}One two {\\i0}three four", 10) == ["{\\i1}One two", "{\\i0}three four"])
    #expect(lines("{\\k50}One {\\k50}two {\\k20.5}three", 8) == ["{\\k50}One {\\k50}two", "{\\k20.5}three"])
    // Braces without tags are text, and so are those that are written with a backslash.
    #expect(lines("{abcd} ef gh", 8) == ["{abcd}", "ef gh"])
    #expect(lines("\\{abcd\\} ef gh", 8) == ["\\{abcd\\}", "ef gh"])
    #expect(lines("a\\hb\\hc d e f g", 8) == ["a\\hb\\hc", "d e f g"])
  }

  @Test func `Chinese and Japanese are broken between characters, but not before closing punctuation`() {
    #expect(lines("私たちは海岸に行きました。", 8) == ["私たちは海岸", "に行きました。"])
    #expect(lines("我们去了海边，晚上回来了。", 8) == ["我们去了海边，", "晚上回来了。"])
    #expect(lines("一二三四五六七八。", 8) == ["一二三四", "五六七八。"])
    #expect(lines("一二三四「五六七八九", 8) == ["一二三四", "「五六七八九"])
    #expect(lines("ファイルはABCDEFGHです", 10) == ["ファイルは", "ABCDEFGHです"])
    #expect(lines("東京　大阪　名古屋", 8) == ["東京　大阪", "名古屋"])
    // Korean has spaces; a space of no width is one.
    #expect(lines("우리는 해변에 갔다가", 8) == ["우리는", "해변에 갔다가"])
    #expect(lines("ภาษาไทย\u{200B}อ่านง่าย", 10) == ["ภาษาไทย", "อ่านง่าย"])
  }
}
