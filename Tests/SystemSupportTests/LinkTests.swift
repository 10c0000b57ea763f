import Foundation
import Testing

/// The links between the pages of this repository.
struct LinkTests {
  private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func pages() throws -> [URL] {
    let documents = try FileManager.default.subpathsOfDirectory(atPath: repository.appending(path: "docs").path)
    return (["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + documents.map { "docs/\($0)" })
      .filter { $0.hasSuffix(".md") }.map { repository.appending(path: $0) }
  }

  /// Without blocks of code, whose lines may look like headings and links.
  private static func text(of page: URL) throws -> String {
    try String(contentsOf: page, encoding: .utf8).replacing(#/(?ms)^```.*?^```/#, with: "")
  }

  /// The anchors that a page's headings have on GitHub.
  private static func anchors(of page: URL) throws -> Set<String> {
    let headings = try text(of: page).matches(of: #/(?m)^#+ (?<heading>.*)$/#).map(\.heading)
    return Set(
      headings.map { heading in
        heading.lowercased().replacing(#/[^\p{L}\p{N}_\- ]/#, with: "").replacing(" ", with: "-")
      })
  }

  @Test func `each link leads to a file, and to a heading that is there`() throws {
    var count = 0
    for page in try Self.pages() {
      for match in try Self.text(of: page).matches(of: #/\]\((?<link>[^)\s]+)\)/#) where !match.link.contains(":") {
        count += 1
        let parts = match.link.split(separator: "#", omittingEmptySubsequences: false)
        let target = parts[0].isEmpty ? page : page.deletingLastPathComponent().appending(path: parts[0])
        #expect(FileManager.default.fileExists(atPath: target.path), "\(page.lastPathComponent): \(match.link)")
        guard parts.count > 1, target.pathExtension == "md" else { continue }
        #expect(try Self.anchors(of: target).contains(String(parts[1])), "\(page.lastPathComponent): \(match.link)")
      }
    }
    #expect(count > 100)
  }
}
