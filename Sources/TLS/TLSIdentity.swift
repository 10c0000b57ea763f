import Glibc
package import Logging
import Runtime
import Synchronization
import SystemSupport

/// The certificate and the key of a server: of files, or of the farm's own authority. New connections use what the
/// files had when they were last looked at, or the certificate that was signed last.
package final class TLSIdentity: Sendable {
  private enum Source: Sendable {
    /// Paths.
    case files(certificate: String, key: String)
    case authority(CertificateAuthority, names: [String], asksPeers: Bool)
  }

  private struct State {
    var context: TLSContext
    /// The files that were read last, whether they could be used or not. Nil: there was none.
    var seen: [FileIdentity?] = []
    /// When the farm's authority signs the next certificate, in seconds since 1970.
    var renewal: Int = .max
    /// When it was said last that the authority ends soon.
    var warned: Int?

    /// Whether it is said at this moment: once a day.
    mutating func warns(at moment: Int) -> Bool {
      guard warned.map({ moment - $0 >= 86_400 }) ?? true else { return false }
      warned = moment
      return true
    }
  }

  private let source: Source
  private let state: Mutex<State>

  /// How long a certificate of the farm's own authority is valid, in seconds. It is renewed at two thirds.
  private static let lifetime: Int = 30 * 86_400

  /// Reads both files. Throws if they cannot be read, do not belong together, or the certificate has expired.
  /// - Parameters:
  ///   - certificate: A file in PEM: the server's certificate, then those of authorities between it and a trusted one.
  ///   - key: A file in PEM, without a passphrase.
  package convenience init(certificate: String, key: String) throws(TLSError) {
    try self.init(certificate: certificate, key: key, at: time(nil))
  }

  /// - Parameter moment: When the certificate must be valid.
  init(certificate: String, key: String, at moment: Int) throws(TLSError) {
    source = .files(certificate: certificate, key: key)
    // Before they are read: a file that changes meanwhile is read again.
    let seen = [certificate, key].map(Self.identity)
    state = Mutex(State(context: try TLSContext(certificate: certificate, key: key, at: moment), seen: seen))
  }

  /// Has a certificate signed by the farm's own authority, and the next one before that has expired.
  /// - Parameters:
  ///   - names: DNS names and IP addresses by which clients know the server.
  ///   - asksPeers: Whether peers are asked for a certificate. Those that have none are let in all the same.
  package init(
    of authority: CertificateAuthority, names: [String], asksPeers: Bool, at moment: Int = time(nil)
  ) throws(TLSError) {
    source = .authority(authority, names: names, asksPeers: asksPeers)
    state = Mutex(try Self.signed(by: authority, names, asksPeers, at: moment))
  }

  private static func signed(
    by authority: CertificateAuthority, _ names: [String], _ asksPeers: Bool, at moment: Int
  ) throws(TLSError) -> State {
    let pair = try authority.server(for: names, lifetime: lifetime, at: moment)
    return State(
      context: try TLSContext(pair, of: authority, asksPeers: asksPeers),
      renewal: moment + max((pair.expires - moment) * 2 / 3, 60))
  }

  /// For a connection that is made now.
  package var context: TLSContext { state.withLock(\.context) }

  /// Looks at the files, or at the time, once a minute until the task is cancelled.
  package func follow(_ logger: Logger) async {
    while true {
      do {
        try await BlockingWork.run { self.look(logger) }
        try await Task.sleep(for: .seconds(60))
      } catch {
        // Cancelled.
        return
      }
    }
  }

  /// Reads the files again if they are others than those that were read last, or has the next certificate signed when
  /// it is time. What cannot be used is logged, and what was before it stays.
  func look(_ logger: Logger, at moment: Int = time(nil)) {
    switch source {
    case .files(let certificate, let key): look(certificate, key, logger)
    case .authority(let authority, let names, let asksPeers):
      // Of two identities of one authority, one says it.
      if asksPeers, let notice = authority.notice(at: moment), state.withLock({ $0.warns(at: moment) }) {
        logger.warning("\(notice): make another one with sheaf ca create, and give it to the coordinators")
      }
      guard state.withLock({ moment >= $0.renewal }) else { return }
      do throws(TLSError) {
        var next = try Self.signed(by: authority, names, asksPeers, at: moment)
        state.withLock { state in
          next.warned = state.warned
          state = next
        }
        logger.notice("TLS certificate renewed")
      } catch {
        logger.warning("TLS certificate not renewed; the one before it stays", metadata: ["reason": "\(error)"])
      }
    }
  }

  private func look(_ certificate: String, _ key: String, _ logger: Logger) {
    let found = [certificate, key].map(Self.identity)
    guard state.withLock({ $0.seen != found }) else { return }
    do {
      let context = try TLSContext(certificate: certificate, key: key)
      state.withLock { $0 = State(context: context, seen: found) }
      logger.notice("TLS certificate loaded", metadata: ["file": "\(certificate)"])
    } catch {
      state.withLock { $0.seen = found }
      logger.warning("TLS certificate not loaded; the one before it stays", metadata: ["reason": "\(error)"])
    }
  }

  private static func identity(_ path: String) -> FileIdentity? {
    // Why a file cannot be opened is reported when it is read.
    guard let file = try? OpenFile.open(path) else { return nil }
    return try? FileIdentity(of: file)
  }
}
