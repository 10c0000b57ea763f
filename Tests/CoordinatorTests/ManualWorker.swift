import Client
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import SwiftProtobuf
import Wire

@testable import Coordinator

/// A worker's connection whose messages a test sends one by one.
struct ManualWorker: Sendable {
  let connection: WireConnection
  private let messages: AsyncThrowingStream<WireMessage, any Error>

  /// Connects as this worker, and closes the connection after `body`.
  static func run<R: Sendable>(
    _ hello: Sheaf_Hello, at coordinator: TestCoordinator,
    _ body: @escaping @Sendable (ManualWorker) async throws -> R
  ) async throws -> R {
    let address = coordinator.endpoint.addresses[0]
    // Longer than a busy machine takes.
    return try await WireClient.withConnection(to: address, hello: hello, timeout: .seconds(300)) { connection, _ in
      let (messages, continuation) = AsyncThrowingStream.makeStream(of: WireMessage.self)
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          do {
            for try await message in connection.inbound { continuation.yield(message) }
            continuation.finish()
          } catch {
            continuation.finish(throwing: error)
          }
        }
        defer { group.cancelAll() }
        return try await body(ManualWorker(connection: connection, messages: messages))
      }
    }
  }

  func heartbeat(_ leases: [Sheaf_Lease] = [], free: UInt32 = 0, draining: Bool = false) async throws {
    try await connection.send(
      .heartbeat(
        .with {
          $0.freeSlots = free
          $0.draining = draining
          $0.progress = leases.map { lease in
            .with {
              $0.lease = lease
              $0.done = 1
              $0.moved = 1
            }
          }
        }))
  }

  /// The next message that is one, dropping others.
  func next<Value>(_ match: (WireMessage) -> Value?) async throws -> Value {
    for try await message in messages { if let value = match(message) { return value } }
    throw WireError(.closed, "the coordinator closed the connection")
  }

  func grant() async throws -> Sheaf_Grant {
    try await next { if case .grant(let grant) = $0 { grant } else { nil } }
  }

  func heartbeatReply() async throws -> Sheaf_HeartbeatReply {
    try await next { if case .heartbeatReply(let reply) = $0 { reply } else { nil } }
  }

  func publishReply() async throws -> Sheaf_PublishReply {
    try await next { if case .publishReply(let reply) = $0 { reply } else { nil } }
  }

  func failureReply() async throws -> Sheaf_FailureReply {
    try await next { if case .failureReply(let reply) = $0 { reply } else { nil } }
  }

  func publish(_ lease: Sheaf_Lease, _ content: Content, damage: Data = Data()) async throws {
    try await connection.send(
      .publish(
        .with {
          $0.lease = lease
          $0.digest = Data(content.digest.bytes)
          $0.size = UInt64(content.size)
          $0.damage = damage
        }))
  }

  func fail(
    _ lease: Sheaf_Lease, _ end: Sheaf_AttemptEnd, message: String = "the test says so", damaged: SHA256Digest? = nil
  ) async throws {
    try await connection.send(
      .failure(
        .with {
          $0.lease = lease
          $0.end = end
          $0.message = message
          if let damaged { $0.damagedInput = Data(damaged.bytes) }
        }))
  }
}

extension TestCoordinator {
  static let job = JobID("job")

  /// Writes a job of video tasks that is being rendered. Each task has these bytes as its input.
  func render(
    _ count: Int = 1, build: String = "build 1", input: [UInt8] = [1, 2, 3], strictMedia: Bool = false
  ) async throws {
    let file = Content(digest: SHA256Digest.of(input), size: Int64(input.count))
    try keep(input)
    let probe = NewTask(
      kind: .probe, label: "probe of beach.mp4", payload: [], inputs: [file], fingerprint: file.digest, cost: 1,
      work: 0,
      cached: try keep([5, 5, 5]))
    var request = JobRequest(
      document: "{}", assets: [.init(id: "a", path: "media/beach.mp4", content: file)], output: "")
    request.options.strictMedia = strictMedia
    _ = try await store.submit(
      NewJob(id: Self.job, name: "film", priority: 0, request: request.encoded(), tasks: [probe]))
    var tasks = (0..<count).map { number in
      NewTask(
        kind: .video, label: "frames \(number * 10)..\(number * 10 + 9) of beach.mp4", payload: [UInt8(number % 256)],
        inputs: [file], fingerprint: SHA256Digest.of("\(number)".utf8), cost: 1, work: 10)
    }
    tasks.append(
      NewTask(
        kind: .stitch, label: "stitch", payload: [], inputs: [], fingerprint: SHA256Digest.of("s".utf8), cost: 0,
        work: 0))
    _ = try await store.plan(Self.job, build: build, tasks: tasks)
  }

  /// Puts content into the content store.
  @discardableResult func keep(_ bytes: [UInt8]) throws -> Content {
    let made = Content(digest: SHA256Digest.of(bytes), size: Int64(bytes.count))
    let folder = content.path(of: made.digest)
    try FileManager.default.createDirectory(
      at: URL(filePath: folder).deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: folder))
    return made
  }

  func task(_ ordinal: Int = 1) async throws -> RenderTask? {
    try await store.tasks(of: Self.job, payloads: false).first { $0.id.ordinal == ordinal }
  }
}
