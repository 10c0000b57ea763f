package import Digest
package import FarmAPI
package import FarmModel
import Jobs
package import Runtime

// Who may do what, and who has done what.

extension FarmService {
  /// The same farm, asked by somebody.
  package func asked(by caller: Caller) -> FarmService { FarmService(coordinator, as: caller) }

  /// Who has a token. Throws `.unauthorized` or `.forbidden` if nobody that may be a client has it.
  /// - Parameters:
  ///   - token: Nil: none is presented.
  ///   - address: Where from, without a port.
  package func caller(presenting token: String?, from address: String) async throws(FarmError) -> Caller {
    try await coordinator.authentication.caller(presenting: token, as: .client, from: address)
  }

  /// Something is open by the caller's token: `close` is called if that is revoked or past its time, until `closes`.
  package func opens(_ close: @escaping @Sendable () -> Void) async -> Int? {
    caller.token == nil ? nil : await coordinator.openAccess.add(caller, close: close)
  }

  /// - Parameter open: What `opens` returned.
  package func closes(_ open: Int?) async {
    if let open { await coordinator.openAccess.remove(open) }
  }

  /// Records what a face refuses to peers that have no valid token.
  package func follow(_ refusals: RefusalLog) { coordinator.audit.follow(refusals) }

  /// Throws `.forbidden`, and records it, unless the caller's role allows something.
  package func require(_ permission: Permission) throws(FarmError) {
    guard !caller.role.allows(permission) else { return }
    let message = "a token of role \(caller.role.rawValue) may not \(permission.inWords)"
    coordinator.audit.recordRefusal(AuditEntry(.refused, by: caller, of: "", detail: message))
    throw FarmError(.forbidden, message)
  }

  /// Throws `.forbidden`, and records it, unless the caller may see what happens in the farm.
  package func requireSight() throws(FarmError) { try require(.see) }

  /// The same of changing jobs.
  package func requireChange() throws(FarmError) { try require(.submit) }

  /// Whether the caller may know of a job; false also if there is no such job, as far as that was looked for. Throws
  /// `.forbidden` unless the caller's role allows `permission`.
  func sees(_ job: JobID, to permission: Permission = .see) async throws -> Bool {
    try require(permission)
    guard caller.role == .submitter else { return true }
    guard let found = try await withStore({ try await coordinator.store.summary(of: job)?.job }) else { return false }
    if caller.sees(jobOf: found.owner) { return true }
    coordinator.audit.recordRefusal(
      AuditEntry(.refused, by: caller, of: job.description, detail: "the job is another owner's"))
    return false
  }

  /// Records what the caller has done. Throws `.unavailable` if that cannot be recorded.
  func audit(_ action: AuditEntry.Action, _ subject: String, _ detail: String = "") async throws {
    try await withStore {
      try await coordinator.audit.record(AuditEntry(action, by: caller, of: subject, detail: detail))
    }
  }

  /// Records that the caller has uploaded content. Throws `.unavailable` if that cannot be recorded.
  func auditUpload(of content: Content) async throws {
    try await audit(.contentUploaded, content.digest.hex, "\(content.size) bytes")
  }

  /// Records that the caller reads content, if it may. Throws `.unavailable` if that cannot be recorded.
  package func auditDownload(of digest: SHA256Digest, _ detail: String) async throws {
    try require(.see)
    try await withStore {
      try await coordinator.audit.recordOnce(
        AuditEntry(.contentDownloaded, by: caller, of: digest.hex, detail: detail))
    }
  }

  // MARK: Tokens

  /// How long a token may be valid, in seconds: ten years at most.
  private static let lifetimes: ClosedRange<Int64> = 1...315_360_000
  /// In characters of Unicode.
  private static let longestDescription = 200

