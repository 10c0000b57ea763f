package import Digest
package import FarmModel
import FoundationEssentials

/// The reference store: a farm's state in memory, for a farm that ends with its process.
package actor MemoryJobStore: JobStore {
  private(set) var state: FarmState
  private let now: @Sendable () -> Duration
  /// Of the clock's zero, since 1970.
  private let origin: Duration
  private let streams = ChangeStreams()
  private var isClosed = false

  /// - Parameters:
  ///   - origin: The clock's zero, since 1970. Nil: it follows from the time of day now.
  ///   - now: The time since any fixed moment, which never decreases; the store's only clock.
  package init(
    policy: LeasePolicy = LeasePolicy(), origin: Duration? = nil, now: @escaping @Sendable () -> Duration
  ) {
    let origin = origin ?? .seconds(Date.now.timeIntervalSince1970) - now()
    state = FarmState(policy: policy, origin: origin)
    self.now = now
    self.origin = origin
  }

  /// Ends every stream of `changes()`. Operations after it throw `.closed`.
  package func close() {
    isClosed = true
    streams.finish()
  }

  @discardableResult
  package func submit(_ job: NewJob) throws(JobStoreError) -> JobID {
    try run { (state, now) throws(JobStoreError) in try state.submit(job, now: now) }
  }

  package func jobsToPlan() throws(JobStoreError) -> [JobID] {
    try run { (state, now) in state.jobsToPlan(now: now) }
  }

  package func beginPlanning(_ job: JobID, by planner: String, isAlone: Bool) throws(JobStoreError) -> PlanningStart {
    try run { (state, now) in state.beginPlanning(job, by: planner, isAlone: isAlone, now: now) }
  }

  package func endPlanning(_ job: JobID, by planner: String) throws(JobStoreError) {
    try run { (state, _) in state.endPlanning(job, by: planner) }
  }

  package func inspections(olderThan age: Duration) throws(JobStoreError) -> [JobID] {
    try run { (state, now) in state.inspections(olderThan: age, now: now) }
  }

  package func measure(_ job: JobID, build: String, tasks: [NewTask]) throws(JobStoreError) -> Bool {
    try run { (state, now) throws(JobStoreError) in
      try state.measure(job, build: build, tasks: tasks, now: now)
    }
  }

  package func plan(_ job: JobID, build: String, tasks: [NewTask]) throws(JobStoreError) -> Bool {
    try run { (state, now) throws(JobStoreError) in
      try state.plan(job, build: build, tasks: tasks, now: now)
    }
  }

  package func jobsToRebind() throws(JobStoreError) -> [JobID] {
    try run { (state, now) in state.jobsToRebind(now: now) }
  }

  package func replan(_ job: JobID, reason: String) throws(JobStoreError) -> Bool {
    try run { (state, now) in state.replan(job, reason: reason, now: now) }
  }

  package func reprobe(_ job: JobID, tasks: [Int32]) throws(JobStoreError) -> Int {
    try run { (state, _) in state.reprobe(job, tasks: tasks) }
  }

  package func retry(_ job: JobID) throws(JobStoreError) -> JobState? {
    try run { (state, now) throws(JobStoreError) in try state.retry(job, now: now) }
  }

  package func fail(_ job: JobID, failure: JobFailure) throws(JobStoreError) -> Bool {
    try run { (state, now) throws(JobStoreError) in try state.fail(job, failure: failure, now: now) }
  }

  package func cancel(_ job: JobID) throws(JobStoreError) -> JobState? {
    try run { (state, now) in state.cancel(job, now: now) }
  }

  package func delete(_ job: JobID) throws(JobStoreError) -> Bool {
    try run { (state, now) in state.delete(job, now: now) }
  }

  package func deleteJobs(endedBefore age: Duration, limit: Int) throws(JobStoreError) -> Int {
    try run { (state, now) in state.deleteJobs(endedBefore: age, limit: limit, now: now) }
  }

  package func markFetched(_ job: JobID) throws(JobStoreError) {
    try run { (state, _) in state.markFetched(job) }
  }

  package func contentsInUse(keepingResults: Duration) throws(JobStoreError) -> [SHA256Digest] {
    try run { (state, now) in state.contentsInUse(keepingResults: keepingResults, now: now) }
  }

  package func job(_ id: JobID) throws(JobStoreError) -> Job? {
    try run { (state, now) in state.job(id, now: now) }.map(dated)
  }

  package func summary(of job: JobID) throws(JobStoreError) -> JobSummary? {
    try run { (state, now) in state.summary(of: job, now: now) }.map(dated)
  }

  package func summaries(
    _ purpose: JobPurpose, limit: Int, after: JobID?, filter: JobFilter
  ) throws(JobStoreError) -> [JobSummary] {
    var filter = filter
    filter.since = filter.since.map { $0 - origin }
    filter.before = filter.before.map { $0 - origin }
    let found = try run { (state, now) in
      state.summaries(purpose, limit: limit, after: after, filter: filter, now: now)
    }
    return found.map(dated)
  }

  package func workloads() throws(JobStoreError) -> [Workload] {
    try run { (state, now) in state.workloads(now: now) }
  }

  package func counts(ofPool pool: String?) throws(JobStoreError) -> StoreCounts {
    try run { (state, now) in state.counts(ofPool: pool, now: now) }
  }

  package func tasks(of job: JobID, payloads: Bool) throws(JobStoreError) -> [RenderTask] {
    try run { (state, now) in state.tasks(of: job, payloads: payloads, now: now) }.map { dated($0) }
  }

  package func usage(of job: JobID) throws(JobStoreError) -> [WorkerUsage] {
    try run { (state, _) in state.usage(of: job) }
  }

  package func claim(build: String, pools: [String], slots: [Holder]) throws(JobStoreError) -> [Grant] {
    try run { (state, now) throws(JobStoreError) in
      try state.claim(build: build, pools: pools, slots: slots, now: now)
    }
  }

  package func renew(_ renewals: [Renewal]) throws(JobStoreError) -> [Renewal] {
    try run { (state, now) in state.renew(renewals, now: now) }
  }

  package func publish(
    _ lease: Lease, holder: Holder, result: Content, usage: AttemptUsage?, account: String?, draw: Double
  ) throws(JobStoreError) -> PublishOutcome {
    try run { (state, now) throws(JobStoreError) in
      try state.publish(lease, holder: holder, result: result, usage: usage, account: account, draw: draw, now: now)
    }
  }

  package func fail(_ lease: Lease, holder: Holder, failure: TaskFailure) throws(JobStoreError) -> Bool {
    try run { (state, now) throws(JobStoreError) in
      try state.fail(lease, holder: holder, failure: failure, now: now)
    }
  }

  package func disconnect(_ holder: Holder) throws(JobStoreError) -> Int {
    try run { (state, now) in state.disconnect(holder, now: now) }
  }

  package func expire() throws(JobStoreError) -> [Lease] {
    try run { (state, now) in state.expire(now: now) }
  }

  package func register(_ workers: [WorkerRecord]) throws(JobStoreError) {
    try run { (state, now) throws(JobStoreError) in try state.register(workers, now: now) }
  }

  package func workers() throws(JobStoreError) -> [WorkerRecord] {
    try run { (state, now) in state.workers(now: now) }.map { record in
      var record = record
      record.connectedAt += origin
      return record
    }
  }

  package func contentStore(_ identity: String, replacing: Bool) throws(JobStoreError) -> String {
    try run { (state, _) in state.contentStore(identity, replacing: replacing) }
  }

  package nonisolated func changes() -> AsyncStream<Void> { streams.add() }

  private func run<Value>(
    _ transition: (inout FarmState, Duration) throws(JobStoreError) -> Value
  ) throws(JobStoreError) -> Value {
    guard !isClosed else { throw JobStoreError(.closed, "the job store is closed") }
    let changeCount = state.changeCount
    let value = try transition(&state, now())
    if state.changeCount != changeCount { streams.signal() }
    return value
  }
}

