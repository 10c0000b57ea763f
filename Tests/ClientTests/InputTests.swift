import Foundation
import TestPrograms
import Testing

@testable import Client

/// What the arguments of commands stand for.
struct InputTests {
  @Test(arguments: [
    ("{ }", true), (" \n\t{", true), ("\u{FEFF}{}", true), ("[]", false), ("", false), ("\u{0}\u{0}{", false),
  ])
  func `a document is a file that begins as a JSON object`(text: String, isDocument: Bool) throws {
    let folder = try TemporaryFolder()
    // Its name has no say in it.
    let path = try folder.write(Data(text.utf8), "film.mov")
    #expect(try EditFile.isDocument(path) == isDocument)
  }

  @Test func `standard input is a document, and what is not there or not a file is none`() throws {
    let folder = try TemporaryFolder()
    #expect(try EditFile.isDocument("-"))
    #expect(try !EditFile.isDocument(folder.path("none.json")))
    #expect(try !EditFile.isDocument(folder.url.path))
  }

  @Test(arguments: [
    ("a.png", "a.png", "a.png"), ("a%d.png", "a1.png", "a12.png"), ("a-%03d.png", "a-001.png", "a-012.png"),
    ("%3d", "001", "012"), ("100%%/%02d.%%", "100%/01.%", "100%/12.%"), ("a%%", "a%", "a%"),
  ])
  func `a picture's name has its number, from 1 on`(pattern: String, first: String, twelfth: String) throws {
    let output = try #require(LocalImages.Output(pattern: pattern))
    #expect(output.path(0) == first && output.path(11) == twelfth)
  }

  @Test(arguments: ["%", "a%s", "%d%d", "%00d", "%10d", "%012d", "%-3d", "%3", "%d%"])
  func `a per cent sign that is no number is refused`(pattern: String) {
    #expect(LocalImages.Output(pattern: pattern) == nil)
  }
}
