import Foundation
import Logging
import TestPrograms
import Wire

@testable import Worker

/// An agent at work in this process, its task processes real.
struct RunningAgent {
  let agent: Agent
  let folder: TemporaryFolder
  private let task: Task<Void, any Error>

  init(
    _ address: WireAddress, token: String = "secret", slots: Int = 1, mediaRoot: String? = nil,
    source: any ProcessSource = Place.nursery, hangLimit: Duration = .seconds(60), drainLimit: Duration = .seconds(8),
    patience: Int? = nil
  ) throws {
    folder = try TemporaryFolder()
    let verifier = FileVerifier()
    let logger = Logger(label: "agent") { _ in SwiftLogNoOpLogHandler() }
    let cache = try ContentCache(directory: folder.url.path, byteLimit: 1 << 30, verifier: verifier)
    let root = try mediaRoot.map { path throws(SystemError) in try MediaRoot(path) }
    let agent = Agent(
      Agent.Settings(
        coordinator: address, token: token, name: "test", workerID: "1", build: "build",
        state: AgentState.Settings(slots: slots, hangLimit: hangLimit, drainLimit: drainLimit), patience: patience,
        source: source),
      opener: InputOpener(mediaRoot: root, cache: cache, verifier: verifier, logger: logger), logger: logger)
    self.agent = agent
    task = Task { try await agent.run() }
  }

  /// What the agent's run came to.
  func end() async throws { try await task.value }

  /// What is left in the cache's folder of outputs.
  var leftovers: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: "\(folder.url.path)/work") }
  }
}