// MARK: - Points in time

extension MemoryJobStore {
  /// The state has the times of its clock.
  private func dated(_ job: Job) -> Job {
    var job = job
    job.submittedAt += origin
    job.endedAt = job.endedAt.map { $0 + origin }
    job.heldUntil = job.heldUntil.map { $0 + origin }
    job.renderingSince = job.renderingSince.map { $0 + origin }
    return job
  }

  private func dated(_ task: RenderTask) -> RenderTask {
    var task = task
    for index in task.leases.indices { task.leases[index].grantedAt += origin }
    for index in task.attempts.indices {
      task.attempts[index].endedAt = task.attempts[index].endedAt.map { $0 + origin }
    }
    if let at = task.publisher?.publishedAt { task.publisher?.publishedAt = at + origin }
    return task
  }

  private func dated(_ summary: JobSummary) -> JobSummary {
    var summary = summary
    summary.job = dated(summary.job)
    return summary
  }
}

// MARK: - The journal

extension MemoryJobStore {
  package func events(after position: JournalPosition?, limit: Int) throws(JobStoreError) -> [JournalEvent]? {
    try run { (state, _) in state.events(after: position, limit: limit) }?.map(dated)
  }

  package func newestEvents(limit: Int) throws(JobStoreError) -> [JournalEvent] {
    try run { (state, _) in state.newestEvents(limit: limit) }.map(dated)
  }

