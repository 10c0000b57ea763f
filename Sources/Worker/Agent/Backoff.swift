/// How long to wait before the coordinator is tried again: longer each time, and never in step with other workers.
struct Backoff: Sendable {
  static let first: Duration = .milliseconds(250)
  static let longest: Duration = .seconds(10)

  private var next = Backoff.first

  /// - Parameter jitter: 0…1; the wait is between half and all of what it could be.
  mutating func wait(jitter: Double) -> Duration {
    defer { next = min(next * 2, Self.longest) }
    return next / 2 + next / 2 * jitter
  }

  mutating func reset() {
    next = Self.first
  }
}
