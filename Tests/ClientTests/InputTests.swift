import Foundation
import TestPrograms
import Testing

@testable import Client

/// What the arguments of commands stand for.
struct InputTests {
  @Test(arguments: [
    ("{ }", true), ("{1}{25}Hello", false), ("{ \n\"", true), (" \n\t{", true), ("\u{FEFF}{}", true), ("[]", false),
    ("", false), ("\u{0}\u{0}{", false),
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
}