  package func removeEvents(olderThan age: Duration, most: Int, limit: Int) throws(JobStoreError) -> Int {
    try run { (state, now) in state.removeEvents(olderThan: age, most: most, limit: limit, now: now) }
  }

  /// The state has the time of its clock.
  private func dated(_ event: JournalEvent) -> JournalEvent {
    var event = event
    event.at += origin
    return event
  }
}

// MARK: - Steering

extension MemoryJobStore {
  package func pause(_ job: JobID, stopping: Bool) throws(JobStoreError) -> JobState? {
    try run { (state, now) in state.pause(job, stopping: stopping, now: now) }
  }

  package func resume(_ job: JobID) throws(JobStoreError) -> JobState? {
    try run { (state, now) in state.resume(job, now: now) }
  }

  package func watch(_ job: JobID) throws(JobStoreError) -> JobState? {
    try run { (state, now) in state.watch(job, now: now) }
  }

  package func setPriority(of job: JobID, to priority: Int32) throws(JobStoreError) -> JobState? {
    try run { (state, now) in state.setPriority(of: job, to: priority, now: now) }
  }

  package func storage(of owner: String?) throws(JobStoreError) -> OwnerStorage? {
    try run { (state, _) in state.storage(of: owner) }
  }

  package func owners() throws(JobStoreError) -> [Owner] {
    try run { (state, _) in state.owners() }
  }

  package func change(_ owner: String, _ change: OwnerChange) throws(JobStoreError) {
    try run { (state, _) throws(JobStoreError) in try state.change(owner, change) }
  }
}

// MARK: - Pools

extension MemoryJobStore {
  package func pools() throws(JobStoreError) -> [Pool] { try run { (state, now) in state.pools(now: now) } }

  package func openJobsByPool() throws(JobStoreError) -> [String: Int64] {
    try run { (state, _) in state.openJobsByPool() }
  }

  package func setPool(_ pool: Pool) throws(JobStoreError) {
    try pool.validate()
    let rules = TimeZoneRules.named(pool.timeZone)
    try run { (state, _) throws(JobStoreError) in try state.setPool(pool, rules: rules) }
  }

  package func removePool(_ name: String) throws(JobStoreError) -> Bool {
    try run { (state, _) in state.removePool(name) }
  }

  package func setPool(of job: JobID, to pool: String?) throws(JobStoreError) -> JobState? {
    try run { (state, now) throws(JobStoreError) in try state.setPool(of: job, to: pool, now: now) }
  }
}

// MARK: - Standings

extension MemoryJobStore {
  package func acceptUnchecked() throws(JobStoreError) -> [UncheckedResult] {
    try run { (state, now) in state.acceptUnchecked(now: now) }
  }

  package func standings() throws(JobStoreError) -> [WorkerStanding] {
    try run { (state, _) in
      state.workerStandings().map { standing in
        var standing = standing
        standing.heldAt = standing.heldAt.map { $0 + origin }
        return standing
      }
    }
  }

  package func setHold(_ hold: WorkerHold?, of account: String, reason: String) throws(JobStoreError) -> Bool {
    try WorkerRecord.validate(account: account)
    return try run { (state, now) in state.setHold(hold, of: account, reason: reason, now: now) }
  }

  package func accounts(named name: String) throws(JobStoreError) -> [String] {
    try run { (state, _) in state.accounts(named: name) }
  }

  package func purge() throws(JobStoreError) -> Purge { try run { (state, now) in state.purge(now: now) } }
}

// MARK: - Access

extension MemoryJobStore {
  package func add(_ token: AccessToken, lifetime: Duration?) throws(JobStoreError) -> AccessToken? {
    try run { (state, now) throws(JobStoreError) in try state.add(token, lifetime: lifetime, now: now) }.map(dated)
  }

  package func accessTokens() throws(JobStoreError) -> [AccessToken] {
    try run { (state, _) in state.accessTokens }.map(dated)
  }

