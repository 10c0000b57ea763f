import CSSL
import Glibc

/// What the connections of one end have in common: an `SSL_CTX`.
///
/// Sendable, unchecked: nothing changes the context after its initializer, and libssl lets several threads make
/// sessions of one context and counts its references atomically.
package final class TLSContext: @unchecked Sendable {
  let handle: OpaquePointer
  /// The digest of the one authority that is trusted, which the context reads as long as it lives.
  private let pin: UnsafeMutablePointer<UInt8>?

  /// - Parameter pin: Taken over.
  private init(_ method: OpaquePointer?, pin: UnsafeMutablePointer<UInt8>? = nil) throws(TLSError) {
    ERR_clear_error()
    guard let handle = SSL_CTX_new(method) else {
      pin?.deallocate()
      throw .recorded(.failed, "TLS cannot be used")
    }
    self.handle = handle
    self.pin = pin
    guard sheaf_tls_configure(handle) == 1 else { throw .recorded(.failed, "TLS 1.3 cannot be used") }
  }

  deinit {
    SSL_CTX_free(handle)
    pin?.deallocate()
  }

  /// Of a server.
  /// - Parameters:
  ///   - certificate: A file in PEM: the server's certificate, then those of the authorities between it and a trusted
  ///     one.
  ///   - key: A file in PEM, without a passphrase.
  ///   - moment: When the certificate must be valid.
  convenience init(certificate: String, key: String, at moment: Int = time(nil)) throws(TLSError) {
    try self.init(TLS_server_method())
    try use(
      PEMFile(certificate, kind: "TLS certificate"), PEMFile(key, kind: "TLS key"), at: moment)
    // Nobody is asked for a certificate: tokens say who a peer is.
    SSL_CTX_set_verify(handle, SSL_VERIFY_NONE, nil)
  }

  /// Of a server with a certificate of the farm's own authority.
  /// - Parameter asksPeers: Whether peers are asked for a certificate. One that has none is let in all the same: what
  ///   it may do is for the caller to decide. One with a certificate that is not a valid one of this authority for a
  ///   client is refused.
  convenience init(
    _ pair: CertificateAuthority.ServerPair, of authority: CertificateAuthority, asksPeers: Bool
  ) throws(TLSError) {
    try self.init(TLS_server_method())
    let name = "the farm's own certificate"
    try use(PEMFile(text: pair.chain, name: name), PEMFile(text: pair.key, name: name), at: pair.issued)
    SSL_CTX_set_verify(handle, asksPeers ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
    // The context's store begins empty, so no authority of the system is trusted.
    if asksPeers { try trust(PEMFile(text: authority.certificate, name: name)) }
  }

  /// Presents the first certificate of a file, with those behind it, and proves that this end has its key.
  private func use(
    _ file: borrowing PEMFile, _ keyFile: borrowing PEMFile, at moment: Int
  ) throws(TLSError) {
    guard let leaf = try file.nextCertificate() else {
      throw TLSError(.file, "\(file.name) has no certificate in PEM")
    }
    guard !leaf.hasExpired(at: moment) else { throw TLSError(.file, "the certificate in \(file.name) has expired") }
    guard SSL_CTX_use_certificate(handle, leaf.handle) == 1 else {
      throw .recorded(.file, "the certificate in \(file.name) cannot be used")
    }
    while let next = try file.nextCertificate() {
      guard sheaf_tls_add_chain(handle, next.handle) == 1 else {
        throw .recorded(.file, "a certificate in \(file.name) cannot be used")
      }
    }
    let secret = try keyFile.privateKey()
    guard X509_check_private_key(leaf.handle, secret.handle) == 1 else {
      ERR_clear_error()
      throw TLSError(.file, "the key in \(keyFile.name) is not that of the certificate in \(file.name)")
    }
    guard SSL_CTX_use_PrivateKey(handle, secret.handle) == 1 else {
      throw .recorded(.file, "the key in \(keyFile.name) cannot be used")
    }
  }

  /// Trusts the authorities of a file. Throws if it has none.
  private func trust(_ file: borrowing PEMFile) throws(TLSError) {
    let store = SSL_CTX_get_cert_store(handle)
    var count = 0
    while let authority = try file.nextCertificate() {
      guard X509_STORE_add_cert(store, authority.handle) == 1 else {
        throw .recorded(.file, "a certificate in \(file.name) cannot be used")
      }
      count += 1
    }
    guard count > 0 else { throw TLSError(.file, "\(file.name) has no certificate in PEM") }
  }

  /// Of a client.
  /// - Parameter certificate: Presented to a server that asks for one.
  convenience init(
    trusting authorities: TLSTrust.Authorities, presenting certificate: ClientCertificate? = nil
  ) throws(TLSError) {
    var pin: UnsafeMutablePointer<UInt8>?
    if case .digest(let digest) = authorities {
      guard let bytes = [UInt8](hexadecimal: digest), bytes.count == 32 else {
        throw TLSError(.file, "the digest of an authority has 64 hexadecimal digits")
      }
      pin = .allocate(capacity: bytes.count)
      pin?.initialize(from: bytes, count: bytes.count)
    }
    try self.init(TLS_client_method(), pin: pin)
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
    if let certificate {
      try use(
        PEMFile(text: certificate.chain, name: "the worker's certificate"),
        PEMFile(text: certificate.key, name: "the worker's key"), at: certificate.issued)
    }
    switch authorities {
    case .system:
      guard SSL_CTX_set_default_verify_paths(handle) == 1 else {
        throw .recorded(.file, "the authorities that this system trusts cannot be read")
      }
    case .file(let path):
      try trust(PEMFile(path, kind: "file of trusted authorities"))
    case .text(let text): try trust(PEMFile(text: text, name: "the farm's authority"))
    case .digest: sheaf_tls_pin(handle, pin)
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
    /// Those of a text in PEM, and no others.
    case text(String)
    /// The one with this SHA-256 of its DER, in 64 hexadecimal digits, which the server sends with its own certificate.
    case digest(String)
    /// Nobody but the server with the first certificate of a file, whatever its name. For a server of this machine,
    /// whose file it is. The file is read for each connection.
    case certificate(String)
  }

  let context: TLSContext
  let authorities: Authorities

  /// Throws if the file cannot be used.
  /// - Parameter certificate: Presented to a server that asks for one.
  package init(_ authorities: Authorities, presenting certificate: ClientCertificate? = nil) throws(TLSError) {
    self.authorities = authorities
    context = try TLSContext(trusting: authorities, presenting: certificate)
  }
}
