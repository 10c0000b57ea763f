package import FarmModel
package import Jobs
import SystemSupport

/// A farm's state in PostgreSQL, shared by any number of coordinators.
///
/// The operations run on four connections, so that none waits for one of another kind:
/// - renewals, registrations and expiry, which leases depend on;
/// - claims;
/// - results and failures, and what is read in a moment;
/// - what may be about every task of a large job.
///
/// No wait for a lock is longer than a third of a lease. If a connection is lost the operation throws `.unavailable`,
/// and the next one connects again.
package final class PostgresJobStore: JobStore {
  let policy: LeasePolicy
  let heartbeats: DatabaseLane
  let claims: DatabaseLane
  let results: DatabaseLane
  let bulk: DatabaseLane
  private let listener: ChangeListener
  private let streams: ChangeStreams

  /// Connects, and brings the database's schema up to this version's. If the task is cancelled it throws `.closed`
  /// soon, also if the server does not answer.
  ///
  /// - Parameter url: What libpq takes: `postgres://user:password@host:port/database`, or `key=value` pairs. The
  ///   environment variables `PG…` supply what it leaves out.
  package static func connect(
    url: String, policy: LeasePolicy = LeasePolicy()
  ) async throws(JobStoreError) -> PostgresJobStore {
    let store = try PostgresJobStore(url: url, policy: policy)
    let result = await withTaskCancellationHandler {
      await Result { () async throws(JobStoreError) in
        try await store.bulk.perform { (_) throws(JobStoreError) in }
      }
    } onCancel: {
      store.stop()
    }
    do {
      try result.get()
    } catch {
      store.stop()
      throw error
    }
    return store
  }

  private init(url: String, policy: LeasePolicy) throws(JobStoreError) {
    self.policy = policy
    let outage = ConnectFailure()
    heartbeats = try DatabaseLane(url: url, limits: .short, outage: outage)
    claims = try DatabaseLane(url: url, limits: .short, outage: outage)
    results = try DatabaseLane(url: url, limits: .short, outage: outage)
    bulk = try DatabaseLane(url: url, limits: .long, outage: outage)
    streams = ChangeStreams()
    listener = try ChangeListener(url: url, streams: streams)
  }

  deinit {
    streams.finish()
    listener.stop()
  }

  /// Ends every stream of `changes()` and closes the connections. Operations that run, and those after it, throw
  /// `.closed`; whether one that ran took place is not known. Returns at once, also if the server does not answer.
  package func close() async {
    stop()
  }

  private func stop() {
    for lane in [heartbeats, claims, results, bulk] { lane.close() }
    listener.stop()
    streams.finish()
  }

  package func changes() -> AsyncStream<Void> { streams.add() }

  package var calls: [String: DurationHistogram] {
    ["heartbeats": heartbeats.calls, "claims": claims.calls, "results": results.calls, "bulk": bulk.calls]
  }
}

extension Result where Failure == JobStoreError {
  fileprivate init(_ body: () async throws(JobStoreError) -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}

extension JobStoreError {
  /// An error of this machine, not of the database.
  init(_ error: SystemError) {
    self.init(.internal, "\(error)")
  }
}

// MARK: - Workers and the farm

extension PostgresJobStore {
  package func register(_ workers: [WorkerRecord]) async throws(JobStoreError) {
    for worker in workers { try worker.validate() }
    guard !workers.isEmpty else { return }
    let latest = workers.latest()
    let times: [Parameter] = [.long(policy.lease.microseconds), .long(policy.outage.microseconds)]
    try await heartbeats.perform { (connection) throws(JobStoreError) in
      _ = try connection.run(
        .register,
        [
          .texts(latest.map(\.id.description)), .longs(latest.map(\.session.number)),
          .texts(latest.map(\.name.withoutNul)), .ints(latest.map(\.slots)), .longs(latest.map(\.memory)),
          .texts(latest.map(\.build.withoutNul)), .texts(latest.map(\.coordinator.withoutNul)),
          .texts(latest.map(\.paused.withoutNul)), .texts(latest.map(\.account.withoutNul)),
          // No name of a pool has a comma.
          .texts(latest.map { PoolName.sorted($0.pools).joined(separator: ",") }),
        ] + times)
    }
  }

