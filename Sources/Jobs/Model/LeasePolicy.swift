/// The farm's times and limits for leases. All coordinators of one farm have the same.
package struct LeasePolicy: Sendable, Hashable {
  /// How often a worker renews its leases.
  package var heartbeat: Duration
  /// How long a lease lasts from its grant or its last renewal.
  package var lease: Duration
  /// How long a lease may be renewed without progress before the store ends it.
  package var hang: Duration
  /// How long a task may go without progress before its worker ends it: half as long, so that the store acts only where
  /// the worker does not.
  package var workerHang: Duration { hang / 2 }
  /// After how long without movement of one of its leases a job's tasks are granted after those of other jobs: such a
  /// job may be about to hang wherever it runs. More than `heartbeat`, with which movement is reported.
  package var stall: Duration
  /// The longest time between two calls of `JobStore.expire` that is not an outage. Shorter than `lease`.
  package var outage: Duration
  /// How long no worker of a job's build may be registered before the job is bound to another build.
  package var rebind: Duration
  /// How many released attempts of a task the store keeps. At least 1.
  package var keptReleases: Int
  /// The number of counted attempts at which a task fails for good. At least 1.
  package var maximumFailures: Int
  /// The number of attempts that ended as `killed` at which a task fails for good, though none of them is counted. At
  /// least 1.
  package var maximumKills: Int
  /// How long a task backs off after its first suspect attempt; doubled for each further one, up to 32 times.
  package var backOff: Duration
  /// How long after its back-off a task is kept from the workers of its suspect attempts, so that another worker may
  /// take it first.
  package var exclusion: Duration
  /// The number of suspect attempts of a job's unfinished tasks from which on those that do not run are isolated: of
  /// all isolated tasks of the farm one runs at a time, without a backup lease, and other tasks are granted first.
  /// After the result of one of them, those of its job that have fewer suspect attempts themselves are not isolated
  /// any more. At least 1.
  package var isolation: Int
  /// How long after its back-off an isolated task is granted before other tasks all the same.
  package var isolationPatience: Duration
  /// A video or audio task is slow, and gets a backup lease, when it has run for more than this many times the median
  /// time of its job's rendered video tasks, each divided by its cost. The median of a job of 100 and more is found at
  /// each number of rendered tasks that has two digits and zeros, such as 1,100.
  package var slowness: Double
  /// No lease younger than this is slow: if tasks take a second, waiting costs less than a second worker.
  package var shortestSlow: Duration
  /// How many of a job's video tasks must have been rendered before there is a median. At least 1.
  package var fewestRendered: Int
  /// The number of lost attempts to plan a job at which it fails. At least 1.
  package var mostLostPlannings: Int
  /// Which share of the results is compared with another worker's, as `WorkerControl` describes it. From 0, at which
  /// none is, to 1.
  package var comparedShare: Double
  /// How many of the first results of an account are compared, if any are.
  package var firstCompared: Int64

  package init(
    heartbeat: Duration = .seconds(4), lease: Duration = .seconds(15), hang: Duration = .seconds(120),
    stall: Duration = .seconds(6), outage: Duration = .seconds(5), rebind: Duration = .seconds(30),
    keptReleases: Int = 32, maximumFailures: Int = 3, maximumKills: Int = 8, backOff: Duration = .seconds(1),
    exclusion: Duration = .seconds(5), isolation: Int = 2,
    isolationPatience: Duration = .seconds(30),
    slowness: Double = 1.5, shortestSlow: Duration = .seconds(5), fewestRendered: Int = 3,
    mostLostPlannings: Int = 2, comparedShare: Double = 0, firstCompared: Int64 = 2
  ) {
    self.heartbeat = heartbeat
    self.lease = lease
    self.hang = hang
    self.stall = stall
    self.outage = outage
    self.rebind = rebind
    self.keptReleases = keptReleases
    self.maximumFailures = maximumFailures
    self.maximumKills = maximumKills
    self.backOff = backOff
    self.exclusion = exclusion
    self.isolation = isolation
    self.isolationPatience = isolationPatience
    self.slowness = slowness
    self.shortestSlow = shortestSlow
    self.fewestRendered = fewestRendered
    self.mostLostPlannings = mostLostPlannings
    self.comparedShare = comparedShare
    self.firstCompared = firstCompared
  }

  /// The answer to a coordinator that may plan a job, of which `lost` attempts were lost.
  package func planningStart(afterLost lost: Int, isAlone: Bool) -> PlanningStart {
    if lost >= mostLostPlannings { return .failed }
    return lost > 0 && !isAlone ? .mustBeAlone : .begun
  }

  /// How long a task backs off after its nth suspect attempt, in whole microseconds, which is a database's resolution.
  ///
  /// - Parameters:
  ///   - failure: Counts from 1.
  ///   - jitter: From 0 to 1; lengthens the time by up to a half.
  package func backOff(afterFailure failure: Int, jitter: Double) -> Duration {
    let doubled = Double(backOff.microseconds) * Double(1 << min(max(failure - 1, 0), 5))
    let bounded = jitter.isNaN ? 0 : min(max(jitter, 0), 1)
    return .microseconds(Int64((doubled * (1 + bounded / 2)).rounded()))
  }
}

