import NIOCore
import SystemSupport
import TLS
import Wire

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

extension WireAddress {
  /// The same, by which this machine reaches itself: loopback in place of all of its addresses.
  var onThisMachine: WireAddress {
    switch host {
    case "0.0.0.0": WireAddress(host: "127.0.0.1", port: port)
    case "::": WireAddress(host: "::1", port: port)
    default: self
    }
  }
}

/// By what names this machine may be known to others.
enum ThisMachine {
  /// Its name, those of loopback, the addresses of its networks, and others, each once.
  static func names(besides others: [String]) -> [String] {
    // Devices that cannot be listed leave the names, and --host.
    let devices = (try? System.enumerateDevices()) ?? []
    let addresses = devices.compactMap { $0.address?.ipAddress }.map { String($0.prefix { $0 != "%" }) }
    let names = ["localhost", "127.0.0.1", "::1", ProcessEnvironment.hostName] + addresses + others
    var seen: Set<String> = []
    return names.filter { name in
      !["0.0.0.0", "::"].contains(name) && (try? ServerName(name)) != nil && seen.insert(name).inserted
    }
  }
}
