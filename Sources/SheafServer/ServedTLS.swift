import NIOCore
import SystemSupport
import TLS

/// The certificates with which a coordinator serves.
struct ServedTLS {
  /// For workers and clients. Nil: connections are plain.
  var wire: TLSIdentity?
  /// For the HTTP API and the page.
  var web: TLSIdentity?
  /// The file of the certificate that was given for both. Nil: there is none.
  var pinned: String?
  /// The farm's own. Nil: it has none, and its workers need no certificates.
  var authority: CertificateAuthority?
  /// The file with the authority's certificate.
  var authorityPath: String?
}

/// By what names this machine may be known to others.
enum ThisMachine {
  /// Its name, those of loopback, and the addresses of its networks.
  static let names: [String] = {
    // Devices that cannot be listed leave the names, and --host.
    let devices = (try? System.enumerateDevices()) ?? []
    let addresses = devices.compactMap { $0.address?.ipAddress }.map { String($0.prefix { $0 != "%" }) }
    let names = ["localhost", "127.0.0.1", "::1", ProcessEnvironment.hostName] + addresses
    var seen: Set<String> = []
    return names.filter { (try? ServerName($0)) != nil && seen.insert($0).inserted }
  }()
}
