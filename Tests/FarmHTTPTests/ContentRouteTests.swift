import ContentStorage
import Digest
import FarmHTTP
import Foundation
import TestPrograms
import Testing

/// Uploads over HTTP.
@Suite(.timeLimit(.minutes(5))) struct ContentRouteTests {
  private let bytes = TestBytes.varied(3_000_017)

  private var digest: String { SHA256Digest.of(bytes).hex }

  private func part(_ farm: TestFarm, _ range: Range<Int>, of digest: String? = nil, length: Int? = nil) async throws
    -> RawClient.Reply
  {
    try await farm.request(
      "PATCH", "/v1/content/\(digest ?? self.digest)",
      headers: [
        ("Content-Type", "application/octet-stream"), ("Upload-Offset", "\(range.lowerBound)"),
        ("Upload-Length", "\(length ?? bytes.count)"),
      ], body: Array(bytes[range]))
  }

  @Test func `content is uploaded whole, once`() async throws {
    try await TestFarm.run { farm in
      let path = "/v1/content/\(digest)"
      let before = try await farm.request("HEAD", path)
      #expect(before.status == 204 && before["upload-offset"] == "0" && before["upload-complete"] == "?0")
      let missing = #"{"contents": [{"digest": "\#(digest)", "size": \#(bytes.count)}]}"#
      #expect(try await farm.post("/v1/content/missing", missing).json["missing"] as? [String] == [digest])
      let put = try await farm.request("PUT", path, body: bytes)
      #expect(put.status == 201 && put["upload-complete"] == "?1", "\(put.text)")
      #expect(try farm.content.read(SHA256Digest.of(bytes), limit: bytes.count) == bytes)
      #expect(try await farm.request("PUT", path, body: bytes).status == 200)
      let after = try await farm.request("HEAD", path)
      #expect(after["upload-offset"] == "\(bytes.count)" && after["upload-complete"] == "?1")
      #expect(try await farm.post("/v1/content/missing", missing).json["missing"] as? [String] == [])
    }
  }

  @Test func `content comes in parts, each where the one before ended`() async throws {
    try await TestFarm.run { farm in
      let first = try await part(farm, 0..<2_000_000)
      #expect(first.status == 204 && first["upload-offset"] == "2000000" && first["upload-complete"] == "?0")
      #expect(try await farm.request("HEAD", "/v1/content/\(digest)")["upload-offset"] == "2000000")
      let wrong = try await part(farm, 0..<5)
      #expect(wrong.status == 409 && wrong["upload-offset"] == "2000000", "\(wrong.text)")
      let last = try await part(farm, 2_000_000..<bytes.count)
      #expect(last.status == 201 && last["upload-complete"] == "?1", "\(last.text)")
      #expect(try farm.content.read(SHA256Digest.of(bytes), limit: bytes.count) == bytes)
    }
  }

  @Test func `an upload whose connection is lost goes on`() async throws {
    try await TestFarm.run { farm in
      do {
        let client = try RawClient(port: farm.port)
        try await client.send(
          RawClient.head("PUT", "/v1/content/\(digest)", [], length: bytes.count) + bytes.prefix(2_500_000))
        try await eventually("the bytes are there") {
          Int(try await farm.request("HEAD", "/v1/content/\(digest)")["upload-offset"] ?? "") ?? 0 >= 2_000_000
        }
      }
      // Locked until the server has seen that the client is gone.
      try await eventually("it is whole") {
        let offset = Int(try await farm.request("HEAD", "/v1/content/\(digest)")["upload-offset"] ?? "") ?? 0
        return try await part(farm, offset..<bytes.count).status == 201
      }
      #expect(try farm.content.read(SHA256Digest.of(bytes), limit: bytes.count) == bytes)
    }
  }

  @Test func `wrong bytes are refused, and are gone`() async throws {
    try await TestFarm.run { farm in
      let other = SHA256Digest.of([1, 2, 3]).hex
      let reply = try await farm.request("PUT", "/v1/content/\(other)", body: bytes)
      #expect(reply.status == 422 && reply.json["type"] as? String == "urn:sheaf:error:wrong-content", "\(reply.text)")
      #expect(try await farm.request("HEAD", "/v1/content/\(other)")["upload-offset"] == "0")
      let long = try await part(farm, 0..<2_000_000, of: other, length: 1_500_000)
      #expect(long.status == 422, "\(long.text)")
      #expect(try await farm.request("HEAD", "/v1/content/\(other)")["upload-offset"] == "0")
    }
  }

  @Test func `an upload without a size or with a wrong name is refused`() async throws {
    try await TestFarm.run { farm in
      let path = "/v1/content/\(digest)"
      let negative = [("Upload-Offset", "-1"), ("Upload-Length", "5")]
      for (method, path, headers, status) in [
        ("PUT", "/v1/content/abc", [], 404), ("PATCH", path, [], 400), ("PATCH", path, negative, 400),
        ("PUT", path, [("Transfer-Encoding", "chunked")], 400),
      ] as [(String, String, [(String, String)], Int)] {
        let hasLength = headers.first?.0 != "Transfer-Encoding"
        let reply = try await farm.request(method, path, headers: headers, body: hasLength ? [] : nil)
        #expect(reply.status == status, "\(method) \(path) \(headers)")
      }
    }
  }

  @Test func `a disk without room takes no upload, and says so`() async throws {
    try await TestFarm.run(minimumFree: 1 << 50) { farm in
      let reply = try await farm.request("PUT", "/v1/content/\(digest)", body: bytes)
      #expect(reply.status == 507 && reply["retry-after"] != nil, "\(reply.status) \(reply.text)")
      let notices = try await farm.get("/v1/workers").json["notices"] as? [String] ?? []
      #expect(notices.contains { $0.contains("an upload waits") }, "\(notices)")
    }
  }

  @Test func `a file under the media root needs no upload, and no other file can be named`() async throws {
    try await TestFarm.run { farm in
      _ = try farm.folder.write(Data("a film".utf8), "media/a.mov")
      _ = try farm.folder.write(Data("a secret".utf8), "secret")
      func submit(_ path: String) async throws -> RawClient.Reply {
        try await farm.post(
          "/v1/jobs",
          #"""
          {"document": {"sheaf": 1, "assets": {"a": "a.mov"}, "export": {"to": "film.mkv"},
            "tracks": [{"id": "A", "type": "video", "clips": [{"asset": "a", "use": "0..2"}]}]},
           "assets": [{"id": "a", "path": "\#(path)"}]}
          """#)
      }
      for path in ["a.mov", farm.folder.path("media/a.mov")] {
        let reply = try await submit(path)
        #expect(reply.status == 201, "\(reply.text)")
      }
      for path in ["../secret", farm.folder.path("secret"), "/etc/passwd", "none.mov", ".", "a.mov\\u0000"] {
        let reply = try await submit(path)
        #expect(reply.status == 422 && reply.text.contains("/assets/a"), "\(path): \(reply.text)")
        #expect(!reply.text.contains("denied"))
      }
    }
  }
}
