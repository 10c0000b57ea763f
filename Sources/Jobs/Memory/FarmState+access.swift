package import Digest
package import FarmModel

// Tokens and the audit. `AccessStore` specifies each operation.

extension FarmState {
  package mutating func add(
    _ token: AccessToken, lifetime: Duration?, now: Duration
  ) throws(JobStoreError) -> AccessToken? {
    try token.validate()
    guard !accessTokens.contains(where: { $0.id == token.id || $0.digest == token.digest }) else { return nil }
    var added = token
    added.description = token.description.withoutNul
    (added.created, added.expires, added.revoked) = (now, lifetime.map { now + $0 }, nil)
    let place = accessTokens.partitioningIndex { ($0.created, $0.id) > (added.created, added.id) }
    accessTokens.insert(added, at: place)
    return added
  }

  package func accessToken(of digest: SHA256Digest, now: Duration) -> AccessToken? {
    accessTokens.first { $0.digest == digest && $0.isValid(now) }
  }

  package mutating func revoke(_ id: AccessTokenID, now: Duration) -> AccessToken? {
    guard let index = accessTokens.firstIndex(where: { $0.id == id }) else { return nil }
    accessTokens[index].revoked = accessTokens[index].revoked ?? now
    return accessTokens[index]
  }

  package func invalid(_ tokens: [AccessTokenID], now: Duration) -> [AccessTokenID] {
    Set(tokens).filter { id in !accessTokens.contains { $0.id == id && $0.isValid(now) } }.sorted()
  }

  package func joinedToken(_ id: AccessTokenID) -> AccessToken? {
    accessTokens.first { $0.id == id && $0.role == .worker && $0.revoked == nil }
  }

  package func left(_ tokens: [AccessTokenID]) -> [AccessTokenID] {
    Set(tokens).filter { joinedToken($0) == nil }.sorted()
  }

  package mutating func record(_ entry: AuditEntry, now: Duration) throws(JobStoreError) {
    try entry.validate()
    lastAudit += 1
    var recorded = entry.withoutNul
    (recorded.number, recorded.at) = (lastAudit, now)
    audit.append(recorded)
  }

  package func auditEntries(_ filter: AuditFilter, limit: Int) -> [AuditEntry] {
    let found = audit.reversed().lazy.filter { entry in
      (filter.before.map { entry.number < $0 } ?? true)
        && (filter.owner.map { entry.caller.owner == $0 } ?? true)
        && (filter.subject.map { entry.subject == $0 } ?? true)
        && (filter.actions.isEmpty || filter.actions.contains(entry.action))
    }
    return Array(found.prefix(max(limit, 0)))
  }

  package mutating func removeAuditEntries(olderThan age: Duration, limit: Int, now: Duration) -> Int {
    accessTokens.removeAll { token in
      [token.revoked, token.role == .worker ? nil : token.expires].contains { end in end.map { now - $0 > age } ?? false
      }
    }
    let old = audit.filter { now - $0.at > age }.prefix(max(limit, 0))
    guard let last = old.last else { return 0 }
    audit.removeAll { $0.number <= last.number }
    return old.count
  }
}

extension AccessToken {
  fileprivate func isValid(_ now: Duration) -> Bool { revoked == nil && expires.map { $0 > now } ?? true }
}
