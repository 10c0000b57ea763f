import Digest
import Foundation
import TestPrograms
import Testing

/// The files of the page.
@Suite(.timeLimit(.minutes(5))) struct PageRouteTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Sources/FarmHTTP/Page")

  private static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  private static func path(of name: String) -> String { name == "index.html" ? "/" : "/assets/\(name)" }

  @Test func `every file is served without the token, as it is in the repository`() async throws {
    let types = [
      "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
      "js": "text/javascript; charset=utf-8",
    ]
    try await TestFarm.run(token: "secret") { farm in
      for name in try Self.names() {
        let bytes = try Data(contentsOf: Self.folder.appendingPathComponent(name))
        let client = try RawClient(port: farm.port)
        let reply = try await client.request("GET", Self.path(of: name))
        #expect(reply.status == 200 && reply.body == [UInt8](bytes), "\(name)")
        #expect(reply["content-type"] == types[(name as NSString).pathExtension], "\(name)")
        #expect(reply["x-content-type-options"] == "nosniff", "\(name)")
        #expect(reply["cache-control"] == "no-cache", "\(name)")
        let tag = "\"\(SHA256Digest.of(bytes).hex)\""
        #expect(reply["etag"] == tag, "\(name)")
        let again = try await client.request("GET", Self.path(of: name), headers: [("If-None-Match", tag)])
        #expect(again.status == 304 && again.body.isEmpty && again["etag"] == tag, "\(name)")
      }
    }
  }

  @Test func `the policy allows the page's own files alone`() async throws {
    try await TestFarm.run { farm in
      for path in ["/", "/assets/main.js", "/assets/style.css"] {
        let policy = try #require(try await farm.get(path)["content-security-policy"])
        let rules = policy.split(separator: ";").map { $0.split(separator: " ").map(String.init) }
        #expect(rules.first == ["default-src", "'none'"], "\(policy)")
        #expect(rules.contains(["script-src", "'self'"]) && rules.contains(["style-src", "'self'"]), "\(policy)")
        #expect(rules.contains(["connect-src", "'self'"]), "\(policy)")
        #expect(rules.contains(["frame-ancestors", "'none'"]), "\(policy)")
        let sources = Set(rules.flatMap { $0.dropFirst() })
        #expect(sources == ["'none'", "'self'", "blob:"], "\(policy)")
      }
    }
  }

  @Test func `no file has a script or a style of its own in markup, or names another host`() throws {
    for name in try Self.names() {
      let text = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
      for pattern in [#"\son[a-z]+\s*=\s*""#, #"<script(?![^>]*\ssrc=)"#, "<style", #"\sstyle=""#, "javascript:"] {
        #expect(text.range(of: pattern, options: .regularExpression) == nil, "\(name): \(pattern)")
      }
      // The namespace of SVG is a name, and no address that is asked for.
      let addresses = text.replacing("http://www.w3.org/2000/svg", with: "")
      for pattern in ["https?://", #"["'(]//[a-z]"#, "@import", #"innerHTML|outerHTML|insertAdjacentHTML|\beval\("#] {
        #expect(addresses.range(of: pattern, options: .regularExpression) == nil, "\(name): \(pattern)")
      }
    }
  }

  @Test func `every file that the page asks for is there`() throws {
    let names = Set(try Self.names())
    for name in names {
      let text = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
      for match in text.matches(of: /(?:from "\.\/|\/assets\/)([a-z0-9-]+\.[a-z]+)"/) {
        #expect(names.contains(String(match.1)), "\(name) asks for \(match.1)")
      }
    }
  }
}