  package func accessToken(of digest: SHA256Digest) throws(JobStoreError) -> AccessToken? {
    try run { (state, now) in state.accessToken(of: digest, now: now) }.map(dated)
  }

  package func revoke(_ token: AccessTokenID) throws(JobStoreError) -> AccessToken? {
    try run { (state, now) in state.revoke(token, now: now) }.map(dated)
  }

  package func invalid(_ tokens: [AccessTokenID]) throws(JobStoreError) -> [AccessTokenID] {
    try run { (state, now) in state.invalid(tokens, now: now) }
  }

  package func joinedToken(_ id: AccessTokenID) throws(JobStoreError) -> AccessToken? {
    try run { (state, _) in state.joinedToken(id) }.map(dated)
  }

  package func left(_ tokens: [AccessTokenID]) throws(JobStoreError) -> [AccessTokenID] {
    try run { (state, _) in state.left(tokens) }
  }

  package func record(_ entry: AuditEntry) throws(JobStoreError) {
    try run { (state, now) throws(JobStoreError) in try state.record(entry, now: now) }
  }

  package func auditEntries(_ filter: AuditFilter, limit: Int) throws(JobStoreError) -> [AuditEntry] {
    try run { (state, _) in state.auditEntries(filter, limit: limit) }.map { entry in
      var entry = entry
      entry.at += origin
      return entry
    }
  }

  package func removeAuditEntries(olderThan age: Duration, limit: Int) throws(JobStoreError) -> Int {
    try run { (state, now) in state.removeAuditEntries(olderThan: age, limit: limit, now: now) }
  }

  private func dated(_ token: AccessToken) -> AccessToken {
    var token = token
    token.created += origin
    token.expires = token.expires.map { $0 + origin }
    token.revoked = token.revoked.map { $0 + origin }
    return token
  }
}

// MARK: - Webhooks

extension MemoryJobStore {
  package func add(_ webhook: Webhook) throws(JobStoreError) -> Bool {
    try run { (state, now) throws(JobStoreError) in try state.add(webhook, now: now) }
  }

  package func webhooks() throws(JobStoreError) -> [Webhook] {
    try run { (state, now) in state.webhooks(now: now) }.map(dated)
  }

  package func change(_ webhook: WebhookID, _ change: WebhookChange) throws(JobStoreError) -> Webhook? {
    try run { (state, now) in state.change(webhook, change, now: now) }.map(dated)
  }

  package func remove(_ webhook: WebhookID) throws(JobStoreError) -> Bool {
    try run { (state, _) in state.remove(webhook) }
  }

  package func takeDeliveries(
    limit: Int, except busy: [WebhookID], for time: Duration
  ) throws(JobStoreError) -> [DueDelivery] {
    let taken = try run { (state, now) in state.takeDeliveries(limit: limit, except: busy, for: time, now: now) }
    return taken.map { DueDelivery(delivery: dated($0.delivery), webhook: dated($0.webhook)) }
  }

  package func endDelivery(
    to webhook: WebhookID, event: Int64, attempt: Int32, turn: Int32, _ outcome: DeliveryOutcome
  ) throws(JobStoreError) -> Bool {
    try run { (state, now) in
      state.endDelivery(to: webhook, event: event, attempt: attempt, turn: turn, outcome, now: now)
    }
  }

  package func deliveries(
    of webhook: WebhookID, before event: Int64?, state: DeliveryState?, limit: Int
  ) throws(JobStoreError) -> [Delivery] {
    try run { (farm, _) in farm.deliveries(of: webhook, before: event, state: state, limit: limit) }.map(dated)
  }

  package func sendAgain(_ webhook: WebhookID, event: Int64) throws(JobStoreError) -> Bool {
    try run { (state, now) in state.sendAgain(webhook, event: event, now: now) }
  }

  package func removeDeliveries(olderThan age: Duration, limit: Int) throws(JobStoreError) -> Int {
    try run { (state, now) in state.removeDeliveries(olderThan: age, limit: limit, now: now) }
  }

  package func pendingDeliveries() throws(JobStoreError) -> Int64 {
    try run { (state, _) in state.pendingDeliveries() }
  }

  private func dated(_ webhook: Webhook) -> Webhook {
    var webhook = webhook
    webhook.created += origin
    return webhook
  }

  private func dated(_ delivery: Delivery) -> Delivery {
    var delivery = delivery
    delivery.event = dated(delivery.event)
    delivery.due += origin
    delivery.attempted = delivery.attempted.map { $0 + origin }
    return delivery
  }
}
