import Coordinator
import FarmHTTP
import FarmModel
import Foundation
import Jobs
import Testing

/// Streams of events over HTTP.
@Suite(.timeLimit(.minutes(5))) struct EventRouteTests {
  @Test func `a stream begins with the whole state, and has each change`() async throws {
    try await TestFarm.run { farm in
      try await farm.openJob("a")
      let (client, head) = try await farm.events("/v1/events")
      #expect(head.status == 200 && head["content-type"] == "text/event-stream")
      let first = try #require(try await client.event())
      let jobs = try #require(first.json["jobs"] as? [[String: Any]])
      #expect(first.name == "reset" && jobs.map { $0["job"] as? String } == ["a"])
      #expect(first.json["workers"] as? [Any] != nil && first.json["notices"] as? [Any] != nil)
      try await farm.openJob("b")
      let second = try #require(try await client.event())
      #expect(second.name == "event" && second.json["event"] as? String == "jobSubmitted", "\(second)")
      let third = try #require(try await client.event())
      #expect(third.name == "job" && third.json["job"] as? String == "b", "\(third)")
      _ = try await farm.request("POST", "/v1/jobs/a/cancel")
      var seen: [RawClient.Event] = []
      while seen.last?.name != "job" || seen.last?.json["job"] as? String != "a" {
        seen.append(try #require(try await client.event()))
      }
      #expect(seen.last?.json["state"] as? String == "cancelled", "\(seen)")
      _ = try await farm.request("DELETE", "/v1/jobs/b")
      _ = try await farm.request("POST", "/v1/jobs/b/cancel")
      _ = try await farm.request("DELETE", "/v1/jobs/b")
      while seen.last?.json["event"] as? String != "jobDeleted" { seen.append(try #require(try await client.event())) }
    }
  }

  @Test func `the whole state has what happened before anybody watched, with its times`() async throws {
    try await TestFarm.run { farm in
      let before = Date().timeIntervalSince1970
      try await farm.openJob("a")
      _ = try await farm.request("POST", "/v1/jobs/a/cancel")
      var found: [[String: Any]] = []
      try await eventually("the job's end is in the history") {
        let (client, _) = try await farm.events("/v1/events")
        let first = try #require(try await client.event())
        let time = try #require(first.json["time"] as? Double)
        #expect(time >= before && time <= Date().timeIntervalSince1970)
        found = (first.json["history"] as? [[String: Any]] ?? []).filter { $0["event"] as? String == "jobEnded" }
        return !found.isEmpty
      }
      let time = try #require(found.first?["time"] as? Double)
      #expect(found.count == 1)
      // The store's clock and the machine's are read one after the other when the store is made.
      #expect(time >= before - 0.5 && time <= Date().timeIntervalSince1970 + 0.5)
    }
  }

  @Test func `a client that connects again loses nothing`() async throws {
    try await TestFarm.run { farm in
      let (client, _) = try await farm.events("/v1/events")
      let first = try #require(try await client.event())
      let id = try #require(first.id)
      for number in 1...20 { try await farm.openJob("job-\(number)") }
      var jobs: [String] = []
      while jobs.count < 20 {
        let event = try #require(try await client.event())
        if event.name == "job" { jobs.append(event.json["job"] as? String ?? "") }
      }
      // From the beginning, and from the midst: the same events with the same ids.
      let (again, _) = try await farm.events("/v1/events", last: id)
      var ids: [String] = []
      var repeated: [String] = []
      while repeated.count < 20 {
        let event = try #require(try await again.event())
        ids.append(event.id ?? "")
        if event.name == "job" { repeated.append(event.json["job"] as? String ?? "") }
      }
      #expect(repeated == jobs && Set(ids).count == ids.count)
      let (rest, _) = try await farm.events("/v1/events", last: ids[9])
      #expect(try await rest.event()?.id == ids[10])
    }
  }

  @Test func `a client that comes to another coordinator gets what has happened meanwhile, once, and the state`()
    async throws
  {
    try await TestFarm.run { farm in
      let (client, _) = try await farm.events("/v1/events")
      var last = try #require(try await client.event())
      try await farm.openJob("a")
      while last.name != "event" { last = try #require(try await client.event()) }
      #expect(last.json["event"] as? String == "jobSubmitted" && last.json["job"] as? String == "a")
      let id = try #require(last.id)
      try await farm.openJob("b")
      _ = try await farm.store.cancel(JobID("a"))
      while last.json["event"] as? String != "jobEnded" { last = try #require(try await client.event()) }
      try await farm.withAnother { other in
        let (again, _) = try await other.events("/v1/events", last: id)
        var missed: [String] = []
        var next = try #require(try await again.event())
        var ids: [String] = []
        while next.name == "event" {
          missed.append("\(next.json["event"] ?? "") \(next.json["job"] ?? "")")
          ids.append(try #require(next.id))
          next = try #require(try await again.event())
        }
        #expect(missed == ["jobSubmitted b", "jobEnded a"])
        let states = (next.json["jobs"] as? [[String: Any]] ?? []).map { "\($0["job"] ?? "") \($0["state"] ?? "")" }
        #expect(next.name == "reset" && Set(states) == ["a cancelled", "b probing"])
        // In the midst of what was missed, and after it.
        let (rest, _) = try await farm.events("/v1/events", last: ids[0])
        #expect(try await rest.event()?.json["job"] as? String == "a")
        #expect(try await rest.event()?.name == "reset")
        let (none, _) = try await farm.events("/v1/events", last: next.id)
        #expect(try await none.event()?.name == "reset")
      }
    }
  }

  @Test(arguments: ["abc-5", "abc-5-1", "abc-5-1.x", "nonsense", "", "0-18446744073709551616"])
  func `an id that the server does not know gets the whole state`(id: String) async throws {
    try await TestFarm.run { farm in
      let (client, head) = try await farm.events("/v1/events", last: id)
      #expect(head.status == 200)
      let event = try await client.event()
      #expect(event?.name == "reset")
    }
  }

  @Test func `a number that the feed has not given yet gets the whole state`() async throws {
    try await TestFarm.run { farm in
      let (client, _) = try await farm.events("/v1/events")
      let id = try #require(try await client.event()?.id)
      let later = id.prefix { $0 != "-" } + "-999-0.0"
      let (again, _) = try await farm.events("/v1/events", last: String(later))
      let event = try await again.event()
      #expect(event?.name == "reset")
    }
  }

  @Test func `a quiet stream has comments`() async throws {
    try await TestFarm.run(limits: .with { $0.comment = .milliseconds(200) }) { farm in
      let (client, _) = try await farm.events("/v1/events")
      _ = try await client.event()
      #expect(try await client.readComments(3))
      try await farm.openJob("a")
      var names: [String] = []
      while names.last != "job", let event = try await client.event() { names.append(event.name) }
      #expect(names.contains("event") && names.last == "job", "\(names)")
    }
  }

  @Test func `a job's stream has its status at each change, and ends with it`() async throws {
    try await TestFarm.run { farm in
      try await farm.openJob("a")
      let (client, _) = try await farm.events("/v1/jobs/a/events")
      let first = try #require(try await client.event())
      #expect(first.name == "job" && first.json["state"] as? String == "probing" && first.id != nil)
      _ = try await farm.request("POST", "/v1/jobs/a/cancel")
      var last: RawClient.Event?
      while let event = try await client.event() { last = event }
      #expect(last?.json["state"] as? String == "cancelled")
      // With the last event there is nothing more, and a browser does not ask again.
      let id = try #require(last?.id)
      #expect(try await farm.get("/v1/jobs/a/events", headers: [("Last-Event-ID", id)]).status == 204)
      let (again, _) = try await farm.events("/v1/jobs/a/events", last: first.id)
      #expect(try await again.event()?.id == id)
      #expect(try await again.event() == nil)
    }
  }

  @Test func `streams end when the coordinator does`() async throws {
    try await TestFarm.run { farm in
      try await farm.openJob("a")
      let (feed, _) = try await farm.events("/v1/events")
      let (job, _) = try await farm.events("/v1/jobs/a/events")
      _ = try await feed.event()
      _ = try await job.event()
      async let drained: Void = farm.service.drain(farm.server)
      await farm.face.drain()
      while try await feed.event() != nil {}
      while try await job.event() != nil {}
      await drained
    }
  }

  @Test func `more streams than may be open are refused`() async throws {
    try await TestFarm.run(limits: .with { $0.streams = 2 }) { farm in
      var open: [RawClient] = []
      for _ in 0..<2 {
        let (client, _) = try await farm.events("/v1/events")
        _ = try await client.event()
        open.append(client)
      }
      let reply = try await farm.get("/v1/events")
      #expect(reply.status == 429 && reply["retry-after"] == "5", "\(reply.status)")
      open = []
      try await eventually("the places are free again") {
        let (client, head) = try await farm.events("/v1/events")
        return head.status == 200 ? try await client.event() != nil : false
      }
    }
  }
}
