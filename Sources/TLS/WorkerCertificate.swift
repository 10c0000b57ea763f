import CSSL
import Glibc

/// What the certificate of a farm's worker says of it. Only what was verified becomes one.
package struct WorkerCertificate: Sendable, Hashable {
  /// Whose a certificate is: a URI among its alternative names, `urn:sheaf:worker:TOKEN:NAME`.
  package struct Identity: Sendable, Hashable {
    /// The id of the token with which the worker has joined, or what stands for the farm's own: 1 to 64 characters of
    /// 0-9, a-z and `_`.
    package var token: String
    /// The worker's, for people and for what the farm knows of it.
    package var name: String

    package init(token: String, name: String) {
      self.token = token
      self.name = name
    }

    /// Whether it is that of a worker, whose name has the same bytes: names that only look the same are two.
    package func isOf(_ worker: String) -> Bool { name.utf8.elementsEqual(worker.utf8) }

    private static let prefix = "urn:sheaf:worker:"
    static let longest = 2048

    /// The name is percent-encoded as in RFC 3986, 2.1.
    var uri: String {
      let name = name.utf8.map { byte in
        let isPlain = byte < 128 && (isalnum(Int32(byte)) != 0 || "-._~".utf8.contains(byte))
        return isPlain ? String(UnicodeScalar(byte)) : "%" + [byte].hexadecimal.uppercased()
      }
      return "\(Self.prefix)\(token):\(name.joined())"
    }

    /// Nil: the URI is another one.
    init?(uri: String) {
      guard uri.hasPrefix(Self.prefix) else { return nil }
      let parts = uri.dropFirst(Self.prefix.count).split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { return nil }
      var bytes: [UInt8] = []
      var rest = parts[1].utf8[...]
      while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
          bytes.append(byte)
          continue
        }
        guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
          return nil
        }
        bytes.append(value)
        rest.removeFirst(2)
      }
      token = String(parts[0])
      name = String(decoding: bytes, as: UTF8.self)
    }
  }

  package var identity: Identity
  /// In seconds since 1970.
  package var expires: Int

  package init(identity: Identity, expires: Int) {
    self.identity = identity
    self.expires = expires
  }

  /// Nil: it is not a worker's.
  init?(reading certificate: borrowing Certificate) {
    var buffer = [CChar](repeating: 0, count: Identity.longest)
    let count = sheaf_certificate_uri(certificate.handle, &buffer, Int32(buffer.count))
    guard count >= 0 else { return nil }
    let uri = String(decoding: buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard let identity = Identity(uri: uri) else { return nil }
    self.identity = identity
    expires = certificate.validity.until
  }
}

/// The request for a certificate that somebody signs: PKCS #10 (RFC 2986).
struct CertificateRequest: ~Copyable {
  private let handle: OpaquePointer
  /// A request of ours has some 250 bytes.
  private static let longest = 1024

  deinit { X509_REQ_free(handle) }

  /// Reads what a stranger has sent.
  init(der bytes: [UInt8]) throws(TLSError) {
    ERR_clear_error()
    guard bytes.count <= Self.longest else { throw TLSError(.failed, "the request for a certificate is too long") }
    let handle = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      var start = buffer.baseAddress
      return d2i_X509_REQ(nil, &start, buffer.count)
    }
    guard let handle else { throw .recorded(.failed, "the request for a certificate cannot be read") }
    self.handle = handle
  }

  /// Whoever made it has this key. Throws if not, or if the key is of another kind than P-256.
  func key() throws(TLSError) -> OpaquePointer {
    ERR_clear_error()
    guard let key = X509_REQ_get0_pubkey(handle), sheaf_key_is_p256(key) == 1 else {
      ERR_clear_error()
      throw TLSError(.failed, "the request for a certificate has no key of the curve P-256")
    }
    guard X509_REQ_verify(handle, key) == 1 else {
      ERR_clear_error()
      throw TLSError(.failed, "the request for a certificate is not signed with its key")
    }
    return key
  }

  /// The request of a key, in DER.
  static func der(of key: borrowing PrivateKey) throws(TLSError) -> [UInt8] {
    ERR_clear_error()
    guard let handle = X509_REQ_new() else { throw .recorded(.failed, "there is no memory for a request") }
    defer { X509_REQ_free(handle) }
    var bytes: UnsafeMutablePointer<UInt8>?
    guard X509_REQ_set_version(handle, 0) == 1, X509_REQ_set_pubkey(handle, key.handle) == 1,
      X509_REQ_sign(handle, key.handle, EVP_sha256()) > 0, case let count = i2d_X509_REQ(handle, &bytes), count > 0,
      let bytes
    else { throw .recorded(.failed, "the request for a certificate cannot be made") }
    defer { CRYPTO_free(bytes, nil, 0) }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }
}
