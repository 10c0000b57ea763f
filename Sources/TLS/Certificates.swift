import CSSL
import Glibc
import SystemSupport

/// An X.509 certificate.
struct Certificate: ~Copyable {
  let handle: OpaquePointer

  /// Takes over a reference.
  init(owning handle: OpaquePointer) {
    self.handle = handle
  }

  deinit { X509_free(handle) }

  /// Whether the time until which it is valid is over.
  func hasExpired(at moment: time_t) -> Bool {
    var moment = moment
    return X509_cmp_time(X509_get0_notAfter(handle), &moment) < 0
  }

  func isEqual(to other: borrowing Certificate) -> Bool { X509_cmp(handle, other.handle) == 0 }

  /// From when, and until when it is valid, in seconds since 1970.
  var validity: (from: time_t, until: time_t) {
    (Self.seconds(X509_get0_notBefore(handle)), Self.seconds(X509_get0_notAfter(handle)))
  }

  private static func seconds(_ moment: UnsafePointer<ASN1_TIME>?) -> time_t {
    var fields = tm()
    // A time that cannot be read is long over.
    return ASN1_TIME_to_tm(moment, &fields) == 1 ? timegm(&fields) : 0
  }

  /// SHA-256 of its DER.
  var digest: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard X509_digest(handle, EVP_sha256(), &bytes, &count) == 1 else { return [] }
    return Array(bytes.prefix(Int(count)))
  }

  func pem() throws(TLSError) -> String {
    try PEMText.of("a certificate") { PEM_write_bio_X509($0, handle) }
  }
}

/// A private key.
struct PrivateKey: ~Copyable {
  let handle: OpaquePointer

  /// Takes over a reference.
  init(owning handle: OpaquePointer) {
    self.handle = handle
  }

  deinit { EVP_PKEY_free(handle) }

  /// A new one, of the curve P-256.
  static func new() throws(TLSError) -> PrivateKey {
    ERR_clear_error()
    guard let handle = sheaf_new_key() else { throw .recorded(.failed, "a key cannot be made") }
    return PrivateKey(owning: handle)
  }

  func pem() throws(TLSError) -> String {
    try PEMText.of("a key") { PEM_write_bio_PrivateKey($0, handle, nil, nil, 0, nil, nil) }
  }
}

/// What a function of libcrypto writes, as text.
private enum PEMText {
  static func of(_ what: String, _ write: (OpaquePointer) -> Int32) throws(TLSError) -> String {
    ERR_clear_error()
    guard let buffer = sheaf_bio_of_memory() else { throw TLSError(.failed, "there is no memory for \(what)") }
    defer { BIO_free(buffer) }
    guard write(buffer) == 1 else { throw .recorded(.failed, "\(what) cannot be written") }
    var bytes: UnsafePointer<CChar>?
    let count = sheaf_bio_contents(buffer, &bytes)
    guard let bytes else { throw TLSError(.failed, "\(what) cannot be written") }
    return bytes.withMemoryRebound(to: UInt8.self, capacity: count) {
      String(decoding: UnsafeBufferPointer(start: $0, count: count), as: UTF8.self)
    }
  }
}

/// A file in PEM, or what it would have, from its beginning to its end.
struct PEMFile: ~Copyable {
  private let reader: OpaquePointer
  /// For messages.
  let name: String
  private static let longest = 1 << 20

  /// - Parameter kind: What the file is, for the message.
  init(_ path: String, kind: String) throws(TLSError) {
    var bytes: [UInt8]
    do {
      bytes = try OpenFile.contents(of: path, limit: Self.longest)
    } catch {
      throw TLSError(.file, "the \(kind) cannot be read: \(error)")
    }
    // A key does not stay behind in memory that was freed.
    defer { OPENSSL_cleanse(&bytes, bytes.count) }
    reader = try Self.reader(of: bytes, kind)
    name = path
  }

  /// - Parameter name: For messages.
  init(text: String, name: String) throws(TLSError) {
    var bytes = Array(text.utf8)
    defer { OPENSSL_cleanse(&bytes, bytes.count) }
    reader = try Self.reader(of: bytes, name)
    self.name = name
  }

  private static func reader(of bytes: [UInt8], _ kind: String) throws(TLSError) -> OpaquePointer {
    guard let reader = sheaf_bio_of_memory() else { throw TLSError(.file, "there is no memory for the \(kind)") }
    guard bytes.isEmpty || BIO_write(reader, bytes, Int32(bytes.count)) == bytes.count else {
      BIO_free(reader)
      throw TLSError(.file, "there is no memory for the \(kind)")
    }
    return reader
  }

  deinit { BIO_free(reader) }

  /// The next certificate of the file. Nil: there is none any more.
  func nextCertificate() throws(TLSError) -> Certificate? {
    ERR_clear_error()
    guard let handle = PEM_read_bio_X509(reader, nil, noPassphrase, nil) else {
      let isAtEnd = sheaf_error_reason(ERR_peek_last_error()) == PEM_R_NO_START_LINE
      if isAtEnd {
        ERR_clear_error()
        return nil
      }
      throw .recorded(.file, "\(name) has a certificate that cannot be read")
    }
    return Certificate(owning: handle)
  }

  func privateKey() throws(TLSError) -> PrivateKey {
    ERR_clear_error()
    guard let handle = PEM_read_bio_PrivateKey(reader, nil, noPassphrase, nil) else {
      throw .recorded(.file, "\(name) has no private key in PEM without a passphrase")
    }
    return PrivateKey(owning: handle)
  }
}

/// The passphrase of a key that has one: none, so that libcrypto does not ask for it on the terminal.
private func noPassphrase(
  _: UnsafeMutablePointer<CChar>?, size _: Int32, isWriting _: Int32, context _: UnsafeMutableRawPointer?
) -> Int32 { -1 }
