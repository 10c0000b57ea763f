import Digest
import Foundation
import SwiftProtobuf
import Synchronization
import TestPrograms
import Testing
import Wire

@testable import Worker

/// Tasks that hang, crash, are cancelled or lose their connection; workers that are killed.
@Suite(.timeLimit(.minutes(10)))
struct TroubledTaskTests {
  private let coordinator = ScriptedCoordinator()
  private let film: Data

  init() throws {
    film = try Data(contentsOf: Place.media("friday.mp4"))
  }

  @Test
  func `a cancelled task's process ends and its slot is free, and nothing is sent about it`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    try await startHeldTask()
    await coordinator.cancel(.task(epoch: 1))
    _ = try await coordinator.next { $0.isHeartbeat(freeSlots: 1, leases: 0) }
    #expect(try agent.leftovers == [])
    agent.agent.drain()
    try await agent.end()
  }

  @Test
  func `a crash is reported with its signal and the end of its log`() async throws {
    let script = Place.script("\(ready); echo 'assertion x > 0 failed' >&2; kill -SEGV $$")
    let agent = try RunningAgent(try await coordinator.start(), source: script)
    let failure = try await failure()
    #expect(failure.end == .crashed)
    #expect(failure.message.contains("Segmentation fault") && failure.message.contains("assertion x > 0 failed"))
    #expect(failure.process.signal == SIGSEGV && failure.process.exitCode == 0 && failure.process.peakBytes > 0)
    #expect(failure.process.log == "assertion x > 0 failed\n")
    agent.agent.stop()
    try await agent.end()
  }

  @Test
  func `a task that reports nothing is ended, and that is counted`() async throws {
    let script = Place.script("\(ready); sleep 1000")
    let agent = try RunningAgent(
      try await coordinator.start(), source: script, hangLimit: .seconds(2))
    let failure = try await failure()
    #expect(failure.end == .hung && failure.message.contains("hung"), "\(failure)")
    #expect(failure.process.signal == SIGKILL && failure.process.peakBytes > 0)
    _ = try await coordinator.next { $0.isHeartbeat(freeSlots: 1, leases: 0) }
    agent.agent.stop()
    try await agent.end()
  }

  @Test
  func `a task whose process does not come up is released`() async throws {
    let agent = try RunningAgent(
      try await coordinator.start(), source: Place.script("sleep 1000"), hangLimit: .milliseconds(300))
    let failure = try await failure()
    #expect(failure.end == .released && failure.message.contains("could not be started"), "\(failure)")
    agent.agent.stop()
    try await agent.end()
  }

  @Test
  func `a task process that is stopped is ended as one that hangs`() async throws {
    let script = Place.script("\(ready); kill -STOP $$; sleep 1000")
    let agent = try RunningAgent(try await coordinator.start(), source: script, hangLimit: .seconds(2))
    let failure = try await failure()
    #expect(failure.end == .hung && failure.process.signal == SIGKILL, "\(failure)")
    _ = try await coordinator.next { $0.isHeartbeat(freeSlots: 1, leases: 0) }
    agent.agent.stop()
    try await agent.end()
  }

  @Test
  func `a fork server that is stopped is replaced, its tasks are released, and the worker goes on`() async throws {
    let marked = Place.markedForkServer(ForkServer.Watch(interval: 100, silences: 5, silencesAtStart: 600))
    let agent = try RunningAgent(try await coordinator.start(), source: marked.server)
    try await startHeldTask()
    let stopped = try #require(Self.children(of: getpid()).first { marked.isServer($0) })
    kill(stopped, SIGSTOP)
    let message = try await coordinator.next { $0.isResult }
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    #expect(failure.end == .released && failure.message.contains("fork server"), "\(failure)")
    #expect(!Self.isAlive(stopped))
    await coordinator.releaseReads()
    // Another film, because the requests for the first one are never answered.
    let other = try Data(contentsOf: Place.media("friday-vfr.mp4"))
    let grant = Sheaf_Grant.probe(await coordinator.serve(other), other, epoch: 2)
    let next = try await coordinator.ask(.grant(grant)) { $0.isResult }
    guard case .publish = next else { throw Unexpected(next) }
    agent.agent.stop()
    try await agent.end()
    await coordinator.stop()
  }

  @Test
  func `whatever ends the fork server, and however often, its tasks are released`() async throws {
    let server = ForkServer(Place.workerLauncher)
    let agent = try RunningAgent(try await coordinator.start(), source: server)
    await coordinator.holdReads()
    await coordinator.awaitConnection()
    for epoch in 1...4 {
      // Another film each time: requests for the one before are never answered. The process that reads it runs.
      let film = film + Data(repeating: UInt8(epoch), count: epoch)
      let digest = await coordinator.serve(film)
      let first = try await coordinator.ask(.grant(.probe(digest, film, epoch: Int64(epoch)))) {
        if case .readContent(let read) = $0 { SHA256Digest(bytes: read.digest) == digest } else { $0.isResult }
      }
      if first.isResult { throw Unexpected(first) }
      server.kill()
      let message = try await coordinator.next { $0.isResult }
      guard case .failure(let failure) = message else { throw Unexpected(message) }
      #expect(failure.end == .released && failure.lease.epoch == epoch, "\(failure)")
    }
    agent.agent.stop()
    try await agent.end()
    await coordinator.stop()
  }

  @Test
  func `a worker whose disk is low takes no tasks, says why, and takes them again when there is room`() async throws {
    let room = FreeBytes(100 << 20)
    let agent = try RunningAgent(try await coordinator.start(), minimumFree: 512 << 20) { _ in room.value }
    await coordinator.awaitConnection()
    let low = try await coordinator.next { $0.isPaused == true }
    guard case .heartbeat(let heartbeat) = low else { throw Unexpected(low) }
    #expect(heartbeat.freeSlots == 0 && heartbeat.paused.hasSuffix("100 MiB free; below 0.5 GiB no task is taken"))
    room.set(1 << 30)
    _ = try await coordinator.next { $0.isHeartbeat(freeSlots: 1, leases: 0) && $0.isPaused == false }
    agent.agent.stop()
    try await agent.end()
    await coordinator.stop()
  }

  @Test
  func `a worker that drains releases what does not finish in time`() async throws {
    let agent = try RunningAgent(try await coordinator.start(), drainLimit: .milliseconds(100))
    try await startHeldTask()
    agent.agent.drain()
    let message = try await coordinator.next { $0.isResult }
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    #expect(failure.end == .released)
    try await agent.end()
    await coordinator.stop()
  }

  @Test
  func `a worker that is killed takes its task process along and leaves no file`() async throws {
    let folder = try TemporaryFolder()
    let address = try await coordinator.start()
    let worker = try startWorker(address, cache: folder.url.path)
    try await startHeldTask()
    let servers = Self.children(of: worker.id)
    let children = servers + servers.flatMap { Self.children(of: $0) }
    #expect(servers.count == 1 && children.count == 2, "the fork server and the task's process")
    worker.send(SIGKILL)
    _ = await worker.end()
    for child in children { while Self.isAlive(child) { await Task.yield() } }
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.url.path)/work") == [])
    await coordinator.stop()
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a signal ends a worker that has nothing to do, with 0`(signal: Int32) async throws {
    let folder = try TemporaryFolder()
    let worker = try startWorker(try await coordinator.start(), cache: folder.url.path)
    await coordinator.awaitConnection()
    worker.send(signal)
    #expect(await worker.end() == 0)
    await coordinator.stop()
  }

  @Test
  func `a worker whose parent is gone ends`() async throws {
    let folder = try TemporaryFolder()
    let parent = try Lifeline()
    let worker = try startWorker(
      try await coordinator.start(), cache: folder.url.path, parent: parent, "--exit-with-parent")
    await coordinator.awaitConnection()
    parent.cut()
    #expect(await worker.end() == 0)
    await coordinator.stop()
  }

  @Test
  func `a refused worker exits with 69, one with a wrong option with 64, and both print why`() async throws {
    let folder = try TemporaryFolder()
    let errors = try folder.create("errors")
    let refused = try startWorker(try await coordinator.start(), cache: folder.url.path, token: "guess", errors: errors)
    let status = await refused.end()
    let reason = try String(contentsOfFile: folder.path("errors"), encoding: .utf8)
    #expect(status == 69 && reason.contains("token"), "\(reason)")
    let wrong = try Tool.result(of: Place.worker, ["--coordinator", "127.0.0.1:1", "--slots", "none"])
    #expect(wrong.status == 64 && wrong.log.contains("slots"), "\(wrong.log)")
    await coordinator.stop()
  }

  /// The first message of a task process, sent by a shell.
  private var ready: String { Place.sending(.ready([.landlock, .seccomp])) }

  /// Grants a task whose film never comes, and returns when its process has asked for it.
  private func startHeldTask() async throws {
    await coordinator.holdReads()
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    _ = try await coordinator.ask(.grant(.probe(input, film))) { if case .readContent = $0 { true } else { false } }
  }

  /// How a task fails whose input is at hand.
  private func failure() async throws -> Sheaf_Failure {
    await coordinator.awaitConnection()
    let message = try await coordinator.ask(.grant(.probe(await coordinator.serve(film), film))) { $0.isResult }
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    return failure
  }

  private func startWorker(
    _ address: WireAddress, cache: String, token: String = "secret", parent: Lifeline? = nil, errors: FileHandle? = nil,
    _ arguments: String...
  ) throws -> RunningProgram {
    try RunningProgram(
      Place.worker, ["--coordinator", "\(address)", "--slots", "1", "--cache", cache] + arguments,
      environment: ["SHEAF_TOKEN": token],
      streams: .init(input: parent?.programEnd, errors: errors?.fileDescriptor))
  }

  private static func children(of process: pid_t) -> [pid_t] {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
    return tasks.flatMap { task in
      let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(task)/children", encoding: .utf8)) ?? ""
      return text.split(separator: " ").compactMap { pid_t($0) }
    }
  }

  /// Whether a process exists and is not a zombie.
  private static func isAlive(_ process: pid_t) -> Bool {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let end = text.lastIndex(of: ")")
    else { return false }
    return text[end...].dropFirst(2).first != "Z"
  }
}

/// The free space of a disk, as a test sets it.
private final class FreeBytes: Sendable {
  private let bytes: Mutex<Int64>

  init(_ bytes: Int64) { self.bytes = Mutex(bytes) }

  var value: Int64 { bytes.withLock { $0 } }

  func set(_ value: Int64) { bytes.withLock { $0 = value } }
}
