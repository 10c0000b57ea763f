import Client
import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import RenderTasks
import Testing
import Wire

@testable import Coordinator

/// Results that show damaged media.
@Suite(.timeLimit(.minutes(10))) struct StrictMediaTests {
  private let job = TestCoordinator.job

  /// Two pictures, 3.2 s and more into the file, 0.5 s and more into the piece.
  private func damage() throws -> Data {
    let digest = SHA256Digest.of([1, 2, 3]).hex
    let places = [3.2, 3.24].map { ShownDamage.Place(source: $0, output: $0 - 2.7) }
    return try JSONEncoder().encode(
      ShownDamage(tracks: [.init(digest: digest, track: 0, type: .video, count: 2, places: places)]))
  }

  @Test func `a damaged piece fails a job that accepts none`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render(strictMedia: true)
      let piece = try coordinator.keep([7])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        try await worker.publish(worker.grant().lease, piece, damage: damage())
        #expect(try await worker.publishReply().outcome == .stale)
      }
      #expect(try await coordinator.store.job(job)?.state == .failed)
      let status = try #require(try await coordinator.service.status.status(of: job))
      // The place in the film is not known of a piece.
      #expect(
        status.problems.map(\.message) == ["/assets/a: 2 frames of 'beach.mp4' are damaged, the first at 0:03.200"])
    }
  }

  @Test func `a report that does not hold the lease fails nothing`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render(strictMedia: true)
      let piece = try coordinator.keep([7])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        var lease = try await worker.grant().lease
        lease.epoch += 5
        try await worker.publish(lease, piece, damage: damage())
        #expect(try await worker.publishReply().outcome == .stale)
      }
      #expect(try await coordinator.store.job(job)?.state == .rendering)
    }
  }

  @Test func `a damaged piece fails the job though its damage cannot be recorded`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render(strictMedia: true)
      let piece = try coordinator.keep([7])
      _ = FileManager.default.createFile(atPath: coordinator.content.directory + "/notes", contents: nil)
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        try await worker.publish(worker.grant().lease, piece, damage: damage())
        #expect(try await worker.publishReply().outcome == .stale)
      }
      #expect(try await coordinator.store.job(job)?.state == .failed)
      #expect(coordinator.logs.all("damage of a result not recorded").count == 1)
    }
  }

  @Test func `a damaged piece is published otherwise`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let piece = try coordinator.keep([7])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        try await worker.publish(worker.grant().lease, piece, damage: damage())
        #expect(try await worker.publishReply().outcome == .published)
      }
      #expect(coordinator.service.notes.damage(of: piece.digest)?.tracks.map(\.count) == [2])
    }
  }

  /// What no picture can be: more than overflows a sum, none, fewer than none, fewer than are listed, at no time.
  @Test(arguments: [
    (Int.max, "0"), (0, ""), (-1, ""), (1, "0,1"), (1, "1e300"),
  ])
  func `a report that is impossible is ignored`(count: Int, sources: String) async throws {
    let places = sources.split(separator: ",").map { #"{"source":\#($0),"output":0}"# }.joined(separator: ",")
    let digest = SHA256Digest.of([1, 2, 3]).hex
    let report =
      #"{"tracks":[{"digest":"\#(digest)","track":0,"type":"video","count":\#(count),"places":[\#(places)]}]}"#
    try await TestCoordinator.run { coordinator in
      try await coordinator.render(strictMedia: true)
      let piece = try coordinator.keep([7])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        try await worker.publish(worker.grant().lease, piece, damage: Data(report.utf8))
        #expect(try await worker.publishReply().outcome == .published)
      }
      #expect(coordinator.service.notes.note(of: piece.digest) == nil)
      #expect(coordinator.logs.all("damage of a result not recorded").count == 1)
      // One that an earlier version has kept.
      try coordinator.service.notes.record(report, of: piece.digest)
      #expect(coordinator.service.notes.damage(of: piece.digest) == nil)
    }
  }
}
