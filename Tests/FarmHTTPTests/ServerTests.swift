import Coordinator
import Digest
import FarmHTTP
import Foundation
import Testing

/// What holds for every request: the token, unknown paths, bounds, health and metrics.
@Suite(.timeLimit(.minutes(5))) struct ServerTests {
  @Test func `a farm with a token answers nobody without it, but for its health`() async throws {
    try await TestFarm.run(token: "secret") { farm in
      func status(_ path: String, _ authorization: String?) async throws -> RawClient.Reply {
        let headers = authorization.map { [("Authorization", $0)] } ?? []
        return try await RawClient(port: farm.port).request("GET", path, headers: headers)
      }
      for path in ["/v1/jobs", "/v1/events", "/metrics", "/v1/jobs/a/film", "/nowhere", "/v1/presets"] {
        for wrong in [nil, "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "secret"] {
          let reply = try await status(path, wrong)
          #expect(reply.status == 401, "\(path) \(wrong ?? "")")
          #expect(reply["www-authenticate"]?.hasPrefix("Bearer realm=\"sheaf\"") == true)
          #expect(reply["content-type"] == "application/problem+json")
        }
      }
      #expect(try await status("/v1/jobs", "Bearer secret").status == 200)
      #expect(try await status("/v1/jobs", "bearer secret").status == 200)
      #expect(try await status("/healthz", nil).status == 200)
      #expect(try await status("/readyz", nil).status == 200)
    }
  }

  @Test func `an unknown path is not found, and a wrong method is not allowed`() async throws {
    try await TestFarm.run { farm in
      for path in [
        "//", "/assets", "/assets/", "/assets/absent.js", "/v1", "/v1/jobs/", "/v1//jobs", "/v1/jobs/a/b/c", "/V1/jobs",
        "/v1/jobs/%",
      ] {
        let reply = try await farm.get(path)
        #expect(reply.status == 404 && reply["content-type"] == "application/problem+json", "\(path)")
      }
      for (method, path, allowed) in [
        ("PUT", "/v1/jobs", "GET, HEAD, POST"), ("GET", "/v1/jobs/cancel", "POST"),
        ("OPTIONS", "/healthz", "GET, HEAD"), ("TRACE", "/v1/workers", "GET, HEAD"),
        ("GET", "/v1/content/\(SHA256Digest.of([]).hex)", "HEAD, PATCH, PUT"),
      ] {
        let reply = try await farm.request(method, path)
        #expect(reply.status == 405 && reply["allow"] == allowed, "\(method) \(path): \(reply["allow"] ?? "")")
      }
    }
  }

  @Test func `a body that is too large or of another type is refused at once`() async throws {
    try await TestFarm.run { farm in
      let client = try RawClient(port: farm.port)
      let headers = [("Content-Type", "application/json"), ("Expect", "100-continue")]
      try await client.send(RawClient.head("POST", "/v1/jobs", headers, length: 1 << 30))
      let reply = try await client.reply(to: "POST")
      #expect(reply.status == 413 && reply["connection"] == "close", "\(reply.status)")
      let text = try await farm.request("POST", "/v1/jobs", headers: [("Content-Type", "text/plain")], body: [1])
      #expect(text.status == 415)
    }
  }

  @Test func `headers beyond the bound and bytes that are no HTTP end the connection`() async throws {
    try await TestFarm.run { farm in
      let long = try RawClient(port: farm.port)
      let header = [("X-Long", String(repeating: "x", count: 100_000))]
      try await long.send(RawClient.head("GET", "/healthz", header, length: nil))
      #expect(try await long.reply().status >= 400)
      let bytes = try RawClient(port: farm.port)
      try await bytes.send(Array("\u{0}\u{1}\u{2} nonsense\r\n\r\n".utf8))
      #expect(try await bytes.isClosed())
      #expect(try await farm.get("/healthz").status == 200)
    }
  }

  @Test func `a client that is slow with its body, or idle, holds nothing for long`() async throws {
    let limits = HTTPLimits.with { limits in
      limits.body = .milliseconds(300)
      limits.idle = .milliseconds(500)
    }
    try await TestFarm.run(limits: limits) { farm in
      let slow = try RawClient(port: farm.port)
      let head = RawClient.head("POST", "/v1/jobs", [("Content-Type", "application/json")], length: 100)
      try await slow.send(head + [UInt8(ascii: "{")])
      let reply = try? await slow.reply(to: "POST")
      #expect(reply == nil || reply?.status == 400)
      let idle = try RawClient(port: farm.port)
      #expect(try await idle.isClosed())
    }
  }

  @Test func `a reply of a type that the client does not accept is refused`() async throws {
    try await TestFarm.run { farm in
      for path in ["/v1/jobs", "/v1/events", "/metrics", "/healthz"] {
        let reply = try await farm.get(path, headers: [("Accept", "image/png")])
        #expect(reply.status == 406 && reply["content-type"] == "application/problem+json", "\(path) \(reply.status)")
      }
      #expect(try await farm.get("/v1/jobs", headers: [("Accept", "application/json, text/plain")]).status == 200)
    }
  }

  @Test func `a connection is used for several requests`() async throws {
    try await TestFarm.run { farm in
      let client = try RawClient(port: farm.port)
      for path in ["/healthz", "/nowhere", "/v1/jobs", "/v1/presets"] {
        _ = try await client.request("GET", path)
        let wrong = try await client.request(
          "POST", "/v1/jobs", headers: [("Content-Type", "application/json")], body: Array("{}".utf8))
        #expect(wrong.status == 422)
      }
    }
  }

  @Test func `a coordinator that shuts down is not ready`() async throws {
    try await TestFarm.run { farm in
      let ready = try await farm.get("/readyz")
      #expect(ready.status == 200 && ready.json["isReady"] as? Bool == true)
      // Open before the drain, and in the midst of a request.
      let client = try RawClient(port: farm.port)
      let head = RawClient.head("GET", "/readyz", [], length: nil)
      try await client.send(Array(head.dropLast(2)))
      await farm.service.drain(farm.server)
      try await client.send(Array(head.suffix(2)))
      let reply = try await client.reply()
      #expect(reply.status == 503 && reply.text.contains("shutting down"), "\(reply.text)")
    }
  }

  @Test func `metrics are those of the farm, with a help and a type each`() async throws {
    try await TestFarm.run { farm in
      try await farm.openJob("a")
      _ = try await farm.doneJob(film: try farm.add([1, 2, 3]))
      _ = try await farm.get("/v1/jobs/a")
      _ = try await farm.get("/v1/jobs/none")
      _ = try await farm.get("/nowhere")
      let reply = try await farm.get("/metrics")
      #expect(reply["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
      let lines = reply.text.split(separator: "\n")
      for line in [
        "sheaf_jobs{state=\"probing\"} 1", "sheaf_jobs{state=\"done\"} 1",
        "sheaf_tasks{kind=\"probe\",state=\"ready\"} 1", "sheaf_tasks{kind=\"video\",state=\"done\"} 0",
        "sheaf_slots{state=\"free\"} 0", "sheaf_workers{state=\"busy\"} 0", "sheaf_job_store_up 1", "sheaf_ready 1",
        "sheaf_desired_workers 1", "sheaf_work_seconds 10", "sheaf_draining 0", "sheaf_webhook_messages_pending 0",
        "sheaf_content_sent_bytes_total{peer=\"http\"} 0",
        "sheaf_http_requests_total{route=\"/v1/jobs/{job}\",status=\"2xx\"} 1",
        "sheaf_http_requests_total{route=\"/v1/jobs/{job}\",status=\"4xx\"} 1",
        "sheaf_http_requests_total{route=\"unknown\",status=\"4xx\"} 1",
      ] {
        #expect(lines.contains(Substring(line)), "\(line)")
      }
      // Those of the requests before may not be closed yet.
      let connections = lines.first { $0.hasPrefix("sheaf_http_connections ") }.flatMap {
        Int($0.split(separator: " ")[1])
      }
      #expect(connections.map { $0 >= 1 && $0 <= 4 } == true)
      // Each metric has its help and its type before its first sample, and each sample belongs to one.
      var types: [String: String] = [:]
      for line in lines {
        let words = line.split(separator: " ")
        if line.hasPrefix("# TYPE ") { types[String(words[2])] = String(words[3]) }
        guard !line.hasPrefix("#") else { continue }
        let name = String(line.prefix { $0 != "{" && $0 != " " })
        let base = ["_bucket", "_sum", "_count"].reduce(name) { name, suffix in
          name.hasSuffix(suffix) && types[String(name.dropLast(suffix.count))] == "histogram"
            ? String(name.dropLast(suffix.count)) : name
        }
        #expect(types[base] != nil && Double(words.last ?? "") != nil, "\(line)")
        #expect((types[base] == "counter") == base.hasSuffix("_total"), "\(base)")
      }
    }
  }
}
