import ArgumentParser
import Client
import FarmAPI
import FarmModel
import SystemSupport

struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Make, list and revoke tokens.",
    discussion: """
      A token has a role. A viewer sees everything and changes nothing; a submitter submits jobs, and sees and changes \
      those of its owner; an operator may do everything that a client can; a worker registers workers; metrics are read \
      with a token for metrics. Who makes tokens is an operator: with the farm's own token, or one of that role.
      """,
    subcommands: [CreateTokenCommand.self, ListTokensCommand.self, RevokeTokenCommand.self])
}

struct CreateTokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make a token, and print it.",
    discussion: """
      Standard output has the token alone, as --token-file reads it. It is shown this once: the farm stores its digest.

      Of a farm with an authority of its own (serve --ca), a token of workers is printed as a join token: with the \
      authority's digest, so that a worker needs nothing else to trust the farm. Its time then limits who joins.

      --json prints an object: id, token, join, role, owner, pool, description, createdAt, expiresAt (RFC 3339, UTC).
      """)

  @Argument(help: "What it is for: viewer, submitter, operator, worker or metrics.")
  var role: String

  @Argument(
    help: "For whom, such as a name: 1 to 64 visible ASCII characters. Submitters of one owner see the same jobs.")
  var owner: String

  @Option(
    help: ArgumentHelp(
      "How long it is valid, such as 12h or 90d; the default is until it is revoked. [SHEAF_EXPIRES]",
      valueName: "time"))
  var expires: String?

  @Option(
    help: ArgumentHelp(
      "Of a worker or submitter: the only pool of workers that register with it, or of jobs that are submitted with it. [SHEAF_TOKEN_POOL]",
      valueName: "name"))
  var pool: String?

  @Option(help: ArgumentHelp("What it is used for, for people. [SHEAF_DESCRIPTION]", valueName: "text"))
  var description: String?

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    guard let role = Role(rawValue: role) else {
      let roles = Role.allCases.map(\.rawValue).joined(separator: ", ")
      throw ValidationError("there is no role '\(role)'; the roles are \(roles)")
    }
    try await reporting(json: json.isOn ? .lines : .none) {
      let lifetime = try Setting.duration(expires, "--expires", "SHEAF_EXPIRES")
      let request = TokenRequest(
        role: role, owner: owner, description: Setting.text(description, "SHEAF_DESCRIPTION"),
        lifetimeSeconds: lifetime?.components.seconds, pool: Setting.text(pool, "SHEAF_TOKEN_POOL"))
      let made = try await coordinator.ask { try await $0.createToken(request) }
      if json.isOn { return try Console.printJSON(made) }
      try Console.print(made.join ?? made.token ?? "")
      let end = made.expiresAt.map { "valid until \($0)" } ?? "valid until it is revoked"
      Console.printError(
        "token \(made.id), \(role.rawValue) for \(made.owner)\(made.pool.map { " in pool \($0)" } ?? ""), \(end); it is not shown again"
      )
    }
  }
}

struct ListTokensCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Show the tokens of the farm, without their texts.",
    discussion: """
      The farm's own tokens, of files, are not among them.

      --json prints an array: id, role, owner, pool, description, createdAt, expiresAt, revokedAt (RFC 3339, UTC).
      """)

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none) {
      let tokens = try await coordinator.ask { try await $0.tokens() }
      if json.isOn { return try Console.printJSON(tokens) }
      for line in AccessText.tokens(tokens, now: .now, width: Terminal.output?.width) { try Console.print(line) }
    }
  }
}

struct RevokeTokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Make a token invalid.",
    discussion: "What is open by it is closed within a second or two.")

  @Argument(help: "The token's id, as 'sheaf token list' shows it.")
  var id: String

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    try await reporting {
      try await coordinator.ask { [id] in try await $0.revokeToken(id) }
    }
  }
}

struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Show who has done what in the farm, and who was refused.",
    discussion: """
      The newest is first. What is refused again and again is one line a minute, with how often. A download is shown \
      once in ten minutes.

      --json prints an array: number, time (RFC 3339, UTC), action, owner, role, token, address, subject, detail, times.
      """)

  @Option(help: ArgumentHelp("Only what this owner's tokens did. [SHEAF_OWNER]", valueName: "name"))
  var owner: String?

  @Option(
    help: ArgumentHelp(
      "Only what was done to this: a job, a token, a webhook, or content by its digest. [SHEAF_SUBJECT]",
      valueName: "id"))
  var subject: String?

  @Option(
    help: ArgumentHelp(
      "Only these actions, with commas, such as jobDeleted,refused. [SHEAF_ACTION]", valueName: "names"))
  var action: String?

  @Option(help: ArgumentHelp("How many lines, up to 1000; the default is 200. [SHEAF_LIMIT]", valueName: "n"))
  var limit: String?

  @Option(help: ArgumentHelp("Only what was before the entry of this number. [SHEAF_BEFORE_ENTRY]", valueName: "n"))
  var before: String?

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none) {
      var request = AuditRequest()
      request.owner = Setting.text(owner, "SHEAF_OWNER")
      request.subject = Setting.text(subject, "SHEAF_SUBJECT")
      request.actions = Setting.text(action, "SHEAF_ACTION")?.split(separator: ",").map(String.init) ?? []
      let most = Int64(AuditRequest.mostLimit)
      if let limit = try Setting.number(limit, "--limit", "SHEAF_LIMIT", in: 1...most) { request.limit = Int(limit) }
      request.before = try Setting.number(before, "--before", "SHEAF_BEFORE_ENTRY", in: 1...Int64.max)
      let entries = try await coordinator.ask { [request] in try await $0.audit(request) }
      if json.isOn { return try Console.printJSON(entries) }
      for line in AccessText.audit(entries, width: Terminal.output?.width) { try Console.print(line) }
    }
  }
}

/// Tokens and the audit as text.
enum AccessText {
  static func tokens(_ tokens: [TokenReport], now: Timestamp, width: Int?) -> [String] {
    guard !tokens.isEmpty else { return ["no tokens but the farm's own"] }
    var table = Table(columns: [
      .init(header: "TOKEN"), .init(header: "ROLE"), .init(header: "OWNER", shortest: 6),
      .init(header: "POOL", dispensable: 3),
      .init(header: "STATE"), .init(header: "CREATED", dispensable: 2),
      .init(header: "DESCRIPTION", shortest: 8, dispensable: 1),
    ])
    for token in tokens {
      table.rows.append([
        token.id, token.role.nameOrUnknown, token.owner, token.pool ?? "", state(token, now), "\(token.createdAt)",
        token.description,
      ])
    }
    return table.lines(width: width)
  }

  private static func state(_ token: TokenReport, _ now: Timestamp) -> String {
    if let time = token.revokedAt { return "revoked \(time)" }
    guard let time = token.expiresAt else { return "valid" }
    return time <= now ? "expired \(time)" : "valid until \(time)"
  }

  static func audit(_ entries: [AuditReport], width: Int?) -> [String] {
    guard !entries.isEmpty else { return ["nothing"] }
    var table = Table(columns: [
      .init(header: "TIME"), .init(header: "WHO", shortest: 6), .init(header: "FROM", dispensable: 2),
      .init(header: "WHAT"), .init(header: "SUBJECT", shortest: 12),
      .init(header: "DETAIL", shortest: 8, dispensable: 1),
    ])
    for entry in entries {
      let times = entry.times > 1 ? " (\(entry.times) times)" : ""
      table.rows.append([
        "\(entry.time)", entry.owner ?? entry.role ?? "", entry.address, entry.action, entry.subject,
        entry.detail + times,
      ])
    }
    return table.lines(width: width)
  }
}
