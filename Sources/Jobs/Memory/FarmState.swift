/// All that a store knows, and every transition it may make: the reference for what the words of `JobStore` mean.
///
/// Pure: it reads no clock (every transition takes `now`, which never runs back), no source of chance, and walks no
/// unordered collection, so the same calls leave the same state.
package struct FarmState: Sendable {
  package let policy: LeasePolicy
  /// In order of submission; a job's number is its index.
  var jobs: [JobRecord] = []
  /// For look-ups only.
  var numbers: [JobID: Int] = [:]
  /// Numbers of the jobs that have not ended: by priority, highest first, then by number.
  var active: [Int] = []
  /// Ascending.
  var leased: [Place] = []
  /// By id.
  var workers: [WorkerEntry] = []
  /// Counts what `JobStore.wakes()` tells of: something became ready or ended, or a lease was lost.
  package internal(set) var news: UInt64 = 0

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
  /// Ordinals of the tasks in `ready`, in the order of claims.
  var ready: [Int] = []
  /// Tasks not yet done, the stitch left out.
  var unfinished = 0
}

struct TaskRecord: Sendable {
  var task: RenderTask
  /// Not to be granted before; nil if it never failed.
  var restsUntil: Duration?
  /// When leased: the first lease's.
  var times = LeaseTimes(grantedAt: .zero, until: .zero)
  /// When there is a twin: its own.
  var twinTimes = LeaseTimes(grantedAt: .zero, until: .zero)
  /// When rendered for this job: from the grant of the lease that published to its result.
  var took: Duration?
}

struct LeaseTimes: Sendable {
  var grantedAt: Duration
  var until: Duration
  /// The grant, or the last renewal that told of progress.
  var movedAt: Duration

  init(grantedAt: Duration, until: Duration) {
    self.grantedAt = grantedAt
    self.until = until
    movedAt = grantedAt
  }
}

struct WorkerEntry: Sendable {
  var record: WorkerRecord
  var firstNoted: Duration
  var lastNoted: Duration
}

/// Where a task stands.
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

  /// Turns a task to `ready`, whatever it was.
  mutating func makeReady(_ place: Place) {
    unlease(place)
    jobs[place.number].tasks[place.ordinal].task.state = .ready
    jobs[place.number].insertReady(place.ordinal)
    news += 1
  }

  /// Takes away the leases, if there are any; the caller gives the task its next state.
  mutating func unlease(_ place: Place) {
    jobs[place.number].tasks[place.ordinal].task.worker = nil
    jobs[place.number].tasks[place.ordinal].task.progress = 0
    jobs[place.number].tasks[place.ordinal].task.twin = nil
    let index = leased.partitioningIndex { $0 >= place }
    if index < leased.count, leased[index] == place { leased.remove(at: index) }
  }

  /// Ends a job: what was not done stays undone, and nobody holds a lease of it.
  mutating func end(_ number: Int, as state: JobState, at now: Duration, output: Content? = nil, error: String? = nil) {
    jobs[number].job.state = state
    jobs[number].job.output = output
    jobs[number].job.error = error
    jobs[number].ended = now
    jobs[number].ready = []
    active.removeAll { $0 == number }
    for ordinal in jobs[number].tasks.indices {
      switch jobs[number].tasks[ordinal].task.state {
      case .waiting, .done, .failed: break
      case .leased, .ready:
        unlease(Place(number: number, ordinal: ordinal))
        jobs[number].tasks[ordinal].task.state = .waiting
      }
    }
    news += 1
  }
}

extension JobRecord {
  mutating func insertReady(_ ordinal: Int) {
    let index = ready.partitioningIndex { !goesFirst($0, before: ordinal) }
    ready.insert(ordinal, at: index)
  }

  /// Dearest first, then by ordinal.
  private func goesFirst(_ left: Int, before right: Int) -> Bool {
    let (leftCost, rightCost) = (tasks[left].task.cost, tasks[right].task.cost)
    return leftCost == rightCost ? left < right : leftCost > rightCost
  }
}

extension Array {
  /// The first index whose element satisfies a predicate that no element before and every element after satisfies.
  func partitioningIndex(where belongsAfter: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if belongsAfter(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
