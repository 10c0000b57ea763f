import FarmAPI
import FarmModel

/// What is open of the HTTP face now.
struct OpenRequests: Sendable {
  var connections = 0
  var streams = 0
  var uploads = 0
}

// The metrics of a farm's parts. No label has a value that clients or workers choose.
extension MetricsText {
  /// Workers and slots by what they do.
  mutating func add(_ workers: [WorkerStatus]) {
    let paused = workers.filter { $0.paused != nil }
    let others = workers.filter { $0.paused == nil }
    let idle = others.count { $0.busy == 0 }
    add(
      "workers", .gauge, "Workers that are connected: without a task, with one, or not taking any.",
      states([("idle", idle), ("busy", others.count - idle), ("paused", paused.count)]))
    let busy = workers.reduce(0) { $0 + Int($1.busy) }
    // A worker that has taken over leases may hold more than it has slots.
    let free = others.reduce(0) { $0 + max(0, Int($1.slots) - Int($1.busy)) }
    let held = paused.reduce(0) { $0 + max(0, Int($1.slots) - Int($1.busy)) }
    add(
      "slots", .gauge, "Tasks that connected workers execute at a time: free, busy, or of workers that take none.",
      states([("free", free), ("busy", busy), ("paused", held)]))
  }

  private func states(_ counts: [(String, Int)]) -> [(labels: [(String, String)], value: Double)] {
    counts.map { ([("state", $0.0)], Double($0.1)) }
  }

  mutating func add(_ demand: WorkerDemand) {
    add("desired_workers", .gauge, "Workers that the work at hand needs.", Double(demand.desiredWorkers))
    add("desired_slots", .gauge, "Slots that the work at hand needs.", Double(demand.desiredSlots))
    add(
      "work_seconds", .gauge, "Estimated duration of the tasks that are ready or run, one after the other.",
      demand.seconds)
  }

  mutating func add(_ own: CoordinatorCounts) {
    add(
      "recovery_seconds", "Time from the loss of a task's last lease, or its failed attempt, to its next grant.",
      own.recoveries)
    add(
      "late_results_refused_total", .counter, "Results of workers that did not hold the lease any more.",
      Double(own.lateResults))
    let traffic = ContentPeer.allCases.map { (peer: [("peer", $0.rawValue)], own.traffic[$0] ?? .init()) }
    add(
      "content_received_bytes_total", .counter, "Content that was uploaded to this coordinator.",
      traffic.map { ($0.peer, Double($0.1.received)) })
    add(
      "content_sent_bytes_total", .counter, "Content that was read from this coordinator.",
      traffic.map { ($0.peer, Double($0.1.sent)) })
    add(own.storage)
    begin("postgresql_call_seconds", .histogram, "Operations of PostgreSQL that have succeeded, by connection.")
    for (connection, calls) in own.storeCalls.sorted(by: { $0.key < $1.key }) {
      samples("postgresql_call_seconds", [("connection", connection)], calls)
    }
    add(
      "wire_connections", .gauge, "Connections of workers and clients, without those of HTTP.",
      [
        ([("role", "worker")], Double(own.workerConnections)), ([("role", "client")], Double(own.clientConnections)),
      ])
    add("draining", .gauge, "Whether the coordinator is shutting down.", own.isDraining ? 1 : 0)
  }

  private mutating func add(_ storage: CoordinatorCounts.Storage) {
    for (name, help, value) in [
      ("content_store_bytes", "What the content store's objects take on its disk.", storage.contentBytes),
      ("content_store_limit_bytes", "The most that they may take beyond what is needed.", storage.limit),
      ("content_store_free_bytes", "Free bytes of the content store's disk.", storage.freeBytes),
      ("content_store_disk_bytes", "The size of the content store's disk.", storage.diskBytes),
      (
        "content_store_minimum_free_bytes", "Below so many free bytes no task is granted and no upload is taken.",
        storage.minimumFree
      ),
    ] {
      add(name, .gauge, help, value.map { [([], Double($0))] } ?? [])
    }
  }

  /// What attempts took of their workers, by kind of task.
  mutating func add(_ usage: [TaskKind: AttemptUsage]) {
    func seconds(_ time: Duration) -> Double { time / .seconds(1) }
    let kinds = TaskKind.allCases.map { (labels: [("kind", $0.rawValue)], usage: usage[$0] ?? AttemptUsage()) }
    add(
      "task_phase_seconds_total", .counter,
      "Time that attempts waited for a slot, waited for inputs, worked, and took to deliver results.",
      kinds.flatMap { kind in
        zip(["wait", "fetch", "render", "upload"], kind.usage.phases).map {
          (labels: kind.labels + [("phase", $0.0)], value: seconds($0.1))
        }
      })
    add(
      "task_cpu_seconds_total", .counter, "User and system time of task processes.",
      kinds.map { ($0.labels, seconds($0.usage.cpu)) })
    add(
      "task_peak_bytes", .gauge, "The most memory that a task process has had since the coordinator was started.",
      kinds.map { ($0.labels, Double($0.usage.peakBytes)) })
    add(
      "task_fetched_bytes_total", .counter, "Content that workers read from coordinators for tasks.",
      kinds.map { ($0.labels, Double($0.usage.fetchedBytes)) })
    add(
      "task_uploaded_bytes_total", .counter, "What workers sent of results to coordinators.",
      kinds.map { ($0.labels, Double($0.usage.uploadedBytes)) })
  }

  mutating func add(_ open: OpenRequests) {
    add("http_connections", .gauge, "Open connections of HTTP.", Double(open.connections))
    add("http_event_streams", .gauge, "Open streams of events.", Double(open.streams))
    add("http_uploads", .gauge, "Uploads over HTTP that are under way.", Double(open.uploads))
  }
}
