import Digest
import FarmModel
import Jobs
import Synchronization
import Testing

/// A job store whose operations fail or do not return while a test wants that.
final class ObstructedStore: JobStore {
  enum Operation: Hashable, CaseIterable {
    case plan, claim, renew, publish, fail, disconnect, expire, register, reading, other
  }

  private struct State {
    var failing: Set<Operation> = []
    var hanging: Set<Operation> = []
    var waiting: [CheckedContinuation<Void, Never>] = []
    var calls: [Operation: Int] = [:]
    var claims: [[Holder]] = []
  }

  let inner: MemoryJobStore
  private let state = Mutex(State())

  init(_ inner: MemoryJobStore) {
    self.inner = inner
  }

  /// These fail as when the database is away.
  func fail(_ operations: [Operation] = Operation.allCases) {
    state.withLock { $0.failing = Set(operations) }
  }

  /// These do not return, as when the database does not answer.
  func hang(_ operations: [Operation] = Operation.allCases) {
    state.withLock { $0.hanging = Set(operations) }
  }

  /// Nothing fails or hangs from now on, and what hung goes on.
  func free() {
    let waiting = state.withLock { state in
      state.failing = []
      state.hanging = []
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// How often an operation was called.
  func calls(_ operation: Operation) -> Int { state.withLock { $0.calls[operation] ?? 0 } }

  /// The slots of each claim.
  var claims: [[Holder]] { state.withLock { $0.claims } }

  private func pass(_ operation: Operation) async throws(JobStoreError) {
    let fails = state.withLock { state in
      state.calls[operation, default: 0] += 1
      return state.failing.contains(operation)
    }
    if fails { throw JobStoreError(.unavailable, "the test has taken the database away") }
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        guard state.hanging.contains(operation) else { return true }
        state.waiting.append(continuation)
        return false
      }
      if goesOn { continuation.resume() }
    }
  }

  func submit(_ job: NewJob) async throws(JobStoreError) -> JobID {
    try await pass(.other)
    return try await inner.submit(job)
  }

  func jobsToPlan() async throws(JobStoreError) -> [JobID] {
    try await pass(.reading)
    return try await inner.jobsToPlan()
  }

  func beginPlanning(
    _ job: JobID, by planner: String, isAlone: Bool
  ) async throws(JobStoreError) -> PlanningStart {
    try await pass(.plan)
    return try await inner.beginPlanning(job, by: planner, isAlone: isAlone)
  }

  func endPlanning(_ job: JobID, by planner: String) async throws(JobStoreError) {
    try await pass(.plan)
    try await inner.endPlanning(job, by: planner)
  }

  func inspections(olderThan age: Duration) async throws(JobStoreError) -> [JobID] {
    try await pass(.reading)
    return try await inner.inspections(olderThan: age)
  }

