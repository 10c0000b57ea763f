package import FarmModel

/// A token as an operator makes one.
package struct TokenRequest: Sendable, Hashable, Codable {
  package var role: Role
  /// For whom: 1 to 64 visible ASCII characters. A submitter sees the jobs of tokens of the same owner.
  package var owner: String
  /// For people.
  package var description: String?
  /// The only pool of workers that register with it, or of jobs that are submitted with it. Nil: they choose. Only
  /// tokens of workers and submitters have one.
  package var pool: String?
  /// From now on, at least 1. Nil: it does not expire.
  package var lifetimeSeconds: Int64?

  package init(
    role: Role, owner: String, description: String? = nil, lifetimeSeconds: Int64? = nil, pool: String? = nil
  ) {
    self.pool = pool
    self.role = role
    self.owner = owner
    self.description = description
    self.lifetimeSeconds = lifetimeSeconds
  }
}

/// A token as operators see it. Its JSON is stable: keys may be added, but are never changed.
package struct TokenReport: Sendable, Hashable, Codable {
  package var id: String
  /// Nil: a role that this version does not know.
  @NamedValue package var role: Role?
  package var owner: String
  package var description: String
  /// The only pool of workers that register with it, or of jobs that are submitted with it. Nil: they choose.
  package var pool: String?
  package var createdAt: Timestamp
  /// Nil: it does not expire.
  package var expiresAt: Timestamp?
  package var revokedAt: Timestamp?
  /// Its text, which is what a client presents. Only in the answer to the request that made it.
  package var token: String?
  /// Of a token of workers, in the same answer, of a farm that has an authority of its own: the token with the
  /// authority's digest, so that a worker needs nothing else to know the farm.
  package var join: String?

  package init(id: String, role: Role, owner: String, description: String, createdAt: Timestamp) {
    self.id = id
    self.role = role
    self.owner = owner
    self.description = description
    self.createdAt = createdAt
  }
}

/// Which entries of the audit are asked for.
package struct AuditRequest: Sendable, Hashable {
  package static let mostLimit = 1000

  /// Only entries with smaller numbers. Nil: from the newest.
  package var before: Int64?
  package var limit = 200
  package var owner: String?
  /// Only those about this: the id of a job, of a webhook or of a token, or the digest of a content.
  package var subject: String?
  /// By name. Empty: any.
  package var actions: [String] = []

  package init() {}
}

/// What somebody has done, or was refused. Its JSON is stable: keys may be added, but are never changed.
package struct AuditReport: Sendable, Hashable, Codable {
  /// Counts the entries of a farm.
  package var number: Int64
  package var time: Timestamp
  package var action: String
  /// Whose token it was. Nil: the farm's own, or none.
  package var owner: String?
  /// The token's role; `operator` and `worker` also of the farm's own tokens. Nil: it had no token that is valid.
  package var role: String?
  /// The token's id.
  package var token: String?
  /// Where from: an address. Empty: the coordinator itself.
  package var address: String
  /// What it was done to. Empty: nothing that has a name.
  package var subject: String
  /// For people.
  package var detail: String
  /// How often, where several are one entry.
  package var times: Int64

  package init(number: Int64, time: Timestamp, action: String, address: String, subject: String) {
    self.number = number
    self.time = time
    self.action = action
    self.address = address
    self.subject = subject
    detail = ""
    times = 1
  }
}
