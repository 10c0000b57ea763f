public import Foundation

/// A Markdown page of the repository.
public struct PublishedPage: Sendable {
  /// From the repository's root, as `docs/document/clips.md`.
  public let path: String
  public let text: String

  public static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The pages of a folder and of those in it, by their paths.
  /// - Parameter folder: From the repository's root.
  public static func all(in folder: String) throws -> [PublishedPage] {
    try FileManager.default.subpathsOfDirectory(atPath: repository.appending(path: folder).path)
      .filter { $0.hasSuffix(".md") }.sorted().map { try PublishedPage("\(folder)/\($0)") }
  }

  /// The pages that describe the document.
  public static func ofDocument() throws -> [PublishedPage] {
    try [PublishedPage("docs/document.md")] + all(in: "docs/document")
  }

  public init(_ path: String) throws {
    self.path = path
    text = try String(contentsOf: Self.repository.appending(path: path), encoding: .utf8)
  }

  /// The blocks of code, of which each is fenced by three backticks.
  /// - Parameter language: Nil: of all languages.
  public func blocks(of language: String? = nil) -> [String] {
    var blocks: [String] = []
    var current: [Substring]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```"), let lines = current {
        blocks.append(lines.joined(separator: "\n"))
        current = nil
      } else if line.hasPrefix("```"), language == nil || line == "```\(language ?? "")" {
        current = []
      } else {
        current?.append(line)
      }
    }
    return blocks
  }

  /// The lines that are in no block of code.
  public var prose: [Substring] {
    var isCode = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
      if line.hasPrefix("```") {
        isCode.toggle()
        return false
      }
      return !isCode
    }
  }
}
