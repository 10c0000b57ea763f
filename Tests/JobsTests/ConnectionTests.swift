import FarmModel
import Glibc
import Synchronization
import SystemSupport
import TestPrograms
import Testing

@testable import Jobs
@testable import PostgresJobs

@Suite("The connection to PostgreSQL", .timeLimit(.minutes(10)), .database)
struct ConnectionTests {
  @Test func `an absent server is unavailable`() async throws {
    await #expect(throws: JobStoreError(.unavailable, "")) {
      try await PostgresJobStore.connect(url: "host=127.0.0.1 port=1 dbname=sheaf")
    }
    await #expect(throws: JobStoreError(.unavailable, "")) {
      try await PostgresJobStore.connect(url: "dbname=sheaf_test_that_is_not_there")
    }
  }

  @Test(arguments: ["postgres://[::1/d", "postgres://h/d?colour=blue", "dbname", "host=a b"])
  func `a malformed URL is another error than an absent server`(_ url: String) async throws {
    let expected: JobStoreError.Code = url == "dbname" ? .unavailable : .invalid
    await #expect(throws: JobStoreError(expected, "")) { try await PostgresJobStore.connect(url: url) }
  }

  /// Whatever the store was doing when its backend was killed, everything is published exactly once.
  @Test func `killed backends lose nothing`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url, policy: LeasePolicy(lease: .milliseconds(100)))
      let videos = TestExtent.of(60, whole: 200)
      try await store.submitRendering("j1", tasks: .videos(videos))
      let killer = try Killer(in: database)
      var published: [TaskID: Int] = [:]
      var interruptions = 0
      while try await persist(&interruptions, { try await store.state("j1") }) != .done {
        _ = try await persist(&interruptions) { try await store.expire() }
        let firstKill = Task { try await killer.kill(true) }
        let grants = try await persist(&interruptions) { try await store.claim(worker: .anna, build: "b1", limit: 20) }
        _ = try await firstKill.value
        for (index, grant) in grants.enumerated() {
          let kill = Task { try await killer.kill(index % 8 == 3) }
          let outcome = try await persist(&interruptions) {
            try await store.publish(grant.lease, worker: .anna, result: content(1))
          }
          // A publication whose answer was lost is a duplicate the next time.
          if outcome != .stale { published[grant.lease.task, default: 0] += 1 }
          _ = try await kill.value
        }
      }
      #expect(interruptions > 0)
      #expect(published.count == videos + 1)
      #expect(published.values.allSatisfy { $0 == 1 })
      await store.close()
    }
  }

  /// Ends all other backends of its database.
  private actor Killer {
    private let connection: Connection

    init(in database: TestDatabase) throws { connection = try database.connect() }

    func kill(_ really: Bool) throws -> Int {
      guard really else { return 0 }
      return try connection.run(
        Statement(
          "kill",
          """
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'sheaf'
          """)
      ).count
    }
  }

  /// Repeats an operation for as long as the database is unavailable.
  private func persist<Value: Sendable>(
    _ interruptions: inout Int, _ operation: () async throws -> Value
  ) async throws -> Value {
    var wasInterrupted = false
    while true {
      try Task.checkCancellation()
      do { return try await operation() } catch let error as JobStoreError where error.code == .unavailable {
        if !wasInterrupted { interruptions += 1 }
        wasInterrupted = true
      }
    }
  }

  @Test func `hints go on after the listener's backend was killed`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      var changes = store.changes().makeAsyncIterator()
      var killed: [String] = []
      while killed.isEmpty {
        try Task.checkCancellation()
        killed = try database.query(
          """
          SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
          WHERE datname = current_database() AND query = 'LISTEN sheaf_change'
          """)
      }
      // There may be one hint from before the gap, and there is one at its end; the third one is about these jobs.
      for number in 0..<3 {
        try await store.submit(.sample("j\(number)"))
        #expect(await changes.next() != nil)
      }
      await store.close()
    }
  }

  /// As after the server was started again.
  @Test func `the call after a lost connection succeeds`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submit(.sample("j1"))
      #expect(try await store.jobs(.render, limit: 1).count == 1)
      _ = try database.query(
        """
        SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """)
      let open = """
        SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%FROM sheaf.job%'
          AND pid <> pg_backend_pid()
        """
      while !(try database.query(open).isEmpty) { try await Task.sleep(for: .milliseconds(5)) }
      #expect(try await store.jobs(.render, limit: 1).count == 1)
      #expect(try await store.cancel(JobID("j1")) == .cancelled)
      await store.close()
    }
  }

  /// Not one after the other, each until it has waited for the lock.
  @Test func `operations that wait behind a lock end with the first one`() async throws {
    try await TestDatabase.with { database in
      let blocker = try database.connect()
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submit(.sample("j1"))
      try blocker.script("BEGIN; LOCK TABLE sheaf.job")
      let first = Task { try await store.cancel(JobID("j1")) }
      try await database.waitForABlockedStatement()
      let begun = Begun()
      let waiting = (0..<6).map { _ in
        Task {
          try await store.bulk.perform { (connection) throws(JobStoreError) in
            begun.count.add(1, ordering: .relaxed)
            try connection.script("SELECT number FROM sheaf.job")
          }
        }
      }
      let error = await #expect(throws: JobStoreError(.unavailable, "")) { try await first.value }
      #expect(
        error?.description
          == "the database is locked: something else has locked what this needs for more than 5 s; try again later "
          + "(SQLSTATE 55P03)")
      for task in waiting {
        let error = await #expect(throws: JobStoreError(.unavailable, "")) { try await task.value }
        #expect(error?.condition == "55P03")
      }
      // The first of them may have come less than a lock's time before.
      #expect(begun.count.load(ordering: .relaxed) <= 1)
      try blocker.script("COMMIT")
      #expect(try await store.cancel(JobID("j1")) == .cancelled)
      await store.close()
    }
  }

  @Test func `a message of libpq is one line`() {
    let message = """
      server closed the connection unexpectedly
      \tThis probably means the server terminated abnormally
      \tbefore or while processing the request.

      """
    #expect(
      String.onOneLine(message)
        == "server closed the connection unexpectedly; "
        + "This probably means the server terminated abnormally before or while processing the request.")
  }

  @Test func `a database that went away is unavailable until it is back`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      let admin = try Connection(url: "")
      try admin.script("ALTER DATABASE \(database.name) ALLOW_CONNECTIONS false")
      _ = try admin.run(
        Statement("kill", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1"),
        [.text(database.name)])
      for _ in 0..<3 {
        await #expect(throws: JobStoreError(.unavailable, "")) { try await store.jobs(.render, limit: 1) }
      }
      try admin.script("ALTER DATABASE \(database.name) ALLOW_CONNECTIONS true")
      var interruptions = 0
      #expect(try await persist(&interruptions) { try await store.jobs(.render, limit: 1) }.isEmpty)
      await store.close()
    }
  }

  /// A store waits for its database on a thread of its own.
  @Test func `a blocked store blocks no other task`() async throws {
    try await TestDatabase.with { database in
      let blocker = try database.connect()
      var stores: [PostgresJobStore] = []
      for _ in 0..<6 { stores.append(try await PostgresJobStore.connect(url: database.url)) }
      try await stores[0].submit(.sample("j1"))
      try blocker.script("BEGIN; SELECT number FROM sheaf.job FOR UPDATE")
      let blocked = stores.map { store in Task { try await store.fail(JobID("j1"), failure: .sample) } }
      // Now more operations wait than the cooperative pool has threads, and this goes on.
      let memory = MemoryJobStore { .zero }
      for number in 0..<100 { try await memory.submit(.sample("j\(number)")) }
      try blocker.script("COMMIT")
      var ended = 0
      for task in blocked where try await task.value { ended += 1 }
      #expect(ended == 1)
      for store in stores { await store.close() }
    }
  }

  /// Planning and cancelling a large job take long. Renewals, claims and results do not wait for them.
  @Test func `heartbeats and claims do not wait for a large job`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: .videos(3))
      try await store.submit(.sample("large", tasks: [.sample(.probe)]))
      let lease = try #require(try await store.claimOne()).lease
      let blocker = try database.connect()
      try blocker.script("BEGIN; SELECT number FROM sheaf.job WHERE id = 'large' FOR UPDATE")
      let cancelled = Task { try await store.cancel(JobID("large")) }
      try await database.waitForABlockedStatement()
      try await store.register(.sample(.anna))
      #expect(try await store.lost(lease, of: .anna, done: 1).isEmpty)
      #expect(try await store.expire().isEmpty)
      #expect(try await store.claim(worker: .bert, build: "b1", limit: 9).map(\.name) == ["j1/1", "j1/2"])
      #expect(try await store.publish(lease, worker: .anna, result: content(1)) == .published)
      #expect(try await store.disconnect(WorkerID.bert.holder) == 2)
      #expect(try await store.summary(of: JobID("large"))?.probes.total == 1)
      #expect(try await store.workers().count == 1)
      try blocker.script("COMMIT")
      #expect(try await cancelled.value == .cancelled)
      await store.close()
    }
  }

  /// A lease that another transaction ends is not renewed, and nothing waits for that transaction.
  @Test func `a renewal waits for no lock`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: .videos(2))
      let leases = try await store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      let blocker = try database.connect()
      try blocker.script("BEGIN; DELETE FROM sheaf.lease WHERE ordinal = 0")
      #expect(try await store.renew(worker: .anna, leases: leases, done: 5).isEmpty)
      #expect(try await store.task("j1", 0).leases.map(\.progress) == [0])
      #expect(try await store.task("j1", 1).leases.map(\.progress) == [5])
      try blocker.script("COMMIT")
      #expect(try await store.renew(worker: .anna, leases: leases, done: 6) == [leases[0]])
      await store.close()
    }
  }

  /// A coordinator ends soon, whatever its database does.
  @Test func `closing ends an operation that the server does not answer`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submit(.sample("j1"))
      let blocker = try database.connect()
      try blocker.script("BEGIN; LOCK TABLE sheaf.job")
      let blocked = Task { try await store.cancel(JobID("j1")) }
      try await database.waitForABlockedStatement()
      await store.close()
      await #expect(throws: JobStoreError(.closed, "")) { try await blocked.value }
      await #expect(throws: JobStoreError(.closed, "")) { try await store.workers() }
      try blocker.script("COMMIT")
    }
  }

  /// The server's machine accepts connections, and nothing answers them.
  @Test func `connecting to a server that does not answer is cancelled`() async throws {
    let server = try SilentServer()
    let connecting = Task { try await PostgresJobStore.connect(url: "host=127.0.0.1 port=\(server.port) dbname=sheaf") }
    try await server.waitForConnection()
    connecting.cancel()
    await #expect(throws: JobStoreError(.closed, "")) { try await connecting.value }
  }

  /// The connection stays open and nothing arrives, as when the server's machine or the network in between has stopped.
  @Test(arguments: [false, true])
  func `a server that stops answering is unavailable`(pipeline: Bool) async throws {
    try await TestDatabase.with { database in
      let limits = Connection.Limits(statement: .seconds(2), grace: .seconds(1))
      let link = try SilentLink()
      let lane = try DatabaseLane(url: link.url(database), limits: limits, outage: ConnectFailure())
      let one = Statement("one", "SELECT 1")
      try await lane.perform { (connection) throws(JobStoreError) in _ = try connection.run(one) }
      link.silence()
      let error = await #expect(throws: JobStoreError(.unavailable, "")) {
        try await lane.perform { (connection) throws(JobStoreError) in
          if pipeline { _ = try connection.transaction([(one, [])]) } else { _ = try connection.run(one) }
        }
      }
      #expect(error?.message == "PostgreSQL does not answer")
      // On a new connection.
      try await lane.perform { (connection) throws(JobStoreError) in _ = try connection.run(one) }
      lane.close()
      link.close()
    }
  }

  /// A statement about every task of a large job may take long, as long as the server answers new connections.
  @Test func `a long statement ends when new connections are not answered`() async throws {
    try await TestDatabase.with { database in
      let outage = ConnectFailure()
      let link = try SilentLink()
      let lane = try DatabaseLane(url: link.url(database), limits: .long, outage: outage)
      try await lane.perform { (_) throws(JobStoreError) in }
      link.silence()
      outage.recordNoAnswer(since: .now - .seconds(1))
      let (begun, begin) = AsyncStream.makeStream(of: Void.self)
      let waiting = Task {
        try await lane.perform { (connection) throws(JobStoreError) in
          begin.yield()
          try connection.script("SELECT 1")
        }
      }
      for await _ in begun { break }
      let server = try SilentServer()
      let url = "host=127.0.0.1 port=\(server.port) dbname=sheaf connect_timeout=2"
      // The first attempt may begin before the wait.
      for _ in 0..<2 {
        #expect(throws: JobStoreError(.unavailable, "")) { try Connection(url: url, outage: outage) }
      }
      await #expect(throws: JobStoreError(.unavailable, "")) { try await waiting.value }
      lane.close()
      link.close()
    }
  }

  @Test func `a server that does not answer in time is unavailable`() async throws {
    let server = try SilentServer()
    let error = await #expect(throws: JobStoreError(.unavailable, "")) {
      try await PostgresJobStore.connect(url: "host=127.0.0.1 port=\(server.port) dbname=sheaf connect_timeout=2")
    }
    #expect(error?.message.contains("does not answer") == true)
  }
}

