import Foundation
import TestPrograms
import Testing

/// The links of the Markdown pages.
struct PageLinkTests {
  private static let pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]

  private static func all() throws -> [PublishedPage] {
    try pages.map { try PublishedPage($0) } + ["docs", "Examples", "deploy"].flatMap { try PublishedPage.all(in: $0) }
  }

  /// The anchors of a page's headings, as GitHub makes them.
  private static func anchors(of page: PublishedPage) -> Set<String> {
    var anchors: Set<String> = []
    var counts: [String: Int] = [:]
    for line in page.prose {
      guard let match = line.wholeMatch(of: #/#{1,6} (?<title>.*)/#) else { continue }
      let anchor = match.title.lowercased().filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
        .replacing(" ", with: "-")
      let count = counts[anchor, default: 0]
      anchors.insert(count == 0 ? anchor : "\(anchor)-\(count)")
      counts[anchor] = count + 1
    }
    return anchors
  }

  @Test func `each link leads to a file, and to a heading of it`() throws {
    let pages = try Self.all()
    let anchors = Dictionary(uniqueKeysWithValues: pages.map { ($0.path, Self.anchors(of: $0)) })
    var count = 0
    for page in pages {
      let folder = PublishedPage.repository.appending(path: page.path).deletingLastPathComponent()
      for line in page.prose {
        for match in line.matches(of: #/\]\((?<target>[^)\s]+)\)/#) where !match.target.contains("://") {
          let parts = match.target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
          let file = parts[0].isEmpty ? page.path : path(of: folder.appending(path: parts[0]))
          let exists = FileManager.default.fileExists(atPath: PublishedPage.repository.appending(path: file).path)
          #expect(exists, "\(page.path): \(match.target)")
          if parts.count == 2, exists, file.hasSuffix(".md") {
            #expect(anchors[file]?.contains(String(parts[1])) == true, "\(page.path): \(match.target)")
          }
          count += 1
        }
      }
    }
    #expect(count > 100)
  }

  @Test func `each page under docs is reached from the README`() throws {
    let pages = Dictionary(uniqueKeysWithValues: try Self.all().map { ($0.path, $0) })
    var reached: Set<String> = []
    var next = ["README.md"]
    while let path = next.popLast() {
      guard reached.insert(path).inserted, let page = pages[path] else { continue }
      let folder = PublishedPage.repository.appending(path: path).deletingLastPathComponent()
      for line in page.prose {
        for match in line.matches(of: #/\]\((?<target>[^)#\s]+)[^)\s]*\)/#) where !match.target.contains("://") {
          next.append(self.path(of: folder.appending(path: match.target)))
        }
      }
    }
    #expect(pages.keys.filter { $0.hasPrefix("docs/") && !reached.contains($0) }.sorted() == [])
  }

  /// From the repository's root.
  private func path(of file: URL) -> String {
    String(file.standardized.path.dropFirst(PublishedPage.repository.standardized.path.count + 1))
  }
}
