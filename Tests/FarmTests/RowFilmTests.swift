import Foundation
import TestPrograms
import Testing

/// *Parameters*: a film of each row of a file is the film of a document with the row's values in it.
@Suite(.ownThreads) struct RowFilmTests {
  private static func document(_ picture: String, _ seconds: String, parameters: String = "") -> String {
    """
    { "sheaf": 1, \(parameters)"assets": { "a": "\(picture)" },
      "tracks": [ { "clips": [ { "asset": "a", "duration": "\(seconds)" } ] } ],
      "videoComposition": { "renderSize": [64, 48], "frameDuration": "1/10" },
      "export": { "to": "film.mkv", "video": { "codec": "ffv1" } } }
    """
  }

  private static let parameters = #""parameters": { "picture": { "type": "path" }, "seconds": { "type": "time" } }, "#

  private static func frames(_ path: String) throws -> String {
    String(decoding: try Tool.ffmpeg("-i", path, "-f", "framemd5", "-"), as: UTF8.self)
  }

  @Test func `each row is rendered as its document by hand, and one that fails keeps no other from it`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    for colour in ["red", "blue"] {
      _ = try Tool.ffmpeg(
        "-f", "lavfi", "-i", "color=\(colour):size=32x24", "-frames:v", "1", files.path("\(colour).png"))
    }
    let card = files.path("card.json")
    try Self.document("{{picture}}", "{{seconds}}", parameters: Self.parameters)
      .write(toFile: card, atomically: false, encoding: .utf8)
    let rows = files.path("rows.csv")
    try "picture,seconds\nred.png,3/10\nnone.png,1\nblue.png,0.7\n".write(
      toFile: rows, atomically: false, encoding: .utf8)
    let result = try await Command.sheaf(
      "render", card, "--rows", rows, "-o", files.path("films/of/{{row}}.mkv"), "--store", files.path("store")
    ).run()
    #expect(result.status == 65)
    #expect(result.errors.contains("card.json, row 2") && result.errors.contains("none.png"), "\(result.errors)")
    #expect(result.errors.contains("1 of 3 rows failed"), "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: files.path("films/of/2.mkv")))
    for (row, picture, seconds) in [(1, "red.png", "3/10"), (3, "blue.png", "7/10")] {
      let document = files.path("document.json")
      try Self.document(picture, seconds).write(toFile: document, atomically: false, encoding: .utf8)
      let film = try await TestFilm.render(document, files.path("by-hand-\(row).mkv"))
      #expect(film.status == 0, "\(film.errors)")
      #expect(try Self.frames(files.path("films/of/\(row).mkv")) == Self.frames(files.path("by-hand-\(row).mkv")))
    }
    #expect(try Self.frames(files.path("films/of/1.mkv")) != Self.frames(files.path("films/of/3.mkv")))
  }

  @Test func `a value that names a folder is refused before the first film`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let card = try files.write(
      #"""
      { "sheaf": 1, "parameters": { "name": { "type": "text" } }, "assets": { "c": { "color": "#402060" } },
        "tracks": [ { "clips": [ { "asset": "c", "duration": 1 } ] } ],
        "videoComposition": { "renderSize": [64, 48], "frameRate": 10, "overlays": [ { "text": "{{name}}" } ] } }
      """#, to: "card.json")
    let rows = try files.write("name\nAda\n../out\nBea\n", to: "rows.csv")
    let result = try await Command.sheaf(
      "render", card, "--rows", rows, "-o", files.path("films/{{row}}/{{name}}.mkv"), "--store", files.path("store")
    ).run()
    #expect(result.status == 65 && result.errors.contains("row 2: \"../out\" in the path of -o"), "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: files.path("films")))
    // In the picture it may be.
    let numbered = try await Command.sheaf(
      "check", card, "--set", "name=../out", "--store", files.path("store")
    ).run()
    #expect(numbered.status == 0, "\(numbered.errors)")
  }

  @Test func `the films of all rows are checked together, and what some have names them`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    for colour in ["red", "blue"] {
      _ = try Tool.ffmpeg(
        "-f", "lavfi", "-i", "color=\(colour):size=32x24", "-frames:v", "1", files.path("\(colour).png"))
    }
    try Data("no picture".utf8).write(to: files.url.appending(path: "text.png"))
    let card = try files.write(
      Self.document("{{picture}}", "{{seconds}}", parameters: Self.parameters), to: "card.json")
    func check(_ rows: String, _ options: String...) async throws -> Command.Result {
      let table = try files.write("picture,seconds\n\(rows)\n", to: "rows.csv")
      var command = Command.sheaf("check", card, "--rows", table, "--store", files.path("store"))
      command.arguments += options
      return try await command.run()
    }
    // The folder of the films would be made.
    let good = try await check("red.png,3/10\nblue.png,0.7", "-o", files.path("films/{{row}}-{{picture}}.mkv"))
    #expect(good.status == 0 && good.output.hasSuffix("card.json: no problems\n"), "\(good)")
    // All rows make the file that the document names.
    let one = try await check("red.png,3/10\nblue.png,0.7")
    #expect(one.status == 65 && one.errors.contains("rows 1 and 2 make the same file"), "\(one)")
    // The media of the second and the third row have problems; the first and the fourth are right.
    let rows = "red.png,1\nnone.png,1\ntext.png,1\nblue.png,2"
    let wrong = try await check(rows, "-o", files.path("{{row}}.mkv"))
    #expect(wrong.status == 65 && wrong.output.isEmpty, "\(wrong)")
    let lines = wrong.errors.split(separator: "\n").filter { $0.contains("row ") }
    #expect(lines.count == 2 && lines.allSatisfy { $0.contains("card.json:1:") }, "\(wrong.errors)")
    #expect(lines.contains { $0.contains("row 2: ") && $0.contains("none.png") }, "\(wrong.errors)")
    #expect(lines.contains { $0.contains("row 3: ") && $0.contains("text.png") }, "\(wrong.errors)")
    let json = try await check(rows, "-o", files.path("{{row}}.mkv"), "--json")
    let report = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    let messages = (report?["problems"] as? [[String: Any]])?.compactMap { $0["message"] as? String } ?? []
    #expect(json.status == 65 && messages.count == 2 && messages[0].hasPrefix("row 2: "), "\(json)")
    // The problems of a row's text do not hide those of another one's media.
    let both = try await check("red.png,soon\nnone.png,1", "-o", files.path("{{row}}.mkv"))
    #expect(both.errors.contains("row 1: ") && both.errors.contains("row 2: "), "\(both.errors)")
    // A problem of every row is the document's.
    let all = try await check("none.png,1\nnone.png,2", "-o", files.path("{{row}}.mkv"))
    #expect(all.status == 65 && !all.errors.contains("row"), "\(all)")
  }

  @Test func `on a farm each row is a job, which the name of the file of rows selects`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let farm = try await Farm(workers: 1, slots: 2)
    defer { farm.stop() }
    _ = try Tool.ffmpeg("-f", "lavfi", "-i", "color=red:size=32x24", "-frames:v", "1", files.path("red.png"))
    let (card, rows) = (files.path("card.json"), files.path("rows.csv"))
    try Self.document("red.png", "{{seconds}}", parameters: #""parameters": { "seconds": { "type": "time" } }, "#)
      .write(toFile: card, atomically: false, encoding: .utf8)
    try "seconds\n1/10\n0.4\n".write(toFile: rows, atomically: false, encoding: .utf8)
    let result = try await farm.sheaf("submit", card, "--rows", rows, "-o", files.path("{{row}}.mkv")).run()
    #expect(result.status == 0, "\(result.errors)")
    let jobs = result.output.split(separator: "\n").map(String.init)
    #expect(jobs.count == 2)
    let listed = try await farm.sheaf("status", "--name", "of rows.csv", "--json").run().output
    #expect(jobs.allSatisfy(listed.contains) && listed.contains("card.json, row 2 of rows.csv"), "\(listed)")
    for (row, count) in [(1, 1), (2, 4)] {
      let lines = try Self.frames(files.path("\(row).mkv")).split(separator: "\n").filter { !$0.hasPrefix("#") }
      #expect(lines.count == count)
    }

    // What the jobs took is added up, for people and as JSON.
    #expect(result.errors.contains("2 of 2 films"), "\(result.errors)")
    let others = try files.write("seconds\n0.2\n1/2\n", to: "others.csv")
    let again = try await farm.sheaf("submit", card, "--rows", others, "-o", files.path("{{row}}.mkv"), "--json").run()
    #expect(again.status == 0, "\(again.errors)")
    let objects = try again.output.split(separator: "\n").map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
    try #require(objects.count == 3, "\(again.output)")
    let (films, sum) = (objects.prefix(2), objects[2])
    #expect(sum["rows"] as? Int == 2 && sum["done"] as? Int == 2 && sum["failed"] as? Int == 0)
    #expect(sum["bytes"] as? Int == films.reduce(0) { $0 + ($1["bytes"] as? Int ?? 0) })
    #expect(sum["frames"] as? Int == 7)
    var (cpu, attempts) = (0.0, 0)
    for film in films {
      let job = try #require(film["job"] as? String)
      let status = try await farm.sheaf("status", job, "--json").run().output
      let fields = try #require(try JSONSerialization.jsonObject(with: Data(status.utf8)) as? [String: Any])
      guard let usage = fields["usage"] as? [String: Any] else { continue }
      cpu += try #require((usage["total"] as? [String: Any])?["cpuSeconds"] as? Double)
      attempts += try #require(usage["attempts"] as? Int)
    }
    #expect(sum["attempts"] as? Int == attempts && attempts > 0)
    let total = try #require(sum["usage"] as? [String: Any])
    #expect(abs(try #require(total["cpuSeconds"] as? Double) - cpu) < 0.01)
  }
}
