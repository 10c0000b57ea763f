// What is slow (DESIGN 4): the same arithmetic, in the same order, as in PostgresJobStore+doubling.swift.

extension LeasePolicy {
  /// Costs that time may be divided by: a ratio of others need not be a number. A picture of another cost is neither
  /// measured nor slow.
  static let measurableCosts = 1e-9...1e18

  /// Microseconds that a job's pictures take per unit of cost: the median, the lower one of two. Nil where too few were
  /// rendered to tell.
  func medianPace(of rendered: [(took: Duration, cost: Double)]) -> Double? {
    let paces = rendered.filter { Self.measurableCosts.contains($0.cost) }
      .map { Double($0.took.microseconds) / $0.cost }
    guard paces.count >= max(fewestRendered, 1) else { return nil }
    return paces.sorted()[(paces.count - 1) / 2]
  }

  /// Whether a lease granted so long ago is slow, beside a median pace.
  func isSlow(after running: Duration, cost: Double, medianPace: Double) -> Bool {
    running >= shortestSlow && Self.measurableCosts.contains(cost)
      && Double(running.microseconds) > slowness * medianPace * cost
  }
}
