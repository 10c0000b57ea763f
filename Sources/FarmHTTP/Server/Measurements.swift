import FarmAPI
import FarmModel
import Synchronization

/// What a coordinator counts while it runs, and its metrics.
///
/// No label has a value that clients or workers choose: the paths are those of the routes, the rest are closed sets.
final class Measurements: Sendable {
  private struct Request: Hashable {
    var route: String
    /// Such as `2xx`.
    var status: String
  }

  private struct Counts {
    var requests: [Request: Int64] = [:]
    var submitted: Int64 = 0
    var ended: [JobState: Int64] = [:]
    var granted: Int64 = 0
    var done: Int64 = 0
    var compared: Int64 = 0
    var quarantined: Int64 = 0
    var attempts: [AttemptEnd: Int64] = [:]
    var expired: Int64 = 0
    /// From the grants of tasks to their results.
    var taskSeconds = 0.0
    var usage: [TaskKind: AttemptUsage] = [:]
    /// What of films was rendered.
    var filmSeconds = 0.0
    var planSeconds = 0.0
    var planned: Int64 = 0
    /// Tasks of plans, and those of them whose results were known.
    var plannedTasks: Int64 = 0
    var cachedTasks: Int64 = 0

    mutating func add(_ usage: FarmEvent.TaskUsage?) {
      guard let usage else { return }
      self.usage[usage.kind] = (self.usage[usage.kind] ?? AttemptUsage()) + usage.usage
      filmSeconds += usage.filmSeconds
    }
  }

  private let counts = Mutex(Counts())

  func count(request route: String, status: Int) {
    let request = Request(route: route, status: "\(status / 100)xx")
    counts.withLock { $0.requests[request, default: 0] += 1 }
  }

  func count(_ event: FarmEvent) {
    counts.withLock { counts in
      switch event {
      case .jobSubmitted: counts.submitted += 1
      case .jobPlanned(_, _, let tasks, let cached, _, let seconds, _):
        counts.planned += 1
        counts.planSeconds += seconds
        counts.plannedTasks += Int64(tasks)
        counts.cachedTasks += Int64(cached)
      case .jobEnded(_, _, let state, _, _): counts.ended[state, default: 0] += 1
      case .taskGranted: counts.granted += 1
      case .taskDone(_, _, let seconds, let usage):
        counts.done += 1
        counts.taskSeconds += seconds ?? 0
        counts.add(usage)
      case .taskFailed(_, _, let end, _, _, let usage):
        counts.attempts[end, default: 0] += 1
        counts.add(usage)
      case .taskCompared(_, _, let seconds, let usage):
        counts.compared += 1
        counts.taskSeconds += seconds ?? 0
        counts.add(usage)
      case .leaseExpired: counts.expired += 1
      case .workerHeld(_, let hold, _):
        if hold == WorkerHoldReport.quarantined { counts.quarantined += 1 }
      case .jobReplanned, .jobRetried, .jobDeleted, .jobDoubted: break
      case .workerConnected, .workerDisconnected, .workerPaused: break
      }
    }
  }

  /// The metrics.
  /// - Parameters:
  ///   - farm: Nil: the job store does not answer. Then what is counted in it is left out.
  ///   - health: Whether the coordinator can do its work.
  func text(_ farm: FarmCounts?, _ own: CoordinatorCounts, _ health: FarmHealth, _ open: OpenRequests) -> String {
    var text = MetricsText()
    text.add("job_store_up", .gauge, "Whether the job store answers.", farm == nil ? 0 : 1)
    text.add("ready", .gauge, "Whether the coordinator can do its work, as /readyz says.", health.isReady ? 1 : 0)
    if let farm { Self.add(farm, to: &text) }
    text.add(own)
    text.add(open)
    let counts = counts.withLock(\.self)
    text.add(
      "jobs_submitted_total", .counter, "Jobs that were submitted to this coordinator.", Double(counts.submitted))
    text.add(
      "jobs_ended_total", .counter, "Jobs whose end this coordinator has seen.",
      [JobState.done, .failed, .cancelled].map { ([("state", $0.rawValue)], Double(counts.ended[$0] ?? 0)) })
    text.add("plans_total", .counter, "Plans that this coordinator has made.", Double(counts.planned))
    text.add("plan_seconds_total", .counter, "Time that plans took.", counts.planSeconds)
    text.add("planned_tasks_total", .counter, "Tasks of these plans.", Double(counts.plannedTasks))
    text.add(
      "cached_tasks_total", .counter, "Those of them whose results were in the result cache.",
      Double(counts.cachedTasks))
    text.add("tasks_granted_total", .counter, "Tasks that this coordinator has granted.", Double(counts.granted))
    text.add("tasks_done_total", .counter, "Tasks whose results it has taken.", Double(counts.done))
    text.add(
      "results_compared_total", .counter, "Results it has taken to compare them with another worker's.",
      Double(counts.compared))
    text.add("task_seconds_total", .counter, "Time from the grants of these to their results.", counts.taskSeconds)
    text.add(
      "workers_quarantined_total", .counter, "How often workers were quarantined while it was running.",
      Double(counts.quarantined))
    text.add(counts.usage)
    text.add(
      "film_seconds_total", .counter, "How much of films the results of tasks of kind video are.", counts.filmSeconds)
    text.add(
      "attempts_total", .counter, "Attempts that ended without a result, as workers reported.",
      AttemptEnd.allCases.map { ([("end", $0.rawValue)], Double(counts.attempts[$0] ?? 0)) })
    text.add("leases_expired_total", .counter, "Leases that ran out or did not move.", Double(counts.expired))
    let requests = counts.requests.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }
    text.add(
      "http_requests_total", .counter, "Requests of the HTTP API by path and class of status.",
      requests.map { ([("route", $0.key.route), ("status", $0.key.status)], Double($0.value)) })
    return text.text
  }

  private static func add(_ farm: FarmCounts, to text: inout MetricsText) {
    text.add(
      "jobs", .gauge, "Jobs by state.",
      JobState.allCases.map { ([("state", $0.rawValue)], Double(farm.jobs[$0] ?? 0)) })
    var tasks: [(labels: [(String, String)], value: Double)] = []
    for kind in TaskKind.allCases {
      for state in TaskState.allCases {
        let count = farm.tasks.first { $0.kind == kind && $0.state == state }?.count ?? 0
        tasks.append(([("kind", kind.rawValue), ("state", state.rawValue)], Double(count)))
      }
    }
    text.add("tasks", .gauge, "Tasks of the jobs that have not ended, by kind and state.", tasks)
    text.add(
      "queue_age_seconds", .gauge, "Time since the submission of the oldest job of which a task could be granted.",
      farm.oldestReadySeconds ?? 0)
    text.add(
      "webhook_messages_pending", .gauge, "Messages to webhooks that are to be sent, now or later.",
      Double(farm.pendingMessages))
    text.add(
      "lost_task_wait_seconds", .gauge,
      "Time for which the task waits that has lost its last lease longest ago and was not granted again.",
      farm.oldestLostSeconds ?? 0)
    text.add(
      "held_event_seconds", .gauge,
      "Age of the oldest event that clients do not have yet, because a transaction of the database is under way.",
      farm.oldestHeldEventSeconds ?? 0)
    text.add(farm.workers)
    text.add(farm.demand)
  }
}
