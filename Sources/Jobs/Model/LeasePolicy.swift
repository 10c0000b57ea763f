/// How long the farm waits for whom (DESIGN 4). All stores of one farm have the same.
package struct LeasePolicy: Sendable, Hashable {
  /// How often an agent renews its leases.
  package var heartbeat: Duration
  /// How long a lease lasts from its grant or its last renewal.
  package var lease: Duration
  /// How long a lease may be renewed without progress.
  package var hang: Duration
  /// Charged failures at which a task has failed for good. At least 1.
  package var maximumCharges: Int
  /// Before the second try; doubled for each further one.
  package var backOff: Duration
  /// How long after its back-off a task is kept from the workers that it failed on, so that another may try first.
  package var preference: Duration
  /// A picture is slow, and gets a second lease, when it has run for more than so many times the median of its job's
  /// rendered pictures, each measured by its cost.
  package var slowness: Double
  /// No lease younger than this is slow: where pictures take a second, waiting costs less than a second worker.
  package var shortestSlow: Duration
  /// Rendered pictures of a job without which there is no median to be slower than. At least 1.
  package var fewestRendered: Int

  package init(
    heartbeat: Duration = .seconds(4), lease: Duration = .seconds(15), hang: Duration = .seconds(60),
    maximumCharges: Int = 3, backOff: Duration = .seconds(1), preference: Duration = .seconds(5),
    slowness: Double = 1.5, shortestSlow: Duration = .seconds(5), fewestRendered: Int = 3
  ) {
    self.heartbeat = heartbeat
    self.lease = lease
    self.hang = hang
    self.maximumCharges = maximumCharges
    self.backOff = backOff
    self.preference = preference
    self.slowness = slowness
    self.shortestSlow = shortestSlow
    self.fewestRendered = fewestRendered
  }

  /// How long a task rests after its nth charge, in whole microseconds: a database's resolution.
  ///
  /// - Parameter jitter: 0…1; lengthens the rest by up to a half.
  package func backOff(afterCharge charge: Int, jitter: Double) -> Duration {
    let doubled = Double(backOff.microseconds) * Double(1 << min(max(charge - 1, 0), 20))
    let bounded = jitter.isNaN ? 0 : min(max(jitter, 0), 1)
    return .microseconds(Int64((doubled * (1 + bounded / 2)).rounded()))
  }
}

extension Duration {
  /// Truncated to whole microseconds.
  var microseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}
