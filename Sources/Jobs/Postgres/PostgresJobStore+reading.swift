extension PostgresJobStore {
  package func job(_ id: JobID) throws(JobStoreError) -> Job? {
    try perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(.job, [.text(id.description.withoutNul)]).first
      return try fields?.job()
    }
  }

  package func jobs(limit: Int) throws(JobStoreError) -> [Job] {
    try perform { (connection) throws(JobStoreError) in
      try connection.run(.jobs, [.long(Int64(max(limit, 0)))])
        .map { (fields) throws(JobStoreError) in try fields.job() }
    }
  }

  package func tasks(of job: JobID, payloads: Bool) throws(JobStoreError) -> [RenderTask] {
    try perform { (connection) throws(JobStoreError) in
      try connection.run(.tasks, [.text(job.description.withoutNul), .flag(payloads)])
        .map { (fields) throws(JobStoreError) in try fields.task(of: job) }
    }
  }

  package func note(_ worker: WorkerRecord) throws(JobStoreError) {
    try worker.validate()
    try perform { (connection) throws(JobStoreError) in
      _ = try connection.run(
        .note,
        [
          .text(worker.id.description), .text(worker.name.withoutNul), .int(worker.slots),
          .text(worker.build.withoutNul), .text(worker.coordinator.withoutNul), .long(policy.lease.microseconds),
        ])
    }
  }

  package func workers() throws(JobStoreError) -> [WorkerRecord] {
    let workers = try perform { (connection) throws(JobStoreError) in
      try connection.run(.workers, [.long(policy.lease.microseconds)])
        .map { (fields) throws(JobStoreError) in
          WorkerRecord(
            id: WorkerID(try fields.text()), name: try fields.text(), slots: try fields.int(),
            build: try fields.text(), coordinator: try fields.text(), busy: try fields.int(),
            connected: .microseconds(try fields.long()))
        }
    }
    return workers.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }
}

extension Statement {
  private static let jobColumns = """
    id, name, priority, state, request, build, output_digest, output_size, error,
    (extract(epoch FROM sheaf.now() - submitted_at) * 1000000)::bigint,
    (extract(epoch FROM coalesce(ended_at, sheaf.now()) - submitted_at) * 1000000)::bigint
    """

  fileprivate static let job = Statement("job", "SELECT \(jobColumns) FROM sheaf.job WHERE id = $1")

  fileprivate static let jobs = Statement(
    "jobs", "SELECT \(jobColumns) FROM sheaf.job ORDER BY number DESC LIMIT $1")

  fileprivate static let tasks = Statement(
    "tasks",
    """
    SELECT ordinal, kind, state, CASE WHEN $2 THEN payload ELSE '' END, input_digests, input_sizes, fingerprint, cost,
      work, epoch, worker, progress, twin_worker, twin_epoch, twin_progress, greatest(epoch, twin_epoch), failed_on,
      result_digest, result_size, is_cached, error
    FROM sheaf.task WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) ORDER BY ordinal
    """)

  fileprivate static let note = Statement(
    "note",
    """
    INSERT INTO sheaf.worker (id, name, slots, build, coordinator, first_noted, last_noted)
    VALUES ($1, $2, $3, $4, $5, sheaf.now(), sheaf.now())
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, slots = excluded.slots, build = excluded.build,
      coordinator = excluded.coordinator, last_noted = excluded.last_noted,
      first_noted = CASE WHEN worker.last_noted < sheaf.now() - $6 * interval '1 microsecond'
        THEN excluded.first_noted ELSE worker.first_noted END
    """)

  fileprivate static let workers = Statement(
    "workers",
    """
    SELECT id, name, slots, build, coordinator,
      (SELECT count(*)::integer FROM sheaf.task WHERE task.worker = worker.id AND task.state = 'leased')
        + (SELECT count(*)::integer FROM sheaf.task WHERE task.twin_worker = worker.id),
      (extract(epoch FROM sheaf.now() - first_noted) * 1000000)::bigint
    FROM sheaf.worker WHERE last_noted >= sheaf.now() - $1 * interval '1 microsecond'
    """)
}
