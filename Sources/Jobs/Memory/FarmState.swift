import Digest
package import FarmModel

/// The contents of a store and the transitions that it may make: the reference for what `JobStore` specifies.
///
/// Pure: it reads no clock (every transition takes `now`, which never decreases) and no random numbers, and iterates
/// over no unordered collection. So the same calls leave the same state.
package struct FarmState: Sendable {
  package let policy: LeasePolicy
  /// The zero of `now`, since 1970: for working hours alone.
  let origin: Duration
  /// In order of submission; a job's number is its index. A deleted job leaves an empty record.
  var jobs: [JobRecord] = []
  /// The jobs that are not deleted, for look-ups only.
  var numbers: [JobID: Int] = [:]
  /// The jobs of each submission, for look-ups only.
  var submissions: [String: JobID] = [:]
  /// The numbers of the jobs that have not ended: by priority, highest first, then by number.
  var active: [Int] = []
  /// By place, then by epoch. Only running tasks have any.
  var leases: [LeaseRecord] = []
  /// By id. Workers that have left stay for `LeasePolicy.keptWorker`.
  var workers: [WorkerEntry] = []
  /// By name: when a worker of each build was last registered.
  var builds: [BuildEntry] = []
  /// The last call of `expire`.
  var lastExpiry: Duration?
  var contentStore: String?
  /// In the order of their places.
  var journal: [JournalEvent] = []
  /// The number of the newest event that there was.
  var lastEvent: Int64 = 0
  /// Up to where events were removed.
  var removedEvents: JournalPosition?
  /// By id.
  var webhooks: [WebhookRecord] = []
  /// By webhook, then by event.
  var deliveries: [DeliveryRecord] = []
  /// By name. Those that had nothing, and for whom nothing is set, are not there.
  var ownerRecords: [String: OwnerRecord] = [:]
  /// By account. Those of which nothing is known are not there.
  var standings: [String: StandingRecord] = [:]
  /// Of what owners have had at each priority.
  var shares: [FairQueue.Level: FairShare] = [:]
  /// What the workers of pools have been granted.
  var poolTimes: [FairQueue.PoolLevel: PoolTime] = [:]
  /// By name. Those without working hours are not there.
  var poolRecords: [String: PoolRecord] = [:]
  /// In the order in which they were added, then of their ids.
  package internal(set) var accessTokens: [AccessToken] = []
  /// In the order of their numbers.
  var audit: [AuditEntry] = []
  /// The number of the newest entry of the audit that there was.
  var lastAudit: Int64 = 0
  /// Raised by every change that `JobStore.changes()` hints at.
  package internal(set) var changeCount: UInt64 = 0

  package init(policy: LeasePolicy, origin: Duration = .zero) {
    self.policy = policy
    self.origin = origin
  }
}

struct JobRecord: Sendable {
  /// Whether its tasks so far are done, and it has no plan.
  var isUnplanned: Bool { job.purpose == .render && job.state.precedesPlan && counts.isFinished }

  var job: Job
  var submission: String?
  var submitted: Duration
  var ended: Duration?
  var isFetched = false
  var isDeleted = false
  /// By ordinal.
  var tasks: [TaskRecord] = []
  /// The ordinals of the `ready` tasks, in the order of claims.
  var ready: [Int] = []
  var counts = TaskCounts()
  /// The median pace of the rendered video tasks, as `LeasePolicy.findsMedianPace` last found it.
  var medianPace: Double?
  var heldUntil: Duration?
  /// Nil: nobody has watched its film.
  var watchedUntil: Duration?
  /// Of what its owner has had.
  var share = FairShare()
  /// When the first of the published tasks was granted, but for probe tasks.
  var renderingSince: Duration?
  /// Nil: none was begun.
  var planning: PlanningRecord?
}

struct TaskRecord: Sendable {
  /// Its `leases` are empty: `FarmState.leases` has them. The names of workers in it are empty.
  var task: RenderTask
  /// The end of the task's back-off. Nil if there was none.
  var notBefore: Duration?
  /// The last lease that ended without a result, and when. Nil: none has.
  var lost: (epoch: Int64, at: Duration)?
  /// In the order in which they came. Only tasks that are ready or running have any.
  var compared: [ComparedRecord] = []
  /// In the order of the attempts' ends.
  var usages: [(epoch: Int64, worker: WorkerID, usage: AttemptUsage)] = []

  func usage(of epoch: Int64?) -> AttemptUsage? { usages.first { $0.epoch == epoch }?.usage }
}

struct LeaseRecord: Sendable {
  var place: Place
  var epoch: Int64
  var holder: Holder
  var isAway = false
  var isBackup: Bool
  var grantedAt: Duration
  var until: Duration
  /// The grant, or the last renewal that reported movement or came from a later session.
  var movedAt: Duration
  /// `Renewal.moved`, in the present session.
  var moved: Int64 = 0
  var progress: Int64 = 0
}

struct WorkerEntry: Sendable {
  var record: WorkerRecord
  /// Whether the session's connection is closed, or the worker was not registered again in time.
  var hasLeft = false
  var registeredAt: Duration
  var lastSeen: Duration
}

struct BuildEntry: Sendable {
  var build: String
  var lastSeen: Duration
}

/// Where a task is found.
struct Place: Sendable, Hashable, Comparable {
  var number: Int
  var ordinal: Int

  static func < (left: Place, right: Place) -> Bool {
    left.number == right.number ? left.ordinal < right.ordinal : left.number < right.number
  }
}

extension FarmState {
  func place(of task: TaskID) -> Place? {
    guard let number = numbers[task.job], jobs[number].tasks.indices.contains(Int(task.ordinal)) else { return nil }
    return Place(number: number, ordinal: Int(task.ordinal))
  }

