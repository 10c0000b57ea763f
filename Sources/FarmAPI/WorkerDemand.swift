/// How many workers the work at hand needs, for whatever starts and stops workers: pure.
///
/// The rule:
/// - Without a task that is ready or runs, none is needed. Where no worker is connected, a job that is to
///   be planned counts as a task.
/// - Else so many slots are needed that the work would be done within `target`: the seconds of work, divided by
///   `target` and rounded up. A video task of a job of which enough segments were rendered counts with the job's median
///   time for their cost, a running one with what is left of it; every other task counts with `assumed`.
/// - No more slots are needed than there are tasks, because more would be idle; and no fewer than tasks run, so that
///   none is interrupted.
/// - Slots make workers by the mean number of slots of the workers that are connected, rounded up. Without any, one is
///   needed: it shows how many slots a worker has.
package struct WorkerDemand: Sendable, Hashable {
  /// The time in which the work at hand should be done, in seconds. Longer than a worker needs to start.
  package static let target = 120.0
  /// The duration of a task of which nothing is known, in seconds.
  package static let assumed = 10.0

  /// Tasks that a worker could have now, and jobs that are not planned because there is no worker.
  package var ready: Int64 = 0
  package var running: Int64 = 0
  /// Those of both whose duration is measured.
  package var measured: Int64 = 0
  /// How long these take, in seconds, one after the other.
  package var measuredSeconds = 0.0
  /// Workers that are connected, and their slots.
  package var workers: Int64 = 0
  package var slots: Int64 = 0

  package init() {}

  /// The work of all tasks, in seconds of one slot.
  package var seconds: Double { measuredSeconds + Double(max(0, ready + running - measured)) * Self.assumed }

  /// The slots that are needed.
  package var desiredSlots: Int64 {
    let tasks = ready + running
    guard tasks > 0 else { return 0 }
    // No more than the tasks, so that any number fits.
    let wanted = min(Double(tasks), (seconds / Self.target).rounded(.up))
    return max(Int64(wanted), running, 1)
  }

  /// The workers that are needed.
  package var desiredWorkers: Int64 {
    let needed = desiredSlots
    guard needed > 0 else { return 0 }
    guard workers > 0, slots > 0 else { return 1 }
    return max(1, Int64((Double(needed) * Double(workers) / Double(slots)).rounded(.up)))
  }
}

extension WorkerDemand: Encodable {
  private enum CodingKeys: String, CodingKey {
    case desiredWorkers, desiredSlots, workers, slots, readyTasks, runningTasks, workSeconds, targetSeconds
  }

  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(desiredWorkers, forKey: .desiredWorkers)
    try values.encode(desiredSlots, forKey: .desiredSlots)
    try values.encode(workers, forKey: .workers)
    try values.encode(slots, forKey: .slots)
    try values.encode(ready, forKey: .readyTasks)
    try values.encode(running, forKey: .runningTasks)
    try values.encode((seconds * 10).rounded() / 10, forKey: .workSeconds)
    try values.encode(Self.target, forKey: .targetSeconds)
  }
}
