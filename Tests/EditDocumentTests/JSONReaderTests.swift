import TestEdits
import TestPrograms
import Testing

@testable import CompositionModel
@testable import EditDocument

@Suite struct JSONReaderTests {
  private func value(_ text: String) throws -> JSONValue { try JSONReader.read(Array(text.utf8)).value }

  private func fault(_ bytes: [UInt8]) throws -> JSONSyntaxError {
    do {
      _ = try JSONReader.read(bytes)
    } catch {
      return error
    }
    throw TestFault.accepted
  }

  private enum TestFault: Error { case accepted }

  @Test func `numbers keep their text`() throws {
    for text in ["0", "-0", "1.50", "1e400", "123456789012345678901234567890.000001", "-1.5E-7", "9e+2"] {
      guard case .number(text) = try value(text).content else {
        Issue.record("\(text) changed")
        continue
      }
    }
  }

  @Test func `values have their place`() throws {
    let root = try value(#"{"a/b~": [1, {"c": true}]}"#)
    guard case .object(let members) = root.content, case .array(let items) = members[0].value.content,
      case .object(let inner) = items[1].content
    else {
      Issue.record("the shape changed")
      return
    }
    #expect(root.pointer.text == "")
    #expect(inner[0].value.pointer.text == "/a~1b~0/1/c")
  }

  @Test func `escapes and Unicode are read`() throws {
    let text = #""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00 日本é""#
    guard case .string(let string) = try value(text).content else {
      Issue.record("no string")
      return
    }
    #expect(Array(string.unicodeScalars) == Array("\"\\/\u{8}\u{c}\n\r\té😀 日本é".unicodeScalars))
  }

  @Test(arguments: [
    ("", 1, 1), ("  ", 1, 3), ("{", 1, 2), ("[1,]", 1, 4), ("{\"a\":1,}", 1, 8), ("{\"a\" 1}", 1, 6), ("{a:1}", 1, 2),
    ("[1 2]", 1, 4), ("01", 1, 1), ("-", 1, 2), ("1.", 1, 3), (".5", 1, 1), ("+1", 1, 1), ("1e", 1, 3), ("1 2", 1, 3),
    ("tru", 1, 1), ("NaN", 1, 1), ("// x\n1", 1, 1), ("\"abc", 1, 1), ("\"\\x\"", 1, 2), ("\"\\u12\"", 1, 2),
    ("\"\\ud800\"", 1, 2), ("\"\\ude00\"", 1, 2), ("\"\\ud800\\u0041\"", 1, 2), ("\"a\u{1}b\"", 1, 3),
    ("{\n  \"a\": 1,\n  \"é\": x\n}", 3, 8), ("[\r\n1,\r\n]", 3, 1), ("{\"a\": 'b'}", 1, 7),
  ])
  func `syntax errors have line and column`(_ text: String, line: Int, column: Int) throws {
    let error = try fault(Array(text.utf8))
    #expect(error.line == line && error.column == column, "\(error)")
  }

  @Test func `text that is not UTF-8 is refused where it is wrong`() throws {
    for bad: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82]] {
      let error = try fault(Array("[\n \"é".utf8) + bad + Array("\"]".utf8))
      #expect(error.line == 2 && error.column == 4 && error.message.contains("UTF-8"), "\(bad) \(error)")
    }
    #expect(try fault([0xEF, 0xBB, 0xBF] + Array("{}".utf8)).message.contains("byte order mark"))
  }

  @Test func `hostile texts are refused and do not exhaust the stack`() throws {
    #expect(try fault(Array(repeating: UInt8(ascii: "["), count: 1_000_000)).message.contains("deep"))
    let nested = String(repeating: "{\"a\":", count: 100_000)
    #expect(try fault(Array(nested.utf8)).message.contains("deep"))
    let depth = JSONReader.greatestDepth
    let allowed = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    #expect(throws: Never.self) { try value(allowed) }
    #expect(try fault(Array(repeating: 0x20, count: JSONReader.greatestByteCount + 1)).message.contains("bytes"))
  }

  @Test func `no truncation of a document is accepted`() throws {
    let bytes = Array(#"{"a": [1.5e3, "\u00e9\n", true, null, {"b": false}], "c": "日本"}"#.utf8)
    #expect(throws: Never.self) { try JSONReader.read(bytes) }
    for count in 0..<bytes.count {
      #expect(throws: JSONSyntaxError.self) { try JSONReader.read(Array(bytes[..<count])) }
    }
  }

  @Test func `random damage is read or refused but never traps`() {
    let bytes = Array(documentText(tracks: #"[{"clips": [{"asset": "v", "use": "0..5"}]}]"#).utf8)
    var random = SeededRandom(seed: 7)
    var read = 0
    for _ in 0..<3000 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        damaged[Int.random(in: damaged.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if (try? Document.examine(damaged)) != nil { read += 1 }
    }
    #expect(read < 3000)
  }

  @Test func `a key that occurs twice is reported and its first value kept`() throws {
    let (root, duplicates) = try JSONReader.read(Array(#"{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}"#.utf8))
    #expect(duplicates.map(\.pointer.text) == ["/b/c", "/a"])
    guard case .object(let members) = root.content, case .number("1") = members[0].value.content else {
      Issue.record("the first value was not kept")
      return
    }
    #expect(members.count == 2)
  }
}
