import Client
import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import RenderTasks
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// Jobs from the document to the film, with a worker that uses the protocol.
@Suite(.timeLimit(.minutes(10))) struct LifeOfAJobTests {
  /// A document with one clip of each of these files, and the files, of which each has its length in seconds as its
  /// text.
  struct Edit {
    let folder: TemporaryFolder
    let path: String

    init(
      clips: [Int] = [8], seconds: Int = 10, video: String = #"{ "codec": "ffv1" }"#, extra: String = "",
      composition: String = ""
    ) throws {
      folder = try TemporaryFolder()
      var clipTexts: [String] = []
      for (index, length) in clips.enumerated() {
        _ = try folder.write(Data("\(seconds + index)".utf8), "\(index).mov")
        clipTexts.append(#"{ "asset": "a\#(index)", "use": "0..\#(length)" }"#)
      }
      let assets = clips.indices.map { #""a\#($0)": "\#($0).mov""# }.joined(separator: ", ")
      let document = """
        { "sheaf": 1, "assets": { \(assets) },
          "tracks": [ { "id": "A", "type": "video", "clips": [ \(clipTexts.joined(separator: ", ")) ] } ],
          "export": { "to": "film.mkv", "video": \(video)\(extra) }\(composition) }
        """
      path = try folder.write(Data(document.utf8), "edit.json")
    }
  }

  /// Submits a document and waits for its end.
  private func end(
    of edit: Edit, at coordinator: TestCoordinator, segmentDuration: String = "2", strictMedia: Bool = false
  ) async throws -> JobStatus {
    let path = edit.path
    return try await coordinator.client { client in
      let file = try EditFile(path)
      let (assets, problems) = try await file.assets(FileContentCache())
      #expect(problems.isEmpty)
      let run = JobRun(client)
      try await run.provide(assets)
      let job = try await run.submit(
        .init(
          file, assets, output: "film.mkv",
          options: RenderOptions(segmentDuration: segmentDuration, strictMedia: strictMedia)))
      _ = try await run.wait(for: job) { _ in }
      return try await run.status(of: job, withTasks: true)
    }
  }

  private func working<R: Sendable>(
    _ workers: [ScriptedWorker], at coordinator: TestCoordinator, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    try await withThrowingTaskGroup(of: R?.self) { group in
      for worker in workers {
        group.addTask {
          do { try await worker.run(at: coordinator.endpoint.addresses[0]) } catch is CancellationError {}
          return nil
        }
      }
      group.addTask { try await body() }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let result = ended { return result } }
      throw CancellationError()
    }
  }

  @Test func `a job goes from its document to its film`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done, "\(status)")
      #expect(status.framesTotal == 80 && status.framesDone == 80)
      #expect(status.segmentsTotal == 4 && status.segmentsDone == 4 && status.segmentsCached == 0)
      #expect(worker.kinds.first == .probe && worker.kinds.last == .stitch)
      #expect(worker.kinds.filter { $0 == .video }.count == 4)
      // Four pieces of 32 bytes, in order.
      #expect(status.output?.bytes == 128)
      let film = try coordinator.content.read(#require(status.output?.content).digest, limit: 1000)
      let pieces = worker.granted.withLock { granted in
        granted.filter { $0.kind == .video }.sorted { $0.lease.task < $1.lease.task }
      }
      let source = Data("10".utf8)
      #expect(try film == pieces.flatMap { try ScriptedWorker.result(of: $0, [source]) })
    }
  }

  @Test func `the log says what became of a job and its tasks`() async throws {
    let edit = try Edit(clips: [8, 4])
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker, worker: "anna", slots: 1))
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done)
      #expect(
        status.tasks.map(\.label) == [
          "probe of 0.mov", "probe of 1.mov", "frames 0..19 of 0.mov", "frames 20..39 of 0.mov",
          "frames 40..59 of 0.mov",
          "frames 60..79 of 0.mov", "frames 80..99 of 1.mov", "frames 100..119 of 1.mov", "stitch of 6 pieces",
        ])
      #expect(status.tasks.allSatisfy { $0.workerName == "anna" })
      try await eventually("the end is logged") { !coordinator.logs.all("job done").isEmpty }
      let logs = coordinator.logs
      for message in ["job submitted", "job planned", "job done"] {
        #expect(logs.all(message).map(\.metadata["job"]) == [status.job], "\(message)")
      }
      #expect(logs.all("job done").first?.metadata["name"] == "edit.json")
      for message in ["task started", "task done"] {
        try await eventually(message) { logs.all(message).count == 9 }
        #expect(Set(logs.all(message).map(\.metadata["label"])) == Set(status.tasks.map(\.label)), "\(message)")
        #expect(logs.all(message).allSatisfy { $0.metadata["worker"] == "anna" })
      }
      #expect(logs.all("task done").allSatisfy { $0.metadata["seconds"].flatMap(Double.init) != nil })
    }
  }

  @Test func `jobs of a build that has left are finished by the next one`() async throws {
    let edit = try Edit()
    let added = Mutex(Duration.zero)
    let clock = { @Sendable in added.withLock { $0 } }
    try await TestCoordinator.run(clock: clock) { coordinator in
      let hasVideo = Mutex(false)
      // The old build probes and then leaves with a video task.
      let old = ScriptedWorker(coordinator.hello(.worker, worker: "old", slots: 1)) { grant in
        guard grant.kind != .probe else { return nil }
        hasVideo.withLock { $0 = true }
        return .released
      }
      let ending = Task { try await end(of: edit, at: coordinator) }
      try await working([old], at: coordinator) {
        try await eventually("a video task") { hasVideo.withLock { $0 } }
      }
      let new = ScriptedWorker(coordinator.hello(.worker, worker: "new", build: "build 2"))
      let status = try await working([new], at: coordinator) {
        try await eventually("the old build has left") {
          try await coordinator.store.workers().map(\.build) == ["build 2"]
        }
        // In steps: a gap would be an outage, which moves everything on.
        for _ in 0..<20 {
          added.withLock { $0 += .seconds(3) }
          _ = try await coordinator.store.expire()
        }
        return try await ending.value
      }
      #expect(status.state == .done && status.build == "build 2")
    }
  }

  @Test func `the same film again comes from the cache`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      try await working([worker], at: coordinator) {
        let first = try await end(of: edit, at: coordinator)
        let count = worker.kinds.count
        let again = try await end(of: edit, at: coordinator)
        #expect(again.state == .done && again.output == first.output)
        #expect(again.segmentsCached == 4 && worker.kinds.count == count)
        // Without the film itself, as after `render`, only the stitch is done again.
        coordinator.content.remove(try #require(first.output?.content).digest)
        let third = try await end(of: edit, at: coordinator)
        #expect(third.output == first.output)
        #expect(worker.kinds.count == count + 1 && worker.kinds.last == .stitch)
      }
    }
  }

  /// Changes a byte of a result of the content store, as a disk fault does.
  private func damage(_ result: Content, at offset: Int, in store: ContentStore) throws {
    let file = try OpenFile.open(store.path(of: result.digest), O_RDWR)
    let byte = try file.read(at: Int64(offset), length: 1)[0]
    try [byte ^ 1].withUnsafeBytes { try file.write($0, at: Int64(offset)) }
  }

  /// A byte of the list of fonts, one of a font in it, whose own object is gone, and one of a description.
  @Test(arguments: [20, -1]) func `damaged descriptions and fonts are found again`(fontByte: Int) async throws {
    let overlay = #", "videoComposition": { "overlays": [ { "text": "Maroubra" } ] }"#
    let edit = try Edit(clips: [8, 4], composition: overlay)
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      try await working([worker], at: coordinator) {
        let first = try await end(of: edit, at: coordinator)
        try #require(first.state == .done, "\(first)")
        let tasks = try await coordinator.store.tasks(of: JobID(first.job), payloads: false)
        let results = try tasks.prefix(3).map { try #require($0.result) }
        try damage(results[1], at: 5, in: coordinator.content)
        try damage(results[2], at: (fontByte + Int(results[2].size)) % Int(results[2].size), in: coordinator.content)
        coordinator.content.remove(SHA256Digest.of(ScriptedWorker.font))
        let count = worker.granted.withLock { $0.count }
        let second = try await end(of: edit, at: coordinator, segmentDuration: "3")
        #expect(second.state == .done, "\(second)")
        let probes = worker.granted.withLock { $0.dropFirst(count).filter { $0.kind == .probe } }
        // The fonts are found for each job, and here twice.
        #expect(probes.map(\.inputs.count).sorted() == [0, 0, 1])
        for result in results {
          #expect(try coordinator.content.read(result.digest, limit: 1 << 20).count == Int(result.size))
        }
        let logged = coordinator.logs.all(
          "files are probed again, because what was found was damaged on the disk or is gone")
        #expect(logged.map(\.metadata["tasks"]) == ["probe of 1.mov, fonts of 1 text"])
      }
    }
  }

  // MARK: Average bit rate

  private static func averaging(_ rate: Int) throws -> Edit {
    try Edit(
      clips: [8], video: #"{ "codec": "h264", "bitRate": \#(rate) }"#,
      composition: #", "videoComposition": { "overlays": [ { "text": "Maroubra" } ] }"#)
  }

  @Test func `a job that is measured goes on when its descriptions and fonts are damaged meanwhile`() async throws {
    let edit = try Self.averaging(300_000)
    try await TestCoordinator.run { coordinator in
      let damaged = Mutex(false)
      let probed = Mutex<[SHA256Digest]>([])
      let worker = ScriptedWorker(coordinator.hello(.worker, slots: 1)) { grant in
        if grant.kind == .probe,
          let result = try? ScriptedWorker.result(of: grant, grant.inputs.map { _ in Data("10".utf8) })
        {
          probed.withLock { $0.append(SHA256Digest.of(result)) }
        }
        let isFirst = damaged.withLock { damaged in
          defer { damaged = damaged || grant.kind == .measure }
          return grant.kind == .measure && !damaged
        }
        guard isFirst else { return nil }
        for digest in probed.withLock({ $0 }) {
          try? damage(Content(digest: digest, size: 0), at: 5, in: coordinator.content)
        }
        return nil
      }
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done, "\(status)")
      let logged = coordinator.logs.all(
        "files are probed again, because what was found was damaged on the disk or is gone")
      #expect(logged.map(\.metadata["tasks"]) == ["probe of 0.mov, fonts of 1 text"])
    }
  }

  @Test func `measurements that are damaged while the job is measured are made again`() async throws {
    let edit = try Self.averaging(300_000)
    try await TestCoordinator.run { coordinator in
      let measured = Mutex<[SHA256Digest]>([])
      let worker = ScriptedWorker(coordinator.hello(.worker, slots: 1)) { grant in
        guard grant.kind == .measure, let result = try? ScriptedWorker.result(of: grant, []) else { return nil }
        let known = measured.withLock { measured in
          measured.append(SHA256Digest.of(result))
          return measured
        }
        // The fourth of four is granted: the first is changed, the second is gone.
        guard known.count == 4 else { return nil }
        try? damage(Content(digest: known[0], size: 0), at: 5, in: coordinator.content)
        coordinator.content.remove(known[1])
        return nil
      }
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done, "\(status)")
      let logged = coordinator.logs.all("results were damaged on the disk and are made again")
      // Both at once.
      #expect(logged.map { $0.metadata["tasks"]?.split(separator: ", ").count } == [2])
    }
  }

  @Test func `damaged measurements of the cache are made again together`() async throws {
    let first = try Self.averaging(300_000)
    let second = try Self.averaging(200_000)
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      try await working([worker], at: coordinator) {
        let status = try await end(of: first, at: coordinator)
        try #require(status.state == .done, "\(status)")
        let measures = worker.granted.withLock { $0.filter { $0.kind == .measure } }
        #expect(measures.count == 4)
        for measure in measures.dropFirst() {
          let result = try ScriptedWorker.result(of: measure, [])
          try damage(Content(digest: SHA256Digest.of(result), size: 0), at: 5, in: coordinator.content)
        }
        let again = try await end(of: second, at: coordinator)
        #expect(again.state == .done, "\(again)")
        #expect(worker.kinds.filter { $0 == .measure }.count == 7)
      }
    }
  }

  @Test func `a disk that damages every measurement fails the job`() async throws {
    let edit = try Self.averaging(300_000)
    try await TestCoordinator.run { coordinator in
      let last = Mutex<SHA256Digest?>(nil)
      let worker = ScriptedWorker(coordinator.hello(.worker, slots: 1)) { grant in
        guard grant.kind == .measure, let result = try? ScriptedWorker.result(of: grant, []) else { return nil }
        last.withLock { last in
          if let last { coordinator.content.remove(last) }
          last = SHA256Digest.of(result)
        }
        return nil
      }
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .failed)
      let error = status.error ?? ""
      #expect(error.contains("were damaged on the coordinator's disk again and again"), "\(error)")
    }
  }

  // MARK: Damaged media

  @Test func `the damaged media of a cached film are counted once`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      try await working([worker], at: coordinator) {
        let first = try await end(of: edit, at: coordinator)
        try #require(first.state == .done, "\(first)")
        let source = SHA256Digest.of("10".utf8).hex
        let note = { (count: Int, listed: [Int], result: Content) in
          let places = listed.map { ShownDamage.Place(source: Double($0), output: 0) }
          let track = ShownDamage.Track(digest: source, track: 0, type: .video, count: count, places: places)
          try coordinator.service.notes.record(ShownDamage(tracks: [track]), of: result.digest)
        }
        let tasks = try await coordinator.store.tasks(of: JobID(first.job), payloads: false)
        let made = try tasks.filter { $0.kind == .video }.map { try #require($0.result) }
        let film = try #require(first.output?.content)
        // The film is cached: it shows one picture in two of its four pieces.
        try note(27, [], film)
        let strict = try await end(of: edit, at: coordinator, strictMedia: true)
        #expect(strict.problems.map(\.message) == ["27 frames of '0.mov' are damaged"])
        coordinator.content.remove(film.digest)
        for (index, piece) in made.enumerated() { try note(7, Array((index * 6)..<(index * 6 + 7)), piece) }
        let pieces = try await end(of: edit, at: coordinator, strictMedia: true)
        #expect(pieces.problems.map(\.message) == ["25 frames of '0.mov' are damaged, the first at 0:00.000"])
        // What the notes do not list may be the same pictures.
        for (index, piece) in made.enumerated() { try note(index == 1 ? 40 : 7, [index], piece) }
        let some = try await end(of: edit, at: coordinator, strictMedia: true)
        #expect(some.problems.map(\.message) == ["at least 40 frames of '0.mov' are damaged, the first at 0:00.000"])
      }
    }
  }

  @Test func `a film of which it is not known what damage it shows is stitched again`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      try await working([worker], at: coordinator) {
        let film = try #require(try await end(of: edit, at: coordinator).output?.content)
        #expect(coordinator.service.notes.damage(of: film.digest) == ShownDamage())
        let count = worker.kinds.count
        #expect(try await end(of: edit, at: coordinator, strictMedia: true).state == .done)
        #expect(worker.kinds.count == count)
        let hex = film.digest.hex
        unlink("\(coordinator.content.directory)/notes/\(hex.prefix(2))/\(hex)")
        let again = try await end(of: edit, at: coordinator, strictMedia: true)
        #expect(again.state == .done && again.output?.content == film)
        #expect(worker.kinds.dropFirst(count) == [.stitch])
        #expect(coordinator.service.notes.damage(of: film.digest) == ShownDamage())
      }
    }
  }

  // MARK: Pieces that do not fit

  /// A worker whose stitch tasks refuse the second piece so often, and then succeed.
  private func refusing(_ count: Int, at coordinator: TestCoordinator) -> ScriptedWorker {
    let left = Mutex(count)
    return ScriptedWorker(
      coordinator.hello(.worker),
      failing: { grant in
        guard grant.kind == .stitch else { return nil }
        return left.withLock { left in
          left -= 1
          return left >= 0 ? .media : nil
        }
      }, naming: { $0.kind == .stitch ? $0.inputs[1].content?.digest : nil })
  }

  @Test(arguments: [1, 2]) func `a piece that does not fit is made again, and next time all are`(count: Int)
    async throws
  {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let worker = refusing(count, at: coordinator)
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done, "\(status)")
      #expect(worker.kinds.filter { $0 == .video }.count == (count == 1 ? 5 : 9))
      let logged = coordinator.logs.all("a piece does not fit and is made again")
      #expect(logged.map(\.metadata["task"]) == ["frames 20..39 of 0.mov"])
      #expect(coordinator.logs.all("a piece does not fit and all pieces are made again").count == count - 1)
      #expect(coordinator.logs.all("job failed").isEmpty)
    }
  }

  @Test func `a piece that never fits fails the job in the end`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let worker = refusing(.max, at: coordinator)
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .failed)
      #expect(
        status.error
          == "frames 20..39 of 0.mov was made again 3 times and does not fit: the script fails this task")
      #expect(worker.kinds.filter { $0 == .stitch }.count == 4)
    }
  }

  /// A worker cannot make the coordinator remove what is not a piece of its stitch task.
  @Test func `only a stitch task refuses pieces`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run(policy: LeasePolicy(backOff: .milliseconds(10), exclusion: .zero)) { coordinator in
      let pieces = Mutex<[SHA256Digest]>([])
      let worker = ScriptedWorker(
        coordinator.hello(.worker, slots: 1),
        failing: { grant in
          guard grant.kind == .video, let made = try? ScriptedWorker.result(of: grant, [Data("10".utf8)]) else {
            return nil
          }
          return pieces.withLock { pieces in
            pieces.append(SHA256Digest.of(made))
            return pieces.count == 2 ? .media : nil
          }
        }, naming: { _ in pieces.withLock { $0.first } })
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done)
      #expect(worker.kinds.filter { $0 == .video }.count == 5)
    }
  }

  // MARK: Fonts

  @Test func `a list of fonts that is not that of the texts fails the job`() async throws {
    let overlay = #", "videoComposition": { "overlays": [ { "text": "Maroubra", "font": "Wrong" } ] }"#
    let edit = try Edit(clips: [8], composition: overlay)
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .failed, "\(status)")
      #expect(status.error?.contains("does not have the fonts of the job's texts") == true, "\(status)")
    }
  }

  /// The object of a font, in the midst of the measurements and of the rendering.
  @Test(arguments: [Sheaf_TaskKind.measure, .video])
  func `a font that is damaged meanwhile is copied again`(kind: Sheaf_TaskKind) async throws {
    let edit = try Self.averaging(300_000)
    try await TestCoordinator.run { coordinator in
      let font = SHA256Digest.of(ScriptedWorker.font)
      let isDone = Mutex(false)
      let worker = ScriptedWorker(
        coordinator.hello(.worker, slots: 1),
        failing: { grant in
          let isFirst = isDone.withLock { isDone in
            defer { isDone = isDone || grant.kind == kind }
            return grant.kind == kind && !isDone
          }
          guard isFirst else { return nil }
          try? damage(Content(digest: font, size: 0), at: 5, in: coordinator.content)
          return .released
        }, naming: { _ in font })
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done, "\(status)")
      #expect(try coordinator.content.read(font, limit: 100) == ScriptedWorker.font)
      let logged = coordinator.logs.all("results were damaged on the disk and are made again")
      #expect(logged.map(\.metadata["tasks"]) == ["the font \(font)"])
    }
  }

  @Test func `another build renders everything again`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let old = ScriptedWorker(coordinator.hello(.worker))
      _ = try await working([old], at: coordinator) { try await end(of: edit, at: coordinator) }
      let new = ScriptedWorker(coordinator.hello(.worker, worker: "w2", build: "build 2"))
      let status = try await working([new], at: coordinator) {
        try await eventually("the old worker has left") {
          try await coordinator.store.workers().map(\.build) == ["build 2"]
        }
        return try await end(of: edit, at: coordinator)
      }
      #expect(status.state == .done && status.segmentsCached == 0)
      // What is in a file does not depend on the build: it is not probed again.
      #expect(new.kinds.filter { $0 == .probe }.isEmpty && new.kinds.count == old.kinds.count - 1)
    }
  }

  @Test func `work is shared among workers`() async throws {
    let edit = try Edit(clips: [10, 10])
    try await TestCoordinator.run { coordinator in
      let workers = (0..<3).map { ScriptedWorker(coordinator.hello(.worker, worker: "w\($0)", slots: 1)) }
      let status = try await working(workers, at: coordinator) {
        try await eventually("three workers") { try await coordinator.store.workers().count == 3 }
        return try await end(of: edit, at: coordinator, segmentDuration: "1")
      }
      #expect(status.state == .done && status.segmentsTotal == 20)
      for worker in workers { #expect(!worker.kinds.isEmpty) }
    }
  }

  @Test func `a problem of the document is reported with its place`() async throws {
    let edit = try Edit(clips: [30])
    try await TestCoordinator.run { coordinator in
      let status = try await working([ScriptedWorker(coordinator.hello(.worker))], at: coordinator) {
        try await end(of: edit, at: coordinator)
      }
      #expect(status.state == .failed && status.error == nil)
      #expect(status.problems.map(\.pointer) == ["/tracks/0/clips/0/use"], "\(status.problems)")
    }
  }

  @Test func `media that cannot be probed is named as in the document`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker)) { $0.kind == .probe ? .document : nil }
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .failed && status.error == nil)
      #expect(status.problems.map(\.pointer) == ["/assets/a0"])
      #expect(status.problems.first?.message == "0.mov: the script fails this task")
    }
  }

  /// Such numbers would end the coordinator when it plans.
  @Test(arguments: [
    (Sheaf_TaskKind.probe, #""width":64"#, #""width":9223372036854775807"#, "tracks[0].video.size.width"),
    (.measure, #""frameBits":[["#, #""frameBits":[[9223372036854775807,"#, "frameBits: [0][0]"),
  ]) func `a result that is out of range is a failure of the worker`(
    kind: Sheaf_TaskKind, from: String, to: String, field: String
  ) async throws {
    let edit = try Self.averaging(300_000)
    try await TestCoordinator.run(
      policy: LeasePolicy(lease: .seconds(600), backOff: .milliseconds(10), exclusion: .zero)
    ) { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker, slots: 1)) { _ in
        nil
      } changing: { grant, result in
        guard grant.kind == kind else { return result }
        return [UInt8](String(decoding: result, as: UTF8.self).replacingOccurrences(of: from, with: to).utf8)
      }
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .failed && status.problems.isEmpty, "\(status)")
      let error = status.error ?? ""
      #expect(error.contains("failed 3 times"), "\(error)")
      #expect(error.contains(field) && error.contains("9223372036854775807"), "\(error)")
      let attempts = try #require(status.tasks.map(\.attempts).max { $0.count < $1.count })
      #expect(attempts.map(\.end) == [.crashed, .crashed, .crashed])
    }
  }

  @TaskLocal private static var later = Duration.zero

  @Sendable private static func timeAdded() -> Duration { later }

  /// Two coordinators have ended while they planned the job.
  @Test func `a job whose planning was lost twice fails`() async throws {
    try await TestCoordinator.run(clock: Self.timeAdded) { coordinator in
      let job = TestCoordinator.job
      let store = coordinator.store
      let request = JobRequest(document: "{}", output: "")
      _ = try await store.submit(
        NewJob(id: job, name: "film", priority: 0, request: request.encoded(), tasks: []))
      #expect(try await store.beginPlanning(job, by: "gone 1", isAlone: true) == .begun)
      // The attempts have run out for these calls alone. The coordinator, which would plan the job, sees them go on.
      let second = try await Self.$later.withValue(.seconds(601)) {
        try await store.beginPlanning(job, by: "gone 2", isAlone: true)
      }
      #expect(second == .begun)
      let third = try await Self.$later.withValue(.seconds(1300)) {
        try await store.beginPlanning(job, by: "gone 3", isAlone: true)
      }
      #expect(third == .failed)
      let worker = ScriptedWorker(coordinator.hello(.worker))
      try await working([worker], at: coordinator) {
        try await eventually("the job has failed") { try await store.job(job)?.state == .failed }
      }
      let failure = try #require(try await store.job(job)?.failure)
      #expect(failure.reason == .farm)
      let words = "the coordinator ended more than once while it planned it"
      #expect(failure.message.contains(words), "\(failure.message)")
      // Taken up, it is planned again.
      #expect(try await store.retry(job) == .probing)
      #expect(try await store.beginPlanning(job, by: "gone 4", isAlone: true) == .begun)
    }
  }

  @Test func `every attempt that fails is kept`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run(policy: LeasePolicy(backOff: .milliseconds(10), exclusion: .zero)) { coordinator in
      let broken = ScriptedWorker(coordinator.hello(.worker, slots: 1)) {
        $0.kind == .audio || $0.kind == .video ? .crashed : nil
      }
      let status = try await working([broken], at: coordinator) {
        try await end(of: edit, at: coordinator, segmentDuration: "10")
      }
      #expect(status.state == .failed && status.problems.isEmpty)
      #expect(
        status.error?.hasSuffix("failed 3 times: the script fails this task; \"sheaf retry \(status.job)\" tries again")
          == true)
      let task = try #require(status.tasks.first { $0.state == .failed })
      #expect(task.attempts.map(\.end) == [.crashed, .crashed, .crashed])
      #expect(task.attempts.map(\.epoch) == [1, 2, 3])
      #expect(task.attempts.allSatisfy { $0.worker == "w1" && $0.exitCode == 7 })
    }
  }

  @Test func `a task released by one worker is done by another`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let full = ScriptedWorker(coordinator.hello(.worker, worker: "full")) { _ in .released }
      let fine = ScriptedWorker(coordinator.hello(.worker, worker: "fine"))
      let status = try await working([full, fine], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done)
      // It was paused after its failures.
      #expect(full.kinds.count < 8)
    }
  }

  @Test func `the leases of a cancelled job are cancelled`() async throws {
    let edit = try Edit()
    let path = edit.path
    try await TestCoordinator.run { coordinator in
      try await coordinator.client { client in
        let file = try EditFile(path)
        let (assets, _) = try await file.assets(FileContentCache())
        let run = JobRun(client)
        try await run.provide(assets)
        let job = try await run.submit(.init(file, assets, output: "", priority: 3))
        try await WireClient.withConnection(
          to: coordinator.endpoint.addresses[0], hello: coordinator.hello(.worker), timeout: .seconds(300)
        ) {
          worker, _ in
          try await worker.send(.heartbeat(.with { $0.freeSlots = 2 }))
          var lease = Sheaf_Lease()
          for try await message in worker.inbound {
            switch message {
            case .grant(let grant):
              lease = grant.lease
              guard case .cancelReply(let reply) = try await client.request(.cancelJob(.with { $0.job = job })) else {
                throw CoordinatorClient.unexpected
              }
              #expect(reply.state == .cancelled)
              try await worker.send(.heartbeat(.with { $0.progress = [.with { $0.lease = grant.lease }] }))
            case .heartbeatReply(let reply) where lease != Sheaf_Lease():
              #expect(reply.cancelled == [lease])
              return
            default: break
            }
          }
        }
        #expect(try await run.status(of: job).state == .cancelled)
      }
    }
  }

  @Test func `the tasks of a worker that leaves are done by another one meanwhile`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker, worker: "second"))
      let status = try await withThrowingTaskGroup(of: JobStatus.self) { group in
        group.addTask { try await end(of: edit, at: coordinator) }
        // Takes the probe task and leaves.
        try await WireClient.withConnection(
          to: coordinator.endpoint.addresses[0], hello: coordinator.hello(.worker, worker: "first"),
          timeout: .seconds(300)
        ) { connection, _ in
          try await connection.send(.heartbeat(.with { $0.freeSlots = 2 }))
          for try await message in connection.inbound { if case .grant = message { return } }
        }
        return try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      }
      #expect(status.state == .done)
      // The first worker's lease was never lost: the second one had a backup lease, and published first.
      let probe = try #require(status.tasks.first)
      #expect(probe.attempts.isEmpty || probe.cached, "\(probe)")
    }
  }

  @Test func `media under the media root is not uploaded`() async throws {
    let edit = try Edit()
    try await TestCoordinator.run(mediaRoot: edit.folder.url.path) { coordinator in
      let worker = ScriptedWorker(coordinator.hello(.worker))
      let status = try await working([worker], at: coordinator) { try await end(of: edit, at: coordinator) }
      #expect(status.state == .done)
      #expect(coordinator.content.size(of: SHA256Digest.of("10".utf8)) == nil)
      let paths = worker.granted.withLock { granted in
        Set(granted.filter { $0.kind != .stitch }.flatMap(\.inputs).map(\.path))
      }
      #expect(paths == ["0.mov"])
    }
  }

  @Test func `cancelling the wait cancels the job`() async throws {
    let edit = try Edit()
    let path = edit.path
    try await TestCoordinator.run { coordinator in
      let (reports, reporting) = AsyncStream.makeStream(of: Void.self)
      let waiting = Task {
        let client = FarmClient(coordinator.endpoint, limits: .unhurried) { _ in }
        let job = try await client.run { run in
          let file = try EditFile(path)
          let (assets, _) = try await file.assets(FileContentCache())
          try await run.provide(assets)
          return try await run.submit(.init(file, assets, output: ""))
        }
        _ = try await client.wait(for: job, cancelsJob: true) { _ in reporting.finish() }
      }
      for await _ in reports {}
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      let state = try await coordinator.store.summaries(.render, limit: 1).first?.job.state
      #expect(state == .cancelled)
    }
  }

  @Test func `a film is fetched in ranges`() async throws {
    let text = [UInt8](repeating: 0x33, count: 10_000_001)
    let folder = try TemporaryFolder()
    let source = try OpenFile.open(folder.write(Data(text), "source"))
    try await TestCoordinator.run { coordinator in
      let content = Content(digest: SHA256Digest.of(text), size: Int64(text.count))
      try await coordinator.client { client in
        try await client.content.upload(source, content)
        let run = JobRun(client)
        try await OutputFile(folder.path("film.mov")).download(content) {
          try await run.read(content.digest, offset: $0, length: $1)
        }
      }
      #expect(try OpenFile.contents(of: folder.path("film.mov"), limit: 20_000_000) == text)
    }
  }
}
