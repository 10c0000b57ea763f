import Foundation

/// Certificates for tests of TLS, made with the program `openssl`: files in PEM in a folder of their own.
public final class TestCertificates: Sendable {
  /// What is wrong with a server's certificate, which otherwise is for `localhost` and `127.0.0.1`.
  public enum Kind: String, Sendable, CaseIterable {
    case good
    /// With another key.
    case renewed
    case expired
    case otherName = "other-name"
    case otherAuthority = "other-authority"
    case selfSigned = "self-signed"
  }

  /// A file with an authority's certificate.
  public let authority: String
  /// That of `otherAuthority`.
  public let otherAuthority: String
  private let folder: TemporaryFolder

  public init() throws {
    folder = try TemporaryFolder()
    authority = folder.path("authority.pem")
    otherAuthority = folder.path("other.pem")
    for name in ["authority", "other"] {
      try Self.openssl(
        ["req", "-x509", "-subj", "/CN=\(name)", "-days", "30", "-out", folder.path("\(name).pem")]
          + Self.newKey(folder.path("\(name).key")))
    }
    try sign(.good, names: Self.names)
    try sign(.renewed, names: Self.names)
    try sign(.expired, names: Self.names, days: -1)
    try sign(.otherName, names: "DNS:farm.example,IP:192.0.2.1")
    try sign(.otherAuthority, names: Self.names, by: "other")
    try Self.openssl(
      ["req", "-x509", "-subj", "/CN=localhost", "-days", "30", "-addext", "subjectAltName=\(Self.names)"]
        + ["-out", certificate(.selfSigned)] + Self.newKey(key(.selfSigned)))
  }

  public func certificate(_ kind: Kind) -> String { folder.path("\(kind.rawValue)-server.pem") }

  public func key(_ kind: Kind) -> String { folder.path("\(kind.rawValue)-server.key") }

  private static let names = "DNS:localhost,IP:127.0.0.1"

  private static func newKey(_ path: String) -> [String] {
    ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path]
  }

  private func sign(_ kind: Kind, names: String, days: Int = 30, by authority: String = "authority") throws {
    let request = folder.path("\(kind.rawValue).csr")
    let extensions = try folder.write(Data("subjectAltName=\(names)\n".utf8), "\(kind.rawValue).ext")
    // The subject is that of the right server in any case: names alone count.
    try Self.openssl(["req", "-subj", "/CN=localhost", "-out", request] + Self.newKey(key(kind)))
    try Self.openssl([
      "x509", "-req", "-in", request, "-CA", folder.path("\(authority).pem"), "-CAkey",
      folder.path("\(authority).key"), "-CAcreateserial", "-days", "\(days)", "-extfile", extensions, "-out",
      certificate(kind),
    ])
  }

  private static func openssl(_ arguments: [String]) throws {
    let result = try Tool.result(of: "openssl", arguments)
    guard result.status == 0 else {
      throw Tool.Failure(description: "openssl \(arguments) ended with \(result.status): \(result.log)")
    }
  }
}
