import ArgumentParser
import Client
import CompositionModel
import EditDocument
import Foundation
import Testing

@testable import SheafCLI

/// Files of rows, and the films that they make.
struct RowTests {
  private static let card = #"""
    {
      "sheaf": 1,
      "parameters": { "name": { "type": "text" }, "size": { "type": "number", "default": 40 } },
      "assets": {}, "tracks": [],
      "videoComposition": { "overlays": [ { "text": "Hello {{name}}", "size": "{{size}}" } ] },
      "export": { "to": "{{name}}.mp4" }
    }
    """#

  /// The films of rows, or why there are none.
  private func films(
    _ rows: String, values: [ParameterValue] = [], output: String?
  ) async throws -> [RowOptions.Film] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sheaf-rows-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (card, file) = (folder.appending(path: "card.json"), folder.appending(path: "people.csv"))
    try Self.card.write(to: card, atomically: false, encoding: .utf8)
    try rows.write(to: file, atomically: false, encoding: .utf8)
    let options = try RowOptions.parse(["--rows", file.path])
    #expect(options.name == "people.csv")
    return try #require(try await options.films(of: card.path, values, output: output))
  }

  @Test func `each row has the values of its columns, and those of the command line`() async throws {
    let films = try await films(
      "name,size\r\nAda,37.5\r\n\"Grace \"\"G\"\", H.\",12\r\n", values: [("size", "9")],
      output: "out/{{row}}-{{name}}.mp4")
    #expect(films.map(\.row) == [1, 2])
    #expect(films.map(\.output) == ["out/1-Ada.mp4", "out/2-Grace \"G\", H..mp4"])
    #expect(
      films.map { $0.values.map { "\($0.name)=\($0.text)" } } == [
        ["name=Ada", "size=37.5"], ["name=Grace \"G\", H.", "size=12"],
      ])
    let fewer = try await self.films("name\nA\nB\n\n", values: [("size", "9")], output: nil)
    #expect(fewer.map { $0.values.map { "\($0.name)=\($0.text)" } } == [["size=9", "name=A"], ["size=9", "name=B"]])
    #expect(fewer.map(\.output) == [nil, nil])
    #expect(fewer[1].title.hasSuffix("card.json, row 2"))
  }

  @Test func `a value may have commas and ends of lines, and the file a mark of its bytes' order`() async throws {
    let films = try await films("\u{FEFF}name\n\"a, b\nc\"\nd\n", output: "{{row}}.mp4")
    #expect(films.map { $0.values.map(\.text) } == [["a, b\nc"], ["d"]])
  }

  @Test(arguments: [
    ("", "has no rows"), ("name\n", "has no rows below its line of names"), ("name,size\nAda\n", "row 1 has 1 values"),
    ("name,size\nAda,1\n\nBob\nEve,2,3\n", "row 2 has 1 values"),
    ("name,size\nAda,1\nEve,2,3\n", "row 2 has 3 values"),
    ("name,name\nAda,Bob\n", "two columns 'name'"), ("name\nAda\nAda\n", "rows 1 and 2 make the same file"),
  ])
  func `a file of rows that cannot be is refused`(rows: String, words: String) async throws {
    let error = await #expect(throws: CommandFailure.self) { try await films(rows, output: nil) }
    #expect(error?.message.contains(words) == true, "\(String(describing: error))")
  }

  @Test func `a path that names no column is refused`() async throws {
    let error = await #expect(throws: CommandFailure.self) { try await films("name\nAda\n", output: "{{nome}}.mp4") }
    #expect(error?.message == "{{nome}}.mp4 names a parameter to which row 1 gives no value")
  }

  @Test func `a problem of some rows names them, and one of all rows is the document's`() async throws {
    let error = await #expect(throws: CommandFailure.self) {
      try await films("name,size,extra\nAda,12,1\nBob,huge,2\nEve,0.5,3\n", output: "{{row}}.mp4")
    }
    #expect(
      error?.problems.map { "\($0.pointer) \($0.message)" } == [
        "/parameters there is no parameter 'extra'; declared are 'name', 'size'",
        "/parameters/size row 2: \"huge\" is not a number, which 'size' must be",
      ])
    let later = await #expect(throws: CommandFailure.self) {
      try await films("name,size\nAda,12\nEve,0.5\n", output: "{{row}}.mp4")
    }
    #expect(later?.problems.map(\.pointer) == ["/videoComposition/overlays/0/size"])
    #expect(later?.problems.first?.message.hasPrefix("row 2: 0.5 ") == true)
  }

  @Test func `values of the command line are names and texts`() throws {
    unsetenv("SHEAF_SET")
    let options = try ParameterOptions.parse(["--set", "a=1", "--set", "b=x=y", "--set", "c="])
    #expect(try options.values.map { "\($0.name):\($0.text)" } == ["a:1", "b:x=y", "c:"])
    for wrong in [["a"], ["=1"], ["a=1", "a=2"]] {
      let options = try ParameterOptions.parse(wrong.flatMap { ["--set", $0] })
      #expect(throws: ValidationError.self) { try options.values }
    }
  }
}
