import CCrypto

/// A key of Ed25519: a private one, which signs and checks, or a public one, which checks.
///
/// Unchecked, and safe: nothing changes the key, and libcrypto counts its uses atomically.
package final class Ed25519Key: @unchecked Sendable {
  /// Why a key cannot be used.
  package struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    package var description: String
  }

  /// Of a signature, in bytes.
  package static let signatureSize = 64

  private let key: OpaquePointer
  private let isPrivate: Bool

  private init(_ key: OpaquePointer, isPrivate: Bool) {
    (self.key, self.isPrivate) = (key, isPrivate)
  }

  deinit {
    EVP_PKEY_free(key)
  }

  /// - Parameter pem: PKCS#8 without a passphrase, as `openssl genpkey -algorithm ed25519` writes it.
  package convenience init(privatePEM pem: [UInt8]) throws(Fault) {
    let key = Self.read(pem) { PEM_read_bio_PrivateKey($0, nil, noPassphrase, nil) }
    guard let key else {
      throw Fault(
        description:
          "it is not a private key in PEM without a passphrase; 'openssl genpkey -algorithm ed25519' makes one")
    }
    try self.init(checking: key, isPrivate: true)
  }

  /// - Parameter pem: A public key (SubjectPublicKeyInfo), as `openssl pkey -pubout` writes it.
  package convenience init(publicPEM pem: [UInt8]) throws(Fault) {
    let key = Self.read(pem) { PEM_read_bio_PUBKEY($0, nil, noPassphrase, nil) }
    guard let key else {
      throw Fault(description: "it is not a public key in PEM; 'openssl pkey -in KEY -pubout' writes that of a key")
    }
    try self.init(checking: key, isPrivate: false)
  }

  private convenience init(checking key: OpaquePointer, isPrivate: Bool) throws(Fault) {
    self.init(key, isPrivate: isPrivate)
    guard sheaf_is_ed25519(key) == 1 else { throw Fault(description: "it is not a key of Ed25519") }
  }

  private static func read(_ pem: [UInt8], _ parse: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
    pem.withUnsafeBytes { bytes in
      guard let input = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(input) }
      return parse(input)
    }
  }

  /// The SHA-256 of the public key (SubjectPublicKeyInfo in DER).
  package var id: SHA256Digest {
    var encoded: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(key, &encoded)
    precondition(count > 0 && encoded != nil, "libcrypto has no memory for a public key")
    defer { CRYPTO_free(encoded, nil, 0) }
    return SHA256Digest.of(UnsafeRawBufferPointer(start: encoded, count: Int(count)))
  }

  /// The signature of a message. Only of a private key.
  package func sign(_ message: [UInt8]) -> [UInt8] {
    precondition(isPrivate, "a public key does not sign")
    guard let context = EVP_MD_CTX_new() else { preconditionFailure("libcrypto has no memory") }
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Self.signatureSize)
    var count = signature.count
    let isSigned =
      EVP_DigestSignInit(context, nil, nil, nil, key) == 1
      && EVP_DigestSign(context, &signature, &count, message, message.count) == 1 && count == Self.signatureSize
    precondition(isSigned, "libcrypto cannot sign with Ed25519")
    return signature
  }

  /// Whether a signature is this key's of a message.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    guard let context = EVP_MD_CTX_new() else { preconditionFailure("libcrypto has no memory") }
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }
}

/// The passphrase of a key that has one: none, so that libcrypto does not ask for it on the terminal.
private func noPassphrase(
  _: UnsafeMutablePointer<CChar>?, size _: Int32, isWriting _: Int32, context _: UnsafeMutableRawPointer?
) -> Int32 { -1 }
