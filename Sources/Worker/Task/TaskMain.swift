import Digest
import Glibc
import Media
import Synchronization
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
      let reporter = ProgressReporter(agent)
      try reporter.start()
      try runner.run(task.payload, movement: reporter.movement, progress: reporter.report)
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

/// Reports the task's progress and movement to the agent, a few times a second while one of them rises. A thread of its
/// own does it, because a step of the task may take long, and the last steps before it must be reported too.
private final class ProgressReporter: Sendable {
  private static let interval: useconds_t = 200_000

  let movement = Movement()
  private let done = Atomic<UInt64>(0)
  private let agent: AgentConnection

  init(_ agent: AgentConnection) {
    self.agent = agent
  }

  /// Called by the task with the frames, samples or bytes done.
  func report(_ done: Int64) {
    self.done.store(UInt64(max(0, done)), ordering: .relaxed)
  }

  /// Starts the thread. It ends with the process.
  func start() throws(TaskFailure) {
    do {
      try startThread {
        var last: (done: UInt64, moved: UInt64) = (0, 0)
        while true {
          usleep(Self.interval)
          let (done, moved) = (self.done.load(ordering: .relaxed), self.movement.count)
          if (done, moved) == last { continue }
          last = (done, moved)
          self.agent.send(.progress(done: done, moved: moved))
        }
      }
    } catch {
      throw TaskFailure(.released, "the task process cannot start a thread: \(error)")
    }
  }
}
