import ArgumentParser
import Glibc
import SystemSupport
import TLS
import Webhooks
import Wire

/// What both ways to run a coordinator have.
struct ServingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A file with options in JSON5, by their names without dashes; the command line and the environment go before it. [SHEAF_CONFIG]",
      valueName: "file"))
  var config: String?

  @Option(
    help: ArgumentHelp(
      "The form of the log: text, or json with one object a line; the default is text. [SHEAF_LOG_FORMAT]",
      valueName: "format"))
  var logFormat: String?

  @Option(
    help: ArgumentHelp(
      "A network to which webhooks may send besides the public Internet, such as 10.0.0.0/8; may be repeated. [SHEAF_WEBHOOK_ALLOW, with commas]",
      valueName: "network"))
  var webhookAllow: [String] = []

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the token of workers: then the farm's token is that of clients alone. [SHEAF_WORKER_TOKEN_FILE; or the token itself in SHEAF_WORKER_TOKEN]",
      valueName: "file"))
  var workerTokenFile: String?

  @Option(
    help: ArgumentHelp(
      "Use TLS, for clients, workers and the HTTP API: a file in PEM with the coordinator's certificate, and those of the authorities between. [SHEAF_TLS_CERTIFICATE]",
      valueName: "file"))
  var tlsCertificate: String?

  @Option(
    help: ArgumentHelp(
      "The key of the certificate: a file in PEM without a passphrase. [SHEAF_TLS_KEY]", valueName: "file"))
  var tlsKey: String?

  @Option(
    help: ArgumentHelp(
      "The folder of the farm's own authority, which 'sheaf ca create' makes: the coordinator has a certificate of it, and workers join with tokens and must have one. --tls-certificate is then for the HTTP API alone. [SHEAF_CA]",
      valueName: "dir"))
  var ca: String?

  @Option(
    help: ArgumentHelp(
      "With --ca: a DNS name or an IP address by which workers and clients know this coordinator, besides this machine's own; may be repeated. [SHEAF_HOSTS, with commas]",
      valueName: "host"))
  var host: [String] = []

  @Option(
    help: ArgumentHelp(
      "With --ca: how long a worker's certificate is valid, at least 10s; it is renewed at two thirds; the default is 24h. [SHEAF_CERTIFICATE_LIFETIME]",
      valueName: "time"))
  var certificateLifetime: String?

  @Flag(help: "Let other machines reach this one without TLS. [SHEAF_INSECURE]")
  var insecure = false

  /// The certificates of the coordinator's faces.
  /// - Parameter address: At which it listens.
  func tls(at address: WireAddress) throws -> ServedTLS {
    let given = try TLSIdentity.setting(certificate: tlsCertificate, key: tlsKey)
    guard let folder = Setting.text(ca, "SHEAF_CA") else {
      guard host.isEmpty, certificateLifetime == nil else {
        throw ValidationError("--host and --certificate-lifetime are for a farm with an authority of its own: --ca")
      }
      return ServedTLS(
        wire: given, web: given, pinned: Setting.text(tlsCertificate, "SHEAF_TLS_CERTIFICATE"))
    }
    let named = host.isEmpty ? [Setting.text(nil, "SHEAF_HOSTS") ?? ""] : host
    let hosts = named.flatMap { $0.split { $0 == "," || $0 == " " }.map(String.init) }
    do {
      for host in hosts { _ = try ServerName(host) }
    } catch {
      throw ValidationError("--host (SHEAF_HOSTS): \(error)")
    }
    guard access(CertificateAuthority.certificatePath(in: folder), F_OK) == 0 else {
      throw ValidationError("there is no authority in \(folder): 'sheaf ca create' makes one")
    }
    do {
      let authority = try CertificateAuthority(folder: folder)
      let names = ThisMachine.names(besides: hosts + [address.host])
      let own = try TLSIdentity(of: authority, names: names, asksPeers: true)
      // A browser would show its user's certificates to choose from if it were asked for one.
      let web = try given ?? TLSIdentity(of: authority, names: names, asksPeers: false)
      return ServedTLS(
        wire: own, web: web, authority: authority, authorityPath: CertificateAuthority.certificatePath(in: folder))
    } catch {
      throw ValidationError("the farm's authority in \(folder) cannot be used: \(error)")
    }
  }

  /// How long a worker's certificate is valid. Nil: as it is by default.
  func lifetimeOfCertificates() throws -> Duration? {
    guard let time = try Setting.duration(certificateLifetime, "--certificate-lifetime", "SHEAF_CERTIFICATE_LIFETIME")
    else { return nil }
    guard time >= .seconds(10) else {
      throw ValidationError("--certificate-lifetime (SHEAF_CERTIFICATE_LIFETIME) is at least 10s")
    }
    return time
  }

  /// Whether other machines may reach this one without TLS.
  var allowsPlain: Bool { Setting.flag(insecure, "SHEAF_INSECURE") }

  /// The token of workers. Nil: it is that of clients.
  /// - Parameter token: That of clients.
  func workerToken(besides token: String?) throws -> String? {
    guard let workers = try Setting.token(file: workerTokenFile, "SHEAF_WORKER_TOKEN") else { return nil }
    guard let token else {
      throw ValidationError("a token of workers needs one of clients too: set SHEAF_TOKEN or --token-file")
    }
    guard workers != token else {
      throw ValidationError("the token of workers is that of clients: choose another, or leave it out")
    }
    return workers
  }

  /// The networks to which webhooks may send. Throws if one of the texts is none.
  func webhookNetworks() throws -> AddressRule {
    let settings = webhookAllow.isEmpty ? [Setting.text(nil, "SHEAF_WEBHOOK_ALLOW") ?? ""] : webhookAllow
    return AddressRule(
      allowing: try settings.flatMap { $0.split(separator: ",") }.map { text in
        guard let network = Network(String(text)) else {
          throw ValidationError(
            "--webhook-allow is \"\(text)\"; it must be a network, such as 10.0.0.0/8 or fd00::/8, or an address")
        }
        return network
      })
  }
}
