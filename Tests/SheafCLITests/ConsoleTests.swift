import Testing

@testable import SheafCLI

struct ConsoleTests {
  /// Documents and media contain names, and a terminal must not execute what is in a name.
  @Test func controlCharactersAreWrittenOut() {
    #expect("a\u{1B}[2J\u{0}b".withoutControls == #"a\u{1B}[2J\u{0}b"#)
    #expect("two lines\nand a\ttab, ä, 日本".withoutControls == "two lines\nand a\ttab, ä, 日本")
    #expect("a\u{202E}b".withoutControls == #"a\u{202E}b"#)
    #expect("\u{9B}31m\u{7F}".withoutControls == #"\u{9B}31m\u{7F}"#)
  }
}
