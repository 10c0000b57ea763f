import Foundation
import TestPrograms

/// The documents of the examples and of the pages, and those that tests have kept.
enum PublishedDocuments {
  private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// Every block of code of the pages, too, of which not all are documents.
  static func texts() throws -> [String] {
    var texts: [String] = []
    for name in ["first-film", "everyday-edit", "custom-transition/edit"] {
      texts.append(try String(contentsOf: repository.appending(path: "Examples/\(name).json"), encoding: .utf8))
    }
    texts += try PublishedPage.all(in: "docs").flatMap { $0.blocks() }
    return texts
  }

  /// The documents of the tests, as `TestedDocuments` has kept them in an earlier run; many of them are wrong. Nil:
  /// there was none.
  static func kept() throws -> [String]? {
    guard let path = ProcessInfo.processInfo.environment["SHEAF_KEPT_DOCUMENTS"] else { return nil }
    return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      .map { try JSONDecoder().decode(String.self, from: Data($0.utf8)) }
  }
}
