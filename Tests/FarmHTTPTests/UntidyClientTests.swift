import Digest
import FarmHTTP
import Foundation
import Logging
import Synchronization
import Testing

/// Clients that are slow, old, or send what HTTP does not allow, as networks have them: none holds up others, and none
/// makes an error of the coordinator.
@Suite(.timeLimit(.minutes(5))) struct UntidyClientTests {
  private static let json = [("Content-Type", "application/json")]

  /// A client that has sent the first bytes of a long body, and sends no more.
  private static func slowClient(_ farm: TestFarm, _ bytes: Int) async throws -> RawClient {
    let client = try RawClient(port: farm.port)
    let headers = json + [("Expect", "100-continue")]
    try await client.send(RawClient.head("POST", "/v1/jobs", headers, length: 1 << 20))
    // Its body is about to be read.
    #expect(try await client.head().status == 100)
    try await client.send(Array("{\"name\": \"".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: bytes))
    return client
  }

  @Test(arguments: [1, 40 << 10, 500_000])
  func `slow bodies hold up no short one`(bytes: Int) async throws {
    let limits = HTTPLimits.with { limits in
      (limits.bodies, limits.inspections) = (2, 2)
      (limits.body, limits.bodyGrace, limits.idle) = (.seconds(600), .seconds(600), .seconds(600))
    }
    try await TestFarm.run(limits: limits) { farm in
      var slow: [RawClient] = []
      for _ in 0..<4 { slow.append(try await Self.slowClient(farm, bytes)) }
      for _ in 0..<3 {
        #expect(try await farm.post("/v1/jobs", #"{"document": \#(TestFarm.document)}"#).status == 201)
      }
      withExtendedLifetime(slow) {}
    }
  }

  @Test func `a body that comes too slowly is refused, and the next long one is read`() async throws {
    let limits = HTTPLimits.with { limits in
      limits.bodies = 1
      (limits.body, limits.bodyGrace, limits.bodyRate) = (.seconds(600), .milliseconds(500), 1 << 20)
    }
    try await TestFarm.run(limits: limits) { farm in
      let slow = try await Self.slowClient(farm, 40 << 10)
      let padding = String(repeating: " ", count: 100_000)
      async let long = farm.post("/v1/jobs", #"{\#(padding)"document": \#(TestFarm.document)}"#)
      let reply = try await slow.reply(to: "POST")
      #expect(reply.status == 400 && reply.text.contains("fewer than 1048576 bytes a second"), "\(reply.text)")
      #expect(reply["connection"] == "close")
      #expect(try await long.status == 201)
    }
  }

  @Test(
    arguments: [
      ("POST", "/v1/jobs", "Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
      ("POST", "/v1/jobs", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"nam\r\n"),
      ("POST", "/v1/jobs", "Content-Length: 100\r\n\r\n{"), ("POST", "/v1/check", "Content-Length: 100\r\n\r\n"),
      (
        "PATCH", "/v1/content/\(SHA256Digest.of([1]).hex)",
        "Upload-Offset: 0\r\nUpload-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
      ),
      ("PUT", "/v1/content/\(SHA256Digest.of([1]).hex)", "Content-Length: 9\r\n\r\n1"),
    ] as [(String, String, String)])
  func `a body that ends early or is malformed is the client's error, and is not logged as one`(
    method: String, path: String, rest: String
  ) async throws {
    let logs = ErrorLog()
    try await TestFarm.run(logs: logs) { farm in
      let client = try RawClient(port: farm.port)
      let head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      try await client.send(Array((head + rest).utf8))
      client.finishSending()
      let reply = try await client.rest()
      #expect(reply.isEmpty || reply.hasPrefix("HTTP/1.1 400 "), "\(reply)")
      let metrics = try await farm.get("/metrics").text
      #expect(metrics.contains("status=\"4xx\"") && !metrics.contains("status=\"5xx\""), "\(metrics)")
      #expect(logs.messages == [])
    }
  }

  @Test func `a connection of HTTP 1.0 ends with its reply, in a form that its client knows`() async throws {
    let limits = HTTPLimits.with { $0.idle = .seconds(600) }
    try await TestFarm.run(limits: limits) { farm in
      for headers in ["", "Connection: keep-alive\r\n"] {
        let client = try RawClient(port: farm.port)
        try await client.send(Array("GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\(headers)\r\n".utf8))
        let reply = try await client.rest()
        #expect(reply.hasPrefix("HTTP/1.0 200 OK\r\n") && reply.hasSuffix("\r\n\r\n{\"isAlive\":true}"), "\(reply)")
        #expect(reply.lowercased().contains("\r\nconnection: close\r\n"))
      }
      // A stream, which has no length.
      let film = try await farm.doneJob(film: try farm.add([1, 2, 3]))
      let stream = try RawClient(port: farm.port)
      try await stream.send(Array("GET /v1/jobs/\(film)/events HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".utf8))
      let events = try await stream.rest()
      #expect(!events.lowercased().contains("transfer-encoding") && events.contains("\r\n\r\nretry: 2000\n\n"))
      #expect(events.contains("event: job\n") && events.hasSuffix("\n\n"), "\(events)")
      let last = try RawClient(port: farm.port)
      try await last.send(Array("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Close\r\n\r\n".utf8))
      #expect(try await last.rest().hasPrefix("HTTP/1.1 200 OK\r\n"))
    }
  }

  @Test(arguments: ["Host: 127.0.0.1\r\nHost: example.org\r\n", "Host: 127.0.0.1, example.org\r\n", "Host:\r\n", ""])
  func `a request names one host`(hosts: String) async throws {
    try await TestFarm.run { farm in
      let client = try RawClient(port: farm.port)
      try await client.send(Array("GET /healthz HTTP/1.1\r\nConnection: close\r\n\(hosts)\r\n".utf8))
      let reply = try await client.rest()
      #expect(reply.hasPrefix("HTTP/1.1 400 ") && reply.contains("a request has one header Host"), "\(reply)")
    }
  }

  @Test(
    arguments: [
      ("POST", "/v1/jobs", 1 << 40), ("POST", "/v1/nothing", 1 << 20), ("DELETE", "/v1/jobs", 1 << 20),
    ] as [(String, String, Int)])
  func `a body that will be refused is not asked for`(method: String, path: String, length: Int) async throws {
    try await TestFarm.run { farm in
      let client = try RawClient(port: farm.port)
      try await client.send(
        RawClient.head(method, path, Self.json + [("Expect", "100-continue")], length: length))
      #expect(try await client.head().status >= 400)
    }
  }

  @Test(
    arguments: [
      ("POST", "/v1/check"), ("PUT", "/v1/content/\(SHA256Digest.of([1]).hex)"),
    ] as [(String, String)])
  func `a compressed body is refused`(method: String, path: String) async throws {
    try await TestFarm.run { farm in
      let reply = try await farm.request(
        method, path, headers: Self.json + [("Content-Encoding", "gzip")], body: [1])
      #expect(reply.status == 415 && reply["accept-encoding"] == "identity", "\(reply.text)")
      let plain = try await farm.request(
        method, path, headers: Self.json + [("Content-Encoding", "identity")], body: [1])
      #expect(plain.status != 415)
    }
  }

  @Test func `an upload may come in parts of any length`() async throws {
    try await TestFarm.run { farm in
      let bytes = (0..<23).map { UInt8($0) }
      let path = "/v1/content/\(SHA256Digest.of(bytes).hex)"
      for start in stride(from: 0, to: 23, by: 7) {
        let headers = [("Upload-Offset", "\(start)"), ("Upload-Length", "23")]
        let part = Array(bytes[start..<min(start + 7, 23)])
        let reply = try await farm.request("PATCH", path, headers: headers, body: part)
        #expect(reply.status == (start < 21 ? 204 : 201), "\(reply.text)")
        guard start == 7 else { continue }
        // One that comes again is refused, and leaves the upload as it is.
        let again = try await farm.request("PATCH", path, headers: headers, body: part)
        #expect(again.status == 409, "\(again.text)")
      }
    }
  }

  @Test func `a part that says a shorter whole leaves the upload as it is`() async throws {
    try await TestFarm.run { farm in
      let bytes = [UInt8](repeating: 7, count: 300_000)
      let path = "/v1/content/\(SHA256Digest.of(bytes).hex)"
      let send = { (offset: Int, length: Int, part: ArraySlice<UInt8>) in
        try await farm.request(
          "PATCH", path, headers: [("Upload-Offset", "\(offset)"), ("Upload-Length", "\(length)")], body: Array(part))
      }
      #expect(try await send(0, 300_000, bytes[..<200_000]).status == 204)
      let wrong = try await send(200_000, 199_999, [])
      #expect(wrong.status == 400 && wrong.text.contains("200000 bytes have arrived"), "\(wrong.text)")
      #expect(try await send(200_000, 300_000, bytes[200_000...]).status == 201)
    }
  }

  @Test(arguments: [Int64.max, 1 << 60])
  func `an upload that no disk could hold is refused, and does not wait`(size: Int64) async throws {
    try await TestFarm.run(minimumFree: 1) { farm in
      let headers = [("Upload-Offset", "0"), ("Upload-Length", "\(size)")]
      let path = "/v1/content/\(SHA256Digest.of([7]).hex)"
      let reply = try await farm.request("PATCH", path, headers: headers, body: [1])
      #expect(reply.status == 422 && reply.text.contains("does not fit on its disk"), "\(reply.text)")
      #expect(try await farm.get("/v1/workers").json["notices"] as? [String] == [])
    }
  }
}

/// The messages of level error or above.
private final class ErrorLog: LogHandler {
  private let errors = Mutex<[String]>([])

  var messages: [String] { errors.withLock(\.self) }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .error }
    set {}
  }

  subscript(metadataKey _: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) {
    guard event.level >= .error else { return }
    errors.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
  }
}
