import FarmModel
package import Jobs

// What the database shows of the work that is left.

extension PostgresJobStore {
  package func workloads() async throws(JobStoreError) -> [Workload] {
    try await bulk.perform { (connection) throws(JobStoreError) in
      // One snapshot: the tasks that are left are those of the jobs that render.
      let results = try connection.pipeline([
        (.beginSnapshot, []), (.workloads, []), (.renderedTasks, []), (.tasksLeft, []), (.commit, []),
      ])
      var places: [Int64: Int] = [:]
      var workloads: [Workload] = []
      _ = try results[1].map { (fields) throws(JobStoreError) in
        places[try fields.long()] = workloads.count
        workloads.append(try fields.workload())
      }
      _ = try results[2].map { (fields) throws(JobStoreError) in
        if let place = places[try fields.long()] { workloads[place].rendered.append(try fields.renderedTasks()) }
      }
      _ = try results[3].map { (fields) throws(JobStoreError) in
        if let place = places[try fields.long()] { workloads[place].left.append(try fields.taskLeft()) }
      }
      return workloads
    }
  }
}

extension Fields {
  fileprivate mutating func workload() throws(JobStoreError) -> Workload {
    Workload(
      job: JobID(try text()), owner: try text(), priority: try int(), pool: optionalText(), build: try text(),
      mayGoOn: try flag(),
      doneCost: try double(), doneBytes: try long())
  }

  fileprivate mutating func renderedTasks() throws(JobStoreError) -> Workload.Rendered {
    Workload.Rendered(
      inputs: try digests(), count: Int(try long()), cost: try double(), took: .microseconds(try long()))
  }

  fileprivate mutating func taskLeft() throws(JobStoreError) -> Workload.Task {
    var task = Workload.Task(kind: try named("task kind"), cost: try double(), work: try count(), inputs: try digests())
    let (worker, progress) = (optionalText(), try optionalLong())
    let (moved, ran) = (try optionalLong(), try optionalLong())
    if let worker, let progress, let moved, let ran {
      task.attempt = Workload.Attempt(
        worker: WorkerID(worker), progress: progress, moved: .microseconds(moved), ran: .microseconds(ran))
    }
    return task
  }
}

extension Statement {
  private static let isRendering = "job.purpose = 'render' AND job.state = 'rendering'"

  fileprivate static let workloads = Statement(
    "workloads",
    """
    SELECT number, id, coalesce(owner, ''), priority, pool, coalesce(build, ''),
      \(mayGoOn) AND (job.pool IS NULL OR \(isOpen("job.pool"))),
      done.cost, done.bytes
    FROM sheaf.job, LATERAL (
      SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(result_size), 0)::bigint AS bytes
      FROM sheaf.task WHERE task.job = job.number AND kind = 'video' AND task.state = 'done'
    ) AS done
    WHERE \(isRendering) ORDER BY number
    """)

  fileprivate static let renderedTasks = Statement(
    "rendered_tasks",
    """
    SELECT job.number, task.input_digests, count(*), sum(task.cost), sum(task.took)::bigint
    FROM sheaf.job JOIN sheaf.task ON task.job = job.number
    WHERE \(isRendering) AND task.kind = 'video' AND task.state = 'done' AND task.publisher IS NOT NULL
    GROUP BY job.number, task.input_digests ORDER BY job.number, task.input_digests
    """)

  fileprivate static let tasksLeft = Statement(
    "tasks_left",
    """
    SELECT job.number, task.kind, task.cost, task.work, task.input_digests, furthest.worker, furthest.progress,
      (extract(epoch FROM furthest.moved_at - furthest.granted_at) * 1000000)::bigint,
      (extract(epoch FROM sheaf.now() - furthest.granted_at) * 1000000)::bigint
    FROM sheaf.job JOIN sheaf.task ON task.job = job.number
    LEFT JOIN LATERAL (
      SELECT worker, progress, moved_at, granted_at FROM sheaf.lease
      WHERE lease.job = job.number AND lease.ordinal = task.ordinal ORDER BY progress DESC, epoch LIMIT 1
    ) AS furthest ON true
    WHERE \(isRendering) AND task.state IN ('ready', 'running')
    ORDER BY job.number, task.cost DESC, task.ordinal
    """)
}
