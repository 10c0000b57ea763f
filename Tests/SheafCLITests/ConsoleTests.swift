import FoundationEssentials
import SystemSupport
import Testing

@testable import SheafCLI

struct ConsoleTests {
  /// Documents and media contain names, and a terminal must not execute what is in a name.
  @Test func `control characters are written out`() {
    #expect("a\u{1B}[2J\u{0}b".withoutControls == #"a\u{1B}[2J\u{0}b"#)
    #expect("two lines\nand a\ttab, ä, 日本".withoutControls == "two lines\nand a\ttab, ä, 日本")
    #expect("a\u{202E}b".withoutControls == #"a\u{202E}b"#)
    #expect("\u{9B}31m\u{7F}".withoutControls == #"\u{9B}31m\u{7F}"#)
  }

  @Test func `control characters in JSON are escaped, and the JSON means the same`() throws {
    let text = "a\u{202E}b\u{7F}c\u{9B}d\u{1B}e\nf"
    let json = String(decoding: try JSONEncoder().encode([text]), as: UTF8.self).controlsEscapedAsJSON
    #expect(json.contains(#"a\u202Eb\u007Fc\u009Bd"#))
    #expect(try JSONDecoder().decode([String].self, from: Data(json.utf8)) == [text])
  }

  @Test func `a dumb terminal is not repainted`() {
    #expect(!Terminal.canRepaint("dumb"))
    for type in ["xterm-256color", "linux", nil] { #expect(Terminal.canRepaint(type)) }
  }
}
