import Dispatch
import FoundationEssentials
import Logging
import SwiftProtobuf
package import Wire

/// A coordinator that answers its clients as a test decides, and can be stopped and started again at the same address.
package actor ScriptedFarm {
  package enum Answer: Sendable {
    case send(WireMessage)
    /// Closes the connection, as a coordinator does that is killed.
    case hangUp
  }

  /// Answers a message. Connections are numbered from 1, over all starts.
  package typealias Script = @Sendable (_ message: WireMessage, _ connection: Int) async throws -> [Answer]

  private let script: Script
  private var server: WireServer?
  private var running: Task<Void, any Error>?
  private var connections = 0
  private var open: [WireConnection] = []
  private var waiters: [(matches: @Sendable (WireMessage) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
  /// Every message of every client, in order.
  package private(set) var received: [WireMessage] = []
  package private(set) var address = WireAddress(host: "127.0.0.1", port: 0)
  private var hasStarted = false

  private let version: UInt32

  /// - Parameter version: The version of the protocol that the coordinator uses.
  package init(version: UInt32 = WireProtocol.version, _ script: @escaping Script) {
    self.script = script
    self.version = version
  }

  /// Starts to listen: at a free port the first time, at the same one later.
  package func start() async throws {
    let server = try await bind()
    (address, hasStarted) = (server.address, true)
    let welcome = Sheaf_Welcome.with {
      $0.protocolVersion = version
      $0.server = "script"
      $0.maxChunkBytes = UInt32(WireProtocol.maximumChunk)
    }
    self.server = server
    // Tests that compute hold the threads of the common pool, for longer than a program waits for an answer.
    running = Task(executorPreference: OwnThread()) {
      try await server.run(maximumConnections: 16) { _, _ in
        .success((welcome, ()))
      } session: { connection, _, _ in
        let number = await self.began(connection)
        for try await message in connection.inbound {
          await self.record(message)
          for answer in try await self.script(message, number) {
            switch answer {
            case .send(let message): try await connection.send(message)
            case .hangUp: return connection.close()
            }
          }
        }
      }
    }
  }

  /// Closes every connection, and listens no more.
  package func stop() async {
    // Not cancelled: a connection that is being accepted is served to its end.
    server?.stop()
    server = nil
    for connection in open { connection.close() }
    open = []
    // How it ends does not matter to a test.
    _ = try? await running?.value
  }

  /// Until a client has sent a message that matches.
  package func wait(for matches: @escaping @Sendable (WireMessage) -> Bool) async {
    if received.contains(where: matches) { return }
    await withCheckedContinuation { waiters.append((matches, $0)) }
  }

  private func bind() async throws -> WireServer {
    let logger = Logger(label: "farm") { _ in SwiftLogNoOpLogHandler() }
    var failure: WireError?
    for _ in 0..<1000 {
      // Below the ports that the system gives to connections, which could take it while the farm is stopped.
      if !hasStarted { address.port = .random(in: 10_000..<32_768) }
      do {
        return try await WireServer.bind(to: address, helloTimeout: .seconds(600), logger: logger)
      } catch {
        failure = error
        // The system may take a moment to close the socket of a farm that was stopped.
        try await Task.sleep(for: .milliseconds(5))
      }
    }
    throw failure ?? WireError(.unreachable, "no port is free")
  }

  private func began(_ connection: WireConnection) -> Int {
    if server == nil { connection.close() }
    open.append(connection)
    connections += 1
    return connections
  }

  private func record(_ message: WireMessage) {
    received.append(message)
    let ended = waiters.filter { $0.matches(message) }
    waiters.removeAll { $0.matches(message) }
    for waiter in ended { waiter.continuation.resume() }
  }
}

extension ScriptedFarm.Answer {
  /// A status of one job.
  package static func status(_ job: String, _ state: Sheaf_JobState, output: Sheaf_Content? = nil) -> Self {
    .send(
      .statusReply(
        .with {
          $0.jobs = [
            .with {
              $0.job = job
              $0.state = state
              if let output { $0.output = output }
            }
          ]
        }))
  }

  /// The bytes that a message asks for, of content that is these bytes.
  package static func data(_ read: Sheaf_ReadContent, of bytes: [UInt8]) -> Self {
    let start = Int(read.offset)
    return .send(
      .contentData(
        .with {
          $0.request = read.request
          $0.data = Data(bytes[start..<min(bytes.count, start + Int(read.length))])
        }))
  }
}

/// Runs tasks on a thread of its own.
private final class OwnThread: TaskExecutor {
  private let queue = DispatchQueue(label: "farm")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