  func measure(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool {
    try await pass(.plan)
    return try await inner.measure(job, build: build, tasks: tasks)
  }

  func plan(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool {
    try await pass(.plan)
    return try await inner.plan(job, build: build, tasks: tasks)
  }

  func jobsToRebind() async throws(JobStoreError) -> [JobID] {
    try await pass(.reading)
    return try await inner.jobsToRebind()
  }

  func replan(_ job: JobID, reason: String) async throws(JobStoreError) -> Bool {
    try await pass(.plan)
    return try await inner.replan(job, reason: reason)
  }

  func reprobe(_ job: JobID, tasks: [Int32]) async throws(JobStoreError) -> Int {
    try await pass(.plan)
    return try await inner.reprobe(job, tasks: tasks)
  }

  func retry(_ job: JobID) async throws(JobStoreError) -> JobState? {
    try await pass(.other)
    return try await inner.retry(job)
  }

  func fail(_ job: JobID, failure: JobFailure) async throws(JobStoreError) -> Bool {
    try await pass(.other)
    return try await inner.fail(job, failure: failure)
  }

  func cancel(_ job: JobID) async throws(JobStoreError) -> JobState? {
    try await pass(.other)
    return try await inner.cancel(job)
  }

  func delete(_ job: JobID) async throws(JobStoreError) -> Bool {
    try await pass(.other)
    return try await inner.delete(job)
  }

  func deleteJobs(endedBefore age: Duration, limit: Int) async throws(JobStoreError) -> Int {
    try await pass(.other)
    return try await inner.deleteJobs(endedBefore: age, limit: limit)
  }

  func markFetched(_ job: JobID) async throws(JobStoreError) {
    try await pass(.other)
    try await inner.markFetched(job)
  }

  func contentsInUse(keepingResults: Duration) async throws(JobStoreError) -> [SHA256Digest] {
    try await pass(.reading)
    return try await inner.contentsInUse(keepingResults: keepingResults)
  }

  func job(_ id: JobID) async throws(JobStoreError) -> Job? {
    try await pass(.reading)
    return try await inner.job(id)
  }

  func summary(of job: JobID) async throws(JobStoreError) -> JobSummary? {
    try await pass(.reading)
    return try await inner.summary(of: job)
  }

  func summaries(
    _ purpose: JobPurpose, limit: Int, after: JobID?, filter: JobFilter
  ) async throws(JobStoreError) -> [JobSummary] {
    try await pass(.reading)
    return try await inner.summaries(purpose, limit: limit, after: after, filter: filter)
  }

  func tasks(of job: JobID, payloads: Bool) async throws(JobStoreError) -> [RenderTask] {
    try await pass(.reading)
    return try await inner.tasks(of: job, payloads: payloads)
  }

  func workloads() async throws(JobStoreError) -> [Workload] {
    try await pass(.reading)
    return try await inner.workloads()
  }

  func counts(ofPool pool: String?) async throws(JobStoreError) -> StoreCounts {
    try await pass(.reading)
    return try await inner.counts(ofPool: pool)
  }

  func claim(build: String, pools: [String], slots: [Holder]) async throws(JobStoreError) -> [Grant] {
    state.withLock { $0.claims.append(slots) }
    try await pass(.claim)
    return try await inner.claim(build: build, pools: pools, slots: slots)
  }

  func renew(_ renewals: [Renewal]) async throws(JobStoreError) -> [Renewal] {
    try await pass(.renew)
    return try await inner.renew(renewals)
  }

  func publish(
    _ lease: Lease, holder: Holder, result: Content, usage: AttemptUsage?, account: String?, draw: Double
  ) async throws(JobStoreError) -> PublishOutcome {
    try await pass(.publish)
    return try await inner.publish(lease, holder: holder, result: result, usage: usage, account: account, draw: draw)
  }

  func acceptUnchecked() async throws(JobStoreError) -> [UncheckedResult] {
    try await pass(.reading)
    return try await inner.acceptUnchecked()
  }

  func standings() async throws(JobStoreError) -> [WorkerStanding] {
    try await pass(.reading)
    return try await inner.standings()
  }

  func setHold(_ hold: WorkerHold?, of account: String, reason: String) async throws(JobStoreError) -> Bool {
    try await pass(.reading)
    return try await inner.setHold(hold, of: account, reason: reason)
  }

  func accounts(named name: String) async throws(JobStoreError) -> [String] {
    try await pass(.reading)
    return try await inner.accounts(named: name)
  }

  func purge() async throws(JobStoreError) -> Purge {
    try await pass(.reading)
    return try await inner.purge()
  }

  func usage(of job: JobID) async throws(JobStoreError) -> [WorkerUsage] {
    try await pass(.reading)
    return try await inner.usage(of: job)
  }

  func fail(_ lease: Lease, holder: Holder, failure: TaskFailure) async throws(JobStoreError) -> Bool {
    try await pass(.fail)
    return try await inner.fail(lease, holder: holder, failure: failure)
  }

  func disconnect(_ holder: Holder) async throws(JobStoreError) -> Int {
    try await pass(.disconnect)
    return try await inner.disconnect(holder)
  }

  func expire() async throws(JobStoreError) -> [Lease] {
    try await pass(.expire)
    return try await inner.expire()
  }

  func register(_ workers: [WorkerRecord]) async throws(JobStoreError) {
    try await pass(.register)
    try await inner.register(workers)
  }

  func workers() async throws(JobStoreError) -> [WorkerRecord] {
    try await pass(.reading)
    return try await inner.workers()
  }

  func contentStore(_ identity: String, replacing: Bool) async throws(JobStoreError) -> String {
    try await pass(.other)
    return try await inner.contentStore(identity, replacing: replacing)
  }

  func changes() -> AsyncStream<Void> { inner.changes() }
}

extension TestCoordinator {
  /// As `run`, with a store that the test can obstruct.
  static func runObstructed(
    _ body: @escaping @Sendable (TestCoordinator, ObstructedStore) async throws -> Void
  ) async throws {
    let made = Mutex<ObstructedStore?>(nil)
    let wrap = { (inner: MemoryJobStore) -> any JobStore in
      let store = ObstructedStore(inner)
      made.withLock { $0 = store }
      return store
    }
    try await run(wrap: wrap) { coordinator in
      let store = try #require(made.withLock { $0 })
      defer { store.free() }
      try await body(coordinator, store)
    }
  }
}

extension ObstructedStore {
  func watch(_ job: JobID) async throws(JobStoreError) -> JobState? {
    try await pass(.other)
    return try await inner.watch(job)
  }

  func pause(_ job: JobID, stopping: Bool) async throws(JobStoreError) -> JobState? {
    try await pass(.other)
    return try await inner.pause(job, stopping: stopping)
  }

  func resume(_ job: JobID) async throws(JobStoreError) -> JobState? {
    try await pass(.other)
    return try await inner.resume(job)
  }

  func setPriority(of job: JobID, to priority: Int32) async throws(JobStoreError) -> JobState? {
    try await pass(.other)
    return try await inner.setPriority(of: job, to: priority)
  }

  func storage(of owner: String?) async throws(JobStoreError) -> OwnerStorage? {
    try await pass(.reading)
    return try await inner.storage(of: owner)
  }

  func owners() async throws(JobStoreError) -> [Owner] {
    try await pass(.reading)
    return try await inner.owners()
  }

  func change(_ owner: String, _ change: OwnerChange) async throws(JobStoreError) {
    try await pass(.other)
    try await inner.change(owner, change)
  }

  func pools() async throws(JobStoreError) -> [Pool] {
    try await pass(.reading)
    return try await inner.pools()
  }

  func openJobsByPool() async throws(JobStoreError) -> [String: Int64] {
    try await pass(.reading)
    return try await inner.openJobsByPool()
  }

  func setPool(_ pool: Pool) async throws(JobStoreError) {
    try await pass(.other)
    try await inner.setPool(pool)
  }

  func removePool(_ name: String) async throws(JobStoreError) -> Bool {
    try await pass(.other)
    return try await inner.removePool(name)
  }

  func setPool(of job: JobID, to pool: String?) async throws(JobStoreError) -> JobState? {
    try await pass(.other)
    return try await inner.setPool(of: job, to: pool)
  }
}

extension ObstructedStore {
  func add(_ token: AccessToken, lifetime: Duration?) async throws(JobStoreError) -> AccessToken? {
    try await pass(.other)
    return try await inner.add(token, lifetime: lifetime)
  }

  func accessTokens() async throws(JobStoreError) -> [AccessToken] {
    try await pass(.reading)
    return try await inner.accessTokens()
  }

  func accessToken(of digest: SHA256Digest) async throws(JobStoreError) -> AccessToken? {
    try await pass(.reading)
    return try await inner.accessToken(of: digest)
  }

  func revoke(_ token: AccessTokenID) async throws(JobStoreError) -> AccessToken? {
    try await pass(.other)
    return try await inner.revoke(token)
  }

  func joinedToken(_ id: AccessTokenID) async throws(JobStoreError) -> AccessToken? {
    try await pass(.reading)
    return try await inner.joinedToken(id)
  }

  func left(_ tokens: [AccessTokenID]) async throws(JobStoreError) -> [AccessTokenID] {
    try await pass(.reading)
    return try await inner.left(tokens)
  }

  func invalid(_ tokens: [AccessTokenID]) async throws(JobStoreError) -> [AccessTokenID] {
    try await pass(.reading)
    return try await inner.invalid(tokens)
  }

  func record(_ entry: AuditEntry) async throws(JobStoreError) {
    try await pass(.other)
    try await inner.record(entry)
  }

  func auditEntries(_ filter: AuditFilter, limit: Int) async throws(JobStoreError) -> [AuditEntry] {
    try await pass(.reading)
    return try await inner.auditEntries(filter, limit: limit)
  }

  func removeAuditEntries(olderThan age: Duration, limit: Int) async throws(JobStoreError) -> Int {
    try await pass(.other)
    return try await inner.removeAuditEntries(olderThan: age, limit: limit)
  }
}

extension ObstructedStore {
  func events(after position: JournalPosition?, limit: Int) async throws(JobStoreError) -> [JournalEvent]? {
    try await pass(.reading)
    return try await inner.events(after: position, limit: limit)
  }

  func newestEvents(limit: Int) async throws(JobStoreError) -> [JournalEvent] {
    try await pass(.reading)
    return try await inner.newestEvents(limit: limit)
  }

  func removeEvents(olderThan age: Duration, most: Int, limit: Int) async throws(JobStoreError) -> Int {
    try await pass(.other)
    return try await inner.removeEvents(olderThan: age, most: most, limit: limit)
  }

  func add(_ webhook: Webhook) async throws(JobStoreError) -> Bool {
    try await pass(.other)
    return try await inner.add(webhook)
  }

  func webhooks() async throws(JobStoreError) -> [Webhook] {
    try await pass(.reading)
    return try await inner.webhooks()
  }

  func change(_ webhook: WebhookID, _ change: WebhookChange) async throws(JobStoreError) -> Webhook? {
    try await pass(.other)
    return try await inner.change(webhook, change)
  }

  func remove(_ webhook: WebhookID) async throws(JobStoreError) -> Bool {
    try await pass(.other)
    return try await inner.remove(webhook)
  }

  func takeDeliveries(
    limit: Int, except busy: [WebhookID], for time: Duration
  ) async throws(JobStoreError) -> [DueDelivery] {
    try await pass(.other)
    return try await inner.takeDeliveries(limit: limit, except: busy, for: time)
  }

  func endDelivery(
    to webhook: WebhookID, event: Int64, attempt: Int32, turn: Int32, _ outcome: DeliveryOutcome
  ) async throws(JobStoreError) -> Bool {
    try await pass(.other)
    return try await inner.endDelivery(to: webhook, event: event, attempt: attempt, turn: turn, outcome)
  }

  func deliveries(
    of webhook: WebhookID, before event: Int64?, state: DeliveryState?, limit: Int
  ) async throws(JobStoreError) -> [Delivery] {
    try await pass(.reading)
    return try await inner.deliveries(of: webhook, before: event, state: state, limit: limit)
  }

  func sendAgain(_ webhook: WebhookID, event: Int64) async throws(JobStoreError) -> Bool {
    try await pass(.other)
    return try await inner.sendAgain(webhook, event: event)
  }

  func removeDeliveries(olderThan age: Duration, limit: Int) async throws(JobStoreError) -> Int {
    try await pass(.other)
    return try await inner.removeDeliveries(olderThan: age, limit: limit)
  }

  func pendingDeliveries() async throws(JobStoreError) -> Int64 {
    try await pass(.reading)
    return try await inner.pendingDeliveries()
  }
}
