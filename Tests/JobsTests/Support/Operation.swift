import Digest
import FarmModel

@testable import Jobs

/// One call of a store, or a step of its clock.
enum Operation: Sendable {
  case submit(NewJob)
  case measure(JobID, build: String, tasks: [NewTask])
  case plan(JobID, build: String, tasks: [NewTask])
  case beginPlanning(JobID, String, isAlone: Bool)
  case endPlanning(JobID, String)
  case replan(JobID, String)
  case reprobe(JobID, [Int32])
  case retry(JobID)
  case failJob(JobID, JobFailure)
  case cancel(JobID)
  case delete(JobID)
  case deleteJobs(Duration, limit: Int)
  case markFetched(JobID)
  case claim(build: String, pools: [String] = [], [Holder])
  case renew([Renewal])
  case publish(Lease, Holder, Content, AttemptUsage?, draw: Double)
  case failLease(Lease, Holder, TaskFailure)
  case disconnect(Holder)
  case expire
  case register([WorkerRecord])
  case contentStore(String, replacing: Bool)
  case removeEvents(Duration, most: Int, limit: Int)
  case addWebhook(Webhook)
  case changeWebhook(WebhookID, WebhookChange)
  case removeWebhook(WebhookID)
  case takeDeliveries(limit: Int, except: [WebhookID], for: Duration)
  case endDelivery(WebhookID, place: Int, isLate: Bool, DeliveryOutcome)
  case sendAgain(WebhookID, place: Int)
  case removeDeliveries(Duration, limit: Int)
  case addToken(AccessToken, lifetime: Duration?)
  case revokeToken(AccessTokenID)
  case recordAudit(AuditEntry)
  case removeAudit(Duration, limit: Int)
  case pause(JobID, stopping: Bool)
  case resume(JobID)
  case watch(JobID)
  case setPriority(JobID, Int32)
  case changeOwner(String, OwnerChange)
  case setPool(Pool)
  case removePool(String)
  case setJobsPool(JobID, String?)
  case acceptUnchecked
  case setHold(WorkerHold?, String, String)
  case purge
  case advance(Duration)

