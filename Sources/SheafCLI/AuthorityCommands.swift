import ArgumentParser
import Client
import FarmAPI
import Glibc
import SystemSupport
import TLS

struct AuthorityCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ca", abstract: "Make the farm's own authority, and certificates of it.",
    discussion: """
      A coordinator that is given the authority's folder (serve --ca) signs its own certificate, and those of the \
      workers that join. These commands ask no coordinator; they read and write files.
      """,
    subcommands: [
      CreateAuthorityCommand.self, ShowAuthorityCommand.self, JoinTokenCommand.self, IssueCommand.self,
    ])
}

struct CreateAuthorityCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make the farm's authority in a folder.",
    discussion: """
      The folder then has authority.pem, which everybody may have and clients are given with --tls-ca, and \
      authority.key, which only coordinators may have: who has it makes workers. It is valid for ten years.
      """)

  @Argument(help: "The folder, which is made if it does not exist.")
  var folder: String

  @Option(help: ArgumentHelp("The farm's name, for people. [SHEAF_FARM_NAME]", valueName: "text"))
  var name: String?

  func run() async throws {
    try await reporting {
      try authorityFailures {
        try CertificateAuthority.create(
          in: folder, name: Setting.text(name, "SHEAF_FARM_NAME") ?? "Sheaf farm of \(ProcessEnvironment.hostName)")
      }
      Console.printError("made \(folder)/authority.pem and \(folder)/authority.key")
    }
  }
}

struct ShowAuthorityCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show the digest of the farm's authority, and until when it is valid.")

  @Argument(help: "The authority's folder.")
  var folder: String

  func run() async throws {
    try await reporting {
      let authority = try authorityFailures { try CertificateAuthority(folder: folder) }
      try Console.print("SHA-256      \(authority.digest)")
      try Console.print("valid until  \(Timestamp(milliseconds: Int64(authority.expires) * 1000))")
    }
  }
}

struct JoinTokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join-token", abstract: "Print the join token of the farm's own token of workers.",
    discussion: """
      Workers need nothing else to join. Tokens that can be revoked one by one are made by 'sheaf token create worker'.
      """)

  @Argument(help: "The authority's folder.")
  var folder: String

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the token of workers. [SHEAF_WORKER_TOKEN_FILE; or the token itself in SHEAF_WORKER_TOKEN]",
      valueName: "file"))
  var workerTokenFile: String?

  func run() async throws {
    try await reporting {
      guard let token = try Setting.token(file: workerTokenFile, "SHEAF_WORKER_TOKEN") else {
        throw ValidationError("name the token of workers with --worker-token-file or SHEAF_WORKER_TOKEN")
      }
      let authority = try authorityFailures { try CertificateAuthority(folder: folder) }
      try Console.print(JoinToken(authority: authority.digest, token: token).description)
    }
  }
}

struct IssueCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "issue", abstract: "Sign the certificate of a server with the farm's authority.",
    discussion: """
      For a server of which the coordinator knows nothing, such as a proxy; a coordinator with --ca needs none. The \
      files must not exist.
      """)

  @Argument(help: "The authority's folder.")
  var folder: String

  @Argument(help: "DNS names and IP addresses by which clients know the server.")
  var names: [String]

  @Option(
    help: ArgumentHelp(
      "The file for the certificate, with the authority's behind it. Required. [SHEAF_TLS_CERTIFICATE]",
      valueName: "file"))
  var certificate: String?

  @Option(help: ArgumentHelp("The file for its key. Required. [SHEAF_TLS_KEY]", valueName: "file"))
  var key: String?

  @Option(help: ArgumentHelp("How long it is valid; the default is 90d. [SHEAF_EXPIRES]", valueName: "time"))
  var expires: String?

  func run() async throws {
    try await reporting {
      guard let certificate = Setting.text(certificate, "SHEAF_TLS_CERTIFICATE"),
        let key = Setting.text(key, "SHEAF_TLS_KEY")
      else { throw ValidationError("name the files to write with --certificate and --key") }
      let lifetime = try Setting.duration(expires, "--expires", "SHEAF_EXPIRES") ?? .seconds(90 * 86_400)
      guard lifetime > .zero else { throw ValidationError("--expires is more than 0 s") }
      try authorityFailures {
        let pair = try CertificateAuthority(folder: folder)
          .server(for: names, lifetime: Int(lifetime.components.seconds))
        try CertificateAuthority.write(chain: pair.chain, to: certificate, key: pair.key, to: key)
      }
    }
  }
}

/// What the files are not.
private func authorityFailures<R>(_ body: () throws -> R) throws -> R {
  do {
    return try body()
  } catch let error as TLSError {
    throw CommandFailure(.work, error.message)
  }
}
