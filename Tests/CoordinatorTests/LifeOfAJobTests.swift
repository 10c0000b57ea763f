import CompositionModel
import Digest
import FoundationEssentials
import Glibc
import Jobs
import SwiftProtobuf
import Synchronization
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// DESIGN 4 from end to end, with a worker that speaks the wire.
@Suite(.timeLimit(.minutes(10))) struct LifeOfAJobTests {
  /// A document of one clip of each of these files, and the files; each file's text is its length in seconds.
  struct Edit {
    let folder: TemporaryFolder
    let path: String

    init(clips: [Int] = [8], seconds: Int = 10, extra: String = "") throws {
      folder = try TemporaryFolder()
      var clipTexts: [String] = []
      for (index, length) in clips.enumerated() {
        _ = try folder.write("\(seconds + index)".utf8, to: "\(index).mov")
        clipTexts.append(#"{ "asset": "a\#(index)", "use": "0..\#(length)" }"#)
      }
      let assets = clips.indices.map { #""a\#($0)": "\#($0).mov""# }.joined(separator: ", ")
      path = try folder.write(
        """
        { "sheaf": 1, "assets": { \(assets) },
          "tracks": [ { "id": "A", "type": "video", "clips": [ \(clipTexts.joined(separator: ", ")) ] } ],
          "export": { "to": "film.mkv", "video": { "codec": "ffv1" }\(extra) } }
        """.utf8, to: "edit.json")
    }
  }

  /// Submits a document and waits for its end.
  private func end(
    of edit: Edit, at farm: TestFarm, segmentDuration: String = "2"
  ) async throws -> Sheaf_JobStatus {
    let path = edit.path
    return try await CoordinatorClient.run(farm.endpoint) { client in
      let file = try EditFile(path)
      let (assets, problems) = try await file.assets(DigestCache())
      #expect(problems.isEmpty)
      let run = JobRun(client: client)
      try await run.provide(assets)
      let job = try await run.submit(file, assets, output: "film.mkv", segmentDuration: segmentDuration, priority: 0)
      return try await run.wait(for: job) { _ in }
    }
  }

  private func working<R: Sendable>(
    _ workers: [ScriptedWorker], at farm: TestFarm, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    try await withThrowingTaskGroup(of: R?.self) { group in
      for worker in workers {
        group.addTask {
          do { try await worker.run(at: farm.endpoint.address) } catch is CancellationError {}
          return nil
        }
      }
      group.addTask { try await body() }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let result = ended { return result } }
      throw CancellationError()
    }
  }

  @Test func aJobGoesFromItsDocumentToItsFilm() async throws {
    let edit = try Edit()
    try await TestFarm.run { farm in
      let worker = ScriptedWorker(farm.hello(.worker))
      let status = try await working([worker], at: farm) { try await end(of: edit, at: farm) }
      #expect(status.state == "done", "\(status)")
      #expect(status.framesTotal == 80 && status.framesDone == 80)
      #expect(status.segmentsTotal == 4 && status.segmentsDone == 4 && status.segmentsCached == 0)
      #expect(worker.kinds.first == .describe && worker.kinds.last == .stitch)
      #expect(worker.kinds.filter { $0 == .picture }.count == 4)
      // Four pieces of 32 bytes, in order.
      #expect(status.output.size == 128)
      let film = try farm.vault.read(#require(status.output.sha256), limit: 1000)
      let pieces = worker.granted.withLock { granted in
        granted.filter { $0.kind == .picture }.sorted { $0.lease.task < $1.lease.task }
      }
      let source = Data("10".utf8)
      #expect(try film == pieces.flatMap { try ScriptedWorker.result(of: $0, [source]) })
    }
  }

  @Test func theSameFilmAgainComesFromTheVault() async throws {
    let edit = try Edit()
    try await TestFarm.run { farm in
      let worker = ScriptedWorker(farm.hello(.worker))
      try await working([worker], at: farm) {
        let first = try await end(of: edit, at: farm)
        let count = worker.kinds.count
        let again = try await end(of: edit, at: farm)
        #expect(again.state == "done" && again.output == first.output)
        #expect(again.segmentsCached == 4 && worker.kinds.count == count)
        // Without the film itself, as after `render`, only the stitch is done again.
        farm.vault.remove(try #require(first.output.sha256))
        let third = try await end(of: edit, at: farm)
        #expect(third.output == first.output)
        #expect(worker.kinds.count == count + 1 && worker.kinds.last == .stitch)
      }
    }
  }

  @Test func anotherBuildRendersEverythingAgain() async throws {
    let edit = try Edit()
    try await TestFarm.run { farm in
      let old = ScriptedWorker(farm.hello(.worker))
      _ = try await working([old], at: farm) { try await end(of: edit, at: farm) }
      let new = ScriptedWorker(farm.hello(.worker, worker: "w2", build: "build 2"))
      let status = try await working([new], at: farm) {
        try await eventually("the old worker has left") { try await farm.store.workers().map(\.build) == ["build 2"] }
        return try await end(of: edit, at: farm)
      }
      #expect(status.state == "done" && status.segmentsCached == 0)
      #expect(new.kinds.count == old.kinds.count)
    }
  }

  @Test func workIsSharedAmongWorkers() async throws {
    let edit = try Edit(clips: [10, 10])
    try await TestFarm.run { farm in
      let workers = (0..<3).map { ScriptedWorker(farm.hello(.worker, worker: "w\($0)", slots: 1)) }
      let status = try await working(workers, at: farm) {
        try await eventually("three workers") { try await farm.store.workers().count == 3 }
        return try await end(of: edit, at: farm, segmentDuration: "1")
      }
      #expect(status.state == "done" && status.segmentsTotal == 20)
      for worker in workers { #expect(!worker.kinds.isEmpty) }
    }
  }

  @Test func whatADocumentGetsWrongIsToldWithItsPlace() async throws {
    let edit = try Edit(clips: [30])
    try await TestFarm.run { farm in
      let status = try await working([ScriptedWorker(farm.hello(.worker))], at: farm) {
        try await end(of: edit, at: farm)
      }
      #expect(status.state == "failed" && status.error.isEmpty)
      #expect(status.problems.map(\.pointer) == ["/tracks/0/clips/0/use"], "\(status.problems)")
    }
  }

  @Test func mediaThatCannotBeDescribedIsNamedAsTheDocumentNamesIt() async throws {
    let edit = try Edit()
    try await TestFarm.run { farm in
      let worker = ScriptedWorker(farm.hello(.worker)) { $0.kind == .describe ? .document : nil }
      let status = try await working([worker], at: farm) { try await end(of: edit, at: farm) }
      #expect(status.state == "failed" && status.error.isEmpty)
      #expect(status.problems.map(\.pointer) == ["/assets/a0"])
      #expect(status.problems.first?.message == "0.mov: the script says so")
    }
  }

  @Test func aFailureOfTheSurroundingsIsTriedElsewhere() async throws {
    let edit = try Edit()
    try await TestFarm.run { farm in
      let full = ScriptedWorker(farm.hello(.worker, worker: "full")) { _ in .infrastructure }
      let fine = ScriptedWorker(farm.hello(.worker, worker: "fine"))
      let status = try await working([full, fine], at: farm) { try await end(of: edit, at: farm) }
      #expect(status.state == "done")
      // It was left alone after its failures, not asked again and again.
      #expect(full.kinds.count < 8)
    }
  }

  @Test func aFarmWithNothingButFullDisksSaysSo() async throws {
    let edit = try Edit()
    try await TestFarm.run { farm in
      let full = ScriptedWorker(farm.hello(.worker, slots: 1)) { _ in .infrastructure }
      let status = try await working([full], at: farm) { try await end(of: edit, at: farm) }
      #expect(status.state == "failed" && status.problems.isEmpty)
      #expect(status.error.hasSuffix("at last because: the script says so"))
    }
  }

  @Test func aCancelledJobIsTakenFromItsWorkers() async throws {
    let edit = try Edit()
    let path = edit.path
    try await TestFarm.run { farm in
      // A worker that takes everything and does nothing.
      let idle = ScriptedWorker(farm.hello(.worker)) { _ in nil }
      _ = idle
      try await CoordinatorClient.run(farm.endpoint) { client in
        let file = try EditFile(path)
        let (assets, _) = try await file.assets(DigestCache())
        let run = JobRun(client: client)
        try await run.provide(assets)
        let job = try await run.submit(file, assets, output: "", segmentDuration: "", priority: 3)
        try await WireClient.withConnection(to: farm.endpoint.address, hello: farm.hello(.worker)) { worker, _ in
          try await worker.send(.heartbeat(.with { $0.freeSlots = 2 }))
          var lease = Sheaf_Lease()
          for try await message in worker.inbound {
            switch message {
            case .grant(let grant):
              lease = grant.lease
              guard case .cancelReply(let reply) = try await client.ask(.cancelJob(.with { $0.job = job })) else {
                throw CoordinatorClient.unexpected
              }
              #expect(reply.state == "cancelled")
              try await worker.send(.heartbeat(.with { $0.progress = [.with { $0.lease = grant.lease }] }))
            case .heartbeatReply(let reply) where lease != Sheaf_Lease():
              #expect(reply.cancelled == [lease])
              return
            default: break
            }
          }
        }
        #expect(try await run.status(of: job).state == "cancelled")
      }
    }
  }

  @Test func aWorkerThatGoesAwayGivesItsTasksBackAtOnce() async throws {
    let edit = try Edit()
    try await TestFarm.run { farm in
      let worker = ScriptedWorker(farm.hello(.worker, worker: "second"))
      let status = try await withThrowingTaskGroup(of: Sheaf_JobStatus.self) { group in
        group.addTask { try await end(of: edit, at: farm) }
        // Takes the describe task and leaves.
        try await WireClient.withConnection(
          to: farm.endpoint.address, hello: farm.hello(.worker, worker: "first")
        ) { connection, _ in
          try await connection.send(.heartbeat(.with { $0.freeSlots = 2 }))
          for try await message in connection.inbound { if case .grant = message { return } }
        }
        return try await working([worker], at: farm) { try await end(of: edit, at: farm) }
      }
      #expect(status.state == "done")
    }
  }

  @Test func mediaUnderTheMediaRootIsNotUploaded() async throws {
    let edit = try Edit()
    try await TestFarm.run(mediaRoot: edit.folder.path) { farm in
      let worker = ScriptedWorker(farm.hello(.worker))
      let status = try await working([worker], at: farm) { try await end(of: edit, at: farm) }
      #expect(status.state == "done")
      #expect(farm.vault.size(of: SHA256Digest.of("10".utf8)) == nil)
      let paths = worker.granted.withLock { granted in
        Set(granted.filter { $0.kind != .stitch }.flatMap(\.inputs).map(\.path))
      }
      #expect(paths == ["0.mov"])
    }
  }

  @Test func whoStopsWaitingCancelsTheJob() async throws {
    let edit = try Edit()
    let path = edit.path
    try await TestFarm.run { farm in
      let (told, telling) = AsyncStream.makeStream(of: Void.self)
      let waiting = Task {
        try await CoordinatorClient.run(farm.endpoint) { client in
          let file = try EditFile(path)
          let (assets, _) = try await file.assets(DigestCache())
          let run = JobRun(client: client)
          try await run.provide(assets)
          let job = try await run.submit(file, assets, output: "", segmentDuration: "", priority: 0)
          _ = try await run.wait(for: job, cancellingAt: farm.endpoint) { _ in telling.finish() }
        }
      }
      for await _ in told {}
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      let state = try await farm.store.jobs(limit: 1).first?.state
      #expect(state == .cancelled)
    }
  }

  @Test func aFilmIsFetchedInRangesToItsPlace() async throws {
    let text = [UInt8](repeating: 0x33, count: 10_000_001)
    let folder = try TemporaryFolder()
    let source = open(try folder.write(text, to: "source"), O_RDONLY)
    defer { close(source) }
    try await TestFarm.run { farm in
      let digest = SHA256Digest.of(text)
      try await CoordinatorClient.run(farm.endpoint) { client in
        try await client.content.upload(descriptor: source, digest: digest, size: Int64(text.count))
        let output = try OutputFile(folder.path + "/film.mov")
        try await Download(client: client, digest: digest, size: UInt64(text.count)).write(to: output)
      }
      #expect(try FileBytes.read(folder.path + "/film.mov", limit: 20_000_000) == text)
    }
  }
}
