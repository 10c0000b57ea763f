import Foundation
import Glibc
import SwiftProtobuf
import TestPrograms
import Testing
import Wire

@testable import Worker

/// The worker as a program, at a coordinator that sends what the test gives it.
@Suite(.timeLimit(.minutes(10)))
struct WorkerProgramTests {
  private let coordinator = ScriptedCoordinator()
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func start(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> RunningProgram {
    let address = try await coordinator.start()
    return try RunningProgram(
      Place.worker,
      ["--coordinator", "\(address)", "--cache", folder.url.path, "--slots", "1", "--log-level", "error"] + arguments,
      environment: ["SHEAF_TOKEN": "secret"].merging(environment) { $1 })
  }

  @Test
  func `a worker that has had no task since its last one ends with 0`() async throws {
    let worker = try await start(["--exit-when-idle", "5"])
    await coordinator.awaitConnection()
    let film = try Data(contentsOf: Place.media("friday.mp4"))
    let answer = try await coordinator.ask(.grant(.probe(await coordinator.serve(film), film))) { $0.isResult }
    guard case .publish(let publish) = answer else {
      worker.send(SIGKILL)
      throw Unexpected(answer)
    }
    try await coordinator.send(
      .publishReply(
        .with {
          $0.lease = publish.lease
          $0.outcome = .published
        }))
    #expect(await worker.end() == 0)
    await coordinator.stop()
  }

  @Test
  func `a worker that has had no task since it was connected ends with 0`() async throws {
    let worker = try await start(["--exit-when-idle", "1"])
    await coordinator.awaitConnection()
    #expect(await worker.end() == 0)
    await coordinator.stop()
  }

  @Test
  func `a worker that reaches no coordinator is idle`() async throws {
    let worker = try RunningProgram(
      Place.worker, ["--coordinator", "127.0.0.1:1", "--cache", folder.url.path],
      environment: ["SHEAF_EXIT_WHEN_IDLE": "1"])
    #expect(await worker.end() == 0)
  }

  @Test
  func `a service manager hears when a worker is connected, that it is alive, and when it ends`() async throws {
    let manager = try ServiceManager()
    let worker = try await start([], ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000"])
    #expect(try await manager.await("READY=1").allSatisfy { $0 == "WATCHDOG=1" })
    await coordinator.awaitConnection()
    for _ in 1...3 { #expect(try await manager.next() == "WATCHDOG=1") }
    worker.send(SIGTERM)
    #expect(try await manager.await("STOPPING=1").allSatisfy { $0 == "WATCHDOG=1" })
    #expect(await worker.end() == 0)
    await coordinator.stop()
  }
}
