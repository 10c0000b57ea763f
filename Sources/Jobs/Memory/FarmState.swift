import Digest

/// The contents of a store and the transitions that it may make: the reference for what `JobStore` specifies.
///
/// Pure: it reads no clock (every transition takes `now`, which never decreases) and no random numbers, and iterates over
/// no unordered collection. So the same calls leave the same state.
package struct FarmState: Sendable {
  package let policy: LeasePolicy
  /// In order of submission; a job's number is its index.
  var jobs: [JobRecord] = []
  /// For look-ups only.
  var numbers: [JobID: Int] = [:]
  /// The numbers of the jobs that have not ended: by priority, highest first, then by number.
  var active: [Int] = []
  /// By place, then by epoch. Only running tasks have any.
  var leases: [LeaseRecord] = []
  /// By id.
  var workers: [WorkerEntry] = []
  /// Raised by every change that `JobStore.changes()` hints at.
  package internal(set) var changeCount: UInt64 = 0

  package init(policy: LeasePolicy) {
    self.policy = policy
  }
}

struct JobRecord: Sendable {
  var job: Job
  var submitted: Duration
  var ended: Duration?
  /// By ordinal.
  var tasks: [TaskRecord] = []
  /// The ordinals of the `ready` tasks, in the order of claims.
  var ready: [Int] = []
  /// How many tasks are not done, the stitch task left out.
  var unfinished = 0
}

struct TaskRecord: Sendable {
  /// Its `leases` are empty: `FarmState.leases` has them.
  var task: RenderTask
  /// The end of the task's back-off. Nil if no attempt was counted.
  var notBefore: Duration?
  /// Time from the grant of the lease that published to its result. Nil unless rendered for this job.
  var took: Duration?
}

struct LeaseRecord: Sendable {
  var place: Place
  var epoch: Int64
  var worker: WorkerID
  var session: SessionID
  var isBackup: Bool
  var grantedAt: Duration
  var until: Duration
  /// The grant, or the last renewal that reported progress.
  var movedAt: Duration
  var progress: Int64 = 0
}

struct WorkerEntry: Sendable {
  var record: WorkerRecord
  var registeredAt: Duration
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

  /// Where a lease is in `leases`, if the worker holds it.
  func index(of lease: Lease, heldBy worker: WorkerID) -> Int? {
    guard let place = place(of: lease.task) else { return nil }
    return leases(at: place).first { leases[$0].epoch == lease.epoch && leases[$0].worker == worker }
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
  /// The first index whose element satisfies a predicate that no element before it and every element after it satisfies.
  func partitioningIndex(where belongsAfter: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if belongsAfter(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

// MARK: - Workers

extension FarmState {
  package mutating func register(_ worker: WorkerRecord, now: Duration) throws(JobStoreError) {
    try worker.validate()
    var record = worker
    record.name = worker.name.withoutNul
    record.build = worker.build.withoutNul
    record.coordinator = worker.coordinator.withoutNul
    let index = workers.partitioningIndex { $0.record.id >= worker.id }
    if index < workers.count, workers[index].record.id == worker.id {
      if workers[index].record.session != worker.session || now - workers[index].lastSeen > policy.lease {
        workers[index].registeredAt = now
      }
      workers[index].record = record
      workers[index].lastSeen = now
    } else {
      workers.insert(WorkerEntry(record: record, registeredAt: now, lastSeen: now), at: index)
    }
  }

  package func workers(now: Duration) -> [WorkerRecord] {
    let present = workers.filter { now - $0.lastSeen <= policy.lease }.map { entry in
      var record = entry.record
      record.busy = Int32(leases.count { $0.worker == record.id })
      record.connected = now - entry.registeredAt
      return record
    }
    return present.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }
}