  func run(on farm: Farm) async throws -> Outcome {
    do throws(JobStoreError) {
      switch self {
      case .submit(let job): return .plain("submitted: \(try await farm.store.submit(job))")
      case .measure(let job, let build, let tasks):
        return .plain("measured \(try await farm.store.measure(job, build: build, tasks: tasks))")
      case .plan(let job, let build, let tasks):
        return .plain("planned \(try await farm.store.plan(job, build: build, tasks: tasks))")
      case .beginPlanning(let job, let planner, let isAlone):
        return .plain("planning \(try await farm.store.beginPlanning(job, by: planner, isAlone: isAlone))")
      case .endPlanning(let job, let planner):
        try await farm.store.endPlanning(job, by: planner)
        return .plain("planning ended")
      case .replan(let job, let reason):
        return .plain("replanned \(try await farm.store.replan(job, reason: reason))")
      case .reprobe(let job, let tasks):
        let count = try await farm.store.reprobe(job, tasks: tasks)
        return .plain("reprobed \(count > 0): \(count)")
      case .retry(let job):
        return .plain("retried, now \(try await farm.store.retry(job).map(\.rawValue) ?? "absent")")
      case .failJob(let job, let failure):
        return .plain("failed job \(try await farm.store.fail(job, failure: failure))")
      case .cancel(let job):
        return .plain("cancelled, now \(try await farm.store.cancel(job).map(\.rawValue) ?? "absent")")
      case .delete(let job): return .plain("deleted \(try await farm.store.delete(job))")
      case .deleteJobs(let age, let limit):
        let count = try await farm.store.deleteJobs(endedBefore: age, limit: limit)
        return .plain("deleted old \(count > 0): \(count)")
      case .markFetched(let job):
        try await farm.store.markFetched(job)
        return .plain("fetched")
      case .claim(let build, let pools, let slots):
        return .granted(try await farm.store.claim(build: build, pools: pools, slots: slots))
      case .renew(let renewals): return .notRenewed(try await farm.store.renew(renewals))
      case .publish(let lease, let holder, let result, let usage, let draw):
        let outcome = try await farm.store.publish(
          lease, holder: holder, result: result, usage: usage, account: nil, draw: draw)
        return .plain("\(outcome)")
      case .failLease(let lease, let holder, let failure):
        return .plain("failed task \(try await farm.store.fail(lease, holder: holder, failure: failure))")
      case .disconnect(let holder):
        let count = try await farm.store.disconnect(holder)
        return .plain("disconnected \(count > 0): \(count)")
      case .expire: return .lost(try await farm.store.expire())
      case .register(let workers):
        try await farm.store.register(workers)
        return .plain("registered")
      case .contentStore(let identity, let replacing):
        return .plain("content store: \(try await farm.store.contentStore(identity, replacing: replacing))")
      case .removeEvents(let age, let most, let limit):
        let count = try await farm.store.removeEvents(olderThan: age, most: most, limit: limit)
        return .plain("removed events \(count > 0): \(count)")
      case .addWebhook(let webhook): return .plain("added webhook \(try await farm.store.add(webhook))")
      case .changeWebhook(let id, let change):
        return .plain("changed webhook \(try await farm.store.change(id, change) != nil)")
      case .removeWebhook(let id): return .plain("removed webhook \(try await farm.store.remove(id))")
      case .takeDeliveries(let limit, let busy, let time):
        let taken = try await farm.store.takeDeliveries(limit: limit, except: busy, for: time)
        let list = taken.map { "\($0.webhook.id) \($0.webhook.url) \($0.delivery.type) \($0.delivery.attempts)" }
        return .plain("took deliveries \(!taken.isEmpty): \(list)")
      case .endDelivery(let id, let place, let isLate, let outcome):
        let some = try await farm.store.deliveries(of: id, before: nil, state: .pending, limit: 10_000).inOrder
        guard some.indices.contains(place) else { return .plain("no delivery") }
        var delivery = some[place]
        if isLate { delivery.attempts -= 1 }
        return .plain("ended delivery \(try await farm.store.endDelivery(delivery, outcome))")
      case .sendAgain(let id, let place):
        let some = try await farm.store.deliveries(of: id, before: nil, state: nil, limit: 10_000).inOrder
        let number = some.indices.contains(place) ? some[place].event.position.number : 0
        return .plain("sent again \(try await farm.store.sendAgain(id, event: number))")
      case .removeDeliveries(let age, let limit):
        let count = try await farm.store.removeDeliveries(olderThan: age, limit: limit)
        return .plain("removed deliveries \(count > 0): \(count)")
      case .addToken(let token, let lifetime):
        return .plain("added token \(try await farm.store.add(token, lifetime: lifetime) != nil)")
      case .revokeToken(let id): return .plain("revoked token \(try await farm.store.revoke(id) != nil)")
      case .recordAudit(let entry):
        try await farm.store.record(entry)
        return .plain("recorded")
      case .removeAudit(let age, let limit):
        let count = try await farm.store.removeAuditEntries(olderThan: age, limit: limit)
        return .plain("removed audit \(count > 0): \(count)")
      case .pause(let job, let stopping):
        return .plain("paused \(try await farm.store.pause(job, stopping: stopping).map(\.rawValue) ?? "absent")")
      case .resume(let job):
        return .plain("resumed \(try await farm.store.resume(job).map(\.rawValue) ?? "absent")")
      case .watch(let job): return .plain("watched \(try await farm.store.watch(job)?.hasEnded == false)")
      case .setPriority(let job, let priority):
        return .plain("reordered \(try await farm.store.setPriority(of: job, to: priority) != nil)")
      case .changeOwner(let owner, let change):
        try await farm.store.change(owner, change)
        return .plain("changed owner")
      case .setPool(let pool):
        try await farm.store.setPool(pool)
        return .plain("set pool")
      case .removePool(let name): return .plain("removed pool \(try await farm.store.removePool(name))")
      case .setJobsPool(let job, let pool):
        return .plain("moved \(try await farm.store.setPool(of: job, to: pool) != nil)")
      case .acceptUnchecked:
        let accepted = try await farm.store.acceptUnchecked()
        return .plain("accepted unchecked \(!accepted.isEmpty): \(accepted)")
      case .setHold(let hold, let account, let reason):
        return .plain("set hold \(try await farm.store.setHold(hold, of: account, reason: reason))")
      case .purge:
        let purge = try await farm.store.purge()
        return .plain("purged \(!purge.replanned.isEmpty) \(!purge.doubted.isEmpty): \(purge)")
      case .advance: break
      }
    } catch {
      return .plain("rejected: \(error.code.rawValue): \(error.message)")
    }
    if case .advance(let time) = self { try farm.advance(time) }
    return .plain("advanced")
  }

