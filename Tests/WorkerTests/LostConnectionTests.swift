import Digest
import Foundation
import SwiftProtobuf
import Testing
import Wire

@testable import Worker

/// An agent whose connection is lost, with real task processes and a coordinator that comes back.
@Suite(.timeLimit(.minutes(10)))
struct LostConnectionTests {
  private let coordinator = ScriptedCoordinator()
  private let film: Data

  init() throws {
    film = try Data(contentsOf: Place.media("friday.mp4"))
  }

  @Test
  func `a task that waits for bytes goes on when the connection is back`() async throws {
    let agent = try await start()
    try await startHeldTask()
    try await reconnect()
    await coordinator.releaseReads()
    // What was requested on the new connection and held there is requested once more on the third.
    try await reconnect()
    guard case .publish(let publish) = try await result() else { throw Unexpected(try await result()) }
    #expect(publish.lease == .task(epoch: 1))
    #expect(await coordinator.hellos.map(\.session) == [1, 2, 3])
    let listed = await coordinator.firstHeartbeats.map { $0.progress.map(\.lease) }
    #expect(listed == [[], [.task(epoch: 1)], [.task(epoch: 1)]], "every lease is in the first heartbeat")
    try await leave(agent)
  }

  @Test
  func `a task whose lease is gone when the connection is back ends without a message`() async throws {
    let agent = try await start()
    try await startHeldTask()
    await coordinator.cancel(.task(epoch: 1))
    try await reconnect()
    _ = try await coordinator.next {
      if case .heartbeat(let heartbeat) = $0 { heartbeat.progress.map(\.lease) == [.task(epoch: 1)] } else { false }
    }
    _ = try await coordinator.next { $0.isHeartbeat(freeSlots: 1, leases: 0) && $0.isPaused == false }
    #expect(try agent.leftovers == [])
    try await leave(agent)
  }

  @Test
  func `an upload begins again when the connection is back`() async throws {
    let agent = try await start()
    await coordinator.holdUploads(true)
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    _ = try await coordinator.ask(.grant(.probe(input, film))) { if case .uploadChunk = $0 { true } else { false } }
    await coordinator.hangUp()
    await coordinator.holdUploads(false)
    guard case .publish(let publish) = try await result() else { throw Unexpected(try await result()) }
    let digest = try #require(SHA256Digest(bytes: publish.digest))
    #expect(await coordinator.contents[digest] != nil)
    #expect(await coordinator.hellos.count == 2)
    try await leave(agent)
  }

  @Test
  func `a result and a failure that were not answered are sent again`() async throws {
    let agent = try await start(slots: 2)
    await coordinator.holdFailures(true)
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    var hopeless = Sheaf_Grant.probe(input, film, epoch: 2)
    hopeless.payload = Data("{}".utf8)
    try await coordinator.send(.grant(.probe(input, film, epoch: 1)))
    try await coordinator.send(.grant(hopeless))
    let publish = try await publish()
    let failure = try await failure()
    await coordinator.hangUp()
    var again = try await self.publish()
    // What it took until it was sent again is more.
    again.usage = publish.usage
    #expect(again == publish)
    #expect(try await self.failure() == failure)
    try await leave(agent)
  }

  @Test
  func `a task goes on while a coordinator that shuts down refuses its worker`() async throws {
    // A try that a busy machine does not finish would be one more.
    let agent = try await start()
    try await startHeldTask()
    await coordinator.refuse(3)
    await coordinator.releaseReads()
    await coordinator.hangUp()
    guard case .publish = try await result() else { throw Unexpected(try await result()) }
    #expect(await coordinator.hellos.map(\.session) == [1, 5], "three tries were refused")
    try await leave(agent)
  }

  @Test
  func `a result that the coordinator cannot take is kept and sent again`() async throws {
    let agent = try await start()
    await coordinator.postponeUploads(2)
    await coordinator.awaitConnection()
    try await coordinator.send(.grant(.probe(await coordinator.serve(film), film)))
    for _ in 1...3 { _ = try await coordinator.next { if case .uploadBegin = $0 { true } else { false } } }
    guard case .publish = try await result() else { throw Unexpected(try await result()) }
    try await leave(agent)
  }

  /// An agent that gives up no try to connect: on a busy machine an answer takes longer than the two seconds for which
  /// one that holds leases would wait, and the next try would be another session.
  private func start(slots: Int = 1) async throws -> RunningAgent {
    try RunningAgent(try await coordinator.start(), slots: slots, longestConnecting: .seconds(600))
  }

  /// Grants a task whose film does not come, and returns when its process has asked for it.
  private func startHeldTask() async throws {
    await coordinator.holdReads()
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    _ = try await coordinator.ask(.grant(.probe(input, film))) { if case .readContent = $0 { true } else { false } }
  }

  /// Cuts the connection, and returns when the first heartbeat of another one has come.
  private func reconnect() async throws {
    let count = await coordinator.firstHeartbeats.count
    await coordinator.hangUp()
    while await coordinator.firstHeartbeats.count <= count { await Task.yield() }
  }

  private func result() async throws -> WireMessage { try await coordinator.next { $0.isResult } }

  private func publish() async throws -> Sheaf_Publish {
    let message = try await coordinator.next { if case .publish = $0 { true } else { false } }
    guard case .publish(let publish) = message else { throw Unexpected(message) }
    return publish
  }

  private func failure() async throws -> Sheaf_Failure {
    let message = try await coordinator.next { if case .failure = $0 { true } else { false } }
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    return failure
  }

  private func leave(_ agent: RunningAgent) async throws {
    agent.agent.stop()
    try await agent.end()
    await coordinator.stop()
  }
}
