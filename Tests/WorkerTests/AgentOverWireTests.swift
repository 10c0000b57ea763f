import Digest
import Foundation
import SwiftProtobuf
import TestPrograms
import Testing
import Wire

@testable import Worker

/// An agent, its real task processes, and a coordinator that sends what the test gives it.
@Suite(.timeLimit(.minutes(10)))
struct AgentOverWireTests {
  private let coordinator = ScriptedCoordinator()
  private let film: Data

  init() throws {
    film = try Data(contentsOf: Place.media("friday.mp4"))
  }

  @Test
  func `a granted task is run, its result uploaded and published`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)

    let publish = try await publish(of: .probe(input, film, epoch: 7))
    #expect(publish.lease == .task(epoch: 7))
    #expect(publish.usage.cpuMilliseconds > 0 && publish.usage.peakBytes > 0)
    let digest = try #require(SHA256Digest(bytes: publish.digest))
    let result = try #require(await coordinator.contents[digest])
    #expect(result.count == Int(publish.size))
    #expect(try JSONSerialization.jsonObject(with: result) is [String: Any])

    try await coordinator.send(
      .publishReply(
        .with {
          $0.lease = publish.lease
          $0.outcome = .published
        }))
    agent.agent.drain()
    try await agent.end()
    #expect(try agent.leftovers == [])
    await coordinator.stop()
  }

  @Test
  func `the result is the same whether the film is under the media root or comes over the wire`() async throws {
    let folder = try TemporaryFolder()
    _ = try folder.write(film, "film.mp4")
    let agent = try RunningAgent(try await coordinator.start(), mediaRoot: folder.url.path)
    await coordinator.awaitConnection()
    let input = SHA256Digest.of(film)
    let fromRoot = try await publish(of: .probe(input, film, path: "film.mp4"))
    #expect(await coordinator.readRequests == [], "the file is under the media root")

    _ = await coordinator.serve(film)
    let overWire = try await publish(of: .probe(input, film, epoch: 2))
    #expect(await coordinator.readRequests != [])
    #expect(overWire.digest == fromRoot.digest)
    try await leave(agent)
  }

  @Test(arguments: ["missing.mp4", "../film.mp4", "link.mp4", "folder", "short.mp4"])
  func `a file under the media root that cannot be the one is passed over`(path: String) async throws {
    let folder = try TemporaryFolder()
    let root = "\(folder.url.path)/root"
    try FileManager.default.createDirectory(atPath: "\(root)/folder", withIntermediateDirectories: true)
    _ = try folder.write(film, "film.mp4")
    try film.dropLast().write(to: URL(fileURLWithPath: "\(root)/short.mp4"))
    try FileManager.default.createSymbolicLink(atPath: "\(root)/link.mp4", withDestinationPath: "../film.mp4")

    let agent = try RunningAgent(try await coordinator.start(), mediaRoot: root)
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    _ = try await publish(of: .probe(input, film, path: path))
    #expect(await coordinator.readRequests != [])
    try await leave(agent)
  }

  @Test
  func `a file under the media root with another digest ends the attempt as released, and is then passed over`()
    async throws
  {
    let folder = try TemporaryFolder()
    var other = film
    other[film.count / 2] ^= 1
    _ = try folder.write(other, "other.mp4")
    let agent = try RunningAgent(try await coordinator.start(), mediaRoot: folder.url.path)
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)
    let failure = try await failure(of: .probe(input, film, path: "other.mp4"))
    #expect(failure.end == .released && failure.damagedInput.isEmpty, "\(failure)")
    #expect(failure.message.contains("other.mp4 under the media root has the digest"), "\(failure)")
    #expect(await coordinator.readRequests == [], "it was used at first")
    _ = try await publish(of: .probe(input, film, path: "other.mp4", epoch: 2))
    #expect(await coordinator.readRequests != [])
    try await leave(agent)
  }

  @Test
  func `a failure of bytes that were not the film's is not the film's failure`() async throws {
    let folder = try TemporaryFolder()
    let noise = Data((0..<film.count).map { UInt8(truncatingIfNeeded: $0 &* $0 / 7) })
    _ = try folder.write(noise, "film.mp4")
    let agent = try RunningAgent(try await coordinator.start(), mediaRoot: folder.url.path)
    await coordinator.awaitConnection()
    let failure = try await failure(of: .probe(await coordinator.serve(film), film, path: "film.mp4"))
    #expect(failure.end == .released && failure.message.contains("has the digest"), "\(failure)")
    try await leave(agent)
  }

  @Test
  func `an input that the coordinator sends with other bytes is named in the failure`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    let input = SHA256Digest.of(film)
    var other = film
    other[film.count / 2] ^= 1
    await coordinator.serve(other, as: input)
    let failure = try await failure(of: .probe(input, film))
    #expect(failure.end == .released && failure.damagedInput == Data(input.bytes), "\(failure)")
    try await leave(agent)
  }

  @Test
  func `a task whose content the coordinator does not have is released, and names it`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    let input = SHA256Digest.of(film)
    let failure = try await failure(of: .probe(input, film))
    #expect(failure.end == .released && failure.damagedInput == Data(input.bytes), "\(failure)")
    #expect(failure.message.contains("no such content"), "\(failure)")
    try await leave(agent)
  }

  @Test
  func `bytes that are no media end with a reason, and the agent goes on`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    let noise = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* $0 / 7) })
    let input = await coordinator.serve(noise)
    let failure = try await failure(of: .probe(input, noise))
    #expect(failure.end == .document && !failure.message.isEmpty, "\(failure)")
    let next = await coordinator.serve(film)
    _ = try await publish(of: .probe(next, film, epoch: 2))
    try await leave(agent)
  }

  @Test
  func `a piece that the stitch task refuses is named in the failure`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    let noise = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })
    let input = await coordinator.serve(noise)
    var grant = Sheaf_Grant.probe(input, noise)
    grant.kind = .stitch
    grant.payload = Data(
      #"""
      {"stitch":{"_0":{"segmentCount":0,"hasAudio":true,"outputs":[{"sound":0,
        "file":{"container":"mkv","optimizeForNetworkUse":false,"metadata":{},
          "audio":{"encoder":{"codec":"flac","sampleRate":48000,"channels":2,"bitDepth":16},"sampleCount":100}}}]}}}
      """#.utf8)
    let failure = try await failure(of: grant)
    #expect(failure.end == .media && failure.damagedInput == Data(input.bytes), "\(failure)")
    #expect(failure.message.contains("not a package"), "\(failure)")
    try await leave(agent)
  }

  @Test
  func `a payload that no worker can read fails the job`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    var grant = Sheaf_Grant.probe(await coordinator.serve(film), film)
    grant.payload = Data(#"{"conjure":{}}"#.utf8)
    #expect(try await failure(of: grant).end == .document)
    try await leave(agent)
  }

  @Test
  func `a result that the coordinator lost is uploaded and published again`() async throws {
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    let first = try await publish(of: .probe(await coordinator.serve(film), film))
    let digest = try #require(SHA256Digest(bytes: first.digest))
    await coordinator.lose(digest)
    let again = try await coordinator.ask(
      .publishReply(
        .with {
          $0.lease = first.lease
          $0.outcome = .missingContent
        })
    ) { $0.isResult }
    guard case .publish(let second) = again else { throw Unexpected(again) }
    #expect((second.lease, second.digest, second.size) == (first.lease, first.digest, first.size))
    #expect(first.usage.uploadedBytes == first.size && second.usage.uploadedBytes == 2 * first.size)
    #expect(first.usage.fetchedBytes > 0)
    #expect(await coordinator.contents[digest] != nil)
    try await leave(agent)
  }

  @Test
  func `a wrong token ends the agent with the coordinator's reason`() async throws {
    let agent = try RunningAgent(try await coordinator.start(), token: "guess")
    await #expect(throws: WireError(.refused(.token), "the token is wrong")) { try await agent.end() }
    await coordinator.stop()
  }

  private func publish(of grant: Sheaf_Grant) async throws -> Sheaf_Publish {
    let message = try await coordinator.ask(.grant(grant)) { $0.isResult }
    guard case .publish(let publish) = message else { throw Unexpected(message) }
    return publish
  }

  private func failure(of grant: Sheaf_Grant) async throws -> Sheaf_Failure {
    let message = try await coordinator.ask(.grant(grant)) { $0.isResult }
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    #expect(failure.lease == grant.lease)
    return failure
  }

  private func leave(_ agent: RunningAgent) async throws {
    agent.agent.stop()
    try await agent.end()
    await coordinator.stop()
  }
}
