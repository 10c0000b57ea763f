import TestEdits
import Testing

@testable import CompositionModel
@testable import EditDocument

@Suite struct TemplateTests {
  /// A document with a parameter of each type.
  private static let card = #"""
    {
      "sheaf": 1,
      "parameters": {
        "name": { "type": "text", "summary": "who is greeted" },
        "length": { "type": "time", "default": "7/3" },
        "sky": { "type": "color", "default": "#20305080" },
        "photo": { "type": "path", "default": "a.png" },
        "size": { "type": "number", "default": 37.5 },
        "back": { "type": "boolean", "default": true }
      },
      "assets": { "photo": "{{photo}}", "film": "films/{{name}}.mov" },
      "tracks": [
        { "clips": [{ "asset": "film", "use": "1..{{length}}", "reverse": "{{back}}" }] },
        { "clips": [{ "asset": "photo", "duration": "{{ length }}" }] }
      ],
      "videoComposition": {
        "renderSize": [320, 180],
        "overlays": [
          { "text": "Hello {{name}} ({{size}}, {{back}}) {{{{you}}", "size": "{{size}}", "color": "{{sky}}" }
        ]
      },
      "export": { "to": "{{name}}.mp4" }
    }
    """#

  /// The same with a value in the place of each placeholder.
  private static let written = #"""
    {
      "sheaf": 1,
      "assets": { "photo": "b.png", "film": "films/Ada.mov" },
      "tracks": [
        { "clips": [{ "asset": "film", "use": "1..9/4", "reverse": false }] },
        { "clips": [{ "asset": "photo", "duration": "9/4" }] }
      ],
      "videoComposition": {
        "renderSize": [320, 180],
        "overlays": [
          { "text": "Hello Ada (41, false) {{you}}", "size": 41, "color": "#20305080" }
        ]
      },
      "export": { "to": "Ada.mp4" }
    }
    """#

  private static let values: [ParameterValue] = [
    ("size", "41"), ("name", "Ada"), ("length", "9/4"), ("photo", "b.png"), ("back", "false"),
  ]

  @Test func `a template with values is the document with them in their places`() throws {
    let set = try Template.setting(Self.values, in: Array(Self.card.utf8))
    let (template, document) = (try Document.parse(set), try Document.parse(Array(Self.written.utf8)))
    #expect(template.written == document.written)
    let byName = Dictionary(Self.values.map { ($0.name, $0.text) }) { first, _ in first }
    #expect(try Document(template: Self.card, values: byName) == document.written)
    #expect(template.assetPaths.map(\.path) == ["b.png", "films/Ada.mov"])
    let assets = ["photo": try SyntheticAssets.still(), "film": try SyntheticAssets.video()]
    #expect(try template.lower(assets: assets, output: nil) == document.lower(assets: assets, output: nil))
  }

  @Test func `values leave the lines of the text as they are, and may be set again`() throws {
    let set = try Template.setting(Self.values, in: Array(Self.card.utf8))
    let lines = { (bytes: [UInt8]) in String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init) }
    let (before, after) = (lines(Array(Self.card.utf8)), lines(set))
    #expect(before.count == after.count)
    #expect(zip(before, after).enumerated().filter { $1.0 != $1.1 }.map(\.offset) == [3, 4, 6, 7, 8])
    #expect(after[3] == #"    "name": {"default": "Ada",  "type": "text", "summary": "who is greeted" },"#)
    let again = try Template.setting([("name", #"a "b" \ c"#), ("size", "1e2")], in: set)
    let document = try Document.parse(again)
    #expect(document.outputPath == #"a "b" \ c.mp4"#)
    #expect(try Template.setting([], in: set) == set)
  }

  @Test(arguments: ["../../a", "a/b", "..", "."])
  func `a value in the middle of a path names no folder`(name: String) throws {
    func problems(_ path: String) throws -> [Problem] {
      let text = """
        {"sheaf": 1, "parameters": {"name": {"type": "text"}}, "assets": {"v": "v.mov"},
          "tracks": [{"clips": [{"asset": "v"}]}], "export": {"to": "\(path)"}}
        """
      return try Document.examine(Template.setting([("name", name)], in: Array(text.utf8))).problems
    }
    let found = try problems("films/{{name}}.mp4")
    #expect(found.map(\.pointer) == ["/export/to"])
    #expect(found.first?.message.contains("is no part of a file's name") == true)
    // The whole path may be a value.
    #expect(try problems("{{name}}").allSatisfy { !$0.message.contains("is no part of a file's name") })
  }

  @Test(
    arguments: [
      ([], [("/parameters/name", "'name' has no value: give it one, or a 'default'")]),
      ([("nam", "x")], [("/parameters", "there is no parameter 'nam' (did you mean 'name'?)")]),
      (
        [("size", "12pt"), ("back", "yes"), ("sky", "blue"), ("length", "1..2"), ("photo", "")],
        [
          ("/parameters/size", "\"12pt\" is not a number, which 'size' must be"),
          ("/parameters/back", "\"yes\" is not true or false, which 'back' must be"),
          ("/parameters/sky", "\"blue\" is not a colour, such as #ff8800, which 'sky' must be"),
          ("/parameters/length", "\"1..2\" is not a time in seconds, such as 1.5 or 7/30, which 'length' must be"),
          ("/parameters/photo", "\"\" is not a path, which 'photo' must be"),
        ]
      ),
      (
        [("name", "x"), ("size", "0.25")],
        [("/videoComposition/overlays/0/size", "0.25 should be a number from 1 to 4096")]
      ),
    ] as [([(String, String)], [(String, String)])])
  func `what is wrong with values has its place`(values: [(String, String)], problems: [(String, String)]) {
    var found: [Problem] = []
    do throws(DocumentError) {
      let set = try Template.setting(values.map { (name: $0.0, text: $0.1) }, in: Array(Self.card.utf8))
      found = try Document.examine(set).problems
    } catch {
      found = error.problems
    }
    #expect(found.map(\.pointer) == problems.map(\.0), "\(found)")
    for (problem, expected) in zip(found, problems) {
      #expect(problem.message.hasPrefix(expected.1.prefix(12)), "\(problem)")
    }
  }

  /// Each is `parameters` and a text of the document that has its placeholders.
  @Test(
    arguments: [
      (#"{"a": {"type": "text", "default": "x"}}"#, "none", ["/parameters/a: nothing in the document has {{a}}"]),
      (
        "{}", "{{title}}",
        ["/videoComposition/overlays/0/text: there is no parameter 'title'; write {{{{ for two braces"]
      ),
      (
        #"{"titel": {"type": "text", "default": "x"}}"#, "{{title}} {{titel}}",
        [
          "/videoComposition/overlays/0/text: there is no parameter 'title' (did you mean 'titel'?); "
            + "write {{{{ for two braces"
        ]
      ),
      (#"{"a": {"type": "number", "default": "1"}}"#, "{{a}}", ["/parameters/a/default: \"1\" is not a number"]),
      (
        #"{"a": {"type": "text", "default": []}}"#, "{{a}}",
        ["/parameters/a/default: an array of 0 values is not a text"]
      ),
      (#"{"a": {"default": 1}}"#, "{{a}}", ["/parameters/a: a parameter needs 'type'"]),
      (
        #"{"1a": {"type": "text"}}"#, "{{1a}}",
        [
          "/parameters/1a: a parameter's name has letters, digits, '_' and '-', and begins with a letter or '_'"
        ]
      ),
      ("[]", "none", ["/parameters: an array of 0 values should be an object of parameters by their names"]),
    ] as [(String, String, [String])])
  func `what is wrong with parameters is reported with its place`(
    parameters: String, text: String, problems: [String]
  ) throws {
    let document = Self.document(parameters, text)
    #expect(try Document.examine(Array(document.utf8)).problems.map { "\($0.pointer): \($0.message)" } == problems)
  }

  /// `tracks` has a time, a flag and a number in the place of each of which a placeholder is.
  @Test func `what has no value is one problem, and not also a wrong time, flag or number`() throws {
    let document = #"""
      {"sheaf": 1, "parameters": {"t": {"type": "time"}, "b": {"type": "boolean"}, "n": {"type": "number", "default": "x"}},
       "assets": {"a": "a.png"},
       "tracks": [{"clips": [{"asset": "a", "duration": "{{t}}", "loop": "{{b}}", "opacity": "{{n}}", "until": "{{u}}"}]}],
       "export": {"to": "a.mp4"}}
      """#
    #expect(
      try Document.examine(Array(document.utf8)).problems.map(\.pointer) == [
        "/parameters/n/default", "/parameters/t", "/parameters/b", "/tracks/0/clips/0/until",
      ])
  }

  @Test func `a document without parameters keeps its braces`() throws {
    let document = Self.document(nil, "{{{{a}} {{b}}")
    let examined = try Document.parse(Array(document.utf8))
    #expect(String(describing: examined.written).contains("{{{{a}} {{b}}"))
    #expect(throws: DocumentError.self) { try Template.setting([("b", "1")], in: Array(document.utf8)) }
  }

  @Test func `values that are filled in many times do not make a document too long for the machine`() throws {
    let long = String(repeating: "x", count: 1 << 20)
    let uses = String(repeating: "{{a}}", count: 64)
    let document = Self.document(#"{"a": {"type": "text", "default": "\#(long)"}}"#, uses)
    let problems = try Document.examine(Array(document.utf8)).problems
    #expect(problems.contains { $0.message == "the values of the parameters make the document too long" })
  }

  @Test(
    arguments: [
      ("", ["": "1"], ""), ("a", [:], "a"), ("{{a}}", ["a": "1"], "1"), ("{{ a }}-{{b}}", ["a": "1", "b": "2"], "1-2"),
      ("{{a", ["a": "1"], "{{a"), ("{{{{a}}", [:], "{{a}}"), ("{{{{{{a}}", ["a": "1"], "{{1"),
      ("{{a}}", ["b": "1"], nil), ("}}{{a}}}}", ["a": "x"], "}}x}}"),
    ] as [(String, [String: String], String?)])
  func `a path may have placeholders too`(text: String, values: [String: String], filled: String?) {
    #expect(Template.text(text, values) == filled)
  }

  /// - Parameter parameters: Nil: there are none.
  private static func document(_ parameters: String?, _ text: String) -> String {
    #"""
    {"sheaf": 1, \#(parameters.map { "\"parameters\": \($0), " } ?? "")"assets": {}, "tracks": [],
     "videoComposition": {"overlays": [{"text": "\#(text)"}]}, "export": {"to": "a.mp4"}}
    """#
  }
}
