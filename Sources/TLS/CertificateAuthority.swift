import CSSL
import Glibc
import SystemSupport

/// A farm's own authority, which signs the certificates of its coordinators and of its workers: a folder with
/// `authority.pem` and `authority.key`.
///
/// Its certificates are X.509 version 3 with keys of the curve P-256 (RFC 5280). Those of coordinators are for servers
/// alone and those of workers for clients alone (extended key usage), so that neither can take the other's part.
///
/// Sendable, unchecked: nothing changes the certificate and the key after the initializer, and libcrypto lets several
/// threads sign with one key.
package final class CertificateAuthority: @unchecked Sendable {
  private let issuer: Certificate
  private let secret: PrivateKey
  /// Its certificate in PEM.
  package let certificate: String
  /// SHA-256 of its certificate's DER, in 64 hexadecimal digits: what workers that join know of the farm.
  package let digest: String
  /// Until when it can sign, in seconds since 1970.
  package let expires: Int

  /// How long before its end that is said, in seconds: 90 days.
  private static let warning = 90 * 86_400

  /// What is to be said of its end, for a person. Nil: it is far away.
  func notice(at moment: Int) -> String? {
    let left = expires - moment
    guard left < Self.warning else { return nil }
    return left > 0 ? "the farm's authority ends in \(left / 86_400) days" : "the farm's authority has ended"
  }

  private static let certificateFile = "authority.pem"
  private static let keyFile = "authority.key"
  /// In seconds: ten years.
  private static let lifetime: Int = 315_360_000
  /// A peer whose clock is late takes a new certificate all the same. In seconds.
  static let allowance: Int = 300

  /// Where an authority in a folder has its certificate.
  package static func certificatePath(in folder: String) -> String { "\(folder)/\(certificateFile)" }

  /// Makes an authority in a folder, which is made if it does not exist. Throws if there is one in it.
  /// - Parameter name: The farm's, for people: 1 to 64 characters.
  package static func create(in folder: String, name: String, at moment: Int = time(nil)) throws(TLSError) {
    guard (1...64).contains(name.unicodeScalars.count), name.unicodeScalars.allSatisfy({ $0.value >= 32 }) else {
      throw TLSError(.file, "an authority's name is 1 to 64 characters without control characters")
    }
    let key = try PrivateKey.new()
    let certificate = try Self.certificate(
      subject: name, key: key.handle,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign"),
        (NID_subject_key_identifier, "hash"),
      ], from: moment - allowance, until: moment + lifetime)
    try sign(certificate, key)
    do {
      try Directories.make(folder)
    } catch {
      throw TLSError(.file, "the authority cannot be written: \(error)")
    }
    try write(
      chain: certificate.pem(), to: certificatePath(in: folder), key: key.pem(), to: "\(folder)/\(keyFile)")
  }

  /// Writes a certificate and its key into two files that must not exist: both, or neither.
  package static func write(
    chain: String, to certificatePath: String, key: String, to keyPath: String
  ) throws(TLSError) {
    var written: [String] = []
    do {
      for (text, path, permissions) in [(key, keyPath, mode_t(0o600)), (chain, certificatePath, 0o644)] {
        let file = try OpenFile.open(path, O_WRONLY | O_CREAT | O_EXCL, permissions: permissions)
        written.append(path)
        try file.write(Array(text.utf8))
      }
    } catch {
      for path in written { unlink(path) }
      throw TLSError(.file, "\(error)")
    }
  }

  /// Reads the authority of a folder.
  package init(folder: String, at moment: Int = time(nil)) throws(TLSError) {
    let path = Self.certificatePath(in: folder)
    let file = try PEMFile(path, kind: "farm's authority")
    guard let certificate = try file.nextCertificate() else {
      throw TLSError(.file, "\(path) has no certificate in PEM")
    }
    guard !certificate.hasExpired(at: moment) else { throw TLSError(.file, "the authority in \(folder) has expired") }
    let keyPath = "\(folder)/\(Self.keyFile)"
    let key = try PEMFile(keyPath, kind: "key of the farm's authority").privateKey()
    guard X509_check_private_key(certificate.handle, key.handle) == 1 else {
      ERR_clear_error()
      throw TLSError(.file, "the key in \(keyPath) is not that of the certificate in \(path)")
    }
    guard X509_check_ca(certificate.handle) == 1 else {
      throw TLSError(.file, "the certificate in \(path) is not that of an authority")
    }
    self.certificate = try certificate.pem()
    digest = certificate.digest.hexadecimal
    expires = certificate.validity.until
    issuer = certificate
    secret = key
  }

  /// A certificate and a key for a server, both in PEM.
  package struct ServerPair: Sendable {
    /// Its own, and then the authority's.
    package var chain: String
    package var key: String
    /// In seconds since 1970.
    package var issued: Int
    package var expires: Int
  }

  /// Signs the certificate of a server with a new key.
  /// - Parameters:
  ///   - names: DNS names and IP addresses by which its clients know it.
  ///   - lifetime: In seconds. It ends with the authority's at the latest.
  package func server(
    for names: [String], lifetime: Int, at moment: Int = time(nil)
  ) throws(TLSError) -> ServerPair {
    let key = try PrivateKey.new()
    let entries = try names.map { name throws(TLSError) in try ServerName(name).entry }
    guard !entries.isEmpty else { throw TLSError(.file, "a server's certificate needs a name") }
    let until = min(moment + lifetime, expires)
    let text = try issue(
      subject: "sheaf coordinator", key: key.handle, usage: "serverAuth", names: entries.joined(separator: ","),
      at: moment, until: until)
    return ServerPair(chain: text + certificate, key: try key.pem(), issued: moment, expires: until)
  }

  /// Signs the certificate of a worker.
  /// - Parameters:
  ///   - request: A request of PKCS #10 in DER (RFC 2986), of which the key alone counts. Throws if it is not signed
  ///     with its key, or the key is not one of the curve P-256.
  ///   - lifetime: In seconds. It ends with the authority's at the latest.
  /// - Returns: The worker's certificate and then the authority's, in PEM.
  package func worker(
    _ identity: WorkerCertificate.Identity, request: [UInt8], lifetime: Int, at moment: Int = time(nil)
  ) throws(TLSError) -> String {
    let request = try CertificateRequest(der: request)
    return try issue(
      subject: "sheaf worker", key: try request.key(), usage: "clientAuth", names: "URI:\(identity.uri)", at: moment,
      until: min(moment + lifetime, expires)) + certificate
  }

  private func issue(
    subject: String, key: OpaquePointer, usage: String, names: String, at moment: Int, until: Int
  ) throws(TLSError) -> String {
    let signed = try Self.certificate(
      subject: subject, key: key, issuer: issuer.handle,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, usage), (NID_subject_alt_name, names), (NID_subject_key_identifier, "hash"),
        (NID_authority_key_identifier, "keyid"),
      ], from: moment - Self.allowance, until: until)
    try Self.sign(signed, secret)
    return try signed.pem()
  }

  private static func sign(_ certificate: borrowing Certificate, _ key: borrowing PrivateKey) throws(TLSError) {
    guard X509_sign(certificate.handle, key.handle, EVP_sha256()) > 0 else {
      throw .recorded(.failed, "a certificate cannot be signed")
    }
  }

  /// A certificate that is not signed.
  /// - Parameter issuer: Nil: it signs itself.
  private static func certificate(
    subject: String, key: OpaquePointer, issuer: OpaquePointer? = nil, extensions: [(Int32, String)], from: Int,
    until: Int
  ) throws(TLSError) -> Certificate {
    ERR_clear_error()
    guard let handle = X509_new() else { throw .recorded(.failed, "there is no memory for a certificate") }
    let certificate = Certificate(owning: handle)
    // 19 bytes, so that no sign makes them longer than RFC 5280, 4.1.2.2, allows. Nobody counts them.
    var serial = (0..<19).map { _ in UInt8.random(in: .min ... .max) }
    serial[0] |= 1
    let number = BN_bin2bn(serial, Int32(serial.count), nil)
    defer { BN_free(number) }
    let name = X509_get_subject_name(handle)
    let isMade =
      X509_set_version(handle, 2) == 1 && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(handle)) != nil
      && ASN1_TIME_set(X509_getm_notBefore(handle), from) != nil
      && ASN1_TIME_set(X509_getm_notAfter(handle), until) != nil
      && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, subject, -1, -1, 0) == 1
      && X509_set_issuer_name(handle, issuer.map(X509_get_subject_name) ?? name) == 1
      && X509_set_pubkey(handle, key) == 1
      && extensions.allSatisfy { sheaf_certificate_extend(handle, issuer ?? handle, $0.0, $0.1) == 1 }
    guard isMade else { throw .recorded(.failed, "a certificate cannot be made") }
    return certificate
  }
}

