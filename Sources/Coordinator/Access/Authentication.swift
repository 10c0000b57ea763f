import Digest
import FarmAPI
import FarmModel
import Jobs

/// Who a peer is, by the token that it presents: the farm's own tokens, of files, and those that are rows.
struct Authentication: Sendable {
  /// What the texts of tokens that are rows begin with, so that one that leaked is found.
  static let prefix = "sheaf_"

  let store: any JobStore
  /// The farm's own. Nil: everybody who can connect may do everything.
  let token: String?
  /// The workers' own. Nil: it is the farm's.
  let workerToken: String?

  /// What a peer wants to be.
  enum Part: Sendable, Hashable {
    case client, worker
  }

  /// The caller that a token makes of a peer. Throws `.unauthorized` if it makes none, `.forbidden` if the token is one
  /// of the other part, and `.unavailable` if the store would know and does not answer.
  /// - Parameters:
  ///   - presented: Nil or empty: none.
  ///   - address: The peer's, without its port.
  func caller(presenting presented: String?, as part: Part, from address: String) async throws(FarmError) -> Caller {
    let own = Caller(role: part == .worker ? .worker : .operator, address: address)
    guard let token else { return own }
    guard let presented, !presented.isEmpty else {
      throw FarmError(.unauthorized, "this coordinator requires a token")
    }
    let isClients = Self.areEqual(token, presented)
    let isWorkers = workerToken.map { Self.areEqual($0, presented) } ?? isClients
    if part == .worker ? isWorkers : isClients { return own }
    let caller: Caller
    if isClients || isWorkers {
      caller = Caller(role: isWorkers ? .worker : .operator, address: address)
    } else {
      caller = try await known(presented, from: address)
    }
    switch part {
    case .worker where !caller.role.allows(.work):
      throw FarmError(.forbidden, "the token is \(caller.role.asOwner); a worker needs that of workers")
    case .client where caller.role == .worker:
      throw FarmError(.forbidden, "the token is \(caller.role.asOwner), and no client's")
    default: return caller
    }
  }

  /// Who has a token that is a row.
  private func known(_ presented: String, from address: String) async throws(FarmError) -> Caller {
    let wrong = FarmError(.unauthorized, "the token is wrong")
    guard presented.hasPrefix(Self.prefix) else { throw wrong }
    do throws(JobStoreError) {
      guard let found = try await store.accessToken(of: Self.digest(of: presented)) else {
        throw JobStoreError(.invalid, "")
      }
      return found.caller(from: address)
    } catch  where error.code == .invalid {
      throw FarmError(.unauthorized, "the token is wrong, past its time or revoked")
    } catch {
      throw FarmError(error)
    }
  }

  /// What is stored of a token's text.
  static func digest(of token: String) -> SHA256Digest { .of(Array(token.utf8)) }

  /// Takes the same time for every guess of the same length, so that the time does not reveal how much of it is right.
  static func areEqual(_ secret: String, _ guess: String) -> Bool {
    let (secret, guess) = (Array(secret.utf8), Array(guess.utf8))
    var difference = UInt8(secret.count == guess.count ? 0 : 1)
    for index in guess.indices { difference |= guess[index] ^ (secret.isEmpty ? 1 : secret[index % secret.count]) }
    return difference == 0
  }
}

extension Role {
  /// For messages: whose a token is.
  fileprivate var asOwner: String {
    switch self {
    case .viewer: "a viewer's"
    case .submitter: "a submitter's"
    case .operator: "that of clients"
    case .worker: "that of workers"
    case .metrics: "one for metrics"
    }
  }
}