  package func workers() async throws(JobStoreError) -> [WorkerRecord] {
    let times: [Parameter] = [.long(policy.lease.microseconds), .long(policy.outage.microseconds)]
    let workers = try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.workers, times)
        .map { (fields) throws(JobStoreError) in
          var worker = WorkerRecord(
            id: WorkerID(try fields.text()), session: SessionID(try fields.long()), name: try fields.text(),
            slots: try fields.int(), memory: try fields.long(), build: try fields.text(),
            coordinator: try fields.text(),
            busy: try fields.int(), paused: try fields.text(), connectedAt: .microseconds(try fields.long()),
            connected: .microseconds(try fields.long()))
          worker.account = try fields.text()
          worker.hold = try fields.optionalNamed("hold of a worker")
          worker.holdReason = try fields.text()
          (worker.pools, worker.isClosed) = (try fields.texts(), try fields.flag())
          return worker
        }
    }
    return workers.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  package func contentStore(_ identity: String, replacing: Bool) async throws(JobStoreError) -> String {
    try await results.perform { (connection) throws(JobStoreError) in
      let results = try connection.transaction([
        (.recordContentStore, [.text(identity.withoutNul), .flag(replacing)]), (.contentStore, []),
      ])
      guard var fields = results[1].first else {
        throw JobStoreError(.internal, "the database has no row in sheaf.farm")
      }
      return try fields.text()
    }
  }
}

extension Statement {
  fileprivate static let register = Statement(
    "register",
    """
    WITH registered AS (
      INSERT INTO sheaf.worker AS worker (id, session, name, slots, memory, build, coordinator, paused, account, pools,
        has_left, registered_at, last_seen)
      SELECT id, session, name, slots, memory, build, coordinator, paused, account, string_to_array(pools, ','), false,
        sheaf.now(), sheaf.now()
      FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        AS new (id, session, name, slots, memory, build, coordinator, paused, account, pools)
      ON CONFLICT (id) DO UPDATE SET session = excluded.session, name = excluded.name, slots = excluded.slots,
        memory = excluded.memory, build = excluded.build, coordinator = excluded.coordinator,
        paused = excluded.paused, account = excluded.account, pools = excluded.pools, has_left = false, last_seen = excluded.last_seen,
        registered_at = CASE
          WHEN worker.session <> excluded.session OR worker.has_left
            OR worker.last_seen < \(beforeOutage("$12")) - $11 * interval '1 microsecond' THEN excluded.registered_at
          ELSE worker.registered_at END
        WHERE worker.session <= excluded.session OR worker.has_left
          OR worker.last_seen < \(beforeOutage("$12")) - $11 * interval '1 microsecond'
      RETURNING build
    )
    INSERT INTO sheaf.build AS build (build, last_seen)
    SELECT DISTINCT build, sheaf.now() FROM registered ORDER BY build
    ON CONFLICT (build) DO UPDATE SET last_seen = greatest(build.last_seen, excluded.last_seen)
    """)

  fileprivate static let workers = Statement(
    "workers",
    """
    SELECT id, session, name, slots, memory, build, coordinator,
      (SELECT count(*)::integer FROM sheaf.lease WHERE lease.worker = worker.id), paused,
      \(microseconds("registered_at")), (extract(epoch FROM sheaf.now() - registered_at) * 1000000)::bigint, account,
      (SELECT hold FROM sheaf.standing WHERE standing.account = worker.account),
      coalesce((SELECT reason FROM sheaf.standing WHERE standing.account = worker.account), ''),
      pools, \(areClosed("worker.pools"))
    FROM sheaf.worker WHERE NOT has_left AND last_seen >= \(beforeOutage("$2")) - $1 * interval '1 microsecond'
    """)

  fileprivate static let recordContentStore = Statement(
    "record-content-store", "UPDATE sheaf.farm SET content_store = $1 WHERE content_store IS NULL OR $2")

  fileprivate static let contentStore = Statement("content-store", "SELECT content_store FROM sheaf.farm")
}