/// A name by which clients know a server: a DNS name or an IP address.
package struct ServerName: Sendable, Hashable {
  let entry: String

  /// Throws if the text is neither.
  package init(_ text: String) throws(TLSError) {
    var address = in6_addr()
    if inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1 {
      entry = "IP:\(text)"
      return
    }
    let isName =
      (1...253).contains(text.utf8.count)
      && text.split(separator: ".", omittingEmptySubsequences: false).enumerated().allSatisfy { place, label in
        place == 0 && label == "*"
          || (1...63).contains(label.utf8.count)
            && label.utf8.allSatisfy { $0 < 128 && (isalnum(Int32($0)) != 0 || $0 == 45 || $0 == 95) }
      }
    guard isName else {
      throw TLSError(.file, "\"\(text)\" is neither a DNS name, such as farm.example, nor an IP address")
    }
    entry = "DNS:\(text)"
  }
}

extension [UInt8] {
  /// Nil: the text is not two digits for each byte.
  init?(hexadecimal text: String) {
    let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
    self = stride(from: 0, to: digits.count, by: 2).map { UInt8((digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0)) }
  }

  /// Two digits for each byte.
  var hexadecimal: String {
    let digits = [Character]("0123456789abcdef")
    var text = ""
    for byte in self {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return text
  }
}
