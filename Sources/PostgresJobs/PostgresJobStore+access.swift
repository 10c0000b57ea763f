package import Digest
package import FarmModel
package import Jobs

// Tokens and the audit.

extension PostgresJobStore {
  package func add(_ token: AccessToken, lifetime: Duration?) async throws(JobStoreError) -> AccessToken? {
    try token.validate()
    return try await results.perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(
        .addToken,
        [
          .text(token.id.description), .text(token.digest.hex), .text(token.role.rawValue), .text(token.owner),
          .text(token.description.withoutNul), .long(lifetime?.microseconds), .text(token.pool),
        ]
      ).first
      return try fields?.accessToken()
    }
  }

  package func accessTokens() async throws(JobStoreError) -> [AccessToken] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.tokens).map { (fields) throws(JobStoreError) in try fields.accessToken() }
    }
  }

  package func accessToken(of digest: SHA256Digest) async throws(JobStoreError) -> AccessToken? {
    try await results.perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(.validToken, [.text(digest.hex)]).first
      return try fields?.accessToken()
    }
  }

  package func revoke(_ token: AccessTokenID) async throws(JobStoreError) -> AccessToken? {
    try await results.perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(.revokeToken, [.text(token.description.withoutNul)]).first
      return try fields?.accessToken()
    }
  }

  package func invalid(_ tokens: [AccessTokenID]) async throws(JobStoreError) -> [AccessTokenID] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.invalidTokens, [.texts(tokens.map(\.description.withoutNul))])
        .map { (fields) throws(JobStoreError) in AccessTokenID(try fields.text()) }
    }
  }

  package func joinedToken(_ id: AccessTokenID) async throws(JobStoreError) -> AccessToken? {
    try await results.perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(.joinedToken, [.text(id.description.withoutNul)]).first
      return try fields?.accessToken()
    }
  }

  package func left(_ tokens: [AccessTokenID]) async throws(JobStoreError) -> [AccessTokenID] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.leftTokens, [.texts(tokens.map(\.description.withoutNul))])
        .map { (fields) throws(JobStoreError) in AccessTokenID(try fields.text()) }
    }
  }

  package func record(_ entry: AuditEntry) async throws(JobStoreError) {
    try entry.validate()
    let entry = entry.withoutNul
    try await results.perform { (connection) throws(JobStoreError) in
      _ = try connection.run(
        .addAudit,
        [
          .text(entry.action.rawValue), .text(entry.caller.role.rawValue), .text(entry.caller.owner),
          .text(entry.caller.token?.description), .text(entry.caller.address), .text(entry.subject),
          .text(entry.detail), .long(entry.times),
        ])
    }
  }

  package func auditEntries(_ filter: AuditFilter, limit: Int) async throws(JobStoreError) -> [AuditEntry] {
    try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.run(
        .audit,
        [
          .long(filter.before), .text(filter.owner?.withoutNul), .text(filter.subject?.withoutNul),
          .texts(filter.actions.map(\.rawValue)), .long(Int64(max(limit, 0))),
        ]
      ).map { (fields) throws(JobStoreError) in try fields.auditEntry() }
    }
  }

  package func removeAuditEntries(olderThan age: Duration, limit: Int) async throws(JobStoreError) -> Int {
    let age = Parameter.long(age.microseconds)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction([
        (.removeAudit, [age, .long(Int64(max(limit, 0)))]), (.removeTokens, [age]),
      ])[0].count
    }
  }
}

extension Fields {
  /// Reads `Statement.tokenColumns`.
  fileprivate mutating func accessToken() throws(JobStoreError) -> AccessToken {
    AccessToken(
      id: AccessTokenID(try text()), digest: try digest(), role: try named("role of a token"), owner: try text(),
      pool: optionalText(), description: try text(), created: .microseconds(try long()),
      expires: try optionalLong().map { .microseconds($0) }, revoked: try optionalLong().map { .microseconds($0) })
  }

