import Digest
import Glibc
import Logging
import Synchronization
import SystemPackage
import SystemSupport
import TLS

/// How a worker shows a farm who it is, and whom of the farm it trusts: with a token; and at a farm with an authority
/// of its own with a certificate, for which it asks with the token, and which it keeps in a file and renews.
///
/// How long a certificate is valid counts from when the worker got it, because its clock may not be that of the farm.
/// Only after a start does the clock decide whether the one that was kept is tried.
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
    var certificate: ClientCertificate
    /// When it is to be renewed, and when it is over.
    var renewal: ContinuousClock.Instant
    var end: ContinuousClock.Instant
    /// Above the certificate in its file.
    var firstLine: String
    /// Whether the connection that is open was made with the one before.
    var isNew = false
  }

  /// The farm's, or a join token's. Empty: there is none.
  private let token: String
  /// The digest of the authority that a join token names.
  private let farm: String?
  private let authorities: TLSTrust.Authorities?
  private let name: String
  /// Where the certificate and its key are kept. Nil: nowhere.
  private let file: String?
  private let logger: Logger
  /// Nil: there is no certificate.
  private let state: Mutex<State?>

  /// A certificate is not renewed sooner than this after it was signed.
  private static let shortestRenewal = Duration.seconds(5)

  /// - Parameters:
  ///   - token: The farm's, or a join token. Empty: there is none.
  ///   - authorities: Whom to trust. Nil: the authority of the join token; without a token that of the certificate in
  ///     the folder; if there is neither, the connection is plain.
  ///   - name: The worker's. A certificate of another name is not used.
  ///   - folder: Where the certificate is kept, and is looked for now. Nil: nowhere.
  /// Throws if a file or a join token cannot be used, or there is nothing but a folder without a certificate.
  init(
    token: String, authorities: TLSTrust.Authorities?, name: String, folder: String? = nil, logger: Logger,
    at moment: Int = time(nil), _ now: ContinuousClock.Instant = .now
  ) throws(TLSError) {
    let join = try JoinToken.reading(token)
    self.token = join?.token ?? token
    farm = join?.authority
    self.name = name
    self.logger = logger
    file = folder.map { "\($0)/\(Self.fileName(name))" }
    let kept = try file.flatMap { (path) throws(TLSError) in try Self.kept(path) }
    var found: State?
    if let kept, let certificate = try? ClientCertificate(chain: kept, key: kept) {
      let line = String(kept.prefix { $0 != "\n" })
      let isForToken = token.isEmpty || line == Self.firstLine(self.token)
      let isOfFarm = farm.map { $0 == certificate.authorityDigest } ?? true
      if isForToken, isOfFarm, certificate.identity.isOf(name), certificate.expires > moment {
        found = Self.state(certificate, line, left: certificate.expires - moment, now)
      }
    }
    // A token of a farm without TLS stays one, whatever another farm has given this worker.
    self.authorities =
      authorities ?? farm.map { .digest($0) }
      ?? (token.isEmpty ? found.map { .text($0.certificate.authority) } : nil)
    state = Mutex(found)
    if let folder, found == nil, token.isEmpty, authorities == nil {
      throw TLSError(
        .file,
        kept == nil
          ? "the worker \(name) has no certificate in \(folder): give it a join token"
          : "the worker's certificate in \(folder) has expired or cannot be used: give it a join token")
    }
    // A file of authorities that cannot be used is reported now.
    _ = try greeting(now)
  }

  /// - Parameter left: Until its end, in seconds.
  private static func state(
    _ certificate: ClientCertificate, _ firstLine: String, left: Int, _ now: ContinuousClock.Instant
  ) -> State {
    // This machine's clock may be behind, too.
    let left = min(left, certificate.lifetime)
    let renewal = Duration.seconds(left) - .seconds(certificate.lifetime) / 3
    return State(
      certificate: certificate, renewal: now + (left < certificate.lifetime ? renewal : max(renewal, shortestRenewal)),
      end: now + .seconds(left), firstLine: firstLine)
  }

  /// What the next connection is made with.
  /// - Parameters:
  ///   - isRenewing: Whether it is made for a new certificate alone.
  ///   - showsCertificate: Whether the certificate is shown, if there is one, and not the token.
  func greeting(
    renewing isRenewing: Bool = false, showingCertificate showsCertificate: Bool = true,
    _ now: ContinuousClock.Instant = .now
  ) throws(TLSError) -> Greeting {
    guard let authorities else { return Greeting(trust: nil, token: token) }
    let valid = state.withLock { state in
      state?.isNew = false
      return state.flatMap { $0.end > now ? $0.certificate : nil }
    }
    guard let valid, showsCertificate else {
      return Greeting(trust: try TLSTrust(authorities), token: token, key: try RequestedKey())
    }
    return Greeting(
      trust: try TLSTrust(authorities, presenting: valid), token: "", key: isRenewing ? try RequestedKey() : nil,
      hasCertificate: true)
  }

  /// Takes the certificate that the farm has signed for a key, and keeps it.
  /// - Parameters:
  ///   - chain: In PEM, with that of the authority.
  ///   - isRenewed: Whether it was asked for with the one before.
  func take(
    _ chain: String, for key: RequestedKey, renewed isRenewed: Bool = false, _ now: ContinuousClock.Instant = .now
  ) throws(TLSError) {
    let certificate = try ClientCertificate(chain: chain, key: key.key)
    guard farm.map({ $0 == certificate.authorityDigest }) ?? true else {
      throw TLSError(.untrusted, "the farm's certificate for this worker is of another authority")
    }
    guard certificate.identity.isOf(name) else {
      throw TLSError(.untrusted, "the farm's certificate for this worker is for the name \(certificate.identity.name)")
    }
    let line = state.withLock { state in
      let line = isRenewed ? state?.firstLine ?? Self.firstLine(token) : Self.firstLine(token)
      state = Self.state(certificate, line, left: certificate.lifetime, now)
      state?.isNew = isRenewed
      return line
    }
    guard let file else { return }
    // Of this process, so that one that was killed leaves one file, which the next one of its number replaces.
    let new = "\(file).\(getpid())"
    do {
      try Directories.make(Directories.parent(of: file), permissions: 0o700)
      unlink(new)
      let output = try OpenFile.open(new, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600)
      try output.write(Array("\(line)\n\(key.key)\(chain)".utf8))
      guard fsync(output.descriptor) == 0, rename(new, file) == 0 else {
        throw SystemError(errno, "renaming \(new) to \(file)")
      }
    } catch {
      unlink(new)
      logger.warning(
        "certificate not kept: after its next start this worker joins again", metadata: ["reason": "\(error)"])
    }
  }

  /// Whether a renewed certificate waits for a connection that is made with it.
  var hasNewCertificate: Bool { state.withLock { $0?.isNew ?? false } }

  /// Whether another certificate can be asked for with a token.
  var hasToken: Bool { !token.isEmpty }

  /// How long until the certificate is to be renewed, and until its end. Nil: there is none to renew.
  func renewal(_ now: ContinuousClock.Instant = .now) -> (wait: Duration, left: Duration)? {
    state.withLock { state in
      guard let state, state.end > now else { return nil }
      return (max(now.duration(to: state.renewal), .zero), now.duration(to: state.end))
    }
  }

  /// By which token the certificate was asked for, so that another token is not ignored.
  private static func firstLine(_ token: String) -> String {
    "Joined with the token of SHA-256 \(SHA256Digest.of(Array(token.utf8)).hex)"
  }

  /// Of a worker's certificate. Names may have any characters.
  private static func fileName(_ name: String) -> String {
    "worker-\(SHA256Digest.of(Array(name.utf8)).hex.prefix(12)).pem"
  }

  /// What a file has. Nil: there is none.
  private static func kept(_ path: String) throws(TLSError) -> String? {
    do throws(SystemError) {
      // Without waiting for the writer of a pipe.
      let file = try OpenFile.open(path, O_RDONLY | O_NONBLOCK)
      guard try file.status().st_mode & S_IFMT == S_IFREG else { throw SystemError(EINVAL, "reading \(path)") }
      return String(decoding: try file.read(at: 0, length: 1 << 16), as: UTF8.self)
    } catch {
      if error.code == .noSuchFileOrDirectory { return nil }
      throw TLSError(.file, "the worker's certificate cannot be read: \(error)")
    }
  }
}
