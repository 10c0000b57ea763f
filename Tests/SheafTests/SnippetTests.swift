import Foundation
import TestPrograms
import Testing

/// The Swift code of the documentation is that of files which are compiled.
@Suite(.ownThreads) struct SnippetTests {
  private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Lines without their indentation.
  private static func lines(_ text: some StringProtocol) -> [String] {
    text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  /// The blocks of Swift code of a page, without those of AVFoundation and of package manifests.
  private static func snippets(_ page: String) throws -> [[String]] {
    let text = try String(contentsOf: repository.appendingPathComponent(page), encoding: .utf8)
    var (snippets, current): ([[String]], [String]?) = ([], nil)
    var before = ""
    for line in text.components(separatedBy: "\n") {
      if line == "```swift" {
        current = []
      } else if line == "```", let snippet = current {
        let isManifest = snippet.first?.hasPrefix("// Package.swift") == true
        if before != "AVFoundation:", !isManifest { snippets.append(lines(snippet.joined(separator: "\n"))) }
        current = nil
      } else if current != nil {
        current?.append(line)
      } else if !line.isEmpty {
        before = line
      }
    }
    return snippets
  }

  @Test(arguments: [
    ("docs/from-avfoundation.md", 21), ("Sources/Sheaf/Sheaf.docc/Editing.md", 5),
    ("Sources/Sheaf/Sheaf.docc/ReadingAndWriting.md", 12), ("Sources/Sheaf/Sheaf.docc/Exporting.md", 7),
    ("README.md", 1),
  ])
  func `every snippet is compiled`(page: String, count: Int) throws {
    var sources = [
      "Examples/reencode/Sources/Reencode/main.swift", "Examples/editing/Sources/EditTwoClips/main.swift",
      "Examples/export/Sources/ExportFilm/main.swift",
    ]
    sources += [
      "AssetExportTests", "EditDocumentTests", "ExportPresetsTests", "ExportTests", "ImageGeneratorTests",
      "OutputSettingsTests", "ReadingTests", "StoredWritingTests", "TrackWritingTests", "WaveformGeneratorTests",
      "WritingTests",
    ].map {
      "Tests/SheafTests/\($0).swift"
    }
    let compiled = try sources.map { source in
      Self.lines(try String(contentsOf: Self.repository.appendingPathComponent(source), encoding: .utf8))
    }
    let snippets = try Self.snippets(page)
    #expect(snippets.count >= count)
    for snippet in snippets {
      let isFound = compiled.contains { file in
        file.indices.contains { start in file[start...].starts(with: snippet) }
      }
      #expect(isFound, "\(page) has code that is in no example and no test: \(snippet.joined(separator: "\n"))")
    }
  }
}
