import ArgumentParser
import Digest
import FarmModel
import FoundationEssentials
import Glibc
import Jobs
import PostgresJobs
import SwiftProtobuf
import SystemSupport
import Wire

/// Loads a coordinator with many workers that speak the wire protocol and render nothing, and prints what it did.
@main
struct FarmLoad: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "FarmLoad", abstract: "Load a coordinator with workers that render nothing.",
    discussion: """
      Writes jobs of many tasks into the coordinator's database, then connects the workers. Each takes a task, holds it \
      for a while, publishes a result, and reports its free slot. The time of a grant is from that report to the grant. \
      Benchmarks/load starts the database and the coordinator, and runs this program.
      """)

  @Option(help: "The coordinator's database.") var database: String
  @Option(help: "The coordinator's address.") var coordinator: String
  @Option(help: "The coordinator's process, whose memory is reported.") var process: Int32
  @Option(help: "A small file, which every task publishes as its result.") var result: String
  @Option(help: "How many workers connect, with one slot each.") var workers = 1000
  @Option(help: "How many tasks there are.") var tasks = 100_000
  @Option(help: "How many tasks a job has.") var tasksOfJob = 10_000
  @Option(help: "How many jobs of ten tasks have ended before.") var endedJobs = 0
  @Option(help: "How long a worker holds a task, in milliseconds.") var hold = 0
  @Option(help: "How long to load, in seconds.") var seconds = 60

  func run() async throws {
    guard let address = WireAddress(coordinator) else { throw ValidationError("\(coordinator) is not an address") }
    let token = ProcessEnvironment.value("SHEAF_TOKEN") ?? ""
    let content = try await upload(to: address, token: token)
    try await fill()
    let load = Load(result: content, hold: .milliseconds(hold))
    let clock = ContinuousClock()
    var start = clock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<workers {
        group.addTask { try await load.work(as: number, at: address, token: token) }
        // A farm's workers do not all start within a millisecond.
        if number % 50 == 49 { try await Task.sleep(for: .milliseconds(20)) }
      }
      // The first grants, to workers that are still connecting, are not measured.
      try await Task.sleep(for: .seconds(3))
      await load.reset()
      start = clock.now
      let limit = start + .seconds(seconds)
      while clock.now < limit, await load.total < tasks { try await Task.sleep(for: .milliseconds(100)) }
      group.cancelAll()
    }
    try await report(load, over: clock.now - start)
  }

  /// Uploads the result.
  private func upload(to address: WireAddress, token: String) async throws -> Content {
    let file = try OpenFile.open(result)
    let content = try file.content()
    let hello = Sheaf_Hello.with {
      $0.role = .client
      $0.token = token
      $0.name = "load"
    }
    try await WireClient.withConnection(to: address, hello: hello) { connection, _ in
      let exchange = ContentExchange(connection)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { for try await message in connection.inbound { _ = await exchange.take(message) } }
        try await exchange.upload(file, content)
        group.cancelAll()
      }
    }
    return content
  }

  /// Writes the jobs: those that have ended, and those whose tasks the workers take.
  private func fill() async throws {
    let store = try await PostgresJobStore.connect(url: database)
    for number in 0..<endedJobs {
      let job = JobID("ended-\(number)")
      _ = try await store.submit(NewJob(id: job, name: "ended", priority: 0, request: [], tasks: []))
      _ = try await store.plan(job, build: Load.build, tasks: Self.tasks(10))
      _ = try await store.cancel(job)
    }
    var rest = tasks
    while rest > 0 {
      let job = JobID("load-\(rest)")
      _ = try await store.submit(NewJob(id: job, name: "load", priority: 0, request: [], tasks: []))
      _ = try await store.plan(job, build: Load.build, tasks: Self.tasks(min(rest, tasksOfJob)))
      rest -= tasksOfJob
    }
    await store.close()
  }

  private static func tasks(_ count: Int) -> [NewTask] {
    var tasks = (0..<count).map { number in
      // 600 bytes, as the task of a segment with one clip has.
      NewTask(
        kind: .video, label: "frames \(number * 120)..\(number * 120 + 119)",
        payload: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 600), inputs: [],
        fingerprint: Self.digest(number), cost: Double(number % 7 + 1), work: 120)
    }
    tasks.append(
      NewTask(kind: .stitch, payload: [0], inputs: [], fingerprint: Self.digest(-1), cost: 0, work: 0))
    return tasks
  }

  private static func digest(_ number: Int) -> SHA256Digest {
    var hasher = SHA256Hasher()
    hasher.update(String(number).utf8)
    return hasher.finalize()
  }

  private func report(_ load: Load, over time: Duration) async throws {
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    let (grants, replies) = await load.times
    let memory = try Self.peakMemory(of: process)
    print(
      """
      workers \(workers), tasks \(tasks), ended jobs \(endedJobs), held for \(hold) ms
      grants a second: \(Int(Double(grants.count) / seconds))
      grant, ms: p50 \(grants.percentile(0.5)), p99 \(grants.percentile(0.99)), max \(grants.percentile(1))
      heartbeat's reply, ms: p50 \(replies.percentile(0.5)), p99 \(replies.percentile(0.99)), max \(replies.percentile(1))
      coordinator's memory, MiB: \(memory)
      """)
  }

  /// In MiB.
  private static func peakMemory(of process: Int32) throws -> Int {
    let bytes = try OpenFile.contents(of: "/proc/\(process)/status", limit: 65536)
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM") }
    guard let kibibytes = line?.split(separator: " ").lazy.compactMap({ Int($0) }).first else {
      throw ValidationError("process \(process) has ended")
    }
    return kibibytes >> 10
  }
}