  subscript(place: Place) -> TaskRecord {
    get { jobs[place.number].tasks[place.ordinal] }
    set { jobs[place.number].tasks[place.ordinal] = newValue }
  }

  /// Where a task's leases are in `leases`.
  func leases(at place: Place) -> Range<Int> {
    leases.partitioningIndex { $0.place >= place }..<leases.partitioningIndex { $0.place > place }
  }

  /// Where a job's leases are in `leases`.
  func leases(ofJob number: Int) -> Range<Int> {
    leases.partitioningIndex { $0.place.number >= number }..<leases.partitioningIndex { $0.place.number > number }
  }

  /// Where a lease is in `leases`, if the holder holds it.
  func index(of lease: Lease, heldBy holder: Holder) -> Int? {
    guard let place = place(of: lease.task) else { return nil }
    return leases(at: place).first { index in
      leases[index].epoch == lease.epoch && leases[index].holder.worker == holder.worker
        && leases[index].holder.session <= holder.session
    }
  }

  /// Turns a task without leases to `ready`.
  mutating func makeReady(_ place: Place) {
    self[place].task.state = .ready
    jobs[place.number].insertReady(place.ordinal)
    changeCount += 1
  }
}

extension JobRecord {
  /// Inserts a task into `ready`: the highest cost first, then by ordinal.
  mutating func insertReady(_ ordinal: Int) {
    let cost = tasks[ordinal].task.cost
    let index = ready.partitioningIndex { other in
      let otherCost = tasks[other].task.cost
      return otherCost == cost ? other >= ordinal : otherCost < cost
    }
    ready.insert(ordinal, at: index)
  }
}

extension Array {
  /// The first index whose element satisfies a predicate that no element before it and every element after it
  /// satisfies.
  func partitioningIndex(where belongsAfter: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if belongsAfter(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

// MARK: - Workers and the farm

extension FarmState {
  package mutating func register(_ records: [WorkerRecord], now: Duration) throws(JobStoreError) {
    for record in records { try record.validate() }
    for var record in records.latest() {
      record.name = record.name.withoutNul
      record.account = record.account.withoutNul
      record.build = record.build.withoutNul
      record.coordinator = record.coordinator.withoutNul
      record.paused = record.paused.withoutNul
      record.pools = PoolName.sorted(record.pools)
      let index = workers.partitioningIndex { $0.record.id >= record.id }
      if index < workers.count, workers[index].record.id == record.id {
        let wasPresent = isPresent(workers[index], now: now)
        if wasPresent, workers[index].record.session > record.session { continue }
        let isNew = !wasPresent || workers[index].record.session != record.session
        let paused = workers[index].record.paused
        // Two sessions of one moment are one connection.
        let isConnected = isNew && workers[index].registeredAt != now
        if isNew { workers[index].registeredAt = now }
        workers[index].record = record
        workers[index].lastSeen = now
        workers[index].hasLeft = false
        recordRegistration(of: record, isNew: isConnected, pausedBefore: paused, now: now)
      } else {
        workers.insert(WorkerEntry(record: record, registeredAt: now, lastSeen: now), at: index)
        recordRegistration(of: record, isNew: true, pausedBefore: "", now: now)
      }
      see(record.build, now: now)
    }
  }

  private mutating func see(_ build: String, now: Duration) {
    let index = builds.partitioningIndex { $0.build >= build }
    if index < builds.count, builds[index].build == build {
      builds[index].lastSeen = now
    } else {
      builds.insert(BuildEntry(build: build, lastSeen: now), at: index)
    }
  }

  func isPresent(_ entry: WorkerEntry, now: Duration) -> Bool {
    !entry.hasLeft && beforeOutage(now) - entry.lastSeen <= policy.lease
  }

  /// When an outage began that is not over, because no call of `expire` has moved the times on since; else now. No
  /// worker and no build leaves in an outage.
  private func beforeOutage(_ now: Duration) -> Duration {
    guard let lastExpiry, now - lastExpiry > policy.outage else { return now }
    return lastExpiry
  }

  package func workers(now: Duration) -> [WorkerRecord] {
    let present = workers.filter { isPresent($0, now: now) }.map { entry in
      var record = entry.record
      record.busy = Int32(leases.count { $0.holder.worker == record.id })
      record.connectedAt = entry.registeredAt
      record.connected = now - entry.registeredAt
      record.isClosed = areClosed(record.pools, now: now)
      record.hold = standings[record.account]?.hold
      record.holdReason = standings[record.account]?.reason ?? ""
      return record
    }
    return present.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  /// The name of a worker, for people: its id if it was never registered, or not for long.
  func name(of worker: WorkerID) -> String {
    let index = workers.partitioningIndex { $0.record.id >= worker }
    guard index < workers.count, workers[index].record.id == worker else { return worker.description }
    return workers[index].record.name
  }

  package func jobsToRebind(now: Duration) -> [JobID] {
    active.sorted().map { jobs[$0].job }.filter { job in
      guard job.state.isBound else { return false }
      let able = workers.filter { PoolName.takes($0.record.pools, jobsOf: job.pool) }
      let hasWorkers =
        job.pool == nil
        ? builds.contains { $0.build == job.build && beforeOutage(now) - $0.lastSeen <= policy.rebind }
        : able.contains { $0.record.build == job.build && beforeOutage(now) - $0.lastSeen <= policy.rebind }
      return !hasWorkers && able.contains { isPresent($0, now: now) && $0.record.build != job.build }
    }.map(\.id)
  }

  package mutating func contentStore(_ identity: String, replacing: Bool) -> String {
    if let contentStore, !replacing { return contentStore }
    let recorded = identity.withoutNul
    contentStore = recorded
    return recorded
  }
}
