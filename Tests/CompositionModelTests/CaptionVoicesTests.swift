import Testing

@testable import CompositionModel

/// The names and the colors of those who speak in captions.
@Suite struct CaptionVoicesTests {
  private let yellow = CaptionSpeaker(color: Color(red: 255, green: 208, blue: 64))
  private let talk = "{\\=Fred}Hi.{\\=} {\\=Mary Ann}Hello,\\N{\\i1}Fred{\\i0}."

  private func spoken(
    _ text: String, _ speakers: [String: CaptionSpeaker] = [:], names: Bool = true, color: Color? = nil
  )
    -> String
  { CaptionWording(speakers: speakers, showsSpeakers: names).spoken(text, color: color) }

  @Test func `marks are not shown`() {
    #expect(CaptionVoices.removed(from: talk) == "Hi. Hello,\\N{\\i1}Fred{\\i0}.")
    #expect(CaptionVoices.names(in: talk) == ["Fred", "Mary Ann"])
    #expect(CaptionWording().spoken(talk, color: .white) == "Hi. Hello,\\N{\\i1}Fred{\\i0}.")
    #expect(CaptionVoices.mark(" {Fred}\n\\Smith ") == "{\\=Fred Smith}" && CaptionVoices.mark(nil) == "{\\=}")
  }

  @Test(arguments: ["\u{200D}first", "\u{301}first", "\u{200C}", "\u{93E}"])
  func `marks are found before what joins a character`(text: String) {
    let marked = "{\\=Fred}\(text){\\i1}\(text){\\=}"
    #expect(CaptionVoices.names(in: marked) == ["Fred"])
    #expect(CaptionVoices.removed(from: marked).unicodeScalars.elementsEqual("\(text){\\i1}\(text)".unicodeScalars))
    #expect(spoken(marked).unicodeScalars.starts(with: "Fred: ".unicodeScalars))
    #expect(CaptionVoices.names(in: "{\\=\(text)a}b").count == 1)
  }

  @Test func `a name is as long as it may be`() {
    let long = String(repeating: "ab ", count: 1000)
    #expect(CaptionVoices.name(long).count == CaptionVoices.longestName)
    #expect(CaptionVoices.mark(long).utf8.count < 210)
  }

  @Test func `each speaker has a line of their own, with the name before it`() {
    #expect(spoken(talk) == "Fred: Hi.\\NMary Ann: Hello,\\N{\\i1}Fred{\\i0}.")
    #expect(spoken("{\\=Fred}Hi.{\\=}\\N{\\=Mary}Oh.") == "Fred: Hi.\\NMary: Oh.")
    // One who goes on is not named again, and nobody is not named.
    #expect(spoken("{\\=Fred}Hi.{\\=} {\\=Fred}You.") == "Fred: Hi. You.")
    #expect(spoken("(rain) {\\=Fred}\\NHi.{\\=}\\N(rain)") == "(rain) \\NFred: Hi.\\N(rain)")
    #expect(spoken(talk, ["Fred": CaptionSpeaker(name: "{F}\\N")]).hasPrefix("\\{F\\}\\\u{2060}N: Hi.\\N"))
    #expect(spoken(talk, ["Mary  Ann": CaptionSpeaker(name: "MA")]).contains("\\NMA: Hello"))
  }

  @Test func `colors are those of the name and of the words, in what is drawn`() {
    #expect(
      spoken(talk, ["Fred": yellow], color: .white)
        == "{\\1c&H40D0FF&}Fred: Hi.{\\1c}\\NMary Ann: Hello,\\N{\\i1}Fred{\\i0}.")
    #expect(spoken(talk, ["Fred": yellow], names: false, color: .white).hasPrefix("{\\1c&H40D0FF&}Hi.{\\1c} Hello"))
    #expect(spoken(talk, ["Fred": yellow]) == spoken(talk))
    let half = CaptionSpeaker(color: Color(red: 1, green: 2, blue: 3, alpha: 127))
    #expect(
      spoken("{\\=A}a{\\=B}b{\\=}c", ["A": yellow, "B": half], names: false, color: .white)
        == "{\\1c&H40D0FF&\\1a&H00&}a{\\1c&H030201&\\1a&H80&}b{\\1c\\1a}c")
  }

  @Test func `names count for the length of lines`() {
    let wording = CaptionWording(lineLength: 12, showsSpeakers: true)
    let event = CaptionEvent(start: 0, end: 1, fields: "0,0,Default,,0,0,0,,{\\=Fred}One two, three")
    #expect(wording.written(event).text == "Fred: One\\Ntwo, three" && wording.written(event).lineCount == 2)
    #expect(wording.ofFonts == CaptionWording(showsSpeakers: true) && CaptionWording(lineLength: 9).ofFonts == nil)
  }
}
