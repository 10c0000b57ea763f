import Client
import FarmAPI
import Foundation
import SystemSupport
import TLS
import TestPrograms
import Testing
import Wire

@testable import PostgresJobs

/// A farm of real processes: PostgreSQL (the one that PG* names), a coordinator and workers on loopback.
final class Farm: @unchecked Sendable {
  // Sendable because tests use one farm from one task at a time.
  private let files: Workspace
  private let database: String
  /// For queries, from the first one on: a new connection takes longer than most of them.
  private var connection: Connection?
  private var coordinatorCommands: [Command] = []
  private var coordinators: [RunningProgram] = []
  private var workers: [RunningProgram] = []
  private let slots: Int
  private let mediaRoot: String?
  private let program: String
  /// A file with the authority of the coordinators' certificates. Nil: connections are plain.
  let authority: String?
  private let endpoint: CoordinatorClient.Endpoint
  /// Of all coordinators.
  let address: String
  /// Of the HTTP API of the first coordinator.
  let http: String
  /// That of clients.
  let token = "token of \(UUID().uuidString)"
  let workerToken = "token of workers \(UUID().uuidString)"

  struct Job: Decodable {
    struct Task: Decodable {
      var kind: String
      var state: String
    }

    var state: String
    var tasks: [Task]
    var error: String?
  }

  /// - Parameters:
  ///   - number: How many coordinators there are, of one database and one content store.
  ///   - environments: Variables of each worker, besides those that all have.
  ///   - recorded: A folder of `Tests/Compatibility`, or of a backup, whose database and content store the farm goes on
  ///     with. Nil: it is a new one.
  ///   - certificates: All connections use TLS. Nil: they are plain.
  ///   - ownAuthority: How long certificates of workers are valid that the farm's own authority signs, in place of
  ///     `certificates`. Nil: it has none.
  ///   - comparing: Which percentage of the results is compared. Tests count the tasks that workers start.
  ///   - worker: What the workers are, among the products.
  init(
    coordinators number: Int = 1, workers count: Int, slots: Int, mediaRoot: String? = nil,
    environments: [[String: String]] = [],
    recorded: URL? = nil, certificates: TestCertificates? = nil, ownAuthority: String? = nil,
    comparing: Int = 0, worker: String = "sheaf-worker"
  ) async throws {
    files = try Workspace()
    authority = ownAuthority == nil ? certificates?.authority : files.path("ca/authority.pem")
    (self.slots, self.mediaRoot, program) = (slots, mediaRoot, worker)
    database = "sheaf_" + UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
    let port = Int.random(in: 10000...16000) * 2
    let addresses =
      [WireAddress(host: "127.0.0.1", port: port)]
      + (1..<number).map { _ in WireAddress(host: "127.0.0.1", port: Int.random(in: 16001...16300) * 2) }
    (address, http) = (addresses.map(\.description).joined(separator: ","), "127.0.0.1:\(port + 1)")
    if ownAuthority != nil {
      let made = try await Command.sheaf("ca", "create", files.path("ca")).run()
      guard made.status == 0 else { throw Command.Failure(description: made.errors) }
    }
    endpoint = CoordinatorClient.Endpoint(
      addresses: addresses, token: token, trust: try authority.map { try TLSTrust(.file($0)) })
    try FarmDatabase.create(database, isEmpty: recorded != nil)
    if let recorded {
      _ = try await Command.output(
        "psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--file",
        recorded.appending(path: "database.sql").path, database)
      _ = try await Command.output(
        "tar", "--extract", "--file", recorded.appending(path: "store.tar").path, "--directory", files.path(""))
    }
    var serve = ["serve", "--database", "postgres:///\(database)", "--store", files.path("store")]
    if let certificates {
      serve += ["--tls-certificate", certificates.certificate(.good), "--tls-key", certificates.key(.good)]
    }
    if let ownAuthority { serve += ["--ca", files.path("ca"), "--certificate-lifetime", ownAuthority] }
    if let mediaRoot { serve += ["--media-root", mediaRoot] }
    serve += ["--verify-share", "\(comparing)"]
    for (index, address) in addresses.enumerated() {
      let log = files.path("coordinator-\(index).log")
      try Data().write(to: URL(fileURLWithPath: log))
      let program = Command(
        executable: Place.products.appendingPathComponent("sheaf").path,
        arguments: serve + ["--listen", address.description] + (index == 0 ? ["--http", http] : []),
        environment: ["SHEAF_TOKEN": token, "SHEAF_WORKER_TOKEN": workerToken])
      coordinatorCommands.append(program)
      coordinators.append(try program.start(errors: FileHandle(forWritingTo: URL(fileURLWithPath: log))))
    }
    for index in 0..<count { try startWorker(environment: environments.isEmpty ? [:] : environments[index]) }
    try await eventually("\(count) workers at the coordinator") {
      // Until it listens, it cannot be reached.
      do { return try await self.ask { try await $0.workers() }.count == count } catch is WireError { return false }
    }
  }

