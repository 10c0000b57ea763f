import Foundation
import Glibc
import Logging
import SystemSupport
import TestPrograms
import Wire

@testable import Worker

/// An agent that works in this process, with real task processes.
struct RunningAgent {
  let agent: Agent
  let folder: TemporaryFolder
  private let task: Task<Void, any Error>

  init(
    _ address: WireAddress, token: String = "secret", slots: Int = 1, mediaRoot: String? = nil,
    source: any ProcessSource = Place.forkServer, hangLimit: Duration = .seconds(600),
    drainLimit: Duration = .seconds(8), folder: TemporaryFolder? = nil,
    maximumTries: Int? = nil, longestConnecting: Duration? = nil, minimumFree: Int64 = 0,
    freeBytes: @escaping @Sendable (String) throws(SystemError) -> Int64 = { _ in .max },
    now: (@Sendable () -> timespec)? = nil
  ) throws {
    let folder = try folder ?? TemporaryFolder()
    self.folder = folder
    let verifier = FileVerifier(directory: folder.url.path, now: now)
    let logger = Logger(label: "agent") { _ in SwiftLogNoOpLogHandler() }
    let cache = try ContentCache(directory: folder.url.path, byteLimit: 1 << 30, verifier: verifier)
    let root = try mediaRoot.map { path throws(SystemError) in try MediaRoot(path) }
    let agent = Agent(
      Agent.Settings(
        coordinators: [address],
        credentials: try FarmCredentials(token: token, authorities: nil, name: "test", logger: logger), name: "test",
        workerID: "1", build: "build",
        state: AgentState.Settings(slots: slots, hangLimit: hangLimit, drainLimit: drainLimit),
        maximumTries: maximumTries, longestConnecting: longestConnecting, source: source,
        disk: DiskWatch(
          folder: folder.url.path, minimum: minimumFree, interval: .milliseconds(20), freeBytes: freeBytes)),
      opener: InputOpener(mediaRoot: root, cache: cache, verifier: verifier, logger: logger), logger: logger)
    self.agent = agent
    task = Task { try await agent.run() }
  }

  /// Waits until the agent ends; throws the error that ended it.
  func end() async throws { try await task.value }

  /// Whether the process of a task has ended, and its output waits for what is still to be checked: a probe's output is
  /// written as a whole.
  var hasOutput: Bool {
    get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").contains(where: isWrittenOutput) }
  }

  private func isWrittenOutput(_ descriptor: String) -> Bool {
    let path = "/proc/self/fd/\(descriptor)"
    let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) ?? ""
    guard target.hasPrefix("\(folder.url.path)/work/") else { return false }
    var status = stat()
    return stat(path, &status) == 0 && status.st_size > 0
  }

  /// The files that are left in the cache's folder of outputs.
  var leftovers: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: "\(folder.url.path)/work") }
  }
}
