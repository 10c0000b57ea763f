import Digest
import Foundation
import Glibc
import Runtime
import Synchronization
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Worker

/// Files that change while they are used, with nothing that shows it, and a coordinator that sends wrong bytes: a task
/// that has read a wrong byte publishes nothing, and the next one gets the right ones.
@Suite(.timeLimit(.minutes(10)))
struct ChangedContentTests {
  private let coordinator = ScriptedCoordinator()
  private let folder: TemporaryFolder
  private let film: Data

  init() throws {
    folder = try TemporaryFolder(in: MappedFile.folder)
    film = try Data(contentsOf: Place.media("friday.mp4"))
    _ = try folder.write(film, "film.mp4")
  }

  /// An hour from now: what changed today is not too young to be known.
  private static let later: @Sendable () -> timespec = { timespec(tv_sec: time(nil) + 3600, tv_nsec: 0) }

  @Test
  func `a file under the media root that changed without a trace is in no result, and is passed over`() async throws {
    let mapped = try MappedFile(folder.path("film.mp4"))
    let agent = try RunningAgent(try await coordinator.start(), mediaRoot: folder.url.path, now: Self.later)
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    let right = try await publish(.probe(input, film, path: "film.mp4"))
    #expect(await coordinator.readRequests == [])

    let before = try FileIdentity(of: OpenFile.open(folder.path("film.mp4")))
    mapped.invert(film.count / 2..<film.count / 2 + 1)
    #expect(try FileIdentity(of: OpenFile.open(folder.path("film.mp4"))) == before, "no attribute shows it")
    let failure = try await failure(.probe(input, film, path: "film.mp4", epoch: 2))
    let block = film.count / 2 / Int(ContentBlock.size)
    let range = ContentBlock.bytes(of: block, size: Int64(film.count))
    #expect(failure.end == .released && failure.damagedInput.isEmpty, "\(failure)")
    #expect(
      failure.message.contains("bytes \(range.lowerBound)..<\(range.upperBound) of the file film.mp4"), "\(failure)")
    let healed = try await publish(.probe(input, film, path: "film.mp4", epoch: 3))
    #expect(healed.digest == right.digest)
    #expect(await coordinator.readRequests != [])
    try await leave(agent)
  }

  @Test
  func `a file that is other bytes only while the first task reads it is in no result`() async throws {
    let mapped = try MappedFile(folder.path("film.mp4"))
    mapped.invert(film.count - 10..<film.count)
    let agent = try RunningAgent(try await coordinator.start(), mediaRoot: folder.url.path, now: Self.later)
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    // The task reads the file as long as no thread is free to hash it.
    try await HeldThreads.withAll(of: .hashing) {
      try await coordinator.send(.grant(.probe(input, film, path: "film.mp4")))
      while try !agent.hasOutput { try await Task.sleep(for: .milliseconds(20)) }
      mapped.invert(film.count - 10..<film.count)
    }
    let message = try await coordinator.next { $0.isResult }
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    #expect(failure.end == .released && failure.message.contains("changed while the task read it"), "\(failure)")
    _ = try await publish(.probe(input, film, path: "film.mp4", epoch: 2))
    #expect(await coordinator.readRequests == [], "it is right now")
    try await leave(agent)
  }

  @Test
  func `a file of the worker's cache that changed without a trace is fetched anew`() async throws {
    let agent = try RunningAgent(
      try await coordinator.start(), folder: TemporaryFolder(in: MappedFile.folder), now: Self.later)
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    let right = try await publish(.probe(input, film))
    let reads = await coordinator.readRequests.count
    let mapped = try MappedFile(agent.folder.path("content/\(input.hex)"))
    // It is hashed once more, because to map it has changed its times.
    _ = try await publish(.probe(input, film, epoch: 2))
    #expect(await coordinator.readRequests.count == reads)
    mapped.invert(100..<101)
    let failure = try await failure(.probe(input, film, epoch: 3))
    #expect(failure.end == .released && failure.damagedInput.isEmpty, "\(failure)")
    #expect(failure.message.contains("in the worker's cache"), "\(failure)")
    let healed = try await publish(.probe(input, film, epoch: 4))
    #expect(healed.digest == right.digest)
    #expect(await coordinator.readRequests.count > reads)
    try await leave(agent)
  }

  @Test
  func `bytes that the coordinator sends wrong are named, and come right the next time`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    let place = film.count / 3
    await coordinator.damage(input) { $0[place] ^= 1 }
    let failure = try await failure(.probe(input, film))
    let range = ContentBlock.bytes(of: place / Int(ContentBlock.size), size: Int64(film.count))
    #expect(failure.end == .released && failure.damagedInput == Data(input.bytes), "\(failure)")
    #expect(
      failure.message.contains("other bytes for \(input), in \(range.lowerBound)..<\(range.upperBound)"), "\(failure)")
    await coordinator.damage(input) { $0[place] ^= 1 }
    _ = try await publish(.probe(input, film, epoch: 2))
    try await leave(agent)
  }

  private func publish(_ grant: Sheaf_Grant) async throws -> Sheaf_Publish {
    let message = try await coordinator.ask(.grant(grant)) { $0.isResult }
    guard case .publish(let publish) = message else { throw Unexpected(message) }
    return publish
  }

  private func failure(_ grant: Sheaf_Grant) async throws -> Sheaf_Failure {
    let message = try await coordinator.ask(.grant(grant)) { $0.isResult }
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    return failure
  }

  private func leave(_ agent: RunningAgent) async throws {
    agent.agent.stop()
    try await agent.end()
    await coordinator.stop()
  }
}
