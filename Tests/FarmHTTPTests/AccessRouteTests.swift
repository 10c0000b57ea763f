import Coordinator
import Digest
import FarmHTTP
import FarmModel
import Foundation
import Jobs
import Testing

/// Tokens, owners and the audit over HTTP.
@Suite(.timeLimit(.minutes(5))) struct AccessRouteTests {
  /// A token that the API makes, and its id.
  private func made(_ farm: TestFarm, _ role: String, _ owner: String) async throws -> (token: String, id: String) {
    let reply = try await farm.post("/v1/tokens", #"{"role": "\#(role)", "owner": "\#(owner)"}"#)
    #expect(reply.status == 201 && reply["cache-control"] == "no-store", "\(reply.text)")
    return (try #require(reply.json["token"] as? String), try #require(reply.json["id"] as? String))
  }

  private func request(
    _ farm: TestFarm, _ method: String, _ path: String, as token: String, json: String? = nil
  ) async throws -> RawClient.Reply {
    let type = json.map { _ in [("Content-Type", "application/json")] } ?? []
    return try await RawClient(port: farm.port).request(
      method, path, headers: [("Authorization", "Bearer \(token)")] + type, body: json.map { Array($0.utf8) })
  }

  /// A job that an owner has submitted.
  private func add(_ job: String, of owner: String, to farm: TestFarm) async throws {
    let task = NewTask(kind: .probe, payload: [], inputs: [], fingerprint: .of("probe \(job)".utf8), cost: 1, work: 1)
    let request = #"{"document": "{}", "assets": [], "segmentDuration": "", "output": ""}"#
    try await farm.store.submit(
      NewJob(id: JobID(job), name: job, owner: owner, priority: 0, request: Array(request.utf8), tasks: [task]))
  }

  @Test func `each role has its part of the API`() async throws {
    try await TestFarm.run(token: "secret") { farm in
      try await add("annas", of: "anna", to: farm)
      try await add("berts", of: "bert", to: farm)
      let paths = [
        ("GET", "/v1/jobs"), ("GET", "/v1/jobs/annas"), ("GET", "/v1/jobs/berts"), ("GET", "/v1/jobs/berts/tasks"),
        ("GET", "/v1/jobs/berts/film"), ("POST", "/v1/jobs/berts/cancel"), ("DELETE", "/v1/jobs/berts"),
        ("GET", "/v1/jobs/berts/events"), ("GET", "/v1/workers"), ("GET", "/metrics"), ("GET", "/v1/workers/desired"),
        ("GET", "/v1/webhooks"), ("GET", "/v1/tokens"), ("GET", "/v1/audit"), ("GET", "/v1/me"), ("GET", "/healthz"),
      ]
      let expected = [
        "submitter": [200, 200, 404, 404, 404, 404, 404, 404, 200, 403, 403, 403, 403, 403, 200, 200],
        "viewer": [200, 200, 200, 200, 409, 403, 403, nil, 200, 200, 200, 403, 403, 403, 200, 200],
        "metrics": [403, 403, 403, 403, 403, 403, 403, 403, 403, 200, 200, 403, 403, 403, 200, 200],
        "worker": [403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 200],
        "operator": [200, 200, 200, 200, 409, 200, 204, nil, 200, 200, 200, 200, 200, 200, 200, 200],
      ]
      for (role, statuses) in expected.sorted(by: { $0.key < $1.key }).sorted(by: {
        $0.key != "operator" && $1.key == "operator"
      }) {
        let token = try await made(farm, role, "anna").token
        for ((method, path), status) in zip(paths, statuses) {
          // A stream that is allowed has no end.
          guard let status else { continue }
          let reply = try await request(farm, method, path, as: token)
          #expect(reply.status == status, "\(role): \(method) \(path) is \(reply.status): \(reply.text)")
        }
      }
      let me = try await request(farm, "GET", "/v1/me", as: try await made(farm, "viewer", "carl").token).json
      #expect(me["role"] as? String == "viewer" && me["owner"] as? String == "carl")
    }
  }

  @Test func `a submitter's stream has its own jobs, and ends when its token is revoked`() async throws {
    try await TestFarm.run(token: "secret") { farm in
      try await add("annas-1", of: "anna", to: farm)
      try await add("berts-1", of: "bert", to: farm)
      let (token, id) = try await made(farm, "submitter", "anna")
      let client = try RawClient(port: farm.port)
      try await client.send(
        RawClient.head("GET", "/v1/events", [("Authorization", "Bearer \(token)")], length: nil))
      #expect(try await client.head().status == 200)
      let first = try #require(try await client.event())
      let jobs = try #require(first.json["jobs"] as? [[String: Any]])
      let history = try #require(first.json["history"] as? [[String: Any]])
      #expect(jobs.map { $0["job"] as? String } == ["annas-1"] && jobs.map { $0["owner"] as? String } == ["anna"])
      #expect(history.map { $0["job"] as? String } == ["annas-1"])
      try await add("berts-2", of: "bert", to: farm)
      try await add("annas-2", of: "anna", to: farm)
      let next = try #require(try await client.event())
      #expect(next.json["job"] as? String == "annas-2", "\(next)")
      #expect(try await farm.request("DELETE", "/v1/tokens/\(id)").status == 200)
      // What is left of the stream is about its own jobs; then the connection is closed.
      while let event = try? await client.event() { #expect(event.json["job"] as? String == "annas-2", "\(event)") }
      #expect(try await request(farm, "GET", "/v1/jobs", as: token).status == 401)
      #expect(try await farm.request("DELETE", "/v1/tokens/tok_none").status == 404)
      let tokens = try #require(try await farm.get("/v1/tokens").json["tokens"] as? [[String: Any]])
      #expect(tokens.map { $0["id"] as? String } == [id] && tokens[0]["token"] == nil && tokens[0]["revokedAt"] != nil)
    }
  }

  @Test func `the audit has who did what, in pages`() async throws {
    try await TestFarm.run(token: "secret") { farm in
      try await add("annas", of: "anna", to: farm)
      let film = try farm.add([UInt8](repeating: 5, count: 100))
      let done = try await farm.doneJob(film: film)
      let (token, id) = try await made(farm, "operator", "olga")
      for _ in 0..<3 { #expect(try await request(farm, "GET", "/v1/jobs/\(done)/film", as: token).status == 200) }
      #expect(try await request(farm, "POST", "/v1/jobs/annas/cancel", as: token).status == 200)
      let all = try await request(farm, "GET", "/v1/audit?owner=olga", as: token).json
      let entries = try #require(all["entries"] as? [[String: Any]])
      #expect(entries.map { $0["action"] as? String } == ["jobCancelled", "contentDownloaded"])
      #expect(entries.map { $0["token"] as? String } == [id, id])
      #expect(entries.map { $0["subject"] as? String } == ["annas", film.digest.hex])
      let page = try await farm.get("/v1/audit?limit=2").json
      let next = try #require(page["next"] as? String)
      let rest = try await farm.get("/v1/audit?before=\(next)").json["entries"] as? [[String: Any]]
      #expect(rest?.map { $0["action"] as? String } == ["tokenCreated"])
      #expect(try await farm.get("/v1/audit?action=nothing").status == 422)
      #expect(try await farm.get("/v1/audit?limit=0").status == 400)
    }
  }

  @Test(
    arguments: [
      #"{"role": "king", "owner": "x"}"#, #"{"role": "viewer", "owner": ""}"#, #"{"role": "viewer", "owner": "a b"}"#,
      #"{"role": "viewer", "owner": "x", "lifetimeSeconds": 0}"#,
      #"{"role": "viewer", "owner": "x", "lifetimeSeconds": 315360001}"#, #"{"role": "viewer"}"#,
    ])
  func `a token that means nothing is not made`(json: String) async throws {
    try await TestFarm.run(token: "secret") { farm in
      #expect(try await farm.post("/v1/tokens", json).status == 422)
      let tokens = try await farm.store.accessTokens()
      #expect(tokens.isEmpty)
    }
  }

  @Test func `a farm without a token of its own makes none`() async throws {
    try await TestFarm.run { farm in
      let reply = try await farm.post("/v1/tokens", #"{"role": "viewer", "owner": "x"}"#)
      #expect(reply.status == 409 && reply.text.contains("--token-file"))
    }
  }

  @Test func `jobs are paused, resumed and reordered, and owners changed`() async throws {
    try await TestFarm.run(token: "secret") { farm in
      try await add("annas", of: "anna", to: farm)
      let paused = try await farm.request("POST", "/v1/jobs/annas/pause?now=true")
      #expect(paused.status == 200 && paused.json["isPaused"] as? Bool == true, "\(paused.text)")
      #expect(try await farm.request("POST", "/v1/jobs/annas/pause?now=yes").status == 400)
      let resumed = try await farm.request("POST", "/v1/jobs/annas/resume")
      #expect(resumed.status == 200 && resumed.json["isPaused"] as? Bool == false)
      func change(_ json: String, as token: String = "secret") async throws -> RawClient.Reply {
        try await request(farm, "PATCH", "/v1/jobs/annas", as: token, json: json)
      }
      #expect(try await change(#"{"priority": 500}"#).json["priority"] as? Int == 500)
      #expect(try await change(#"{"priority": 2147483648}"#).status == 422)
      #expect(try await change("{}").status == 422)
      let token = try await made(farm, "submitter", "anna").token
      #expect(try await change(#"{"priority": 101}"#, as: token).status == 403)
      #expect(try await change(#"{"priority": -100}"#, as: token).json["priority"] as? Int == -100)
      #expect(try await request(farm, "POST", "/v1/jobs/annas/pause", as: token).status == 200)
      let other = try await made(farm, "submitter", "bert").token
      #expect(try await request(farm, "POST", "/v1/jobs/annas/resume", as: other).status == 404)
      let viewer = try await made(farm, "viewer", "carl").token
      #expect(try await request(farm, "POST", "/v1/jobs/annas/resume", as: viewer).status == 403)
      _ = try await farm.request("POST", "/v1/jobs/annas/cancel")
      #expect(try await farm.request("POST", "/v1/jobs/annas/pause").status == 409)
      #expect(try await farm.request("POST", "/v1/jobs/none/resume").status == 404)
      let owner = #"{"owner": "anna", "weight": 2.5, "mostRunning": 3, "mostJobs": -1, "mostBytes": 7000}"#
      let changed = try await request(farm, "PATCH", "/v1/owners", as: "secret", json: owner)
      let owners = try #require(changed.json["owners"] as? [[String: Any]])
      #expect(owners.map { $0["weight"] as? Double } == [2.5] && owners[0]["mostRunning"] as? Int == 3)
      #expect(owners[0]["mostJobs"] == nil && owners[0]["mostBytes"] as? Int == 7000)
      for wrong in [#"{"owner": "a b"}"#, #"{"owner": "a", "weight": 0}"#, #"{"owner": "a", "mostJobs": -2}"#] {
        #expect(try await request(farm, "PATCH", "/v1/owners", as: "secret", json: wrong).status == 422, "\(wrong)")
      }
      #expect(try await request(farm, "PATCH", "/v1/owners", as: token, json: owner).status == 403)
      let seen = try await request(farm, "GET", "/v1/owners", as: other).json["owners"] as? [[String: Any]]
      #expect(seen?.isEmpty == true)
      let submission = #"{"document": {"sheaf": 1, "tracks": []}, "after": ["nothing"]}"#
      let reply = try await farm.post("/v1/jobs", submission)
      #expect(reply.status == 422, "\(reply.text)")
    }
  }

  @Test func `workers are held and let go on, and what that was is in the audit`() async throws {
    try await TestFarm.run(token: "secret") { farm in
      func worker(_ name: String, _ account: String) -> WorkerRecord {
        WorkerRecord(
          id: WorkerID(account), session: SessionID(1), name: name, slots: 1, build: "b", coordinator: "c",
          account: account)
      }
      try await farm.store.register([
        worker("alder", "alder"), worker("birch", "anna/birch"), worker("birch", "bert/birch"),
        worker("cedar", "anna/cedar"),
      ])
      func hold(_ json: String, as token: String = "secret") async throws -> RawClient.Reply {
        try await request(farm, "PATCH", "/v1/holds", as: token, json: json)
      }
      #expect(try await farm.request("GET", "/v1/holds").text == #"{"holds":[]}"#)
      let paused = try await hold(#"{"worker": "cedar", "hold": "paused", "reason": "a new disk"}"#)
      let held = try #require(paused.json["holds"] as? [[String: Any]])
      #expect(held.count == 1 && held[0]["worker"] as? String == "anna/cedar", "\(paused.text)")
      #expect(held[0]["hold"] as? String == "paused" && held[0]["reason"] as? String == "a new disk")
      #expect(try await hold(#"{"worker": "anna/birch", "hold": "quarantined"}"#).status == 200)
      let list = try #require(try await farm.request("GET", "/v1/workers").json["workers"] as? [[String: Any]])
      #expect(list.map { $0["hold"] as? String } == [nil, "quarantined", nil, "paused"])
      #expect(list[1]["holdReason"] as? String == "by an operator" && list[1]["account"] as? String == "anna/birch")
      for (json, status, part) in [
        (#"{"worker": "birch", "hold": "paused"}"#, 422, "anna/birch, bert/birch"),
        (#"{"worker": "elder", "hold": "paused"}"#, 404, "no worker \"elder\""),
        (#"{"worker": "alder", "hold": "stopped"}"#, 422, "paused, draining, quarantined, none"),
        (#"{"worker": "alder"}"#, 422, "hold"),
        (#"{"worker": "alder", "hold": "paused", "reason": "\#(String(repeating: "x", count: 257))"}"#, 422, "256"),
      ] {
        let reply = try await hold(json)
        #expect(reply.status == status && "\(reply.json["detail"] ?? "")".contains(part), "\(json): \(reply.text)")
      }
      let viewer = try await made(farm, "viewer", "carl").token
      #expect(try await hold(#"{"worker": "alder", "hold": "paused"}"#, as: viewer).status == 403)
      #expect(try await request(farm, "GET", "/v1/holds", as: viewer).status == 200)
      for worker in ["anna/cedar", "anna/birch"] {
        #expect(try await hold(#"{"worker": "\#(worker)", "hold": "none"}"#).status == 200)
      }
      #expect(try await farm.request("GET", "/v1/holds").text == #"{"holds":[]}"#)
      let audit = try await farm.request("GET", "/v1/audit?action=workerHeld,workerReleased")
      let entries = try #require(audit.json["entries"] as? [[String: Any]])
      #expect(
        entries.map { "\($0["action"] ?? "") \($0["subject"] ?? "")" } == [
          "workerReleased anna/birch", "workerReleased anna/cedar", "workerHeld anna/birch", "workerHeld anna/cedar",
        ])
    }
  }
}
