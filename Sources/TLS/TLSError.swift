import CSSL

/// Why a TLS connection or its certificate failed.
package struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable, Hashable {
    /// The peer's certificate is not one that is trusted.
    case untrusted
    /// The peer does not trust this end's certificate, or misses one.
    case ownCertificate
    /// The peer's first bytes are not those of TLS.
    case notTLS
    /// The peer did something that TLS 1.3 does not allow, or refused the handshake.
    case failed
    /// The connection was closed without TLS's own end, so that bytes may be missing.
    case truncated
    /// The handshake took too long.
    case timeout
    /// A file of certificates or of a key cannot be used.
    case file
  }

  package var code: Code
  /// A phrase for a person, without the peer's name.
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }

  /// The reason that libssl recorded on this thread.
  static func recorded(_ code: Code, _ operation: String) -> TLSError {
    let number = ERR_get_error()
    ERR_clear_error()
    guard number != 0, let reason = ERR_reason_error_string(number) else { return TLSError(code, operation) }
    return TLSError(code, "\(operation): \(String(cString: reason))")
  }

  /// What libssl found wrong with a certificate.
  static func untrusted(_ result: Int) -> TLSError {
    let reason =
      switch Int32(truncatingIfNeeded: result) {
      case X509_V_ERR_CERT_HAS_EXPIRED: "its certificate has expired, or one of its authority has"
      case X509_V_ERR_CERT_NOT_YET_VALID: "its certificate is not valid yet"
      case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed and is not one that is trusted"
      case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
        X509_V_ERR_CERT_SIGNATURE_FAILURE:
        "its certificate is of an authority that is not trusted"
      case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: "its certificate is for another name"
      default: "its certificate is not accepted: \(String(cString: X509_verify_cert_error_string(result)))"
      }
    return TLSError(.untrusted, reason)
  }
}
