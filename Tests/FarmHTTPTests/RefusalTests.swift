import Coordinator
import Digest
import FarmModel
import Foundation
import Jobs
import TestPrograms
import Testing

/// Every operation that docs/openapi.yaml has, asked for by everybody who may not.
@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
  private struct Operation: Sendable {
    var method: String
    var path: String
    /// Whether nobody needs a token for it.
    var isOpen: Bool

    var changes: Bool { !["GET", "HEAD"].contains(method) }

    /// Whether an empty request of one who may is wrong by itself.
    var needsMore: Bool { method == "PATCH" || path.hasSuffix("/stills") }
  }

  /// A row of the table: who asks, and how each operation is answered.
  private struct Asker: Sendable {
    var name: String
    var token: String?
    var status: @Sendable (Operation) -> Int?
  }

  /// The operations, with parameters of Anna's job.
  private static func operations() throws -> [Operation] {
    let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: repository.appending(path: "docs/openapi.yaml"), encoding: .utf8)
    var (found, path, isInPaths): ([Operation], String, Bool) = ([], "", false)
    for line in text.split(separator: "\n") {
      if !line.hasPrefix(" ") { isInPaths = line == "paths:" }
      guard isInPaths else { continue }
      if line.hasPrefix("  /") {
        path = String(line.dropFirst(2).prefix { $0 != ":" }).replacing("{job}", with: "annas")
          .replacing("{digest}", with: SHA256Digest.of(Array("x".utf8)).hex)
          .replacing(#/\{[a-z]+\}/#, with: "none")
      } else if let match = line.wholeMatch(of: #/    (get|head|post|put|patch|delete):/#) {
        found.append(Operation(method: match.1.uppercased(), path: path, isOpen: false))
      } else if line == "      security: []", let last = found.indices.last {
        found[last].isOpen = true
      }
    }
    return found
  }

  private func add(
    _ role: Role, _ owner: String, _ text: String, to farm: TestFarm, lifetime: Duration? = nil
  ) async throws -> AccessToken {
    let token = AccessToken(
      id: AccessTokenID("tok_\(text.suffix(8))"), digest: .of(Array(text.utf8)), role: role, owner: owner)
    return try #require(try await farm.store.add(token, lifetime: lifetime))
  }

  @Test func `whoever may not is refused every operation, and no refusal is silent`() async throws {
    let operations = try Self.operations()
    #expect(operations.count > 50 && operations.filter(\.isOpen).map(\.path).sorted() == ["/healthz", "/readyz"])
    try await TestFarm.run(token: "secret") { farm in
      let task = NewTask(kind: .probe, payload: [], inputs: [], fingerprint: .of("probe".utf8), cost: 1, work: 1)
      let request = #"{"document": "{}", "assets": [], "segmentDuration": "", "output": ""}"#
      try await farm.store.submit(
        NewJob(
          id: JobID("annas"), name: "annas", owner: "anna", priority: 0, request: Array(request.utf8), tasks: [task]))
      func text(_ name: String) -> String { "sheaf_" + String(repeating: "0", count: 56) + name }
      let expired = try await add(.operator, "olga", text("expired1"), to: farm, lifetime: .milliseconds(1))
      let revoked = try await add(.operator, "rudi", text("revoked1"), to: farm)
      _ = try await farm.store.revoke(revoked.id)
      while try await farm.store.invalid([expired.id]).isEmpty { await Task.yield() }
      for (role, owner, name) in [
        (Role.worker, "walt", "worker01"), (.metrics, "mona", "metrics1"), (.viewer, "vera", "viewer01"),
        (.submitter, "bert", "submitt1"),
      ] { _ = try await add(role, owner, text(name), to: farm) }
      // What the build is, every client may know.
      let measured = ["/metrics", "/v1/workers/desired", "/v1/me", "/v1/schema", "/v1/presets"]
      let operated = ["/v1/tokens", "/v1/audit", "/v1/webhooks"]
      let askers = [
        Asker(name: "nobody", token: nil) { _ in 401 },
        Asker(name: "a guess", token: "secre") { _ in 401 },
        Asker(name: "an unknown token", token: text("unknown1")) { _ in 401 },
        Asker(name: "an expired token", token: text("expired1")) { _ in 401 },
        Asker(name: "a revoked token", token: text("revoked1")) { _ in 401 },
        Asker(name: "a worker", token: text("worker01")) { _ in 403 },
        Asker(name: "metrics", token: text("metrics1")) { measured.contains($0.path) && !$0.changes ? nil : 403 },
        Asker(name: "a viewer", token: text("viewer01")) { operation in
          operation.changes || operated.contains { operation.path.hasPrefix($0) } ? 403 : nil
        },
        // Of another owner's job nothing exists.
        Asker(name: "a submitter", token: text("submitt1")) { operation in
          operated.contains { operation.path.hasPrefix($0) }
            ? 403 : operation.path.contains("annas") && !operation.needsMore ? 404 : nil
        },
      ]
      try await withThrowingTaskGroup(of: Void.self) { group in
        var asked = 0
        for (row, asker) in askers.enumerated() {
          // In the short form each asks for a third of them.
          for (column, operation) in operations.enumerated()
          where !operation.isOpen && (row + column).isMultiple(of: TestExtent.of(3, whole: 1)) {
            guard let status = asker.status(operation) else { continue }
            asked += 1
            if asked > 24 { try await group.next() }
            group.addTask {
              let headers =
                (asker.token.map { [("Authorization", "Bearer \($0)")] } ?? [])
                + (operation.changes ? [("Content-Type", "application/json")] : [])
              let reply = try await RawClient(port: farm.port).request(
                operation.method, operation.path, headers: headers,
                body: operation.changes && operation.method != "DELETE" ? Array("{}".utf8) : nil)
              #expect(
                reply.status == status,
                "\(asker.name): \(operation.method) \(operation.path) is \(reply.status): \(reply.text)")
            }
          }
        }
        try await group.waitForAll()
      }
      // Nothing has changed.
      #expect(try await farm.store.job(JobID("annas"))?.state == .probing)
      let (tokens, webhooks) = (try await farm.store.accessTokens(), try await farm.store.webhooks())
      #expect(tokens.count == 6 && webhooks.isEmpty)
      for owner in ["mona", "vera", "bert"] {
        try await eventually("the refusals of \(owner) are recorded") {
          try await !farm.store.auditEntries(AuditFilter(owner: owner, actions: [.refused]), limit: 100).isEmpty
        }
      }
      for words in ["a wrong token", "a token of workers"] {
        try await eventually("requests with \(words) are recorded") {
          let entries = try await farm.store.auditEntries(AuditFilter(actions: [.refused]), limit: 100)
          return entries.contains { $0.detail.contains(words) }
        }
      }
    }
  }
}
