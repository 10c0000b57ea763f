import CSSL
import Glibc

/// The certificate and the key that a worker presents to a farm's coordinators, signed by the farm's
/// `CertificateAuthority`.
package struct ClientCertificate: Sendable, Hashable {
  /// The worker's certificate and then that of the farm's authority, in PEM.
  package let chain: String
  /// In PEM.
  package let key: String
  /// The authority's certificate, in PEM.
  package let authority: String
  /// SHA-256 of the authority's certificate, in 64 hexadecimal digits.
  package let authorityDigest: String
  package let identity: WorkerCertificate.Identity
  /// When it was signed and until when it is valid, in seconds since 1970.
  package let issued: Int
  package let expires: Int
}

extension ClientCertificate {
  /// Throws if the chain is not such a one, or the key is another's.
  package init(chain: String, key: String) throws(TLSError) {
    let file = try PEMFile(text: chain, name: "the worker's certificate")
    guard let leaf = try file.nextCertificate(), let authority = try file.nextCertificate() else {
      throw TLSError(.file, "a worker's certificate comes with that of its authority")
    }
    guard let worker = WorkerCertificate(reading: leaf) else {
      throw TLSError(.file, "the certificate is not that of a worker")
    }
    let secret = try PEMFile(text: key, name: "the worker's key").privateKey()
    guard X509_check_private_key(leaf.handle, secret.handle) == 1 else {
      ERR_clear_error()
      throw TLSError(.file, "the worker's key is not that of its certificate")
    }
    (self.chain, self.key) = (chain, key)
    self.authority = try authority.pem()
    authorityDigest = authority.digest.hexadecimal
    identity = worker.identity
    issued = leaf.validity.from + CertificateAuthority.allowance
    expires = leaf.validity.until
  }

  /// How long it is valid, in seconds.
  package var lifetime: Int { expires - issued }
}

/// A new key whose owner asks for a certificate.
package struct RequestedKey: Sendable {
  /// In PEM.
  package let key: String
  /// PKCS #10, in DER.
  package let request: [UInt8]

  package init() throws(TLSError) {
    let secret = try PrivateKey.new()
    key = try secret.pem()
    request = try CertificateRequest.der(of: secret)
  }
}

/// What a worker needs to join a farm that has an authority of its own: the authority's digest, so that it knows the
/// farm's coordinators, and a token of workers, so that they know it. `sheafjoin_DIGEST_TOKEN`.
package struct JoinToken: Sendable, Hashable, CustomStringConvertible {
  /// SHA-256 of the authority's certificate, in 64 hexadecimal digits.
  package var authority: String
  package var token: String

  private static let prefix = "sheafjoin_"

  package init(authority: String, token: String) {
    (self.authority, self.token) = (authority, token)
  }

  /// Nil: the text is not one.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.prefix) else { return nil }
    let rest = text.dropFirst(Self.prefix.count)
    guard let end = rest.firstIndex(of: "_") else { return nil }
    let digest = String(rest[..<end]).lowercased()
    let token = String(rest[rest.index(after: end)...])
    guard [UInt8](hexadecimal: digest)?.count == 32, !token.isEmpty else { return nil }
    self.init(authority: digest, token: token)
  }

  /// The same of a token that may be a plain one: then nil. Throws if it is neither, because a join token that was
  /// damaged must not be sent to whoever listens, as a plain one is.
  package static func reading(_ text: String) throws(TLSError) -> JoinToken? {
    if let token = JoinToken(text) { return token }
    guard !text.lowercased().contains(prefix.dropLast()) else {
      throw TLSError(
        .file, "the join token is damaged: it is sheafjoin_, 64 hexadecimal digits, _ and a token, and nothing around")
    }
    return nil
  }

  package var description: String { "\(Self.prefix)\(authority)_\(token)" }
}
