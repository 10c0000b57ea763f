import ContentStorage
import Digest
import FarmHTTP
import Foundation
import TestPrograms
import Testing

/// Films over HTTP: whole, in ranges, and when the client has them.
@Suite(.timeLimit(.minutes(5))) struct FilmRouteTests {
  private let bytes = TestBytes.varied(700_001)

  @Test func `a film is fetched whole, with its digest, its type and its name`() async throws {
    try await TestFarm.run { farm in
      let film = try farm.add(bytes)
      let job = try await farm.doneJob(film: film, output: "ein \"schöner\" Film.mp4")
      let reply = try await farm.get("/v1/jobs/\(job)/film")
      #expect(reply.status == 200 && reply.body == bytes)
      #expect(reply["etag"] == "\"\(film.digest.hex)\"" && reply["content-type"] == "video/mp4")
      #expect(reply["accept-ranges"] == "bytes" && reply["content-length"] == "\(bytes.count)")
      #expect(
        reply["content-disposition"]
          == "attachment; filename=\"ein _sch_ner_ Film.mp4\"; "
          + "filename*=UTF-8''ein%20%22sch%C3%B6ner%22%20Film.mp4")
      let head = try await farm.request("HEAD", "/v1/jobs/\(job)/film")
      #expect(head.status == 200 && head["content-length"] == "\(bytes.count)" && head.body.isEmpty)
      #expect(head["etag"] == reply["etag"])
    }
  }

  @Test func `a range gets its bytes, and no byte that is not there`() async throws {
    try await TestFarm.run { farm in
      let job = try await farm.doneJob(film: try farm.add(bytes))
      let last = bytes.count - 1
      for (range, expected) in [
        ("bytes=0-0", 0...0), ("bytes=5-9", 5...9), ("bytes=700000-", last...last), ("bytes=-3", (last - 2)...last),
        ("bytes=262140-262150", 262140...262150), ("bytes=699999-9999999999999999999999", (last - 1)...last),
        ("bytes=-9999999", 0...last),
      ] {
        let reply = try await farm.get("/v1/jobs/\(job)/film", headers: [("Range", range)])
        #expect(reply.status == 206, "\(range)")
        #expect(reply.body == Array(bytes[expected]), "\(range)")
        #expect(reply["content-range"] == "bytes \(expected.lowerBound)-\(expected.upperBound)/\(bytes.count)")
      }
      for range in ["bytes=700001-", "bytes=-0", "bytes=9999999999999999999999-"] {
        let reply = try await farm.get("/v1/jobs/\(job)/film", headers: [("Range", range)])
        #expect(reply.status == 416 && reply["content-range"] == "bytes */\(bytes.count)", "\(range)")
      }
      // What this server does not take is as if it was not there.
      for range in ["bytes=0-1,4-5", "lines=0-1", "bytes=5-3", "bytes=a-b", "bytes"] {
        #expect(try await farm.get("/v1/jobs/\(job)/film", headers: [("Range", range)]).status == 200, "\(range)")
      }
    }
  }

  @Test func `a client that has the film does not get it again`() async throws {
    try await TestFarm.run { farm in
      let film = try farm.add(bytes)
      let job = try await farm.doneJob(film: film)
      let (path, tag) = ("/v1/jobs/\(job)/film", "\"\(film.digest.hex)\"")
      for value in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
        let reply = try await farm.get(path, headers: [("If-None-Match", value)])
        #expect(reply.status == 304 && reply["etag"] == tag && reply.body.isEmpty, "\(value)")
      }
      #expect(try await farm.get(path, headers: [("If-None-Match", "\"other\"")]).status == 200)
      let range = ("Range", "bytes=0-9")
      #expect(try await farm.get(path, headers: [range, ("If-Range", tag)]).status == 206)
      #expect(try await farm.get(path, headers: [range, ("If-Range", "\"other\"")]).status == 200)
    }
  }

  @Test func `several outputs are fetched by their names`() async throws {
    try await TestFarm.run { farm in
      let (high, low) = (Array(bytes.prefix(1000)), Array(bytes.suffix(77)))
      let package = try ContentPackage([
        ("high.mp4", Content(digest: .of(high), size: 1000)), ("low.webm", Content(digest: .of(low), size: 77)),
      ])
      let film = try farm.add(high + low + package.encodedEnd)
      let job = try await farm.doneJob(film: film, outputs: ["high.mp4", "low.webm"])
      let reply = try await farm.get("/v1/jobs/\(job)/outputs/low.webm")
      #expect(reply.status == 200 && reply.body == low && reply["content-type"] == "video/webm", "\(reply.text)")
      #expect(reply["etag"] == "\"\(SHA256Digest.of(low).hex)\"")
      let part = try await farm.get("/v1/jobs/\(job)/outputs/high.mp4", headers: [("Range", "bytes=-10")])
      #expect(part.status == 206 && part.body == high.suffix(10))
      #expect(try await farm.get("/v1/jobs/\(job)/outputs/none.mp4").status == 404)
      let whole = try await farm.get("/v1/jobs/\(job)/film")
      #expect(whole.status == 409 && whole.text.contains("/outputs/high.mp4"))
    }
  }

  @Test func `a job that is not done has no film, and a film that is lost is gone`() async throws {
    try await TestFarm.run { farm in
      try await farm.openJob("open")
      #expect(try await farm.get("/v1/jobs/open/film").status == 409)
      let film = try farm.add(bytes)
      let job = try await farm.doneJob(film: film)
      farm.content.remove(film.digest)
      let reply = try await farm.get("/v1/jobs/\(job)/film")
      #expect(reply.status == 410 && reply["content-type"] == "application/problem+json", "\(reply.status)")
    }
  }

  @Test func `a client that takes nothing is disconnected`() async throws {
    try await TestFarm.run(limits: .with { $0.stall = .milliseconds(400) }) { farm in
      let large = [UInt8](repeating: 7, count: 40 << 20)
      let job = try await farm.doneJob(film: try farm.add(large))
      // A server that is kept from running sees later that nothing is taken.
      for seconds in [1, 2, 4, 8, 16] {
        let client = try RawClient(port: farm.port)
        try await client.send(RawClient.head("GET", "/v1/jobs/\(job)/film", [], length: nil))
        #expect(try await client.head().status == 200)
        try await Task.sleep(for: .seconds(seconds))
        // What is in the kernel's buffers still comes, and not the rest.
        if try await client.isClosed() { return }
      }
      Issue.record("the server sends for as long as the client takes nothing")
    }
  }
}
