import Digest
import Glibc
import Logging
import Synchronization
import SystemSupport
import TLS

/// How a worker shows a farm who it is, and whom of the farm it trusts: with a token; and at a farm with an authority
/// of its own with a certificate, for which it asks with the token, and which it keeps in a file and renews.
///
/// Its methods block for a moment, for a file of a few hundred bytes.
final class FarmCredentials: Sendable {
  /// What a connection is made with.
  struct Greeting: Sendable {
    /// Nil: the connection is plain.
    var trust: TLSTrust?
    var token: String
    /// For which a certificate is asked.
    var key: RequestedKey?
    /// Whether a certificate is presented.
    var hasCertificate = false
  }

  private struct State {
    var certificate: ClientCertificate?
    /// Whether the farm does not take it any more.
    var isRefused = false
  }

  /// The farm's, or a join token's. Empty: there is none.
  private let token: String
  private let authorities: TLSTrust.Authorities?
  private let name: String
  /// Where the certificate and its key are kept. Nil: nowhere.
  private let file: String?
  private let logger: Logger
  private let state: Mutex<State>

  /// - Parameters:
  ///   - token: The farm's, or a join token. Empty: there is none.
  ///   - authorities: Whom to trust. Nil: the authority of the join token; without a token that of the certificate in
  ///     the folder; if there is neither, the connection is plain.
  ///   - name: The worker's. A certificate of another name is not used.
  ///   - folder: Where the certificate is kept, and is looked for now. Nil: nowhere.
  /// Throws if a file cannot be used, or there is nothing but a folder without a certificate.
  init(
    token: String, authorities: TLSTrust.Authorities?, name: String, folder: String? = nil, logger: Logger,
    at moment: Int = time(nil)
  ) throws(TLSError) {
    let join = JoinToken(token)
    self.token = join?.token ?? token
    self.name = name
    self.logger = logger
    file = folder.map { "\($0)/\(Self.fileName(name))" }
    let kept = file.flatMap { try? OpenFile.contents(of: $0, limit: 1 << 16) }.map {
      String(decoding: $0, as: UTF8.self)
    }
    var certificate: ClientCertificate?
    if let kept, let found = try? ClientCertificate(chain: kept, key: kept) {
      let isForToken = token.isEmpty || kept.hasPrefix(Self.firstLine(self.token))
      let isOfFarm = join.map { $0.authority == found.authorityDigest } ?? true
      if isForToken, isOfFarm, found.identity.name == name, found.expires > moment { certificate = found }
    }
    // A token of a farm without TLS stays one, whatever another farm has given this worker.
    self.authorities =
      authorities ?? join.map { .digest($0.authority) }
      ?? (token.isEmpty ? certificate.map { .text($0.authority) } : nil)
    state = Mutex(State(certificate: certificate))
    if let folder, certificate == nil, token.isEmpty, authorities == nil {
      throw TLSError(
        .file,
        kept == nil
          ? "the worker \(name) has no certificate in \(folder): give it a join token"
          : "the worker's certificate in \(folder) has expired or cannot be used: give it a join token")
    }
    // A file of authorities that cannot be used is reported now.
    _ = try greeting(at: moment)
  }

  /// What the next connection is made with.
  /// - Parameter isRenewing: Whether it is made for a new certificate alone.
  func greeting(renewing isRenewing: Bool = false, at moment: Int = time(nil)) throws(TLSError) -> Greeting {
    guard let authorities else { return Greeting(trust: nil, token: token) }
    let certificate = state.withLock { $0.isRefused ? nil : $0.certificate }
    guard let certificate, certificate.expires > moment else {
      return Greeting(trust: try TLSTrust(authorities), token: token, key: try RequestedKey())
    }
    return Greeting(
      trust: try TLSTrust(authorities, presenting: certificate), token: "",
      key: isRenewing ? try RequestedKey() : nil, hasCertificate: true)
  }

  /// Takes the certificate that the farm has signed for a key, and keeps it.
  /// - Parameter chain: In PEM, with that of the authority.
  func take(_ chain: String, for key: RequestedKey) throws(TLSError) {
    let certificate = try ClientCertificate(chain: chain, key: key.key)
    if case .digest(let digest) = authorities, digest != certificate.authorityDigest {
      throw TLSError(.untrusted, "the farm's certificate for this worker is of another authority")
    }
    guard certificate.identity.name == name else {
      throw TLSError(.untrusted, "the farm's certificate for this worker is for the name \(certificate.identity.name)")
    }
    state.withLock { $0 = State(certificate: certificate) }
    guard let file else { return }
    do {
      try Directories.make(Directories.parent(of: file), permissions: 0o700)
      let new = "\(file).\(String(UInt64.random(in: .min ... .max), radix: 36))"
      let output = try OpenFile.open(new, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600)
      try output.write(Array((Self.firstLine(token) + key.key + chain).utf8))
      guard rename(new, file) == 0 else { throw SystemError(errno, "renaming \(new) to \(file)") }
    } catch {
      logger.warning(
        "certificate not kept: after its next start this worker joins again", metadata: ["reason": "\(error)"])
    }
  }

  /// The farm does not take the certificate: it is not shown again if there is a token with which to ask for another
  /// one. Returns whether there is.
  func refuse() -> Bool {
    if token.isEmpty { return false }
    state.withLock { $0.isRefused = true }
    return true
  }

  /// How long until the certificate is to be renewed, and until it expires. Nil: there is none to renew.
  func renewal(at moment: Int = time(nil)) -> (wait: Duration, left: Duration)? {
    state.withLock { state in
      guard !state.isRefused, let certificate = state.certificate, certificate.expires > moment else { return nil }
      return (.seconds(max(certificate.renewal - moment, 0)), .seconds(certificate.expires - moment))
    }
  }

  /// By which token the certificate was asked for, so that another token is not ignored.
  private static func firstLine(_ token: String) -> String {
    "Joined with the token of SHA-256 \(SHA256Digest.of(Array(token.utf8)).hex)\n"
  }

  /// Of a worker's certificate. Names may have any characters.
  private static func fileName(_ name: String) -> String {
    "worker-\(SHA256Digest.of(Array(name.utf8)).hex.prefix(12)).pem"
  }
}
