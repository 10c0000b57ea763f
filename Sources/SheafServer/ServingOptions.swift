import ArgumentParser
import SystemSupport
import TLS
import Webhooks

/// What both ways to run a coordinator have.
struct ServingOptions: ParsableArguments {
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

  @Flag(help: "Let other machines reach this one without TLS. [SHEAF_INSECURE]")
  var insecure = false

  /// Nil: connections are plain.
  func identity() throws(SettingError) -> TLSIdentity? {
    try TLSIdentity.setting(certificate: tlsCertificate, key: tlsKey)
  }

  /// The path of the certificate. Nil: there is none.
  var certificatePath: String? { Setting.text(tlsCertificate, "SHEAF_TLS_CERTIFICATE") }

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
