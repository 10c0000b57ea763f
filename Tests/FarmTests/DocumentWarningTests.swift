import Foundation
import TestPrograms
import Testing

/// What is most likely not meant in a document is said by every command that plans it.
@Suite(.ownThreads) struct DocumentWarningTests {
  private struct Report: Decodable {
    struct Warning: Decodable {
      var pointer: String
    }

    var state: String
    var warnings: [Warning]
  }

  private static func edit(in files: Workspace) async throws -> String {
    let still = files.path("sign.png")
    _ = try Tool.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=0.04", "-frames:v", "1", still)
    return try files.write(
      """
      { "sheaf": 1, "assets": { "sign": "\(still)", "old": "\(still)" },
        "tracks": [ { "clips": [ { "asset": "sign", "duration": 1 } ] } ],
        "export": { "to": "film.mp4" } }
      """, to: "edit.json")
  }

  @Test func `a film with a warning is rendered, and with --strict it is not`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try await Self.edit(in: files)
    let film = files.path("film.mp4")
    let warning = "/assets/old: nothing uses 'old'"
    for command in ["render", "check", "plan"].spread(2) {
      let strict = try await Command.sheaf(
        command, edit, "--store", files.path("store"), "--strict", environment: ["SHEAF_OUTPUT": film]
      ).run()
      #expect(strict.status == 65 && strict.errors.contains(warning), "\(command): \(strict.errors)")
      #expect(!FileManager.default.fileExists(atPath: film))
    }
    // Once rendered, and once more from the cache.
    for _ in 0..<2 {
      let render = try await Command.sheaf("render", edit, "-o", film, "--store", files.path("store"), "--json").run()
      #expect(render.status == 0 && render.errors.contains("warning: \(warning)"), "\(render.errors)")
      let report = try JSONDecoder().decode(Report.self, from: Data(render.output.utf8))
      #expect(report.state == "done" && report.warnings.map(\.pointer) == ["/assets/old"])
      try FileManager.default.removeItem(atPath: film)
    }
  }
}