  enum Outcome: Equatable {
    case plain(String)
    case granted([Grant])
    case lost([Lease])
    case notRenewed([Renewal])

    /// For counting what happens in a trace.
    var label: String {
      switch self {
      case .plain(let text): text.prefix { $0 != ":" }.description
      case .granted(let grants): grants.isEmpty ? "granted nothing" : "granted"
      case .lost(let leases): leases.isEmpty ? "lost nothing" : "lost"
      case .notRenewed(let renewals): renewals.isEmpty ? "renewed" : "not renewed"
      }
    }
  }
}

/// Everything that a store returns: its jobs, tasks, leases, attempts and workers.
struct Visible: Equatable {
  /// Newest first within each purpose.
  var jobs: [Job]
  var summaries: [JobSummary]
  /// Those that filters select.
  var selected: [JobID]
  var tasks: [[RenderTask]]
  var usage: [[WorkerUsage]]
  var contents: Set<SHA256Digest>
  var toRebind: [JobID]
  var toPlan: [JobID]
  var inspections: [JobID]
  var workers: [WorkerRecord]
  var counts: StoreCounts
  /// Those that were recorded since `position`, without what is each store's own.
  var events: [JournalEvent]
  /// Whether some of them are removed already.
  var areEventsRemoved: Bool
  var webhooks: [Webhook]
  var deliveries: [Delivery]
  var owners: [Owner]
  var pools: [Pool]
  var openJobs: [String: Int64]
  var standings: [WorkerStanding]
  var workloads: [Workload]
  /// Those of jobs without a pool, and of a pool.
  var poolCounts: [StoreCounts]
  var tokens: [AccessToken]
  /// Those of `tokens`, and of one that is not there, that are not valid.
  var invalidTokens: [AccessTokenID]
  /// Of all, then those that filters select.
  var audit: [[AuditEntry]]

  /// - Parameters:
  ///   - position: In the store's journal. It is moved to the newest event.
  ///   - earlier: What the store has returned before, of which the tasks and the usage of the jobs `resting` are taken
  ///     if they are listed as they were. Nil: everything is read.
  init(
    of store: any JobStore, since position: inout JournalPosition?, earlier: Visible? = nil, resting: Set<JobID> = []
  ) async throws {
    summaries = []
    for purpose in JobPurpose.allCases { summaries += try await store.summaries(purpose, limit: 1_000) }
    selected = []
    for filter in [
      JobFilter(states: [.probing, .cancelled, .done], since: .seconds(1_767_225_640)),
      JobFilter(name: "LM JOB-1", before: .seconds(1_767_225_900)), JobFilter(owner: "anna"),
      JobFilter(pool: "gpu"), JobFilter(pool: ""),
    ] {
      selected += try await store.summaries(.render, limit: 5, after: nil, filter: filter).map(\.job.id)
    }
    jobs = []
    tasks = []
    usage = []
    let kept = Dictionary(uniqueKeysWithValues: (earlier?.jobs ?? []).enumerated().map { ($1.id, $0) })
    for summary in summaries {
      if let earlier, resting.contains(summary.job.id), let index = kept[summary.job.id],
        earlier.summaries[index] == summary
      {
        jobs.append(earlier.jobs[index])
        tasks.append(earlier.tasks[index])
        usage.append(earlier.usage[index])
        continue
      }
      guard let job = try await store.job(summary.job.id), try await store.summary(of: job.id) == summary else {
        throw JobStoreError(.internal, "job \(summary.job.id) is not as it is listed: \(summary)")
      }
      jobs.append(job)
      tasks.append(try await store.tasks(of: job.id))
      usage.append(try await store.usage(of: job.id))
    }
    let digests = try await store.contentsInUse(keepingResults: .seconds(60))
    contents = Set(digests)
    guard digests.count == contents.count else { throw JobStoreError(.internal, "a content is listed twice") }
    toRebind = try await store.jobsToRebind()
    toPlan = try await store.jobsToPlan()
    inspections = try await store.inspections(olderThan: .seconds(30))
    workers = try await store.workers()
    counts = try await store.counts()
    // A transaction of another test's database holds back events for a moment.
    counts.oldestHeldEvent = nil
    let found = try await store.events(after: position, limit: 10_000)
    let newest = try await store.newestEvents(limit: 1)
    events = (found ?? []).map(\.comparable).sorted { $0.order < $1.order }
    areEventsRemoved = found == nil
    if let found, !found.isEmpty, newest != [found[found.count - 1]] {
      throw JobStoreError(.internal, "the newest event is not the last: \(newest)")
    }
    position = newest.first?.position
    webhooks = try await store.webhooks().map(\.comparable)
    deliveries = []
    for webhook in webhooks {
      let some = try await store.deliveries(of: webhook.id, before: nil, state: nil, limit: 10_000)
      deliveries += some.inOrder.map(\.comparable)
    }
    owners = try await store.owners()
    standings = try await store.standings()
    pools = try await store.pools()
    openJobs = try await store.openJobsByPool()
    workloads = try await store.workloads()
    poolCounts = []
    for pool in ["", "gpu"] {
      var counts = try await store.counts(ofPool: pool)
      counts.oldestHeldEvent = nil
      poolCounts.append(counts)
    }
    tokens = try await store.accessTokens()
    invalidTokens = try await store.invalid(tokens.map(\.id) + [AccessTokenID("tok_9")])
    for token in tokens {
      guard try await store.accessToken(of: token.digest) == (invalidTokens.contains(token.id) ? nil : token) else {
        throw JobStoreError(.internal, "token \(token.id) is not found by its digest as it is listed")
      }
    }
    audit = [try await store.auditEntries(AuditFilter(), limit: 1_000)]
    for filter in [
      AuditFilter(before: audit[0].dropFirst().first?.number, owner: "anna"),
      AuditFilter(subject: "job-1\u{FFFD}", actions: [.refused, .jobDeleted, .tokenCreated]),
    ] {
      audit.append(try await store.auditEntries(filter, limit: 3))
    }
    let pending = Int64(deliveries.count { $0.state == .pending })
    guard try await store.pendingDeliveries() == pending else {
      throw JobStoreError(.internal, "the count of pending deliveries is not \(pending)")
    }
  }

