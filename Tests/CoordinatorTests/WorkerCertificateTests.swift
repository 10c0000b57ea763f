import Client
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import Runtime
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestPrograms
import Testing

@testable import Coordinator
@testable import TLS
@testable import Wire

/// A farm with an authority of its own, whose workers must have certificates.
@Suite(.timeLimit(.minutes(10))) struct WorkerCertificateTests {
  private let folder: TemporaryFolder
  private let authority: CertificateAuthority

  init() throws {
    folder = try TemporaryFolder()
    try CertificateAuthority.create(in: folder.path("ca"), name: "farm")
    authority = try CertificateAuthority(folder: folder.path("ca"))
  }

  private func run<R: Sendable>(
    clock: @escaping @Sendable () -> Duration = { .zero }, lifetime: Duration = .seconds(3600),
    _ body: @escaping @Sendable (TestCoordinator) async throws -> R
  ) async throws -> R {
    try await TestCoordinator.run(
      clock: clock,
      configure: {
        $0.authority = authority
        $0.certificateLifetime = lifetime
        $0.workerToken = "of workers"
      }, tls: TLSIdentity(of: authority, names: ["localhost", "127.0.0.1"], asksPeers: true), body)
  }

  private func trust(_ certificate: ClientCertificate? = nil) throws -> TLSTrust {
    try TLSTrust(.digest(authority.digest), presenting: certificate)
  }

  /// Says hello, and returns the certificate that was asked for, or whether the connection is one for tasks.
  private func connect(
    _ farm: TestCoordinator, token: String = "", name: String = "birch",
    presenting certificate: ClientCertificate? = nil,
    asking key: RequestedKey? = nil, role: Sheaf_Role = .worker
  ) async throws -> ClientCertificate? {
    var hello = farm.hello(role, worker: name)
    hello.token = token
    if let key { hello.certificateRequest = Data(key.request) }
    return try await WireClient.withConnection(
      to: farm.endpoint.addresses[0], trusting: trust(certificate), hello: hello, timeout: .seconds(300)
    ) { connection, welcome in
      guard welcome.certificate.isEmpty else {
        // There is nothing else to be had on it.
        for try await message in connection.inbound { Issue.record("\(message)") }
        return try ClientCertificate(chain: welcome.certificate, key: #require(key?.key))
      }
      guard role == .worker else { return nil }
      try await connection.send(.heartbeat(.with { $0.freeSlots = 1 }))
      for try await message in connection.inbound { if case .heartbeatReply = message { return nil } }
      throw WireError(.closed, "closed")
    }
  }

  private func refusal(_ body: () async throws -> ClientCertificate?) async -> WireError? {
    do {
      let found = try await body()
      Issue.record("not refused, with \(found.map { "\($0.identity)" } ?? "no certificate")")
      return nil
    } catch {
      return error as? WireError
    }
  }

  private func token(
    _ farm: TestCoordinator, _ id: String, role: Role = .worker, lifetime: Duration? = nil
  ) async throws -> String {
    let text = "sheaf_of_\(id)"
    _ = try #require(
      try await farm.store.add(
        AccessToken(id: AccessTokenID(id), digest: Authentication.digest(of: text), role: role, owner: "anna"),
        lifetime: lifetime))
    return text
  }

  @Test func `a token makes a certificate, which is what a worker shows then`() async throws {
    try await run { farm in
      let text = try await token(farm, "tok_a")
      for (token, expected) in [(text, "tok_a"), ("of workers", nil)] {
        let certificate = try #require(try await connect(farm, token: token, asking: RequestedKey()))
        #expect(certificate.identity.name == "birch")
        if let expected { #expect(certificate.identity.token == expected) }
        #expect(certificate.expires - certificate.issued == 3600)
        #expect(try await connect(farm, presenting: certificate) == nil)
        // It renews itself, without a token.
        let next = try #require(try await connect(farm, presenting: certificate, asking: RequestedKey()))
        #expect(next.identity == certificate.identity && next.chain != certificate.chain)
        #expect(try await connect(farm, presenting: next) == nil)
      }
      // Who connected, and that each certificate was given, is in the audit.
      let given = try await farm.store.auditEntries(AuditFilter(actions: [.certificateIssued]), limit: 9)
      #expect(given.map(\.detail) == ["renewed", "the worker joins", "renewed", "the worker joins"])
      #expect(given.map(\.caller.owner) == [nil, nil, "anna", "anna"] && given.allSatisfy { $0.subject == "birch" })
    }
  }

  @Test func `a worker of another farm, token, name or time is refused, and none is in silence`() async throws {
    try await run { farm in
      let text = try await token(farm, "tok_a")
      let viewer = try await token(farm, "tok_v", role: .viewer)
      let own = try #require(try await connect(farm, token: "of workers", asking: RequestedKey()))
      let good = try #require(try await connect(farm, token: text, asking: RequestedKey()))
      func signed(_ identity: WorkerCertificate.Identity, at moment: Int = time(nil)) throws -> ClientCertificate {
        let key = try RequestedKey()
        let chain = try authority.worker(identity, request: key.request, lifetime: 3600, at: moment)
        return try ClientCertificate(chain: chain, key: key.key)
      }
      // A token is not enough, whichever it is, and no client's makes a worker.
      for presented in [text, "of workers"] {
        let error = await refusal { try await connect(farm, token: presented) }
        #expect(error?.code == .refused(.token) && error?.message.contains("join token") == true)
      }
      for presented in ["", "guess", "secret", viewer, good.identity.token] {
        let error = await refusal { try await connect(farm, token: presented, asking: RequestedKey()) }
        #expect(error?.code == .refused(.token), "\(presented): \(error?.message ?? "none")")
      }
      // Another name, a token that there is not, or of another role, and another secret of the farm's own.
      let strangers = try [
        (good, "alder"), (signed(.init(token: "tok_a", name: "cafe\u{301}")), "caf\u{e9}"),
        (signed(.init(token: "tok_none", name: "birch")), "birch"),
        (signed(.init(token: "tok_v", name: "birch")), "birch"),
        (signed(.init(token: "own_\(Authentication.digest(of: "old").hex.prefix(16))", name: "birch")), "birch"),
      ]
      for (certificate, name) in strangers {
        for key in [nil, try RequestedKey()] {
          let error = await refusal { try await connect(farm, name: name, presenting: certificate, asking: key) }
          #expect(error?.code == .refused(.token), "\(certificate.identity): \(error?.message ?? "none")")
        }
      }
      // One that is over does not come as far as a hello.
      let late = try signed(good.identity, at: time(nil) - 7200)
      #expect(await refusal { try await connect(farm, presenting: late) }?.code == .ownCertificate)
      // A request that cannot be read, by who may ask.
      var garbage = farm.hello(.worker, worker: "birch")
      garbage.token = text
      garbage.certificateRequest = Data([1, 2, 3])
      let error = await refusal {
        try await WireClient.withConnection(
          to: farm.endpoint.addresses[0], trusting: trust(), hello: garbage, timeout: .seconds(300)
        ) { _, _ in
          nil
        }
      }
      #expect(error?.code == .refused(.token) && error?.message.contains("no certificate is signed") == true)
      // A worker's certificate makes no client.
      #expect(await refusal { try await connect(farm, presenting: own, role: .client) }?.code == .refused(.token))
      #expect(await refusal { try await connect(farm, token: text, presenting: good, role: .client) } != nil)
      // What is right works after all that.
      for certificate in [good, own] { #expect(try await connect(farm, presenting: certificate) == nil) }
      await farm.service.audit.flush()
      farm.server.refusals.flush()
      try await eventually("each refusal is in the audit") {
        let refused = try await farm.store.auditEntries(AuditFilter(actions: [.refused]), limit: 50)
        let words = [
          "join token", "requires a token", "the token is wrong", "that of clients", "a viewer's", "not of alder",
          "was revoked, or is not this farm's", "no certificate is signed",
          "certificate is refused: its certificate has expired",
        ]
        return words.allSatisfy { word in refused.contains { $0.detail.contains(word) } }
      }
    }
  }

  @Test func `a token that is revoked ends its worker, and one whose time is over ends who joins alone`() async throws {
    let clock = Mutex(Duration.zero)
    let read: @Sendable () -> Duration = { clock.withLock { $0 } }
    try await run(clock: read) { farm in
      let text = try await token(farm, "tok_a", lifetime: .seconds(1000))
      let certificate = try #require(try await connect(farm, token: text, asking: RequestedKey()))
      let hello = farm.hello(.worker, worker: "birch")
      let error = await refusal {
        try await WireClient.withConnection(
          to: farm.endpoint.addresses[0], trusting: trust(certificate), hello: hello, timeout: .seconds(300)
        ) { connection, _ in
          clock.withLock { $0 += .seconds(2000) }
          // Nobody joins any more, and who has goes on, and renews.
          #expect(await refusal { try await connect(farm, token: text, asking: RequestedKey()) } != nil)
          #expect(try await connect(farm, presenting: certificate, asking: RequestedKey()) != nil)
          var replies = 0
          for _ in 0..<3 {
            try await connection.send(.heartbeat(.with { $0.freeSlots = 1 }))
            try await Task.sleep(for: .milliseconds(600))
          }
          var isRevoked = false
          for try await message in connection.inbound {
            guard case .heartbeatReply = message else { continue }
            replies += 1
            if replies == 3, !isRevoked {
              isRevoked = true
              _ = try await farm.store.revoke(AccessTokenID("tok_a"))
            }
          }
          return nil
        }
      }
      #expect(error?.code == .refused(.token), "\(error?.message ?? "none")")
      for key in [nil, try RequestedKey()] {
        #expect(
          await refusal { try await connect(farm, presenting: certificate, asking: key) }?.code == .refused(.token))
      }
    }
  }

  @Test func `a connection ends with the certificate that it was made with`() async throws {
    // Long enough to connect with it on a busy machine.
    try await run(lifetime: .seconds(15)) { farm in
      let certificate = try #require(try await connect(farm, token: "of workers", asking: RequestedKey()))
      let error = await refusal {
        try await WireClient.withConnection(
          to: farm.endpoint.addresses[0], trusting: trust(certificate), hello: farm.hello(.worker, worker: "birch"),
          timeout: .seconds(300)
        ) { connection, _ in
          for try await _ in connection.inbound {}
          return nil
        }
      }
      #expect(error?.code == .refused(.unavailable) && error?.message.contains("expired") == true)
    }
  }

  @Test func `a token of workers is shown as a join token, which others are not`() async throws {
    try await run { farm in
      let service = FarmService(farm.service)
      let made = try await service.createToken(TokenRequest(role: .worker, owner: "anna"))
      #expect(made.join.flatMap(JoinToken.init) == JoinToken(authority: authority.digest, token: made.token ?? ""))
      #expect(try await service.createToken(TokenRequest(role: .submitter, owner: "anna")).join == nil)
      #expect(try await service.tokens().allSatisfy { $0.token == nil && $0.join == nil })
    }
  }
}
