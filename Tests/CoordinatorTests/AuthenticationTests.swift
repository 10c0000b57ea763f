import Digest
import FarmAPI
import FarmModel
import Jobs
import Synchronization
import Testing

@testable import Coordinator

@Suite(.timeLimit(.minutes(10))) struct AuthenticationTests {
  /// What each part becomes with each token: none, a wrong one, that of clients, that of workers.
  @Test(
    arguments: [
      (nil, nil, [Role?](repeating: .operator, count: 4), [Role?](repeating: .worker, count: 4)),
      ("of clients", nil, [nil, nil, .operator, nil], [nil, nil, .worker, nil]),
      ("of clients", "of workers", [nil, nil, .operator, nil], [nil, nil, nil, .worker]),
    ] as [(String?, String?, [Role?], [Role?])])
  func `the farm's own tokens admit those that they are for`(
    _ clients: String?, _ workers: String?, _ client: [Role?], _ worker: [Role?]
  ) async throws {
    let store = MemoryJobStore { .zero }
    let authentication = Authentication(store: store, token: clients, workerToken: workers)
    for (index, token) in ["", "guess", "of clients", "of workers"].enumerated() {
      for (part, role) in [(Authentication.Part.client, client[index]), (.worker, worker[index])] {
        #expect(await found(authentication, token, part) == role, "\(part) with '\(token)'")
      }
    }
  }

  @Test func `a token that is a row admits by its role until it is revoked or past its time`() async throws {
    let clock = Clock()
    let store = MemoryJobStore { clock.now }
    let authentication = Authentication(store: store, token: "of clients", workerToken: nil)
    for role in Role.allCases {
      let text = "sheaf_\(role.rawValue)"
      let token = AccessToken(
        id: AccessTokenID("tok_\(role.rawValue)"), digest: Authentication.digest(of: text), role: role, owner: "anna")
      let lifetime: Duration? = role == .metrics ? .seconds(60) : nil
      _ = try #require(try await store.add(token, lifetime: lifetime))
      let part: Authentication.Part = role == .worker ? .worker : .client
      let caller = try await authentication.caller(presenting: text, as: part, from: "10.1.2.3")
      #expect(caller == Caller(role: role, owner: "anna", token: token.id, address: "10.1.2.3"))
      let other = await #expect(throws: FarmError.self) {
        _ = try await authentication.caller(presenting: text, as: part == .client ? .worker : .client, from: "")
      }
      #expect(other?.code == .forbidden)
      // Its text alone: not its digest, nor its id, nor a text that only begins with it.
      for guess in [token.digest.hex, token.id.description, text + " ", "Sheaf_\(role.rawValue)"] {
        #expect(await found(authentication, guess, part) == nil, "\(guess)")
      }
    }
    _ = try await store.revoke(AccessTokenID("tok_viewer"))
    clock.advance(by: .seconds(60))
    #expect(await found(authentication, "sheaf_viewer", .client) == nil)
    #expect(await found(authentication, "sheaf_metrics", .client) == nil)
    #expect(await found(authentication, "sheaf_submitter", .client) == .submitter)
  }

  private func found(_ authentication: Authentication, _ token: String, _ part: Authentication.Part) async -> Role? {
    do {
      return try await authentication.caller(presenting: token, as: part, from: "").role
    } catch {
      #expect([.unauthorized, .forbidden].contains(error.code))
      return nil
    }
  }

  @Test func `tokens are compared as a whole`() {
    #expect(Authentication.areEqual("secret", "secret"))
    for guess in ["", "s", "secre", "secret2", "Secret", "secretsecret"] {
      #expect(!Authentication.areEqual("secret", guess))
    }
  }
}

/// A clock that a test moves.
private final class Clock: Sendable {
  private let time = Mutex(Duration.zero)

  var now: Duration { time.withLock { $0 } }

  func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
