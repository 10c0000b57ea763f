import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Client

/// Documents that are written in YAML.
@Suite struct YAMLTests {
  private func json(_ text: String) throws -> String { try value(text).formatted(width: .max) }

  private func value(_ text: String) throws -> JSONValue {
    try YAMLReader.read(Array(text.utf8), limit: 1 << 20).value
  }

  @Test(arguments: [
    ("a: 1", #"{ "a": 1 }"#), ("[0.30, -7.5e-3, +4, .25, 12., -.5E+2]", "[0.30, -7.5e-3, 4, 0.25, 12, -0.5E+2]"),
    ("0.30000000000000004", "0.30000000000000004"), ("123456789012345678901", "123456789012345678901"),
    ("[yes, no, on, True, FALSE, tRue]", #"["yes", "no", "on", true, false, "tRue"]"#),
    ("[~, null, NULL, nUll]", #"[null, null, null, "nUll"]"#), ("a:\nb: 1", #"{ "a": null, "b": 1 }"#),
    (
      "[1:30, 7/30, 90f, 0..1.5, 1_000, 1.2.3, +, -, ., 1e, .e3, -x]",
      #"["1:30", "7/30", "90f", "0..1.5", "1_000", "1.2.3", "+", "-", ".", "1e", ".e3", "-x"]"#
    ),
    (#"['1', "2", !!str 3, ! 4]"#, #"["1", "2", "3", "4"]"#),
    ("a: |\n  one\n  two\nb: >-\n  three\n  four", #"{ "a": "one\ntwo\n", "b": "three four" }"#),
    (#"{"a": "\u00e9", b: 'it''s'}"#, #"{ "a": "é", "b": "it's" }"#),
    ("# one\nz: 1 # two\na: 2", #"{ "z": 1, "a": 2 }"#),
    (
      "- &x {a: 1, b: 2}\n- {<<: *x, b: 3}\n- *x",
      #"[{ "a": 1, "b": 2 }, { "b": 3, "a": 1 }, { "a": 1, "b": 2 }]"#
    ),
    (
      "- &x {a: 1}\n- &y {a: 2, c: 4}\n- {<<: [*x, *y]}",
      #"[{ "a": 1 }, { "a": 2, "c": 4 }, { "a": 1, "c": 4 }]"#
    ),
    ("'<<': 7", #"{ "<<": 7 }"#), ("!!str <<: 7", #"{ "<<": 7 }"#), ("!!map {a: !!seq [1]}", #"{ "a": [1] }"#),
  ])
  func `values are those that are written`(text: String, expected: String) throws {
    #expect(try json(text) == expected)
  }

  @Test(arguments: [
    ("a:\n  - 0x1F", 2, 5, "0x1F is a number that is not decimal"), ("[1, 0o17]", 1, 5, "0o17"),
    ("é: [é, 017]", 1, 8, "017 begins with 0"), ("a: 1\nb: !file x", 2, 4, "the tag !file means nothing"),
    ("!!int 5", 1, 1, "the tag tag:yaml.org,2002:int"), ("!foo a: 1", 1, 1, "the tag !foo"),
    ("<<: !foo {a: 1}", 1, 5, "the tag !foo"),
    ("\u{FEFF}a: 1", 1, 1, "byte order mark"),
    ("? [a]\n: 1", 1, 3, "a key should be a text"), ("a: 1\n---\nb: 2", 2, 1, "another document"),
    ("<<: 7", 1, 5, "merges an object"), ("*nothing", 1, 1, "there is no anchor"), ("a:\n\t- 1", 2, 1, "any token"),
    ("a: [1,\nb", 2, 2, "did not find"),
  ])
  func `what is no JSON is refused with its place`(text: String, line: Int, column: Int, words: String) throws {
    let error = try #require(throws: YAMLReader.SyntaxError.self) { try value(text) }
    let place = DocumentPlaces.place(of: error.offset, in: Array(text.utf8))
    #expect(place == (line, column) && error.message.contains(words), "\(place) \(error)")
  }

  @Test func `aliases do not make a document of any size, nor nesting one of any depth`() throws {
    var bomb = "a0: &a0 [lion, tiger]\n"
    for level in 1...40 { bomb += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
    for text in [bomb, String(repeating: "[", count: 70) + String(repeating: "]", count: 70)] {
      #expect(throws: YAMLReader.SyntaxError.self) { try value(text) }
    }
    for text in [String(repeating: "[", count: 200_000), String(repeating: "- ", count: 200_000)] {
      #expect(throws: YAMLReader.SyntaxError.self) { try value(text) }
    }
    // Chains of aliases, and merges of merges.
    var (chain, merges, lists) = ("- &a0 {}\n", "x0: &x0 {}\n", "y0: &y0 [{}]\n")
    for level in 1...3000 { chain += "- &a\(level) [*a\(level - 1)]\n" }
    for level in 1...60 {
      merges += "x\(level): &x\(level) {<<: [*x\(level - 1), *x\(level - 1)]}\n"
      lists += "y\(level): &y\(level) [*y\(level - 1), *y\(level - 1)]\n"
    }
    for text in [chain, merges, lists + "z: {<<: *y60}\n", bomb + "? *a40\n: 1\n"] {
      #expect(throws: YAMLReader.SyntaxError.self) { try value(text) }
    }
    for text in ["", "# nothing", "\u{7}"] { #expect(throws: YAMLReader.SyntaxError.self) { try value(text) } }
    #expect(throws: DocumentError.self) { try DocumentText([0x61, 0x3A, 0xFF], of: "a.yaml") }
  }

  /// JSON is YAML, except that a tab is no indentation.
  @Test func `every document of the pages is the same document as YAML`() throws {
    let pages = try PublishedPage.all(in: "docs")
    let documents = pages.flatMap { $0.blocks(of: "json") }.filter { $0.contains(#""sheaf": 1"#) }
    #expect(documents.count > 60)
    for document in documents {
      let bytes = Array(document.utf8)
      let json = try JSONReader.read(bytes).value
      let yaml = try YAMLReader.read(bytes, limit: 1 << 16).value
      #expect(yaml.formatted() == json.formatted())
      #expect(offsets(yaml) == offsets(json), "\(document)")
    }
  }

  @Test func `examples in YAML are valid documents`() throws {
    let examples = try PublishedPage.all(in: "docs").flatMap { $0.blocks(of: "yaml") }.filter {
      $0.contains("sheaf: 1")
    }
    #expect(!examples.isEmpty)
    for example in examples {
      let text = try DocumentText(Array(example.utf8), of: "example.yml")
      #expect(try Document.examine(text.json, output: nil).problems.isEmpty)
    }
  }

  @Test func `problems have their places in the YAML, also those of a document in another one`() throws {
    let folder = try TemporaryFolder()
    let inner = "sheaf: 1\nassets: {}\ntracks:\n  - clips:\n      - { asset: ü, spede: 2 }\n"
    try Data(inner.utf8).write(to: folder.url.appending(path: "inner.yaml"))
    let outer = "sheaf: 1\nassets:\n  inner: { document: inner.yaml }\ntracks: []\nexport: { to: a.mp4, vidoe: {} }\n"
    let path = folder.path("outer.YML")
    try Data(outer.utf8).write(to: URL(fileURLWithPath: path))
    let edit = try EditFile(path)
    let problems = edit.located(edit.document.problems).map { "\($0.place(in: "outer")): \($0.message)" }
    #expect(problems.contains { $0.hasPrefix("outer:5:29: unknown key 'vidoe'") }, "\(problems)")
    #expect(problems.contains { $0.contains("inner.yaml:5:28: unknown key 'spede'") }, "\(problems)")
    #expect(try EditFile.isDocument(path))
    #expect(String(decoding: edit.bytes, as: UTF8.self).hasPrefix(#"{ "sheaf": 1, "assets": { "inner""#))

    try Data("a: [".utf8).write(to: folder.url.appending(path: "inner.yaml"))
    let failure = try #require(throws: CommandFailure.self) { try EditFile(path) }
    #expect("\(failure)".contains("inner.yaml: not YAML at line 1, column 5"), "\(failure)")
  }

  @Test func `a key that occurs twice is reported where it occurs again, as all of them are`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("twice.yml")
    try Data("sheaf: 1\ntracks: []\r\nassets: {ä: a.mp4, ä: b.mp4}\n# é\ntracks: []\n".utf8)
      .write(to: URL(fileURLWithPath: path))
    let edit = try EditFile(path)
    let found = edit.located(edit.document.problems).filter { $0.message == JSONReader.duplicateKey }
    #expect(found.map { $0.place(in: "") } == ["3:20", "5:1"], "\(found)")
  }

  private func offsets(_ value: JSONValue) -> [Int] {
    let inner: [JSONValue] =
      switch value.content {
      case .array(let items): items
      case .object(let members): members.map(\.value)
      default: []
      }
    return [value.offset] + inner.flatMap(offsets)
  }
}