  /// Asks the coordinator over a connection of this process: a program for each question would take more time than the
  /// farm that it asks.
  private func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (JobRun) async throws -> Answer
  ) async throws -> Answer {
    try await CoordinatorClient.run(endpoint) { try await question(JobRun($0)) }
  }

  /// What `sheaf status JOB --json` prints of a job.
  func status<Status: Decodable>(of job: String, as type: Status.Type = Status.self) async throws -> Status {
    let found = try await ask { try await $0.status(of: job, withTasks: true) }
    return try JSONDecoder().decode(Status.self, from: JSONCoding.encoder.encode(found))
  }

  /// Makes a part of a backup, while the farm works, for `recorded`.
  func backUpDatabase(to folder: URL) async throws {
    _ = try await Command.output(
      "pg_dump", "--no-owner", "--file", folder.appending(path: "database.sql").path, database)
  }

  func backUpStore(to folder: URL) async throws {
    let tar = Command(
      executable: "tar",
      arguments: [
        "--create", "--file", folder.appending(path: "store.tar").path, "--exclude", "store/temporary", "--directory",
        files.path(""), "store",
      ])
    let result = try await tar.run()
    // The store may change while it is read.
    guard result.status <= 1 else { throw Command.Failure(description: "\(result.status): \(result.errors)") }
  }

  /// The content store's folder.
  var store: String { files.path("store") }

  /// Another coordinator of the farm's database, with this folder as its content store.
  func serve(store: String, listen: String = "127.0.0.1:0") -> Command {
    Command(
      executable: Place.products.appendingPathComponent("sheaf").path,
      arguments: ["serve", "--database", "postgres:///\(database)", "--listen", listen, "--store", store])
  }

  /// The file of the content store that has a digest.
  func stored(_ digest: String) -> String { files.path("store/objects/\(digest.prefix(2))/\(digest)") }

  /// Starts one more worker, whose cache is empty.
  /// - Parameter program: Among the products. Nil: as the others.
  func startWorker(environment: [String: String] = [:], program: String? = nil) throws {
    let index = workers.count
    var arguments = [
      "--coordinator", address, "--slots", "\(slots)", "--cache", files.path("cache-\(index)"), "--name",
      "worker-\(index)",
    ]
    if let mediaRoot { arguments += ["--media-root", mediaRoot] }
    let worker = Command(
      executable: Place.products.appendingPathComponent(program ?? self.program).path, arguments: arguments,
      environment: ["SHEAF_TOKEN": workerToken, "SHEAF_IDENTITY": files.path("identity-\(index)")]
        .merging(trust) { $1 }.merging(environment) { $1 })
    let log = files.path("worker-\(index).log")
    try Data().write(to: URL(fileURLWithPath: log))
    workers.append(try worker.start(errors: FileHandle(forWritingTo: URL(fileURLWithPath: log))))
  }

  func sheaf(_ arguments: String...) -> Command { sheaf(arguments) }

  /// - Parameter file: Of a token. Nil: it has that of clients.
  func sheaf(_ arguments: [String], tokenFile file: String? = nil) -> Command {
    let access = file.map { ["SHEAF_TOKEN_FILE": $0] } ?? ["SHEAF_TOKEN": token]
    return Command(
      executable: Place.products.appendingPathComponent("sheaf").path, arguments: arguments,
      environment: ["SHEAF_COORDINATOR": address].merging(access) { $1 }.merging(trust) { $1 })
  }

  /// The variables of whom clients and workers trust.
  private var trust: [String: String] { authority.map { ["SHEAF_TLS_CA": $0] } ?? [:] }

  /// Runs a script of the shell in a folder, with what it needs to use the HTTP API.
  func shell(_ script: String, in folder: String, seconds: Double = 240) async throws -> Command.Result {
    try await Command(
      executable: "/bin/bash", arguments: ["-c", "cd '\(folder)' && \(script)"],
      environment: [
        "SHEAF_TOKEN": token, "SHEAF_HTTP": http,
        "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
      ]
    ).run(seconds: seconds)
  }

  func waitUntil(
    job: String, every interval: Duration = .milliseconds(50), _ holds: (Job) async throws -> Bool
  ) async throws {
    try await eventually("job \(job)", every: interval) {
      let found = try await self.status(of: job, as: Job.self)
      if found.state == "failed" { throw Command.Failure(description: "job \(job) failed: \(found)") }
      return try await holds(found)
    }
  }

  /// The logs of the coordinator and the workers, for a test that failed.
  func logs() throws -> String {
    try files.contents().filter { $0.hasSuffix(".log") }
      .map {
        "--- \($0)\n" + String(decoding: try Data(contentsOf: URL(fileURLWithPath: files.path($0))), as: UTF8.self)
      }
      .joined(separator: "\n")
  }

  /// How often a worker has logged something.
  func lines(of text: String, byWorker index: Int) throws -> Int {
    let log = try Data(contentsOf: URL(fileURLWithPath: files.path("worker-\(index).log")))
    return String(decoding: log, as: UTF8.self).components(separatedBy: text).count - 1
  }

  /// A folder of the farm's, such as `ca` or `identity-0`, the first worker's.
  func folder(_ name: String) -> String { files.path(name) }

  /// How many tasks a worker has started.
  func tasksStarted(byWorker index: Int) throws -> Int {
    try lines(of: "task started", byWorker: index)
  }

  /// The name by which the coordinator knows a worker.
  func workerID(_ index: Int) async throws -> String {
    let workers = try await ask { try await $0.workers() }
    guard let worker = workers.first(where: { $0.name == "worker-\(index)" }) else {
      throw Command.Failure(description: "no worker-\(index) among \(workers)")
    }
    return worker.id
  }

  /// The processes that a worker's fork server has forked for tasks.
  func taskProcesses(ofWorker index: Int) -> [pid_t] {
    let parents = ProcessTree.now()
    return parents.children(of: workers[index].id).flatMap { parents.children(of: $0) }
  }

  /// Waits until the farm is in some state. If it never is, the error has the logs.
  func eventually(
    _ what: String, seconds: Double = 300, every interval: Duration = .milliseconds(50),
    _ holds: () async throws -> Bool
  ) async throws {
    do {
      try await FarmTests.eventually(what, seconds: seconds, every: interval, holds)
    } catch {
      throw Command.Failure(description: "\(error)\n\(try logs())")
    }
  }

  /// The rows of a query on the farm's database, columns separated by `|`.
  func query(_ text: String) async throws -> [String] {
    let connection = try connection ?? FarmDatabase.connect(database)
    self.connection = connection
    return try FarmDatabase.rows(of: text, connection)
  }

  /// Ends a coordinator, at once or as at an update.
  func endCoordinator(_ index: Int, with signal: CInt) {
    coordinators[index].send(signal)
    coordinators[index].wait()
  }

  /// Starts a coordinator again that was ended. Its log goes on.
  func startCoordinator(_ index: Int) throws {
    let log = try FileHandle(forWritingTo: URL(fileURLWithPath: files.path("coordinator-\(index).log")))
    try log.seekToEnd()
    coordinators[index] = try coordinatorCommands[index].start(errors: log)
  }

  /// Ends a worker as at an update. Returns its exit code.
  func drainWorker(_ index: Int) -> Int32 {
    workers[index].send(SIGTERM)
    return workers[index].wait()
  }

  /// Whether a worker has ended by itself.
  func hasEnded(worker index: Int) -> Bool { !workers[index].isRunning }

  func killWorker(_ index: Int) {
    workers[index].send(SIGKILL)
    workers[index].wait()
  }

  /// Kills a worker once a video task of a job runs. Returns whether it was killed: the job may be done before this
  /// process looks.
  func killWorker(_ index: Int, whenRendering job: String) async throws -> Bool {
    var isRendering = false
    try await waitUntil(job: job) {
      isRendering = $0.tasks.contains { $0.state == "running" && $0.kind == "video" }
      return isRendering || $0.state == "done"
    }
    if isRendering { killWorker(index) }
    return isRendering
  }

  func stop() {
    for program in workers + coordinators where program.isRunning {
      program.send(SIGKILL)
      program.wait()
    }
    connection = nil
    do { try FarmDatabase.drop(database) } catch { print("not removed: database \(database): \(error)") }
    files.remove()
  }
}

/// Looks again and again whether something holds. Throws if it does not within the time.
func eventually(
  _ what: String, seconds: Double = 300, every interval: Duration = .milliseconds(50), _ holds: () async throws -> Bool
) async throws {
  let limit = Date(timeIntervalSinceNow: seconds)
  while true {
    if try await holds() { return }
    if Date() > limit { throw Command.Failure(description: "waited \(seconds) s for \(what)") }
    try await Task.sleep(for: interval)
  }
}
