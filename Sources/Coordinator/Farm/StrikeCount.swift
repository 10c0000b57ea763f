import Jobs

/// How often a task was given up for the surroundings of its workers (a full disk, no memory). Those failures are not
/// charged, so a farm with nothing but full disks would try for ever: after so many of one task its job fails. A hint
/// kept in memory: a coordinator that starts again starts counting again.
struct StrikeCount: Sendable {
  static let maximum = 4

  private var strikes: [TaskID: Int] = [:]

  /// Whether this was one too many.
  mutating func add(_ task: TaskID) -> Bool {
    if strikes.count > 10_000 { strikes = [:] }
    strikes[task, default: 0] += 1
    return strikes[task, default: 0] >= Self.maximum
  }

  mutating func clear(_ task: TaskID) {
    strikes[task] = nil
  }
}
