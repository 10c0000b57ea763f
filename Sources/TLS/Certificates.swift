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
}

/// A private key.
struct PrivateKey: ~Copyable {
  let handle: OpaquePointer

  /// Takes over a reference.
  init(owning handle: OpaquePointer) {
    self.handle = handle
  }

  deinit { EVP_PKEY_free(handle) }
}

/// A file in PEM, from its beginning to its end.
struct PEMFile: ~Copyable {
  private let reader: OpaquePointer
  private let name: String
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
    guard let reader = sheaf_bio_of_memory() else { throw TLSError(.file, "there is no memory for the \(kind)") }
    guard bytes.isEmpty || BIO_write(reader, bytes, Int32(bytes.count)) == bytes.count else {
      BIO_free(reader)
      throw TLSError(.file, "there is no memory for the \(kind)")
    }
    self.reader = reader
    name = path
  }

  deinit { BIO_free(reader) }

  /// The next certificate of the file. Nil: there is none any more.
  func nextCertificate() throws(TLSError) -> Certificate? {
    ERR_clear_error()
    guard let handle = PEM_read_bio_X509(reader, nil, sheaf_no_passphrase, nil) else {
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
    guard let handle = PEM_read_bio_PrivateKey(reader, nil, sheaf_no_passphrase, nil) else {
      throw .recorded(.file, "\(name) has no private key in PEM without a passphrase")
    }
    return PrivateKey(owning: handle)
  }
}
