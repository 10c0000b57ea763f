import Digest
import FarmAPI
import FarmModel
import Jobs
import TLS
import Wire

/// The certificates of a farm's workers: who is given one, and whose word it is.
///
/// A worker joins with a token, and asks for a certificate then; from then on the certificate is what it shows. It is
/// valid as long as its token is not revoked: the token's own time limits who joins, and not who has. One that was
/// given for the farm's own token is valid as long as the farm has that token.
struct WorkerCertificates: Sendable {
  let authority: CertificateAuthority
  let lifetime: Duration
  let store: any JobStore
  /// The farm's own, with which workers join. Nil: none is needed.
  let ownToken: String?

  static let required = FarmError(
    .forbidden,
    "this farm's workers need certificates of its own authority: give this one a join token, which 'sheaf token create worker' prints"
  )

  /// What certificates have in place of a token's id that were given for the farm's own token.
  private var ownMark: String { "own_\(Authentication.digest(of: ownToken ?? "").hex.prefix(16))" }

  /// Who has a certificate, which was verified. Throws `.unauthorized` if it counts no longer, `.forbidden` if it is
  /// another worker's, and `.unavailable` if the store does not answer.
  /// - Parameter name: The worker's, as it says.
  func caller(
    presenting certificate: WorkerCertificate, as name: String, from address: String
  ) async throws(FarmError) -> Caller {
    let identity = certificate.identity
    guard identity.isOf(name) else {
      throw FarmError(.forbidden, "the certificate is that of the worker \(identity.name), not of \(name)")
    }
    if identity.token == ownMark { return Caller(role: .worker, address: address) }
    let token: AccessToken?
    do {
      token = try await store.joinedToken(AccessTokenID(identity.token))
    } catch {
      throw FarmError(error)
    }
    guard let token else {
      throw FarmError(.unauthorized, "the token by which the worker has joined was revoked, or is not this farm's")
    }
    var caller = token.caller(from: address)
    caller.hasJoined = true
    return caller
  }

  /// A certificate for a worker, and the authority's, in PEM. Throws `.forbidden` if the request cannot be used.
  func sign(_ request: [UInt8], for caller: Caller, _ name: String) throws(FarmError) -> String {
    let identity = WorkerCertificate.Identity(token: caller.token?.description ?? ownMark, name: name)
    do {
      return try authority.worker(identity, request: request, lifetime: Int(lifetime.components.seconds))
    } catch {
      throw FarmError(.forbidden, "no certificate is signed: \(error)")
    }
  }

  func joinToken(with token: String) -> String { JoinToken(authority: authority.digest, token: token).description }
}

extension Sheaf_Hello {
  /// By what people know the worker.
  var workerName: String { name.isEmpty ? workerID : name }
}
