import Client
import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import Synchronization
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// Workers that return other results than the right ones.
@Suite(.timeLimit(.minutes(5))) struct LiarTests {
  private struct Film {
    var status: JobStatus
    var bytes: [UInt8]
    /// The right results of the segments one after the other.
    var right: [UInt8]
    var held: [String]
  }

  /// The segments of a worker that lies from one of them on.
  private final class Liar: Sendable {
    let segments = Mutex(0)
    private let first: Int

    init(from first: Int) { self.first = first }

    func result(of grant: Sheaf_Grant, right: [UInt8]) -> [UInt8] {
      guard grant.kind == .video else { return right }
      let count = segments.withLock { count in
        count += 1
        return count
      }
      return count < first ? right : Array("another film's piece".utf8)
    }
  }

  /// Makes a film of segments of a second.
  private func film(
    of segments: Int, policy: LeasePolicy, workers: [String], liar: Liar? = nil
  ) async throws -> Film {
    let edit = try LifeOfAJobTests.Edit(clips: [segments], seconds: segments)
    let path = edit.path
    return try await TestCoordinator.run(policy: policy) { coordinator in
      let pieces = Mutex<[TaskID: [UInt8]]>([:])
      let scripted = workers.map { name in
        ScriptedWorker(
          coordinator.hello(.worker, worker: name, slots: 1),
          changing: { grant, right in
            if grant.kind == .video || grant.kind == .audio, let task = TaskID(grant.lease.task) {
              pieces.withLock { $0[task] = right }
            }
            return name == "liar" ? liar?.result(of: grant, right: right) ?? right : right
          })
      }
      return try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        for worker in scripted {
          group.addTask {
            do { try await worker.run(at: coordinator.endpoint.addresses[0]) } catch is CancellationError {}
          }
        }
        try await eventually("the workers are registered") {
          try await coordinator.store.workers().count == workers.count
        }
        let status = try await coordinator.client { client in
          let file = try EditFile(path)
          let (assets, _) = try await file.assets(FileContentCache())
          let run = JobRun(client)
          try await run.provide(assets)
          let options = RenderOptions(segmentDuration: "1")
          let job = try await run.submit(.init(file, assets, output: "film.mkv", options: options))
          _ = try await run.wait(for: job) { _ in }
          return try await run.status(of: job, withTasks: true)
        }
        let output = try #require(status.output?.content, "\(status)")
        return Film(
          status: status, bytes: try coordinator.content.read(output.digest, limit: 1 << 20),
          right: pieces.withLock { $0.sorted { $0.key < $1.key }.flatMap(\.value) },
          held: try await coordinator.store.standings().filter { $0.hold == .quarantined }.map(\.account))
      }
    }
  }

  @Test func `a new worker that lies is found with its first segments, and the film is right`() async throws {
    let policy = LeasePolicy(lease: .seconds(600), comparedShare: 0.000_1, firstCompared: 2)
    let liar = Liar(from: 1)
    let found = try await film(of: 40, policy: policy, workers: ["anna", "bert", "liar"], liar: liar)
    #expect(found.held == ["liar"] && found.bytes == found.right && found.status.doubt == nil)
    // Until a second worker has compared its first one.
    let segments = liar.segments.withLock(\.self)
    #expect((1...20).contains(segments), "\(segments)")
  }

  @Test func `a worker that was right before is found within 20 segments at a share of 10 percent`() async throws {
    let policy = LeasePolicy(lease: .seconds(600), comparedShare: 0.1, firstCompared: 0)
    let liar = Liar(from: 11)
    let found = try await film(of: 120, policy: policy, workers: ["anna", "bert", "liar"], liar: liar)
    #expect(found.held == ["liar"] && found.bytes == found.right && found.status.doubt == nil)
    let segments = liar.segments.withLock(\.self)
    // The one that was drawn, and those that it had until two others had made that one.
    #expect((11...35).contains(segments), "\(segments)")
  }

  @Test func `workers that agree cost what was drawn, and the film is the same`() async throws {
    let policy = LeasePolicy(lease: .seconds(600), comparedShare: 0.1, firstCompared: 1)
    let found = try await film(of: 60, policy: policy, workers: ["anna", "bert", "carl"])
    #expect(found.held.isEmpty && found.bytes == found.right)
    let attempts = found.status.tasks.filter { $0.kind == .video }.map(\.epoch).reduce(0, +)
    #expect((62...75).contains(attempts), "\(attempts)")
  }
}
