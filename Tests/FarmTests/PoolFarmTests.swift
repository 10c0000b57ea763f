import Foundation
import TestPrograms
import Testing

/// Pools and their hours, as people use them with programs.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct PoolFarmTests {
  private struct Status: Decodable {
    struct Task: Decodable { var workerName: String? }

    var state: String
    var pool: String?
    var waitReason: String?
    var waitsFor: String?
    var tasks: [Task]
  }

  private static let document = """
    { "sheaf": 1, "assets": { "red": { "color": "COLOUR" } },
      "tracks": [ { "clips": [ { "asset": "red", "duration": 2 } ] } ],
      "videoComposition": { "renderSize": [64, 36], "frameRate": 10 },
      "export": { "to": "film.mkv", "video": { "codec": "ffv1" } } }
    """

  @Test func `a pool's worker alone takes its job, within the pool's hours`() async throws {
    let farm = try await Farm(workers: 0, slots: 1)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    var films = 0
    func submit(_ options: String..., token: String? = nil) async throws -> (job: String, status: Int32, errors: String)
    {
      // Each is another film, so that nothing of it is known.
      films += 1
      let text = Self.document.replacing("COLOUR", with: "#1020\(films + 20)")
      let edit = try files.write(text, to: "edit-\(films).json")
      let command = ["submit", edit] + options
      let result = try await (token.map { farm.sheaf(command, tokenFile: $0) } ?? farm.sheaf(command)).run()
      return (result.output.trimmingCharacters(in: .whitespacesAndNewlines), result.status, result.errors)
    }
    func made(_ role: String, _ owner: String) async throws -> String {
      let result = try await farm.sheaf("token", "create", role, owner, "--pool", "gpu").run()
      #expect(result.status == 0 && result.errors.contains("\(role) for \(owner) in pool gpu"), "\(result.errors)")
      return try files.write(result.output, to: "\(role)-\(owner)")
    }
    func ended(_ job: String) async throws -> Status {
      try await eventually("\(job) is done") { try await farm.status(of: job, as: Status.self).state == "done" }
      return try await farm.status(of: job, as: Status.self)
    }
    try farm.startWorker(environment: ["SHEAF_POOLS": ""])
    let pooled = try await submit("--pool", "gpu").job
    let plain = try await submit().job
    #expect(try await ended(plain).tasks.allSatisfy { $0.workerName == "worker-0" })
    try await eventually("the job says for what it waits") {
      try await farm.status(of: pooled, as: Status.self).waitReason == "noPoolWorker"
    }
    // One whose token has the pool need not ask for it.
    let token = try String(contentsOfFile: try await made("worker", "studio"), encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    try farm.startWorker(environment: ["SHEAF_TOKEN": token])
    let status = try await ended(pooled)
    #expect(status.pool == "gpu" && status.tasks.allSatisfy { $0.workerName == "worker-1" })
    // Tokens of submitters have one too.
    let anna = try await made("submitter", "anna")
    let bound = try await submit(token: anna)
    #expect(try await ended(bound.job).pool == "gpu")
    let refused = try await submit("--pool", "night", token: anna)
    #expect(refused.status != 0 && refused.errors.contains("for the pool \"gpu\" alone"), "\(refused.errors)")
    // A pool that is open for a minute of the week, which is not now or is over soon.
    let day = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"][
      (Int(Date().timeIntervalSince1970) / 86_400 + 4 + 3) % 7]
    let set = try await farm.sheaf("pool", "set", "gpu", "--hours", "\(day) 12:00-12:01", "--time-zone", "UTC").run()
    #expect(set.status == 0 && set.output.contains("closed until"), "\(set)")
    let closed = try await submit("--pool", "gpu").job
    try await eventually("the job says that its pool is closed") {
      let status = try await farm.status(of: closed, as: Status.self)
      return status.waitReason == "poolClosed" && status.waitsFor?.hasPrefix("its pool gpu is closed until 20") == true
    }
    let workers = try await farm.sheaf("workers").run().output
    #expect(workers.contains("pool gpu: closed now"), "\(workers)")
    let wrong = try await farm.sheaf("pool", "set", "gpu", "--hours", "mon 12:00-13:00", "--time-zone", "No/Where")
      .run()
    #expect(wrong.status != 0 && wrong.errors.contains("no time zone"), "\(wrong.errors)")
    #expect(try await farm.sheaf("pool", "remove", "gpu").run().status == 0)
    #expect(try await ended(closed).tasks.allSatisfy { $0.workerName == "worker-1" })
    #expect(try await farm.sheaf("pool", "remove", "gpu").run().status == 1)
    // A job that no worker's pool takes is moved.
    let lost = try await submit("--pool", "nobody").job
    #expect(try await farm.sheaf("pool", "move", lost, "").run().status == 0)
    #expect(try await ended(lost).pool == nil)
  }

  @Test func `a worker that asks for another pool than its token's is refused`() async throws {
    let farm = try await Farm(workers: 0, slots: 1)
    defer { farm.stop() }
    let made = try await farm.sheaf("token", "create", "worker", "studio", "--pool", "gpu").run()
    let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
    try farm.startWorker(environment: ["SHEAF_TOKEN": token, "SHEAF_POOLS": "gpu,night"])
    try await eventually("the worker ends") { farm.hasEnded(worker: 0) }
    let logs = try farm.logs()
    #expect(logs.contains("for the pool \"gpu\" alone, not for \"night\""), "\(logs)")
  }
}
