import FarmModel
import Jobs

/// The jobs that a coordinator plans at a time.
struct Plannings {
  /// How many jobs are planned at once. More wait for a thread in any case.
  static let most = 4

  /// Those that are planned, and whether each is planned alone.
  private(set) var running: [JobID: Bool] = [:]
  /// Those that must be planned while no other is.
  private var alone: Set<JobID> = []

  /// Begins with those that need not wait.
  ///
  /// - Parameter jobs: All that can be planned now, in order.
  /// - Returns: Those that have begun, and whether each is planned alone.
  mutating func begin(_ jobs: [JobID]) -> [(job: JobID, isAlone: Bool)] {
    alone.formIntersection(jobs)
    let others = jobs.filter { running[$0] == nil }
    guard !running.values.contains(true) else { return [] }
    // None begins beside those that run while one waits to be alone, or it would wait for ever.
    if let first = others.first(where: alone.contains) {
      guard running.isEmpty else { return [] }
      running[first] = true
      return [(first, true)]
    }
    let begun = others.prefix(max(0, Self.most - running.count))
    for job in begun { running[job] = false }
    return begun.map { ($0, false) }
  }

  /// - Parameter mustBeAlone: Whether it was not planned because it must be planned alone.
  mutating func end(_ job: JobID, mustBeAlone: Bool) {
    running[job] = nil
    if mustBeAlone { alone.insert(job) } else { alone.remove(job) }
  }
}
