import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestCoordinator
import TestPrograms
import Testing
import Wire

@testable import Client

/// What a command does when its coordinator goes away in the midst of it.
@Suite(.timeLimit(.minutes(10))) struct FarmClientTests {
  private let folder: TemporaryFolder
  private let notices = Recorder<FarmClient.Notice>()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func client(
    _ farm: ScriptedFarm, longestOutage: Duration = .seconds(600), longestSilence: Duration = .seconds(600)
  ) async -> FarmClient {
    let notices = notices
    let limits = Reconnection.Limits(
      shortestPause: .milliseconds(5), longestPause: .milliseconds(20), longestOutage: longestOutage,
      longestSilence: longestSilence, longestConnecting: .seconds(600))
    return FarmClient(CoordinatorClient.Endpoint(address: await farm.address, token: ""), limits: limits) {
      notices.add($0)
    }
  }

  private func submission(_ media: Data) throws -> Submission {
    let path = try folder.write(media, "media.mov")
    let edit = try EditFile(folder.write(Data(#"{"sheaf": 1, "tracks": []}"#.utf8), "edit.json"))
    let content = Content(digest: .of(media), size: Int64(media.count))
    let asset = SubmittedAsset(id: "a", path: path, content: content, file: path)
    return Submission(edit, [asset], output: "film.mov")
  }

  // MARK: Waiting

  @Test func `a wait goes on when the coordinator comes back`() async throws {
    let farm = ScriptedFarm { message, connection in
      guard case .watchJob = message else { return [] }
      return [.status("j", connection == 1 ? .rendering : .done)]
    }
    try await farm.start()
    let client = await client(farm)
    let states = Recorder<JobState?>()
    let waiting = Task { try await client.wait(for: "j", cancelsJob: false) { status in states.add(status.state) } }
    await states.wait { $0.contains(.rendering) }
    await farm.stop()
    await notices.wait { !$0.isEmpty }
    try await farm.start()
    #expect(try await waiting.value.state == .done)
    #expect(states.all == [.rendering, .done])
    // Once, however often it has tried.
    try #require(notices.all.count == 2)
    guard case .lost = notices.all[0] else { return #expect(Bool(false), "\(notices.all)") }
    #expect(notices.all[1] == .connectedAgain)
    await farm.stop()
  }

  @Test func `a coordinator that is away for too long ends the wait as unreachable`() async throws {
    let farm = ScriptedFarm { _, _ in [.status("j", .rendering), .hangUp] }
    try await farm.start()
    let client = await client(farm, longestOutage: .milliseconds(50))
    let states = Recorder<JobState?>()
    let waiting = Task { try await client.wait(for: "j", cancelsJob: false) { status in states.add(status.state) } }
    await states.wait { !$0.isEmpty }
    await farm.stop()
    let error = await #expect(throws: CommandFailure.self) { try await waiting.value }
    #expect(error?.code == .unavailable)
    #expect(error?.message.contains("has not answered") == true, "\(error?.message ?? "")")
  }

  /// As when its process is stopped: the connection stays open.
  @Test func `a coordinator that sends nothing more counts as away`() async throws {
    let farm = ScriptedFarm { message, connection in
      guard case .watchJob = message else { return [] }
      return [.status("j", connection == 1 ? .rendering : .done)]
    }
    try await farm.start()
    let client = await client(farm, longestSilence: .milliseconds(400))
    let status = try await client.wait(for: "j", cancelsJob: false) { _ in }
    #expect(status.state == .done)
    // Twice or more, if the machine is so busy that the second connection seems silent too.
    guard case .lost(let reason)? = notices.all.first else { return #expect(Bool(false), "\(notices.all)") }
    #expect(reason.contains("has sent nothing"))
    #expect(notices.all.last == .connectedAgain)
    await farm.stop()
  }

  /// A job whose status does not change for long: what is asked meanwhile is answered.
  @Test func `a coordinator that has nothing to send is asked`() async throws {
    let probes = Recorder<Sheaf_ReadContent>()
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .watchJob: return [.status("j", .rendering)]
      case .readContent(let read):
        probes.add(read)
        var answers: [ScriptedFarm.Answer] = []
        answers.append(.send(.contentData(.with { ($0.request, $0.error) = (read.request, "no digest") })))
        if probes.all.count == 2 { answers.append(.status("j", .done)) }
        return answers
      default: return []
      }
    }
    try await farm.start()
    let client = await client(farm, longestSilence: .seconds(20))
    #expect(try await client.wait(for: "j", cancelsJob: false) { _ in }.state == .done)
    #expect(probes.all.allSatisfy { $0.digest.isEmpty })
    #expect(notices.all.isEmpty)
    await farm.stop()
  }

  @Test func `a wait that is cancelled cancels its job, and a watch does not`() async throws {
    for cancelsJob in [true, false] {
      let farm = ScriptedFarm { message, _ in
        switch message {
        case .watchJob: [.status("j", .rendering)]
        case .cancelJob(let cancel): [.send(.cancelReply(.with { ($0.job, $0.state) = (cancel.job, .cancelled) }))]
        default: []
        }
      }
      try await farm.start()
      let client = await client(farm)
      let states = Recorder<JobState?>()
      let waiting = Task {
        try await client.wait(for: "j", cancelsJob: cancelsJob) { status in states.add(status.state) }
      }
      await states.wait { !$0.isEmpty }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      let cancels = await farm.received.contains { if case .cancelJob = $0 { true } else { false } }
      #expect(cancels == cancelsJob)
      await farm.stop()
    }
  }

  @Test func `a client works with a coordinator that is one version of the protocol later`() async throws {
    for (distance, works) in [(UInt32(1), true), (2, false)] {
      let farm = ScriptedFarm(version: WireProtocol.version + distance) { message, _ in
        guard case .statusQuery(let query) = message else { return [] }
        // A state and a field, of the number 127, that this version does not have.
        let known = Sheaf_JobStatus.with { ($0.job, $0.state) = (query.job, .UNRECOGNIZED(77)) }
        let job = try Sheaf_JobStatus(serializedBytes: known.serializedData() + Data([0xF8, 0x07, 0x01]))
        return [.send(.statusReply(.with { $0.jobs = [job] }))]
      }
      try await farm.start()
      let client = await client(farm)
      if works {
        let status = try await client.run { try await $0.status(of: "j") }
        #expect(status.job == "j" && status.state == nil)
      } else {
        let error = await #expect(throws: (any Error).self) { try await client.run { try await $0.status(of: "j") } }
        #expect("\(error.map { "\($0)" } ?? "")".contains("version \(WireProtocol.version + distance) of the protocol"))
      }
      await farm.stop()
    }
  }

  // MARK: Submitting

  @Test func `a submission that is sent again is the same one`() async throws {
    let farm = ScriptedFarm { message, connection in
      switch message {
      case .findMissing: [.send(.findMissingReply(.init()))]
      // It is lost after the coordinator has read it.
      case .submit: connection == 1 ? [.hangUp] : [.send(.submitReply(.with { $0.job = "j" }))]
      default: []
      }
    }
    try await farm.start()
    let submission = try self.submission(Data("media".utf8))
    #expect(try await client(farm).submit(submission) { _ in } == "j")
    let submits = await farm.received.compactMap { if case .submit(let submit) = $0 { submit } else { nil } }
    try #require(submits.count == 2)
    #expect(submits[0] == submits[1])
    #expect((1...64).contains(submits[0].submission.utf8.count))
    #expect(submits[0].submission.utf8.allSatisfy { (33...126).contains($0) })
    // Another submission of the same document is another job.
    let other = try self.submission(Data("media".utf8))
    #expect(other.id != submission.id)
    await farm.stop()
  }

  @Test func `an upload goes on at the byte that the coordinator names`() async throws {
    let chunk = UInt64(WireProtocol.maximumChunk)
    let media = Data(TestBytes.varied(3 * Int(chunk) + 17))
    let farm = ScriptedFarm { message, connection in
      switch message {
      case .findMissing(let request):
        return [.send(.findMissingReply(.with { $0.missing = request.contents.map(\.digest) }))]
      case .uploadBegin(let begin):
        return [
          .send(.uploadReply(.with { ($0.request, $0.received) = (begin.request, connection == 1 ? 0 : 2 * chunk) }))
        ]
      case .uploadChunk(let part):
        if connection == 1 { return [.hangUp] }
        return [
          .send(
            .uploadReply(
              .with {
                $0.request = part.request
                $0.received = part.offset + UInt64(part.data.count)
                $0.complete = part.last
              }))
        ]
      case .submit: return [.send(.submitReply(.with { $0.job = "j" }))]
      default: return []
      }
    }
    try await farm.start()
    let progress = Recorder<TransferProgress>()
    #expect(try await client(farm).submit(try submission(media)) { progress.add($0) } == "j")
    let second = await farm.received.drop { if case .uploadChunk = $0 { false } else { true } }
      .drop { if case .findMissing = $0 { false } else { true } }
    let chunks = second.compactMap { if case .uploadChunk(let chunk) = $0 { chunk } else { nil } }
    #expect(chunks.first?.offset == 2 * chunk)
    #expect(chunks.reduce(Data()) { $0 + $1.data } == media[(2 * Int(chunk))...])
    let size = Int64(media.count)
    #expect(progress.all.last == TransferProgress(.upload, name: "media.mov", done: size, total: size))
    await farm.stop()
  }

  @Test func `an upload that the coordinator cannot take for now is begun again`() async throws {
    let begins = Recorder<UInt64>()
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .findMissing(let request):
        return [.send(.findMissingReply(.with { $0.missing = request.contents.map(\.digest) }))]
      case .uploadBegin(let begin):
        begins.add(begin.request)
        let isFull = begins.all.count < 4
        return [
          .send(
            .uploadReply(
              .with {
                $0.request = begin.request
                $0.complete = !isFull
                $0.error = isFull ? "the disk is full" : ""
                $0.temporary = isFull
              }))
        ]
      case .submit: return [.send(.submitReply(.with { $0.job = "j" }))]
      default: return []
      }
    }
    try await farm.start()
    #expect(try await client(farm).submit(try submission(Data("media".utf8))) { _ in } == "j")
    #expect(begins.all.count == 4)
    #expect(notices.all == [.uploadWaits(reason: "the disk is full")])
    await farm.stop()
  }

  // MARK: Fetching

  @Test func `a fetch goes on with the bytes that it has and reports the film`() async throws {
    let chunk = WireProtocol.maximumChunk
    // Of chunks that differ, and more than are read at once.
    let atOnce = WireProtocol.readWindow / 2
    let film = (0..<(atOnce + 20)).reduce(into: [UInt8]()) { $0 += [UInt8](repeating: UInt8($1), count: chunk) } + [1]
    let content = Sheaf_Content(Content(digest: .of(film), size: Int64(film.count)))
    let reads = Recorder<UInt64>()
    let farm = ScriptedFarm { message, connection in
      switch message {
      case .statusQuery: return [.status("j", .done, output: content)]
      case .readContent(let read):
        if connection == 1, read.offset >= UInt64((atOnce + 8) * chunk) { return [.hangUp] }
        // A probe of a connection that seems silent names no content.
        if connection == 2, !read.digest.isEmpty { reads.add(read.offset) }
        return [.data(read, of: film)]
      default: return []
      }
    }
    try await farm.start()
    let output = try FilmDestination(folder.path("film.mov"), outputs: [])
    let status = try await client(farm).fetch("j", into: output) { _ in }
    #expect(status.state == .done)
    #expect(try Data(contentsOf: URL(fileURLWithPath: output.path)) == Data(film))
    // A chunk is requested when all but those that may be under way at once have been written.
    #expect(try #require(reads.all.min()) >= UInt64(8 * chunk))
    await farm.wait { $0 == .fetched(.with { $0.job = "j" }) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["film.mov"])
    await farm.stop()
  }

  @Test(arguments: [false, true]) func `a cancelled fetch keeps what came and the next one goes on there`(
    outputsAreKnown: Bool
  ) async throws {
    let chunk = WireProtocol.maximumChunk
    let film = TestBytes.varied(20 * chunk + 5)
    let content = Sheaf_Content(Content(digest: .of(film), size: Int64(film.count)))
    let reads = Recorder<UInt64>()
    let isWhole = Mutex(false)
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .statusQuery: return [.status("j", .done, output: content)]
      case .readContent(let read):
        if !read.digest.isEmpty { reads.add(read.offset) }
        if !isWhole.withLock(\.self), read.offset >= 12 * chunk { return [] }
        return [.data(read, of: film)]
      default: return []
      }
    }
    try await farm.start()
    let path = folder.path("film.mov")
    let client = await client(farm)
    let done = Recorder<Int64>()
    let fetching = Task {
      let output = try FilmDestination(path, outputs: outputsAreKnown ? [] : nil)
      return try await client.fetch("j", into: output) { done.add($0.done) }
    }
    await done.wait { $0.contains(Int64(12 * chunk)) }
    fetching.cancel()
    await #expect(throws: CancellationError.self) { try await fetching.value }
    let part = ".film.mov.\(SHA256Digest.of(film).hex).part"
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [part])
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path(part))) == Data(film.prefix(12 * chunk)))
    isWhole.withLock { $0 = true }
    let first = reads.all.count
    let output = try FilmDestination(path, outputs: nil)
    #expect(try await client.fetch("j", into: output) { _ in }.state == .done)
    #expect(reads.all.dropFirst(first).min() == UInt64(12 * chunk))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(film))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["film.mov"])
    await farm.stop()
  }

  @Test func `a fetch that is cancelled before the first bytes leaves nothing`() async throws {
    let film = Sheaf_Content(Content(digest: .of([1, 2, 3]), size: 3))
    let farm = ScriptedFarm { message, _ in
      if case .statusQuery = message { [.status("j", .done, output: film)] } else { [] }
    }
    try await farm.start()
    let client = await client(farm)
    let output = try FilmDestination(folder.path("film.mov"), outputs: [])
    let fetching = Task { try await client.fetch("j", into: output) { _ in } }
    await farm.wait { if case .readContent = $0 { true } else { false } }
    fetching.cancel()
    await #expect(throws: CancellationError.self) { try await fetching.value }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    await farm.stop()
  }

  @Test func `a job that is not done is not fetched`() async throws {
    let farm = ScriptedFarm { _, _ in [.status("j", .rendering)] }
    try await farm.start()
    let output = try FilmDestination(folder.path("film.mov"), outputs: [])
    let client = await client(farm)
    let error = await #expect(throws: CommandFailure.self) { try await client.fetch("j", into: output) { _ in } }
    #expect(error?.message.contains("rendering") == true)
    await farm.stop()
  }

  @Test func `a film that is lost is to be submitted again and not fetched`() async throws {
    let film = Sheaf_Content(Content(digest: .of([1, 2, 3]), size: 3))
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .statusQuery: return [.status("j", .done, output: film)]
      case .readContent(let read):
        return [.send(.contentData(.with { ($0.request, $0.error) = (read.request, "it is damaged") }))]
      default: return []
      }
    }
    try await farm.start()
    let output = try FilmDestination(folder.path("film.mov"), outputs: [])
    let client = await client(farm)
    let error = await #expect(throws: LostFilm.self) { try await client.fetch("j", into: output) { _ in } }
    let failure = CommandFailure(try #require(error))
    #expect(failure.code == .work && failure.message == "the film of job j cannot be fetched: it is damaged")
    #expect(failure.advice == ["submit the document again: only what is missing is made again"])
    await farm.stop()
  }

  // MARK: Retrying and deleting

  @Test func `the answers to retry and delete are reported`() async throws {
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .retryJob(let retry):
        [
          .send(
            .retryReply(
              .with {
                $0.state = retry.job == "none" ? .unspecified : .rendering
                $0.error = retry.job == "done" ? "it is done" : ""
              }))
        ]
      case .deleteJob(let delete):
        [
          .send(
            .deleteReply(
              .with {
                $0.deleted = delete.job == "old"
                $0.state = delete.job == "busy" ? .rendering : .unspecified
              }))
        ]
      default: []
      }
    }
    try await farm.start()
    let client = await client(farm)
    try await client.run {
      try await $0.retry("failed")
      try await $0.delete("old")
    }
    let retry: @Sendable (String, JobRun) async throws -> Void = { try await $1.retry($0) }
    let delete: @Sendable (String, JobRun) async throws -> Void = { try await $1.delete($0) }
    for (job, operation, words) in [
      ("none", retry, "there is no job none"), ("done", retry, "job done cannot be taken up again: it is done"),
      ("none", delete, "there is no job none"), ("busy", delete, "it is rendering"),
    ] {
      let error = await #expect(throws: CommandFailure.self) { try await client.run { try await operation(job, $0) } }
      #expect(error?.code == .work && error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
    await farm.stop()
  }
}

/// Values that callbacks receive, and that a test waits for.
final class Recorder<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var waiters: [(condition: @Sendable ([Value]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  var all: [Value] { state.withLock { $0.values } }

  func add(_ value: Value) {
    let ended = state.withLock { state in
      state.values.append(value)
      let values = state.values
      let ended = state.waiters.filter { $0.condition(values) }
      state.waiters.removeAll { $0.condition(values) }
      return ended.map(\.continuation)
    }
    for continuation in ended { continuation.resume() }
  }

  /// Returns early if the task is cancelled, as after a test's time limit.
  func wait(until condition: @escaping @Sendable ([Value]) -> Bool) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if Task.isCancelled || condition(state.values) { return true }
          state.waiters.append((condition, continuation))
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      let waiters = state.withLock { state in
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.continuation.resume() }
    }
  }
}