extension TestDatabase {
  /// Waits until a statement of a store waits for a lock. Meanwhile the threads of the pool are free for that store.
  func waitForABlockedStatement() async throws {
    let waiting = """
      SELECT pid::text FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'sheaf' AND wait_event_type = 'Lock'
      """
    while try query(waiting).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
  }
}

private final class Begun: Sendable {
  let count = Atomic<Int>(0)
}

/// A link to the server of the `PG…` environment, whose connections can become silent: they stay open, what is sent is
/// acknowledged, and nothing arrives.
private final class SilentLink: Sendable {
  private let server: SilentServer
  private let generation = Atomic<Int>(0)

  init() throws {
    server = try SilentServer()
    let target = in_port_t(getenv("PGPORT").flatMap { UInt16(String(cString: $0)) } ?? 5432)
    try startThread { [self] in
      while let near = server.accept(), let far = Self.connect(target) {
        let number = generation.load(ordering: .relaxed)
        for (source, target) in [(near, far), (far, near)] {
          try? startThread { [self] in
            while let bytes = try? source.readSome(4096), !bytes.isEmpty {
              if generation.load(ordering: .relaxed) == number { try? target.send(bytes) }
            }
            target.shutDown()
          }
        }
      }
    }
  }

  func url(_ database: TestDatabase) -> String { "host=127.0.0.1 port=\(server.port) \(database.url)" }

  /// The connections of now are silent from now on. New ones are not.
  func silence() { generation.add(1, ordering: .relaxed) }

  func close() { server.close() }

  private static func connect(_ port: in_port_t) -> OpenFile? {
    let file = OpenFile(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), name: "a connection")
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    address.sin_port = port.bigEndian
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(file.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return status == 0 ? file : nil
  }
}

/// A port on which connections are accepted and never answered.
private final class SilentServer: Sendable {
  let port: UInt16
  private let socket: OpenFile

  init() throws {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    socket = OpenFile(owning: descriptor, name: "a server")
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 8) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard status else { throw SystemError(errno, "listening") }
    port = UInt16(bigEndian: address.sin_port)
  }

  /// The next connection; nil when the server is closed.
  func accept() -> OpenFile? {
    let descriptor = Glibc.accept(socket.descriptor, nil, nil)
    return descriptor < 0 ? nil : OpenFile(owning: descriptor, name: "a connection")
  }

  func close() { socket.shutDown() }

  /// Waits until a client has connected.
  func waitForConnection() async throws {
    while try waitForInput([socket.descriptor], milliseconds: 0) == [false] {
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}
