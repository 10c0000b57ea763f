/// How many durations were at most each of some bounds.
package struct DurationHistogram: Sendable, Hashable {
  /// Bounds for calls of a server that is near.
  package static let calls = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  /// Bounds for what waits for workers.
  package static let waits = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300]

  /// In seconds, ascending.
  package let bounds: [Double]
  /// By bound: those that are at most the bound and more than the one before. The last counts the others.
  package private(set) var counts: [Int64]
  /// Of all durations, in seconds.
  package private(set) var sum = 0.0

  /// - Parameter bounds: In seconds, ascending.
  package init(bounds: [Double]) {
    self.bounds = bounds
    counts = [Int64](repeating: 0, count: bounds.count + 1)
  }

  package mutating func add(_ seconds: Double) {
    counts[bounds.firstIndex { seconds <= $0 } ?? bounds.count] += 1
    sum += seconds
  }

  package mutating func add(_ duration: Duration) { add(duration / .seconds(1)) }
}