/// What all workers have measured.
actor Load {
  static let build = "load"

  let result: Content
  let hold: Duration
  /// All grants, also those before `reset`.
  private(set) var total = 0
  private var grants: [Duration] = []
  private var replies: [Duration] = []

  init(result: Content, hold: Duration) {
    self.result = result
    self.hold = hold
  }

  var times: (grants: [Duration], replies: [Duration]) { (grants, replies) }

  func reset() {
    grants = []
    replies = []
  }

  private func record(grant time: Duration) {
    total += 1
    grants.append(time)
  }

  private func record(reply time: Duration) { replies.append(time) }

  /// One worker: connects and works until the task is cancelled.
  nonisolated func work(as number: Int, at address: WireAddress, token: String) async throws {
    let hello = Sheaf_Hello.with {
      $0.role = .worker
      $0.token = token
      $0.name = "load-\(number)"
      $0.workerID = "load-\(number)-\(getpid())"
      $0.slots = 1
      $0.build = Self.build
      $0.session = 1
    }
    try await WireClient.withConnection(to: address, hello: hello) { connection, welcome in
      let worker = LoadWorker(connection, load: self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await worker.beat(every: .milliseconds(Int(welcome.heartbeatMilliseconds))) }
        for try await message in connection.inbound {
          switch message {
          case .grant(let grant):
            await self.record(grant: await worker.take(grant.lease))
            group.addTask { try await worker.finish(grant.lease, after: self.hold, with: self.result) }
          case .publishReply(let reply): try await worker.published(reply.lease)
          case .heartbeatReply: if let time = await worker.answered() { await self.record(reply: time) }
          default: break
          }
        }
        group.cancelAll()
      }
    }
  }
}

/// The state of one worker.
actor LoadWorker {
  private let connection: WireConnection
  private let clock = ContinuousClock()
  private var held: [Sheaf_Lease] = []
  private var freeSince: ContinuousClock.Instant
  private var sent: [ContinuousClock.Instant] = []

  init(_ connection: WireConnection, load: Load) {
    self.connection = connection
    freeSince = clock.now
  }

  /// Sends a heartbeat now and again and again.
  func beat(every interval: Duration) async throws {
    while !Task.isCancelled {
      try await heartbeat()
      do { try await Task.sleep(for: interval) } catch { return }
    }
  }

  /// Returns how long the slot was free.
  func take(_ lease: Sheaf_Lease) -> Duration {
    held.append(lease)
    return clock.now - freeSince
  }

  func finish(_ lease: Sheaf_Lease, after hold: Duration, with result: Content) async throws {
    do { try await Task.sleep(for: hold) } catch { return }
    try await connection.send(
      .publish(
        .with {
          $0.lease = lease
          $0.digest = Data(result.digest.bytes)
          $0.size = UInt64(result.size)
          $0.usage = .with { ($0.renderMilliseconds, $0.cpuMilliseconds, $0.peakBytes) = (700, 650, 60 << 20) }
        }))
  }

  func published(_ lease: Sheaf_Lease) async throws {
    held.removeAll { $0 == lease }
    freeSince = clock.now
    try await heartbeat()
  }

  /// The time since the oldest heartbeat that was not answered. One reply may answer several heartbeats.
  func answered() -> Duration? {
    defer { sent = [] }
    return sent.first.map { clock.now - $0 }
  }

  private func heartbeat() async throws {
    sent.append(clock.now)
    let leases = held
    try await connection.send(
      .heartbeat(
        .with {
          $0.freeSlots = leases.isEmpty ? 1 : 0
          $0.progress = leases.map { lease in .with { $0.lease = lease } }
        }))
  }
}

extension [Duration] {
  /// In milliseconds; 0 if there is none.
  fileprivate func percentile(_ part: Double) -> Double {
    guard !isEmpty else { return 0 }
    let time = sorted()[Swift.min(Int(Double(count) * part), count - 1)]
    return (Double(time.components.seconds) * 1000 + Double(time.components.attoseconds) / 1e15).rounded()
  }
}
