extension PostgresJobStore {
  package func register(_ worker: WorkerRecord) throws(JobStoreError) {
    try worker.validate()
    try perform { (connection) throws(JobStoreError) in
      _ = try connection.run(
        .register,
        [
          .text(worker.id.description), .text(worker.session.description), .text(worker.name.withoutNul),
          .int(worker.slots), .text(worker.build.withoutNul), .text(worker.coordinator.withoutNul),
          .long(policy.lease.microseconds),
        ])
    }
  }

  package func workers() throws(JobStoreError) -> [WorkerRecord] {
    let workers = try perform { (connection) throws(JobStoreError) in
      try connection.run(.workers, [.long(policy.lease.microseconds)])
        .map { (fields) throws(JobStoreError) in
          WorkerRecord(
            id: WorkerID(try fields.text()), session: SessionID(try fields.text()), name: try fields.text(),
            slots: try fields.int(), build: try fields.text(), coordinator: try fields.text(),
            busy: try fields.int(), connected: .microseconds(try fields.long()))
        }
    }
    return workers.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }
}

extension Statement {
  fileprivate static let register = Statement(
    "register",
    """
    INSERT INTO sheaf.worker (id, session, name, slots, build, coordinator, registered_at, last_seen)
    VALUES ($1, $2, $3, $4, $5, $6, sheaf.now(), sheaf.now())
    ON CONFLICT (id) DO UPDATE SET session = excluded.session, name = excluded.name, slots = excluded.slots,
      build = excluded.build, coordinator = excluded.coordinator, last_seen = excluded.last_seen,
      registered_at = CASE
        WHEN worker.session <> excluded.session
          OR worker.last_seen < sheaf.now() - $7 * interval '1 microsecond' THEN excluded.registered_at
        ELSE worker.registered_at END
    """)

  fileprivate static let workers = Statement(
    "workers",
    """
    SELECT id, session, name, slots, build, coordinator,
      (SELECT count(*)::integer FROM sheaf.lease WHERE lease.worker = worker.id),
      (extract(epoch FROM sheaf.now() - registered_at) * 1000000)::bigint
    FROM sheaf.worker WHERE last_seen >= sheaf.now() - $1 * interval '1 microsecond'
    """)
}
