import Client
import ContentStorage
import Digest
import FarmModel
import Jobs
import Logging
import Synchronization
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// The job store fails or does not answer for some time, in the midst of a job.
@Suite(.timeLimit(.minutes(10))) struct StoreOutageTests {
  /// A worker that has a task, from the grant on.
  private func working(
    _ coordinator: TestCoordinator, _ body: @escaping @Sendable (ManualWorker, Sheaf_Lease) async throws -> Void
  ) async throws {
    try await coordinator.render()
    try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
      try await worker.heartbeat(free: 1)
      try await body(worker, worker.grant().lease)
    }
  }

  @Test(arguments: [true, false]) func `a heartbeat is answered with nothing cancelled`(hangs: Bool) async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      try await working(coordinator) { worker, lease in
        if hangs { store.hang() } else { store.fail() }
        for _ in 0..<2 {
          try await worker.heartbeat([lease])
          #expect(try await worker.heartbeatReply().cancelled == [])
        }
      }
    }
  }

  @Test func `workers stay registered while other operations hang`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      try await working(coordinator) { _, _ in
        store.hang([.expire, .reading, .renew, .claim])
        let calls = store.calls(.register)
        try await eventually("it is registered again, twice") { store.calls(.register) >= calls + 2 }
      }
    }
  }

  @Test func `a publish that waits holds up no heartbeat and is answered afterwards`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      let result = try coordinator.keep([7])
      try await working(coordinator) { worker, lease in
        store.hang([.publish])
        try await worker.publish(lease, result)
        try await eventually("the publish waits") { store.calls(.publish) == 1 }
        try await worker.heartbeat([lease])
        _ = try await worker.heartbeatReply()
        store.free()
        #expect(try await worker.publishReply().outcome == .published)
      }
    }
  }

  @Test func `a result is published though its worker is gone`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      let result = try coordinator.keep([7])
      try await working(coordinator) { worker, lease in
        store.fail()
        try await worker.publish(lease, result)
        try await eventually("the publish was tried") { store.calls(.publish) >= 1 }
      }
      store.free()
      try await eventually("the task is done") { try await coordinator.task()?.state == .done }
      // It is in the cache of results too.
      try await eventually("the result is cached") {
        coordinator.service.results.result(
          of: TaskFingerprint.of(build: "build 1", kind: .video, payload: [0], inputs: [SHA256Digest.of([1, 2, 3])]))?
          .content == result
      }
    }
  }

  @Test func `the answer goes to the connection that the worker has now`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      let result = try coordinator.keep([7])
      let kept = Mutex(Sheaf_Lease())
      try await working(coordinator) { worker, lease in
        kept.withLock { $0 = lease }
        store.fail([.publish])
        try await worker.publish(lease, result)
        try await eventually("the publish was tried") { store.calls(.publish) >= 1 }
      }
      let lease = kept.withLock { $0 }
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1, session: 2), at: coordinator) { worker in
        try await worker.heartbeat([lease])
        #expect(try await worker.heartbeatReply().cancelled == [])
        store.free()
        let reply = try await worker.publishReply()
        #expect(reply.lease == lease && reply.outcome == .published)
      }
    }
  }

  @Test func `an outage is logged once when it begins and once when it ends`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      try await eventually("the store answers") { store.calls(.expire) > 0 }
      store.fail()
      let before = store.calls(.expire)
      try await eventually("several ticks have failed") { store.calls(.expire) >= before + 3 }
      store.free()
      try await eventually("the outage has ended") {
        !coordinator.logs.all("job store available again").isEmpty
      }
      #expect(coordinator.logs.all("job store unavailable; running tasks go on").count == 1)
      let end = coordinator.logs.all("job store available again")
      #expect(end.count == 1 && (end.first?.metadata["seconds"].flatMap(Double.init) ?? 0) >= 1)
      // No other line for it.
      #expect(!coordinator.logs.messages.contains { $0.contains("not") })
    }
  }

  @Test func `a drain ends though the store does not answer`() async throws {
    let folder = try TemporaryFolder()
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let start = ContinuousClock.now
    let store = ObstructedStore(MemoryJobStore { start.duration(to: .now) })
    let content = try ContentLocator(
      store: ContentStore(directory: folder.path("store")), mediaRoot: nil, contents: FileContentCache())
    let server = try await WireServer.bind(to: WireAddress(host: "127.0.0.1", port: 0), logger: logger)
    var configuration = CoordinatorConfiguration(name: "test", token: nil)
    configuration.grace = .milliseconds(100)
    let service = CoordinatorService(store: store, content: content, configuration: configuration, logger: logger)
    async let running: Void = service.run(server)
    await #expect(throws: WireError.self) {
      try await CoordinatorClient.run(.init(address: server.address, token: "")) { client in
        store.hang()
        async let status = client.request(.statusQuery(.init()))
        try await eventually("the store is asked") { store.calls(.reading) > 0 }
        await service.drain(server)
        _ = try await status
      }
    }
    try await running
    store.free()
  }

  @Test func `a plan that is written for long holds up no heartbeat and no failure`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      try await working(coordinator) { worker, lease in
        store.hang([.plan, .reading])
        try await worker.heartbeat([lease])
        #expect(try await worker.heartbeatReply().cancelled == [])
        try await worker.fail(lease, .released)
        _ = try await worker.failureReply()
      }
    }
  }
}

struct StoreOutageRuleTests {
  @Test func `an outage begins with the first failure and ends when nothing fails any more`() {
    var outage = StoreOutage()
    #expect(outage.succeeded(now: .seconds(1)) == nil)
    #expect(outage.failed(now: .seconds(2)) == .began)
    #expect(outage.failed(now: .seconds(3)) == nil)
    // One connection answers already, another one fails still.
    #expect(outage.succeeded(now: .seconds(3.5)) == nil)
    #expect(outage.failed(now: .seconds(4)) == nil)
    #expect(outage.succeeded(now: .seconds(6)) == .ended(.seconds(4)))
    #expect(outage.failed(now: .seconds(9)) == .began)
  }

  /// What needs a table that is locked fails every 6 to 9 s, and everything else succeeds.
  @Test func `a locked table is one outage`() {
    var outage = StoreOutage()
    #expect(outage.failed(isLocked: true, now: .seconds(5)) == .began)
    for second in 6...40 {
      #expect(outage.succeeded(now: .seconds(second)) == nil)
      if second % 9 == 4 { #expect(outage.failed(isLocked: true, now: .seconds(second)) == nil) }
    }
    // The last failure was at 40 s, and the first success after it is the end.
    #expect(outage.succeeded(now: .seconds(41)) == nil)
    #expect(outage.succeeded(now: .seconds(51)) == nil)
    #expect(outage.succeeded(now: .seconds(52)) == .ended(.seconds(36)))
  }
}
