import Glibc
package import Logging
import Runtime
import Synchronization
import SystemSupport

/// The certificate and the key of a server. New connections use what the files had when they were last looked at.
package final class TLSIdentity: Sendable {
  private struct State {
    var context: TLSContext
    /// The files that were read last, whether they could be used or not. Nil: there was none.
    var seen: [FileIdentity?]
  }

  private let certificate: String
  private let key: String
  private let state: Mutex<State>

  /// Reads both files. Throws if they cannot be read, do not belong together, or the certificate has expired.
  /// - Parameters:
  ///   - certificate: A file in PEM: the server's certificate, then those of authorities between it and a trusted one.
  ///   - key: A file in PEM, without a passphrase.
  package convenience init(certificate: String, key: String) throws(TLSError) {
    try self.init(certificate: certificate, key: key, at: time(nil))
  }

  /// - Parameter moment: When the certificate must be valid.
  init(certificate: String, key: String, at moment: time_t) throws(TLSError) {
    (self.certificate, self.key) = (certificate, key)
    // Before they are read: a file that changes meanwhile is read again.
    let seen = [certificate, key].map(Self.identity)
    state = Mutex(State(context: try TLSContext(certificate: certificate, key: key, at: moment), seen: seen))
  }

  /// For a connection that is made now.
  package var context: TLSContext { state.withLock(\.context) }

  /// Looks at the files once a minute until the task is cancelled.
  package func follow(_ logger: Logger) async {
    while true {
      do {
        try await Task.sleep(for: .seconds(60))
        try await BlockingWork.run { self.look(logger) }
      } catch {
        // Cancelled.
        return
      }
    }
  }

  /// Reads the files again if they are others than those that were read last. A pair that cannot be used is logged, and
  /// the one before it stays.
  func look(_ logger: Logger) {
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