  /// The jobs that have ended, and of which nothing has changed since an earlier state.
  func resting(since earlier: Visible) -> Set<JobID> {
    let before = Dictionary(uniqueKeysWithValues: earlier.jobs.enumerated().map { ($1.id, $0) })
    return Set(
      jobs.indices.filter { index in
        guard jobs[index].state.hasEnded, let old = before[jobs[index].id] else { return false }
        return jobs[index] == earlier.jobs[old] && tasks[index] == earlier.tasks[old]
          && usage[index] == earlier.usage[old]
      }.map { jobs[$0].id })
  }

  /// All leases that are held, by task, then by epoch.
  var leases: [(lease: Lease, held: HeldLease)] {
    tasks.joined().flatMap { task in task.leases.map { (Lease(task: task.id, epoch: $0.epoch), $0) } }
  }

  /// The grants of a claim that a worker of some pools may not have in this state.
  func misplaced(_ grants: [Grant], pools named: [String]) -> [TaskID] {
    let closed = Set(pools.filter { !$0.isOpen }.map(\.name))
    let areClosed = !named.isEmpty && closed.isSuperset(of: named)
    let pools = Dictionary(uniqueKeysWithValues: jobs.map { ($0.id, $0.pool) })
    return grants.map(\.lease.task).filter { task in
      guard !areClosed, let pool = pools[task.job] else { return true }
      return pool.map { closed.contains($0) || !named.contains($0) } ?? false
    }
  }

  var runsIsolatedTask: Bool { tasks.joined().contains { $0.isIsolated && !$0.leases.isEmpty } }

  /// The isolated tasks with a lease that they did not have in an earlier state.
  func newLeasesOfIsolatedTasks(since earlier: Visible) -> [TaskID] {
    let before = Set(earlier.leases.map(\.lease))
    return tasks.joined().filter { task in
      task.isIsolated && task.leases.contains { !before.contains(Lease(task: task.id, epoch: $0.epoch)) }
    }.map(\.id)
  }