  /// Reads the columns of `Statement.audit`.
  fileprivate mutating func auditEntry() throws(JobStoreError) -> AuditEntry {
    let (number, at) = (try long(), Duration.microseconds(try long()))
    let action: AuditEntry.Action = try named("action of the audit")
    let caller = Caller(
      role: try named("role of a token"), owner: optionalText(), token: optionalText().map { AccessTokenID($0) },
      address: try text())
    var entry = AuditEntry(action, by: caller, of: try text(), detail: try text(), times: try long())
    (entry.number, entry.at) = (number, at)
    return entry
  }
}

extension Statement {
  private static let tokenColumns = """
    id, digest, role, owner, pool, description, \(microseconds("created_at")), \(microseconds("expires_at")),
    \(microseconds("revoked_at"))
    """
  private static let isValid = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > sheaf.now())"

  fileprivate static let addToken = Statement(
    "add-token",
    """
    INSERT INTO sheaf.token (id, digest, role, owner, description, created_at, expires_at, pool)
    VALUES ($1, $2, $3, $4, $5, sheaf.now(), sheaf.now() + $6 * interval '1 microsecond', $7)
    ON CONFLICT DO NOTHING RETURNING \(tokenColumns)
    """)

  fileprivate static let tokens = Statement(
    "tokens", "SELECT \(tokenColumns) FROM sheaf.token ORDER BY created_at, id")

  fileprivate static let validToken = Statement(
    "valid-token", "SELECT \(tokenColumns) FROM sheaf.token WHERE digest = $1 AND \(isValid)")

  fileprivate static let revokeToken = Statement(
    "revoke-token",
    """
    UPDATE sheaf.token SET revoked_at = coalesce(revoked_at, sheaf.now()) WHERE id = $1 RETURNING \(tokenColumns)
    """)

  fileprivate static let invalidTokens = Statement(
    "invalid-tokens",
    """
    SELECT DISTINCT asked.id COLLATE "C" AS id FROM unnest($1) AS asked (id)
    WHERE NOT EXISTS (SELECT FROM sheaf.token WHERE token.id = asked.id AND \(isValid)) ORDER BY id
    """)

  private static let isJoined = "role = 'worker' AND revoked_at IS NULL"

  fileprivate static let joinedToken = Statement(
    "joined-token", "SELECT \(tokenColumns) FROM sheaf.token WHERE id = $1 AND \(isJoined)")

  fileprivate static let leftTokens = Statement(
    "left-tokens",
    """
    SELECT DISTINCT asked.id COLLATE "C" AS id FROM unnest($1) AS asked (id)
    WHERE NOT EXISTS (SELECT FROM sheaf.token WHERE token.id = asked.id AND \(isJoined)) ORDER BY id
    """)

  fileprivate static let addAudit = Statement(
    "add-audit",
    """
    INSERT INTO sheaf.audit (at, action, role, owner, token, address, subject, detail, times)
    VALUES (sheaf.now(), $1, $2, $3, $4, $5, $6, $7, $8)
    """)

  fileprivate static let audit = Statement(
    "audit",
    """
    SELECT number, \(microseconds("at")), action, role, owner, token, address, subject, detail, times FROM sheaf.audit
    WHERE number < coalesce($1, \(Int64.max)) AND ($2::text IS NULL OR owner = $2)
      AND ($3::text IS NULL OR subject = $3) AND (cardinality($4) = 0 OR action = ANY ($4))
    ORDER BY number DESC LIMIT $5
    """)

  fileprivate static let removeAudit = Statement(
    "remove-audit",
    """
    DELETE FROM sheaf.audit WHERE number IN (
      SELECT number FROM sheaf.audit WHERE at < sheaf.now() - $1 * interval '1 microsecond'
      ORDER BY at, number LIMIT $2)
    RETURNING number
    """)

  fileprivate static let removeTokens = Statement(
    "remove-tokens",
    """
    DELETE FROM sheaf.token
    WHERE least(revoked_at, CASE WHEN role <> 'worker' THEN expires_at END) < sheaf.now() - $1 * interval '1 microsecond'
    """)
}
