import Digest
import FarmModel
import Testing

@testable import Jobs

@Suite("Who may use a farm, and who has", .timeLimit(.minutes(10)), .database)
struct AccessTests {
  private static let reader = AccessToken(
    id: AccessTokenID("tok_a"), digest: .of(Array("a".utf8)), role: .viewer, owner: "anna", description: "wall screen")
  private static let maker = AccessToken(
    id: AccessTokenID("tok_b"), digest: .of(Array("b".utf8)), role: .submitter, owner: "bert")

  @Test(arguments: StoreKind.allCases)
  func `a token is found by its digest until it is revoked or past its time`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      let added = try #require(try await store.add(Self.reader, lifetime: .seconds(90)))
      #expect(added.expires == added.created + .seconds(90) && added.owner == "anna" && added.role == .viewer)
      #expect(try await store.add(Self.maker, lifetime: nil)?.expires == nil)
      // The same id, and the same text.
      #expect(try await store.add(Self.reader, lifetime: nil) == nil)
      var other = Self.reader
      other = AccessToken(id: AccessTokenID("tok_c"), digest: other.digest, role: .operator, owner: "eve")
      #expect(try await store.add(other, lifetime: nil) == nil)
      #expect(try await store.accessToken(of: Self.reader.digest) == added)
      #expect(try await store.accessToken(of: .of(Array("c".utf8))) == nil)
      #expect(try await store.invalid([Self.reader.id, Self.maker.id]) == [])
      try farm.advance(.seconds(90))
      #expect(try await store.accessToken(of: Self.reader.digest) == nil)
      let revoked = try #require(try await store.revoke(Self.maker.id))
      #expect(revoked.revoked == added.created + .seconds(90))
      try farm.advance(.seconds(1))
      // It keeps the time at which it was revoked first.
      #expect(try await store.revoke(Self.maker.id) == revoked)
      #expect(try await store.accessToken(of: Self.maker.digest) == nil)
      #expect(try await store.revoke(AccessTokenID("tok_z")) == nil)
      let asked = [Self.maker.id, Self.reader.id, AccessTokenID("tok_z"), Self.maker.id]
      #expect(try await store.invalid(asked) == [Self.reader.id, Self.maker.id, AccessTokenID("tok_z")])
      #expect(try await store.accessTokens().map(\.id) == [Self.reader.id, Self.maker.id])
      // Expired 1 s ago and revoked 1 s ago: they stay as long as the audit that names them.
      #expect(try await store.removeAuditEntries(olderThan: .seconds(1), limit: 10) == 0)
      #expect(try await store.accessTokens().count == 2)
      try farm.advance(.milliseconds(1))
      #expect(try await store.removeAuditEntries(olderThan: .seconds(1), limit: 10) == 0)
      #expect(try await store.accessTokens().isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a worker that has joined stays until its token is revoked, whatever the token's time`(
    kind: StoreKind
  ) async throws {
    try await kind.run { farm in
      let store = farm.store
      let join = AccessToken(
        id: AccessTokenID("tok_w"), digest: .of(Array("w".utf8)), role: .worker, owner: "studio")
      let other = AccessToken(
        id: AccessTokenID("tok_v"), digest: .of(Array("v".utf8)), role: .worker, owner: "studio")
      let added = try #require(try await store.add(join, lifetime: .seconds(77)))
      _ = try #require(try await store.add(other, lifetime: .seconds(77)))
      _ = try #require(try await store.add(Self.maker, lifetime: nil))
      #expect(try await store.joinedToken(join.id) == added)
      try farm.advance(.seconds(500))
      #expect(try await store.accessToken(of: join.digest) == nil)
      #expect(try await store.joinedToken(join.id) == added)
      // Nobody joins with a token of another role, or with none.
      #expect(try await store.joinedToken(Self.maker.id) == nil)
      let asked = [join.id, Self.maker.id, AccessTokenID("tok_z"), join.id]
      #expect(try await store.left(asked) == [Self.maker.id, AccessTokenID("tok_z")])
      // Its time does not make it one that is forgotten, and its end does.
      _ = try await store.revoke(other.id)
      try farm.advance(.seconds(100))
      #expect(try await store.removeAuditEntries(olderThan: .seconds(99), limit: 10) == 0)
      #expect(try await store.accessTokens().map(\.id) == [Self.maker.id, join.id])
      _ = try await store.revoke(join.id)
      #expect(try await store.joinedToken(join.id) == nil)
      #expect(try await store.left([join.id]) == [join.id])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the audit is listed newest first, by owner, subject and action`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      let anna = Caller(role: .submitter, owner: "anna", token: Self.maker.id, address: "10.1.2.3")
      let start = try #require(try await store.add(Self.maker, lifetime: nil)).created
      try await store.record(AuditEntry(.jobSubmitted, by: anna, of: "j1", detail: "film"))
      try farm.advance(.seconds(30))
      try await store.record(AuditEntry(.jobDeleted, by: .ownProcess, of: "j1"))
      try await store.record(AuditEntry(.refused, by: anna, of: "", detail: "the token is wrong", times: 12))
      let all = try await store.auditEntries(AuditFilter(), limit: 10)
      #expect(all.map(\.action) == [.refused, .jobDeleted, .jobSubmitted])
      #expect(all.map(\.times) == [12, 1, 1] && all.map(\.caller) == [anna, .ownProcess, anna])
      #expect(all.map { $0.at - start } == [.seconds(30), .seconds(30), .zero])
      #expect(try await store.auditEntries(AuditFilter(), limit: 1) == [all[0]])
      #expect(try await store.auditEntries(AuditFilter(before: all[0].number), limit: 10) == Array(all[1...]))
      #expect(try await store.auditEntries(AuditFilter(owner: "anna"), limit: 10) == [all[0], all[2]])
      #expect(try await store.auditEntries(AuditFilter(subject: "j1", actions: [.jobDeleted]), limit: 10) == [all[1]])
      // What somebody sends is no longer than this in a row.
      try await store.record(AuditEntry(.jobSubmitted, by: anna, of: "j2", detail: String(repeating: "é", count: 3000)))
      #expect(try await store.auditEntries(AuditFilter(subject: "j2"), limit: 1).map(\.detail.count) == [256])
      #expect(try await store.removeAuditEntries(olderThan: .zero, limit: 0) == 0)
      let invalid = AuditEntry(.refused, by: anna, of: "", times: 0)
      await #expect(throws: JobStoreError(.invalid, "")) { try await store.record(invalid) }
      #expect(try await store.removeAuditEntries(olderThan: .seconds(29), limit: 10) == 1)
      #expect(try await store.auditEntries(AuditFilter(), limit: 10).dropFirst() == all[..<2])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a job and its events have its owner`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.submit(.sample("j1", owner: "anna", tasks: [.sample(.probe)]))
      try await store.submit(.sample("j2", owner: "bert"))
      try await store.submit(.sample("j3"))
      await #expect(throws: JobStoreError(.invalid, "")) { try await store.submit(.sample("j4", owner: "")) }
      #expect(try await store.job(JobID("j1"))?.owner == "anna")
      let annas = try await store.summaries(.render, limit: 9, after: nil, filter: JobFilter(owner: "anna"))
      #expect(annas.map(\.job.id) == [JobID("j1")])
      #expect(try await store.summaries(.render, limit: 9).map(\.job.owner) == [nil, "bert", "anna"])
      let grants = try await store.claim(build: "b1", slots: [Holder(worker: .anna, session: SessionID(1))])
      let lease = try #require(grants.first?.lease)
      let holder = Holder(worker: .anna, session: SessionID(1))
      #expect(try await store.fail(lease, holder: holder, failure: TaskFailure(end: .media, message: "m", jitter: 0)))
      #expect(try await store.delete(JobID("j2")) == false)
      let events = try #require(try await store.events(after: nil, limit: 100))
      let owners = Dictionary(grouping: events.filter { $0.job == JobID("j1") }, by: \.kind).mapValues {
        $0.map(\.owner)
      }
      #expect(owners == [.jobSubmitted: ["anna"], .taskGranted: ["anna"], .taskFailed: ["anna"]])
      #expect(events.filter { $0.job != JobID("j1") }.map(\.owner) == ["bert", nil])
    }
  }
}