  /// What happened to leases and attempts since an earlier state, for counting what happens in a trace.
  func changes(since earlier: Visible) -> [String] {
    var changes: [String] = []
    let before = Dictionary(uniqueKeysWithValues: earlier.tasks.joined().map { ($0.id, $0) })
    for task in tasks.joined() {
      guard let old = before[task.id] else { continue }
      changes += task.attempts.filter { !old.attempts.contains($0) }.map { "attempt \($0.end.rawValue)" }
      if task.isIsolated, !old.isIsolated { changes.append("isolated") }
      if old.isIsolated, !task.isIsolated { changes.append("not isolated any more") }
      if let first = old.attempts.first, !task.attempts.contains(first) { changes.append("attempt dropped") }
      for (lease, earlier) in zip(task.leases, old.leases) where lease.epoch == earlier.epoch {
        if lease.isAway, !earlier.isAway { changes.append("went away") }
        if earlier.isAway, !lease.isAway { changes.append("came back") }
        if lease.session > earlier.session { changes.append("taken over") }
      }
      guard old.leases != task.leases else { continue }
      if old.leases.count < 2 {
        if task.leases.count == 2 { changes.append("backup granted") }
        if task.leases.count == 2, task.kind != .video { changes.append("backup of another kind") }
        continue
      }
      let backup = old.leases[1].epoch
      switch task.state {
      case .running where task.leases.count == 2: changes.append("backup renewed")
      case .running: changes.append(task.leases[0].epoch == backup ? "backup went on alone" : "backup lost")
      case .done: changes.append(task.publishedEpoch == backup ? "backup won" : "backup was too late")
      case .ready: changes.append("both lost")
      case .failed: changes.append("failed with both")
      case .waiting: changes.append("both removed")
      }
    }
    return changes
  }

  /// The first thing that differs, for a message that is not too long.
  func difference(from other: Visible) -> String {
    for (left, right) in zip(tasks.joined(), other.tasks.joined()) where left != right { return "\(left)\n\(right)" }
    for (left, right) in zip(jobs, other.jobs) where left != right { return "\(left)\n\(right)" }
    for (left, right) in zip(summaries, other.summaries) where left != right { return "\(left)\n\(right)" }
    for (left, right) in zip(usage, other.usage) where left != right { return "\(left)\n\(right)" }
    if counts != other.counts { return "\(counts)\n\(other.counts)" }
    if workers != other.workers { return "\(workers)\n\(other.workers)" }
    for (left, right) in zip(events, other.events) where left != right { return "\(left)\n\(right)" }
    for (left, right) in zip(deliveries, other.deliveries) where left != right { return "\(left)\n\(right)" }
    if webhooks != other.webhooks { return "\(webhooks)\n\(other.webhooks)" }
    if pools != other.pools { return "\(pools)\n\(other.pools)" }
    if poolCounts != other.poolCounts { return "\(poolCounts)\n\(other.poolCounts)" }
    if standings != other.standings { return "\(standings)\n\(other.standings)" }
    if owners != other.owners { return "\(owners)\n\(other.owners)" }
    if tokens != other.tokens { return "\(tokens)\n\(other.tokens)" }
    if audit != other.audit { return "\(audit)\n\(other.audit)" }
    if toRebind != other.toRebind { return "to rebind: \(toRebind)\n\(other.toRebind)" }
    return "\(self)\n\(other)"
  }
}

extension JournalEvent {
  /// Without what two stores do not share.
  fileprivate var comparable: JournalEvent {
    var event = self
    event.position = JournalPosition(transaction: 0, number: 0)
    event.at = .zero
    return event
  }

  /// What is equal in this is equal in every respect, or was recorded at different times.
  fileprivate var order: [String] {
    [
      kind.rawValue, "\(job, default: "")/\(ordinal ?? -1)/\(epoch ?? 0)", "\(worker, default: "")", name ?? "",
      message ?? "",
    ]
  }
}

extension Webhook {
  fileprivate var comparable: Webhook {
    var webhook = self
    webhook.created = .zero
    return webhook
  }
}

extension Delivery {
  fileprivate var comparable: Delivery {
    var delivery = self
    delivery.event = event.comparable
    delivery.due = due - event.at
    delivery.attempted = attempted.map { $0 - event.at }
    return delivery
  }
}

extension [Delivery] {
  /// In the same order in both stores, whose events of one time have their own.
  fileprivate var inOrder: [Delivery] {
    map { delivery in
      let event = delivery.event
      return (
        delivery: delivery,
        order: [delivery.type, "\(event.job, default: "")", "\(delivery.state)", "\(delivery.due - event.at)"]
          + [
            "\(delivery.attempts) \(delivery.turn) \(delivery.status ?? 0) \(delivery.message ?? "")",
            "\(event.took ?? .zero)",
          ]
      )
    }.sorted { $0.order < $1.order }.map(\.delivery)
  }
}

extension [String] {
  fileprivate static func < (left: [String], right: [String]) -> Bool { left.lexicographicallyPrecedes(right) }
}
