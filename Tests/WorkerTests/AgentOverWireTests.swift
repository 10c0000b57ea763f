import Digest
import Foundation
import SwiftProtobuf
import Testing
import Wire

@testable import Worker

/// An agent, its real task processes, and a coordinator that says what the test wants.
@Suite(.timeLimit(.minutes(2)))
struct AgentOverWireTests {
  private let film: Data

  init() throws {
    film = try Data(contentsOf: Place.media("friday.mp4"))
  }

  @Test
  func `a granted task is run, its result uploaded and published`() async throws {
    let coordinator = ScriptedCoordinator()
    let agent = try RunningAgent(try await coordinator.start())
    await coordinator.awaitConnection()
    let input = await coordinator.serve(film)

    let published = try await coordinator.ask(.grant(describe(input, epoch: 7))) { $0.isResult }
    guard case .publish(let publish) = published else { throw Unexpected(published) }
    #expect(publish.lease == lease(epoch: 7))
    #expect(publish.cpuMilliseconds > 0)
    let digest = try #require(SHA256Digest(bytes: publish.digest))
    let result = try #require(await coordinator.contents[digest])
    #expect(result.count == Int(publish.size))
    #expect(try JSONSerialization.jsonObject(with: result) is [String: Any])

    try await coordinator.say(
      .publishReply(
        .with {
          $0.lease = lease(epoch: 7)
          $0.outcome = .published
        }))
    agent.agent.drain()
    try await agent.end()
    #expect(try agent.leftovers == [])
    await coordinator.stop()
  }

  private func lease(epoch: Int64) -> Sheaf_Lease {
    .with {
      $0.task = "job/0"
      $0.epoch = epoch
    }
  }

  private func describe(_ input: SHA256Digest, path: String = "", epoch: Int64 = 1) -> Sheaf_Grant {
    .with {
      $0.lease = lease(epoch: epoch)
      $0.kind = .describe
      $0.payload = Data(#"{"describe":{}}"#.utf8)
      $0.inputs = [Sheaf_Content(digest: input, size: Int64(film.count), path: path)]
      $0.work = 1
    }
  }
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ message: WireMessage) {
    description = "\(message)"
  }
}

extension WireMessage {
  /// Whether it ends a task.
  var isResult: Bool {
    switch self {
    case .publish, .failure: true
    default: false
    }
  }
}
