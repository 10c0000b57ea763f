package import Digest
package import FarmModel

/// A token: who has its text may do what its role allows.
package struct AccessToken: Sendable, Hashable {
  package var id: AccessTokenID
  /// Of the text, which is not stored.
  package var digest: SHA256Digest
  package var role: Role
  /// For whom it was made: 1 to 64 visible ASCII characters.
  package var owner: String
  /// The only pool of a worker that registers with it, and of jobs that are submitted with it. Nil: they choose. Only
  /// tokens of workers and submitters have one.
  package var pool: String?
  /// For people.
  package var description: String
  /// When it was added. This and the next two are since 1970, by the store's clock, which sets them.
  package var created: Duration
  /// Nil: it does not expire.
  package var expires: Duration?
  package var revoked: Duration?

  package init(
    id: AccessTokenID, digest: SHA256Digest, role: Role, owner: String, pool: String? = nil,
    description: String = "",
    created: Duration = .zero, expires: Duration? = nil, revoked: Duration? = nil
  ) {
    self.id = id
    self.digest = digest
    self.role = role
    self.owner = owner
    self.pool = pool
    self.description = description
    self.created = created
    self.expires = expires
    self.revoked = revoked
  }
}

extension AccessToken {
  /// Who presents the token: with it or with what was issued for it.
  /// - Parameter address: Where from, without a port.
  package func caller(from address: String) -> Caller {
    Caller(role: role, owner: owner, token: id, pool: pool, address: address)
  }
}

/// What somebody has done or was refused.
package struct AuditEntry: Sendable, Hashable {
  package enum Action: String, Sendable, Hashable, CaseIterable {
    case jobSubmitted, jobCancelled, jobRetried, jobPaused, jobResumed, jobPriorityChanged, jobPoolChanged, jobDeleted
    case contentUploaded, contentDownloaded
    case webhookAdded, webhookChanged, webhookRemoved, webhookSecretChanged, messageSentAgain
    case tokenCreated, tokenRevoked, certificateIssued, ownerChanged, poolChanged, poolRemoved, workerHeld
    case workerReleased
    /// It had no token that is valid, or none that allows what it asked for.
    case refused
  }

  /// Counts the entries. Set by the store, with `at`.
  package var number: Int64
  /// When, since 1970, by the store's clock.
  package var at: Duration
  package var action: Action
  package var caller: Caller
  /// What it was done to: the id of a job, of a webhook or of a token, or the digest of a content.
  package var subject: String
  /// For people: such as a job's name, or why it was refused.
  package var detail: String
  /// How often, where several are one entry.
  package var times: Int64

  package init(_ action: Action, by caller: Caller, of subject: String, detail: String = "", times: Int64 = 1) {
    number = 0
    at = .zero
    self.action = action
    self.caller = caller
    self.subject = subject
    self.detail = detail
    self.times = times
  }
}

/// Which entries of the audit are listed.
package struct AuditFilter: Sendable, Hashable {
  /// Only entries with smaller numbers. Nil: from the newest.
  package var before: Int64?
  /// Only those of this owner.
  package var owner: String?
  /// Only those about this.
  package var subject: String?
  /// Only those of these kinds. Empty: of any.
  package var actions: [AuditEntry.Action]

  package init(
    before: Int64? = nil, owner: String? = nil, subject: String? = nil, actions: [AuditEntry.Action] = []
  ) {
    self.before = before
    self.owner = owner
    self.subject = subject
    self.actions = actions
  }
}

/// Who may use the farm, and who has used it. Part of a `JobStore`.
package protocol AccessStore: Sendable {
  /// Adds a token.
  ///
  /// - Parameter lifetime: From now on. Nil: it does not expire.
  /// - Returns: The token with its times. Nil, with nothing written, if there is one of this id or of this digest.
  func add(_ token: AccessToken, lifetime: Duration?) async throws(JobStoreError) -> AccessToken?

  /// In the order in which they were added, then of their ids.
  func accessTokens() async throws(JobStoreError) -> [AccessToken]

  /// The token of this digest, unless it is revoked or past its time.
  func accessToken(of digest: SHA256Digest) async throws(JobStoreError) -> AccessToken?

  /// - Returns: The token after this: one that was revoked before keeps its time. Nil: there is none.
  func revoke(_ token: AccessTokenID) async throws(JobStoreError) -> AccessToken?

  /// Those that are revoked, past their time or absent, in the order of their ids.
  func invalid(_ tokens: [AccessTokenID]) async throws(JobStoreError) -> [AccessTokenID]

  /// The token of workers with this id, unless it is revoked. Its time limits who joins by it, and ends nobody who has.
  func joinedToken(_ id: AccessTokenID) async throws(JobStoreError) -> AccessToken?

  /// Those that are no tokens of workers, or revoked ones, in the order of their ids.
  func left(_ tokens: [AccessTokenID]) async throws(JobStoreError) -> [AccessTokenID]

  func record(_ entry: AuditEntry) async throws(JobStoreError)

  /// The newest first, at most `limit`.
  func auditEntries(_ filter: AuditFilter, limit: Int) async throws(JobStoreError) -> [AuditEntry]

  /// Removes the oldest entries that are older than `age`, at most `limit`, and the tokens that were invalid for so
  /// long; of those of workers the revoked ones alone.
  ///
  /// - Returns: How many entries were removed.
  func removeAuditEntries(olderThan age: Duration, limit: Int) async throws(JobStoreError) -> Int
}
