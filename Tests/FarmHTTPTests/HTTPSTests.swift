import ContentStorage
import Digest
import Foundation
import SystemSupport
import TLS
import TestPrograms
import Testing

@testable import FarmHTTP

/// The HTTP API over TLS, asked by curl.
@Suite(.timeLimit(.minutes(10)))
struct HTTPSTests {
  private static let certificates = Result { try TestCertificates() }

  private let certificates: TestCertificates
  private let identity: TLSIdentity

  init() throws {
    certificates = try Self.certificates.get()
    identity = try TLSIdentity(certificate: certificates.certificate(.good), key: certificates.key(.good))
  }

  private struct Ended: Sendable {
    var status: Int32
    var output: Data
    var log: String
  }

  /// Runs curl on a thread of its own.
  private static func curl(_ arguments: [String]) async throws -> Ended {
    let all = ["--silent", "--show-error", "--max-time", "60", "--http1.1"] + arguments
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let result = try Tool.result(of: "curl", all)
            return Ended(status: result.status, output: result.output, log: result.log)
          })
      }
    }
  }

  @Test func `curl reads the farm, the page and a film, and uploads content`() async throws {
    let authority = certificates.authority
    try await TestFarm.run(token: "secret", tls: identity) { farm in
      let site = "https://localhost:\(farm.port)"
      let token = ["--header", "Authorization: Bearer secret"]
      let status = try await Self.curl(["--cacert", authority, "\(site)/v1/workers"] + token)
      #expect(status.status == 0 && String(decoding: status.output, as: UTF8.self).contains("workers"), "\(status)")
      let page = try await Self.curl(["--cacert", authority, "\(site)/"])
      #expect(String(decoding: page.output, as: UTF8.self).hasPrefix("<!doctype html>"))
      // Longer than what a connection holds.
      let bytes = TestBytes.varied(20 << 20)
      let content = try farm.add(bytes)
      let job = try await farm.doneJob(film: content)
      let film = try await Self.curl(["--cacert", authority, "\(site)/v1/jobs/\(job)/film"] + token)
      #expect(film.status == 0 && film.output == Data(bytes), "\(film.log)")
      let more = TestBytes.random(20 << 20, seed: 1)
      let digest = SHA256Digest.of(more).hex
      let file = try farm.folder.write(Data(more), "more")
      let uploaded = try await Self.curl(
        ["--cacert", authority, "--fail", "--upload-file", file, "\(site)/v1/content/\(digest)"] + token)
      #expect(uploaded.status == 0, "\(uploaded.log)")
      #expect(try farm.content.read(SHA256Digest.of(more), limit: more.count) == more)
    }
  }

  @Test func `curl refuses a certificate of another authority`() async throws {
    let other = certificates.otherAuthority
    try await TestFarm.run(tls: identity) { farm in
      let refused = try await Self.curl(["--cacert", other, "https://localhost:\(farm.port)/"])
      // "Peer certificate cannot be authenticated with known CA certificates."
      #expect(refused.status == 60, "\(refused.log)")
    }
  }

  @Test func `a request without TLS gets a reply that names https`() async throws {
    try await TestFarm.run(tls: identity) { farm in
      let plain = try await Self.curl(["--include", "http://localhost:\(farm.port)/"])
      let text = String(decoding: plain.output, as: UTF8.self)
      #expect(text.hasPrefix("HTTP/1.1 400 ") && text.hasSuffix("This address serves https:// alone\n"), "\(text)")
    }
  }

  @Test func `TLS 1.2 is refused for HTTP too`() async throws {
    let authority = certificates.authority
    try await TestFarm.run(tls: identity) { farm in
      let old = try await Self.curl(["--cacert", authority, "--tls-max", "1.2", "https://localhost:\(farm.port)/"])
      // "A problem occurred somewhere in the SSL/TLS handshake."
      #expect(old.status == 35, "\(old.log)")
    }
  }
}