  /// Makes a token. The reply has its text, which no other has.
  package func createToken(_ request: TokenRequest) async throws -> TokenReport {
    try require(.operate)
    let description = request.description ?? ""
    guard (1...64).contains(request.owner.utf8.count), request.owner.utf8.allSatisfy({ (33...126).contains($0) }) else {
      throw FarmError(.invalid, "a token's owner is 1 to 64 visible ASCII characters")
    }
    guard description.count <= Self.longestDescription else {
      throw FarmError(.invalid, "a token's description has at most \(Self.longestDescription) characters")
    }
    if let seconds = request.lifetimeSeconds, !Self.lifetimes.contains(seconds) {
      throw FarmError(.invalid, "a token is valid for 1 s to \(Self.lifetimes.upperBound) s (ten years)")
    }
    if let pool = request.pool {
      guard PoolName.isValid(pool) else { throw FarmError(.invalid, "a token's pool is \(PoolName.rule)") }
      guard request.role == .worker || request.role == .submitter else {
        throw FarmError(
          .invalid, "a token of role \(request.role.rawValue) has no pool: only workers' and submitters' have one")
      }
    }
    guard coordinator.authentication.token != nil else {
      throw FarmError(
        .conflict, "this farm has no token of its own, so everybody may do everything: give it one with --token-file")
    }
    let text = Authentication.prefix + Self.random(32).hex
    return try await withStore {
      let token = AccessToken(
        id: AccessTokenID("tok_\(Self.random(8).hex)"), digest: Authentication.digest(of: text), role: request.role,
        owner: request.owner, pool: request.pool, description: description)
      let added = try await coordinator.store.add(token, lifetime: request.lifetimeSeconds.map { .seconds($0) })
      guard let added else { throw FarmError(.unavailable, "the new token was there before: repeat the request") }
      let bound = added.pool.map { ", pool \($0)" } ?? ""
      try await audit(.tokenCreated, "\(added.id)", "\(added.role.rawValue), \(added.owner)\(bound)")
      var report = TokenReport(added)
      report.token = text
      if request.role == .worker { report.join = coordinator.certificates?.joinToken(with: text) }
      return report
    }
  }

  /// All tokens, in the order in which they were made.
  package func tokens() async throws -> [TokenReport] {
    try require(.operate)
    return try await withStore { try await coordinator.store.accessTokens().map { TokenReport($0) } }
  }

  /// Makes a token invalid at once: what is open by it is closed within about a second. Nil: there is no such token.
  package func revokeToken(_ id: String) async throws -> TokenReport? {
    try require(.operate)
    return try await withStore {
      guard let revoked = try await coordinator.store.revoke(AccessTokenID(id)) else { return nil }
      try await audit(.tokenRevoked, id, "\(revoked.role.rawValue), \(revoked.owner)")
      return TokenReport(revoked)
    }
  }

  // MARK: The audit

  /// What was done and refused, the newest first.
  package func audit(_ request: AuditRequest) async throws -> [AuditReport] {
    try require(.operate)
    let actions = try request.actions.map { name throws(FarmError) in
      guard let action = AuditEntry.Action(rawValue: name) else {
        let names = AuditEntry.Action.allCases.map(\.rawValue).joined(separator: ", ")
        throw FarmError(.invalid, "there is no action \"\(name.prefix(64))\"; the actions are \(names)")
      }
      return action
    }
    let filter = AuditFilter(before: request.before, owner: request.owner, subject: request.subject, actions: actions)
    return try await withStore {
      try await coordinator.store.auditEntries(filter, limit: min(request.limit, AuditRequest.mostLimit))
        .map { AuditReport($0) }
    }
  }
}

extension Permission {
  /// What it allows, for messages.
  fileprivate var inWords: String {
    switch self {
    case .see: "see jobs and workers"
    case .submit: "submit or change jobs"
    case .operate: "change what is the whole farm's, or read its audit"
    case .work: "register a worker"
    case .measure: "read metrics"
    }
  }
}

extension TokenReport {
  fileprivate init(_ token: AccessToken) {
    self.init(
      id: token.id.description, role: token.role, owner: token.owner, description: token.description,
      createdAt: Timestamp(since1970: token.created))
    pool = token.pool
    expiresAt = token.expires.map { Timestamp(since1970: $0) }
    revokedAt = token.revoked.map { Timestamp(since1970: $0) }
  }
}

extension AuditReport {
  fileprivate init(_ entry: AuditEntry) {
    self.init(
      number: entry.number, time: Timestamp(since1970: entry.at), action: entry.action.rawValue,
      address: entry.caller.address, subject: entry.subject)
    owner = entry.caller.owner
    token = entry.caller.token?.description
    // Who was refused without a token has no role.
    if entry.action != .refused || token != nil { role = entry.caller.role.rawValue }
    detail = entry.detail
    times = entry.times
  }
}
