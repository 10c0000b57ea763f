import Digest
import Glibc
import Media
import SystemSupport

/// A task process: confines itself, does one task, and ends. Descriptor 0 is its socket to the agent, 1 and 2 are read
/// by the agent too.
enum TaskMain {
  /// - Parameter confinement: What confines the fork server, and so this process.
  static func run(confinement: Confinement) -> Never {
    let agent = AgentConnection(OpenFile(owning: 0, name: "the agent"))
    do {
      agent.send(.ready(try confinement.confineCalls()))
      guard case .task(let task) = try agent.receive().message else {
        throw ControlError("the agent sent another message than a task")
      }
      let descriptors = try agent.receiveDescriptors(task.inputs.count + 1)
      agent.send(result(of: task, descriptors, agent))
    } catch {
      // The agent reads standard error, and puts it into its own message.
      endProcess(71, "\(error)")
    }
    // Without destructors: descriptors and memory go with the process.
    _exit(0)
  }

  private static func result(
    of task: Control_Task, _ descriptors: [Int32], _ agent: AgentConnection
  ) -> TaskMessage {
    let output = OpenFile(owning: descriptors[0], name: "the task's output")
    let inputs = zip(task.inputs, descriptors.dropFirst()).enumerated().map { index, opened in
      let (input, descriptor) = opened
      return TaskRunner.Input(
        digest: SHA256Digest(bytes: input.digest), name: input.name,
        source: input.ranged
          ? RangedByteSource(
            file: OpenFile(owning: descriptor, name: input.name), input: index, size: input.size, name: input.name,
            agent: agent)
          : FileByteSource(descriptor: descriptor))
    }
    do throws(TaskFailure) {
      let runner = TaskRunner(inputs: inputs, output: output)
      try runner.run(task.payload, progress: ProgressReporter(agent).report)
      return .finished
    } catch {
      // If bytes could not be fetched, everything that failed after that failed for this reason.
      if let failure = agent.failure {
        return .failed(TaskFailure(.released, "the bytes of an input could not be fetched: \(failure)"))
      }
      return .failed(error)
    }
  }
}

/// Reports the task's progress to the agent, at most ten times a second.
private final class ProgressReporter {
  private let agent: AgentConnection
  private var last: ContinuousClock.Instant?

  init(_ agent: AgentConnection) {
    self.agent = agent
  }

  func report(_ done: Int64) {
    let now = ContinuousClock.now
    if let last, now - last < .milliseconds(100) { return }
    last = now
    agent.send(.progress(UInt64(max(0, done))))
  }
}
