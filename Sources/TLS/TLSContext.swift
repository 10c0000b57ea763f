import CSSL
import Glibc

/// What the connections of one end have in common: an `SSL_CTX`.
///
/// Sendable, unchecked: nothing changes the context after its initializer, and libssl lets several threads make
/// sessions of one context and counts its references atomically.
package final class TLSContext: @unchecked Sendable {
  let handle: OpaquePointer

  private init(_ method: OpaquePointer?) throws(TLSError) {
    ERR_clear_error()
    guard let handle = SSL_CTX_new(method) else { throw .recorded(.failed, "TLS cannot be used") }
    self.handle = handle
    guard sheaf_tls_configure(handle) == 1 else { throw .recorded(.failed, "TLS 1.3 cannot be used") }
  }

  deinit { SSL_CTX_free(handle) }

  /// Of a server.
  /// - Parameters:
  ///   - certificate: A file in PEM: the server's certificate, then those of the authorities between it and a trusted
  ///     one.
  ///   - key: A file in PEM, without a passphrase.
  ///   - moment: When the certificate must be valid.
  convenience init(certificate: String, key: String, at moment: time_t = time(nil)) throws(TLSError) {
    try self.init(TLS_server_method())
    let file = try PEMFile(certificate, kind: "TLS certificate")
    guard let leaf = try file.nextCertificate() else {
      throw TLSError(.file, "\(certificate) has no certificate in PEM")
    }
    guard !leaf.hasExpired(at: moment) else { throw TLSError(.file, "the certificate in \(certificate) has expired") }
    guard SSL_CTX_use_certificate(handle, leaf.handle) == 1 else {
      throw .recorded(.file, "the certificate in \(certificate) cannot be used")
    }
    while let next = try file.nextCertificate() {
      guard sheaf_tls_add_chain(handle, next.handle) == 1 else {
        throw .recorded(.file, "a certificate in \(certificate) cannot be used")
      }
    }
    let secret = try PEMFile(key, kind: "TLS key").privateKey()
    guard X509_check_private_key(leaf.handle, secret.handle) == 1 else {
      ERR_clear_error()
      throw TLSError(.file, "the key in \(key) is not that of the certificate in \(certificate)")
    }
    guard SSL_CTX_use_PrivateKey(handle, secret.handle) == 1 else {
      throw .recorded(.file, "the key in \(key) cannot be used")
    }
    // Nobody is asked for a certificate: tokens say who a peer is.
    SSL_CTX_set_verify(handle, SSL_VERIFY_NONE, nil)
  }

  /// Of a client.
  convenience init(trusting authorities: TLSTrust.Authorities) throws(TLSError) {
    try self.init(TLS_client_method())
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
    switch authorities {
    case .system:
      guard SSL_CTX_set_default_verify_paths(handle) == 1 else {
        throw .recorded(.file, "the authorities that this system trusts cannot be read")
      }
    case .file(let path):
      let file = try PEMFile(path, kind: "file of trusted authorities")
      let store = SSL_CTX_get_cert_store(handle)
      var count = 0
      while let authority = try file.nextCertificate() {
        guard X509_STORE_add_cert(store, authority.handle) == 1 else {
          throw .recorded(.file, "a certificate in \(path) cannot be used")
        }
        count += 1
      }
      guard count > 0 else { throw TLSError(.file, "\(path) has no certificate in PEM") }
    case .certificate:
      // The certificate is compared after the handshake, which proves that the peer has its key.
      SSL_CTX_set_verify(handle, SSL_VERIFY_NONE, nil)
    }
  }
}

/// Whom a client trusts.
package struct TLSTrust: Sendable {
  package enum Authorities: Sendable, Hashable {
    /// Those that this system trusts.
    case system
    /// Those of a file in PEM, and no others.
    case file(String)
    /// Nobody but the server with the first certificate of a file, whatever its name. For a server of this machine,
    /// whose file it is. The file is read for each connection.
    case certificate(String)
  }

  let context: TLSContext
  let authorities: Authorities

  /// Throws if the file cannot be used.
  package init(_ authorities: Authorities) throws(TLSError) {
    self.authorities = authorities
    context = try TLSContext(trusting: authorities)
  }
}
