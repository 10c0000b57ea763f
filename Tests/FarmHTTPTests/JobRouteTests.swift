import FarmModel
import Foundation
import Jobs
import Testing

/// Jobs over HTTP: made, listed, stopped, deleted.
@Suite(.timeLimit(.minutes(5))) struct JobRouteTests {
  private let submission = #"{"name": "edit", "document": \#(TestFarm.document)}"#

  @Test func `a submission is a job, and its reply says where it is`() async throws {
    try await TestFarm.run { farm in
      let reply = try await farm.post("/v1/jobs", submission)
      #expect(reply.status == 201, "\(reply.text)")
      let job = try #require(reply.json["job"] as? String)
      #expect(reply["location"] == "/v1/jobs/\(job)")
      #expect(reply["content-type"] == "application/json")
      #expect(reply.json["name"] as? String == "edit" && reply.json["state"] as? String == "probing")
      let shown = try await farm.get("/v1/jobs/\(job)")
      #expect(shown.status == 200 && shown.json["job"] as? String == job)
      let tasks = try await farm.get("/v1/jobs/\(job)/tasks")
      #expect(tasks.status == 200 && tasks.json["tasks"] as? [Any] != nil)
    }
  }

  @Test func `a document may be a text`() async throws {
    try await TestFarm.run { farm in
      let text = String(decoding: try JSONEncoder().encode(TestFarm.document), as: UTF8.self)
      let reply = try await farm.post("/v1/jobs", #"{"document": \#(text)}"#)
      #expect(reply.status == 201, "\(reply.text)")
    }
  }

  @Test func `the problems of a document come at once, with their places in it`() async throws {
    try await TestFarm.run { farm in
      let document = """
        {"sheaf": 1,
         "assets": {"a": "a.mov", "b": "b.mov"},
         "tracks": [{"id": "A", "type": "video", "clips": [{"asset": "c", "use": "0..2"}]}],
         "export": {"to": "film.mp4"}}
        """
      let reply = try await farm.post("/v1/jobs", #"{"priority": 3, "document": \#(document)}"#)
      #expect(reply.status == 422 && reply["content-type"] == "application/problem+json", "\(reply.text)")
      #expect(reply.json["type"] as? String == "urn:sheaf:error:document" && reply.json["status"] as? Int == 422)
      let problems = try #require(reply.json["problems"] as? [[String: Any]])
      let places = problems.map { "\($0["pointer"] ?? "") \($0["line"] ?? "") \($0["column"] ?? "")" }
      #expect(Set(places) == ["/tracks/0/clips/0/asset 3 62", "/assets/a 2 18", "/assets/b 2 32"], "\(places)")
    }
  }

  @Test func `a request gives values to the parameters of a document`() async throws {
    try await TestFarm.run { farm in
      let template = """
        {"sheaf": 1, "parameters": {"name": {"type": "text"}, "size": {"type": "number", "default": 1},
          "shown": {"type": "boolean", "default": true}},
         "assets": {}, "tracks": [],
         "videoComposition": {"overlays": [{"text": "{{name}} {{shown}}", "size": "{{size}}"}]},
         "export": {"to": "film.mp4"}}
        """
      let check = { (parameters: String) in
        let reply = try await farm.post("/v1/jobs", #"{"document": \#(template)\#(parameters)}"#)
        let problems = reply.json["problems"] as? [[String: Any]] ?? []
        return Set(problems.map { "\($0["pointer"] ?? "") \($0["line"] ?? "")" })
      }
      #expect(try await check("") == ["/parameters/name 1"])
      let values = #""parameters": {"name": "Ada", "size": 12.5, "shown": false}"#
      let given = try await farm.post("/v1/jobs", #"{"document": \#(template), \#(values)}"#)
      #expect(given.status == 201, "\(given.text)")
      #expect(
        try await check(#", "parameters": {"nome": "Ada", "size": "big", "shown": 1}"#)
          == ["/parameters 1", "/parameters/size 1", "/parameters/shown 2"])
      let wrong = try await farm.post("/v1/jobs", #"{"document": \#(template), "parameters": {"name": []}}"#)
      #expect(wrong.status == 422 && wrong.text.contains("/parameters"), "\(wrong.text)")
    }
  }

  @Test(arguments: [
    ("{", 400, "bad-request"), ("[]", 422, "invalid"), ("{}", 422, "invalid"), (#"{"document": 1}"#, 422, "invalid"),
    (#"{"document": {}, "priorty": 1}"#, 422, "did you mean 'priority'?"),
    (#"{"document": {}, "priority": "high"}"#, 422, "/priority"), (#"{"document": {}, "name": null}"#, 422, "/name"),
    (#"{"document": {}, "priority": 3000000000}"#, 422, "/priority"),
    (#"{"document": {"sheaf": 1, "tracks": []}, "segmentDuration": "abc"}"#, 422, "/segmentDuration"),
    (#"{"document": {}, "assets": [{"id": "a"}]}"#, 422, "/assets/0"),
    (#"{"document": {}, "assets": [{"id": "a", "digest": "AB", "size": 1}]}"#, 422, "/assets/0/digest"),
  ])
  func `a body that is wrong is refused, and the reply says where`(body: String, status: Int, words: String)
    async throws
  {
    try await TestFarm.run { farm in
      let reply = try await farm.post("/v1/jobs", body)
      #expect(reply.status == status && reply.text.contains(words), "\(reply.status) \(reply.text)")
    }
  }

  @Test func `a request that is sent again is one job, and another one with its key is refused`() async throws {
    try await TestFarm.run { farm in
      let key = [("Idempotency-Key", "a-key")]
      let first = try await farm.post("/v1/jobs", submission, headers: key)
      let again = try await farm.post("/v1/jobs", submission, headers: [("Idempotency-Key", "\"a-key\"")])
      #expect(first.status == 201 && again.status == 200)
      #expect(first.json["job"] as? String == again.json["job"] as? String)
      let other = try await farm.post("/v1/jobs", #"{"document": \#(TestFarm.document)}"#, headers: key)
      #expect(other.status == 422 && other.json["type"] as? String == "urn:sheaf:error:key-reused", "\(other.text)")
      let bad = try await farm.post("/v1/jobs", submission, headers: [("Idempotency-Key", "ä")])
      #expect(bad.status == 400, "\(bad.status)")
      #expect((try await farm.get("/v1/jobs").json["jobs"] as? [Any])?.count == 1)
    }
  }

  @Test func `a key that is under way is a conflict`() async throws {
    try await TestFarm.run { farm in
      let body = Array(submission.utf8)
      // The first request may not have reached the server yet when the second does.
      for attempt in 1...20 {
        let key = ("Idempotency-Key", "slow-\(attempt)")
        let slow = try RawClient(port: farm.port)
        let headers = [("Content-Type", "application/json"), key]
        try await slow.send(RawClient.head("POST", "/v1/jobs", headers, length: body.count) + body.prefix(5))
        try await Task.sleep(for: .milliseconds(20 * attempt))
        let second = try await farm.post("/v1/jobs", submission, headers: [key])
        try await slow.send(Array(body.dropFirst(5)))
        let first = try await slow.reply()
        guard second.status == 409 else { continue }
        #expect(first.status == 201, "\(first.text)")
        return
      }
      Issue.record("no request was under way when another one came")
    }
  }

  @Test func `a list has pages, and takes states`() async throws {
    try await TestFarm.run { farm in
      for number in 1...5 { try await farm.openJob("job-\(number)") }
      _ = try await farm.store.cancel(.init("job-3"))
      func page(_ query: String) async throws -> (jobs: [String], next: String?) {
        let reply = try await farm.get("/v1/jobs?\(query)")
        #expect(reply.status == 200, "\(reply.text)")
        let jobs = (reply.json["jobs"] as? [[String: Any]] ?? []).compactMap { $0["job"] as? String }
        return (jobs, reply.json["next"] as? String)
      }
      let first = try await page("limit=2")
      #expect(first.jobs == ["job-5", "job-4"] && first.next == "job-4")
      let last = try await page("limit=3&after=job-4")
      #expect(last.jobs == ["job-3", "job-2", "job-1"] && last.next == nil)
      #expect(try await page("state=cancelled").jobs == ["job-3"])
      #expect(try await page("state=probing,cancelled&limit=1").next == "job-5")
      for wrong in [
        "limit=0", "limit=x", "state=gone", "limit=1&limit=2", "stat=done", "after=%FF", "since=today",
        "before=2026-02-30T00:00:00Z",
      ] {
        let reply = try await farm.get("/v1/jobs?\(wrong)")
        #expect(reply.status == 400 && reply["content-type"] == "application/problem+json", "\(wrong): \(reply.text)")
      }
      #expect(try await farm.get("/v1/jobs?after=none").status == 404)
    }
  }

  @Test func `a list takes a part of the name, and times, which are those of the statuses`() async throws {
    try await TestFarm.run { farm in
      for number in 1...4 {
        try await farm.openJob("job-\(number)")
        try await Task.sleep(for: .milliseconds(2))
      }
      func list(_ query: String) async throws -> [[String: Any]] {
        let reply = try await farm.get("/v1/jobs?\(query)")
        #expect(reply.status == 200, "\(reply.text)")
        return reply.json["jobs"] as? [[String: Any]] ?? []
      }
      let times = try await list("").map { try #require($0["submittedAt"] as? String) }
      #expect(times.count == 4 && times == times.sorted(by: >) && Set(times).count == 4)
      // The same in every answer.
      #expect(try await farm.get("/v1/jobs/job-4").json["submittedAt"] as? String == times[0])
      func names(_ query: String) async throws -> [String?] { try await list(query).map { $0["job"] as? String } }
      #expect(try await names("since=\(times[1])") == ["job-4", "job-3"])
      #expect(try await names("before=\(times[1])") == ["job-2", "job-1"])
      let offset = times[2].replacing("Z", with: "%2B00:00")
      #expect(try await names("since=\(offset)&before=\(times[0])&limit=1&after=job-3") == ["job-2"])
      let name = try #require(try await list("").first?["name"] as? String)
      #expect(try await names("name=\(name.uppercased())").count == 4)
      #expect(try await names("name=no-such-name").isEmpty)
      _ = try await farm.store.cancel(.init("job-2"))
      let ended = try await farm.get("/v1/jobs/job-2").json
      #expect(try #require(ended["endedAt"] as? String) >= times[2])
    }
  }

  @Test func `a job is stopped, taken up again and deleted, each when it can be`() async throws {
    try await TestFarm.run { farm in
      try await farm.openJob("a")
      #expect(try await farm.request("DELETE", "/v1/jobs/a").status == 409)
      #expect(try await farm.request("POST", "/v1/jobs/a/retry").status == 409)
      let cancelled = try await farm.request("POST", "/v1/jobs/a/cancel")
      #expect(cancelled.status == 200 && cancelled.json["state"] as? String == "cancelled")
      let retried = try await farm.request("POST", "/v1/jobs/a/retry")
      #expect(retried.status == 200 && retried.json["state"] as? String == "probing", "\(retried.text)")
      _ = try await farm.request("POST", "/v1/jobs/a/cancel")
      #expect(try await farm.request("DELETE", "/v1/jobs/a").status == 204)
      for (method, path) in [
        ("DELETE", "/v1/jobs/a"), ("GET", "/v1/jobs/a"), ("POST", "/v1/jobs/a/cancel"), ("POST", "/v1/jobs/a/retry"),
        ("GET", "/v1/jobs/a/tasks"), ("GET", "/v1/jobs/a/film"), ("GET", "/v1/jobs/a/events"),
      ] {
        #expect(try await farm.request(method, path).status == 404, "\(method) \(path)")
      }
    }
  }

  @Test func `several jobs are stopped and deleted by a selection`() async throws {
    try await TestFarm.run { farm in
      for number in 1...4 { try await farm.openJob("job-\(number)") }
      let named = try await farm.post("/v1/jobs/cancel", #"{"jobs": ["job-1", "job-2", "none"]}"#)
      #expect(named.json["jobs"] as? [String] == ["job-1", "job-2"], "\(named.text)")
      let deleted = try await farm.post("/v1/jobs/delete", #"{"states": ["cancelled"]}"#)
      #expect(Set(deleted.json["jobs"] as? [String] ?? []) == ["job-1", "job-2"], "\(deleted.text)")
      let rest = try await farm.get("/v1/jobs").json["jobs"] as? [[String: Any]] ?? []
      #expect(rest.map { $0["job"] as? String } == ["job-4", "job-3"])
      // Without states, those that it fits.
      let time = try #require(rest.last?["submittedAt"] as? String)
      let stopped = try await farm.post("/v1/jobs/cancel", #"{"since": "2020-01-01T00:00:00Z", "name": "EDIT"}"#)
      #expect(stopped.json["jobs"] as? [String] == ["job-4", "job-3"], "\(stopped.text)")
      let none = try await farm.post("/v1/jobs/delete", #"{"before": "\#(time)"}"#)
      #expect(none.json["jobs"] as? [String] == [], "\(none.text)")
      let unfit = try await farm.post("/v1/jobs/delete", #"{"states": ["rendering"], "since": "\#(time)"}"#)
      #expect(unfit.json["jobs"] as? [String] == [] && unfit.json["hasMore"] as? Bool == false, "\(unfit.text)")
      let removed = try await farm.post("/v1/jobs/delete", #"{"since": "\#(time)"}"#)
      #expect(removed.json["jobs"] as? [String] == ["job-4", "job-3"], "\(removed.text)")
      // Those that can be taken up again.
      for number in 5...6 { try await farm.openJob("job-\(number)") }
      _ = try await farm.post("/v1/jobs/cancel", #"{"jobs": ["job-5"]}"#)
      let again = try await farm.post("/v1/jobs/retry", #"{"since": "2020-01-01T00:00:00Z"}"#)
      #expect(again.json["jobs"] as? [String] == ["job-5"], "\(again.text)")
      #expect(try await farm.get("/v1/jobs/job-5").json["state"] as? String == "probing")
      let open = try await farm.post("/v1/jobs/retry", #"{"jobs": ["job-5", "job-6"]}"#)
      #expect(open.json["jobs"] as? [String] == [], "\(open.text)")
      // A request about every job must say so.
      for body in [
        "{}", #"{"states": []}"#, #"{"name": ""}"#, #"{"since": "yesterday"}"#, #"{"jobs": [], "name": "a"}"#,
        #"{"jobs": [], "states": ["done"]}"#, #"{"states": ["gone"]}"#,
      ] {
        #expect(try await farm.post("/v1/jobs/delete", body).status == 422, "\(body)")
      }
    }
  }
}