extension LeasePolicy {
  /// How long a worker that is not registered any more is remembered, for its name in attempts and results.
  package static let keptWorker = Duration.seconds(7 * 24 * 60 * 60)
  /// The number of results of a task, no two of them the same, at which it fails for good.
  package static let mostCompared = 3
  /// How long a result waits at most to be compared.
  package static let patience = Duration.seconds(10 * 60)
  /// How long after `JobSteering.watch` a job is watched: players ask for more of the film within it.
  package static let watching = Duration.seconds(30)
}

// What is slow. The statements of `PostgresJobStore` have the same arithmetic in SQL, in the same order.
extension LeasePolicy {
  /// Whether a job's median pace is found anew when its nth video task has been rendered: for each of the first 99,
  /// then at each number of two digits and zeros. So this costs the same for each task of a job of any size, and the
  /// median is one of at least 9 in 10 of the tasks.
  func findsMedianPace(at rendered: Int64) -> Bool {
    guard rendered >= Int64(max(fewestRendered, 1)) else { return false }
    var step: Int64 = 1
    while rendered / step >= 100 { step *= 10 }
    return rendered.isMultiple(of: step)
  }

  /// The costs that a time may be divided by: with others the ratio may not be a number. A video task of another cost
  /// is neither measured nor slow.
  package static let measurableCosts = 1e-9...1e18

  /// The median time that a job's video tasks take for each unit of cost, in microseconds; of two middle values the
  /// lower one. Nil if fewer than `fewestRendered` were rendered.
  func medianPace(of rendered: [(took: Duration, cost: Double)]) -> Double? {
    let paces = rendered.filter { Self.measurableCosts.contains($0.cost) }
      .map { Double($0.took.microseconds) / $0.cost }
    guard paces.count >= max(fewestRendered, 1) else { return nil }
    return paces.sorted()[(paces.count - 1) / 2]
  }

  /// Whether a lease that has run for `running` is slow, compared with a median pace.
  func isSlow(after running: Duration, cost: Double, medianPace: Double) -> Bool {
    running >= shortestSlow && Self.measurableCosts.contains(cost)
      && Double(running.microseconds) > slowness * medianPace * cost
  }

  /// What is left of a task at a median pace, in whole microseconds. Nil if its cost cannot be measured.
  func work(cost: Double, medianPace: Double, progress: Int64, of work: Int64) -> Double? {
    guard Self.measurableCosts.contains(cost) else { return nil }
    let left = Double(max(work - progress, 0)) / Double(max(work, 1))
    return (medianPace * cost * (work == 0 ? 1 : left)).rounded(.toNearestOrEven)
  }
}

extension Duration {
  /// Truncated to whole microseconds.
  package var microseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}
