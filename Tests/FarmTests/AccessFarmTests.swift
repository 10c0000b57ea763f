import Foundation
import TestPrograms
import Testing

/// Tokens with roles and owners, as people use them with programs.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct AccessFarmTests {
  @Test func `a token of a row submits, one of workers works, and neither does the other's`() async throws {
    let farm = try await Farm(workers: 0, slots: 2)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    func made(_ role: String, _ owner: String) async throws -> String {
      let result = try await farm.sheaf("token", "create", role, owner, "--expires", "1h").run()
      #expect(result.status == 0 && result.errors.contains("\(role) for \(owner), valid until"), "\(result.errors)")
      return try files.write(result.output, to: "\(role)-\(owner)")
    }
    let (anna, bert) = (try await made("submitter", "anna"), try await made("submitter", "bert"))
    let worker = try await made("worker", "studio")
    let text = try String(contentsOfFile: worker, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    try farm.startWorker(environment: ["SHEAF_TOKEN": text])
    let document = """
        { "sheaf": 1, "assets": { "red": { "color": "#d02030" } },
        "tracks": [ { "clips": [ { "asset": "red", "duration": 2 } ] } ],
        "videoComposition": { "renderSize": [64, 36], "frameRate": 10 },
        "export": { "video": { "codec": "ffv1" } } }
      """
    let edit = try files.write(document, to: "edit.json")
    let submitted = try await farm.sheaf(
      ["submit", edit, "--wait", "-o", files.path("film.mkv")], tokenFile: anna
    ).run()
    let logs = try farm.logs()
    try #require(submitted.status == 0, "\(submitted.errors)\n\(logs)")
    let rendered = try await TestFilm.render(edit, files.path("own.mkv"))
    try #require(rendered.status == 0, "\(rendered.errors)")
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: files.path("film.mkv")))
        == (try Data(contentsOf: URL(fileURLWithPath: files.path("own.mkv")))))
    func listed(_ token: String) async throws -> [[String: Any]] {
      let result = try await farm.sheaf(["status", "--json"], tokenFile: token).run()
      let jobs = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
      return try #require(jobs as? [[String: Any]])
    }
    let job = try #require(try await listed(anna).first?["job"] as? String)
    #expect(try await listed(anna).first?["owner"] as? String == "anna")
    #expect(try await listed(bert).isEmpty)
    let status = try await farm.sheaf(["status", job], tokenFile: bert).run()
    #expect(status.status == 1 && status.errors.contains("there is no job \(job)"), "\(status.errors)")
    // None of a role that it has not.
    for (command, token, code, words) in [
      (["token", "list"], anna, 1, "may not"), (["audit"], bert, 1, "may not"),
      (["status"], worker, 69, "that of workers"),
    ] {
      let refused = try await farm.sheaf(command, tokenFile: token).run()
      #expect(
        refused.status == code && refused.errors.contains(words), "\(command): \(refused.status) \(refused.errors)")
    }
    let list = try await farm.sheaf("token", "list").run()
    let id = try #require(list.output.split(separator: "\n").first { $0.contains("anna") }?.split(separator: " ").first)
    #expect(try await farm.sheaf("token", "revoke", String(id)).run().status == 0)
    let revoked = try await farm.sheaf(["status"], tokenFile: anna).run()
    #expect(revoked.status == 69 && revoked.errors.contains("revoked"), "\(revoked.errors)")
    let audit = try await farm.sheaf("audit", "--subject", job).run()
    #expect(audit.status == 0 && audit.output.contains("jobSubmitted") && audit.output.contains("anna"), "\(audit)")
  }
}
