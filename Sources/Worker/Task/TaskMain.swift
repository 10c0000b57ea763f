import Digest
import FarmModel
import FoundationEssentials
import Glibc
import Media
import RenderTasks
import SheafCompositing
import Synchronization
import SystemSupport

/// A task process: confines itself, does one task, and ends. Descriptor 0 is its socket to the agent, 1 and 2 are read
/// by the agent too.
enum TaskMain {
  /// - Parameter confinement: What confines the fork server, and so this process.
  static func run(confinement: Confinement, compositors: CompositorRegistry) -> Never {
    let agent = AgentConnection(OpenFile(owning: 0, name: "the agent"))
    do {
      agent.send(.ready(try confinement.confineCalls()))
      guard case .task(let task) = try agent.receive().message else {
        throw ControlError("the agent sent another message than a task")
      }
      let descriptors = try agent.receiveDescriptors(task.inputs.count + 1)
      let output = OpenFile(owning: descriptors[0], name: "the task's output")
      let sources = try sources(of: task, descriptors.dropFirst(), agent)
      let result = result(of: task, sources, output, agent, compositors)
      for source in sources { source.report() }
      agent.send(result)
    } catch {
      // The agent reads standard error, and puts it into its own message.
      endProcess(71, "\(error)")
    }
    // Without destructors: descriptors and memory go with the process.
    _exit(0)
  }

  private static func sources(
    of task: Control_Task, _ descriptors: ArraySlice<Int32>, _ agent: AgentConnection
  ) throws(ControlError) -> [CheckedByteSource] {
    let buffers = BlockBuffers()
    var sources: [CheckedByteSource] = []
    for (index, (input, descriptor)) in zip(task.inputs, descriptors).enumerated() {
      let digests: CheckedByteSource.Digests =
        if input.ranged { .fetched } else if input.blocks.isEmpty { .reported } else { .known([UInt8](input.blocks)) }
      sources.append(
        try CheckedByteSource(
          file: OpenFile(owning: descriptor, name: input.name), input: index, size: input.size, name: input.name,
          digests: digests, agent: agent, buffers: buffers, inputCount: task.inputs.count))
    }
    return sources
  }

  private static func result(
    of task: Control_Task, _ sources: [CheckedByteSource], _ output: OpenFile, _ agent: AgentConnection,
    _ compositors: CompositorRegistry
  ) -> TaskMessage {
    let inputs = zip(task.inputs, sources).map { input, source in
      TaskRunner.Input(digest: SHA256Digest(bytes: input.digest), name: input.name, source: source)
    }
    var failed: TaskFailure?
    do throws(TaskFailure) {
      let runner = TaskRunner(inputs: inputs, output: output, checksFilm: task.checksFilm, compositors: compositors)
      let reporter = ProgressReporter(agent)
      try reporter.start()
      let damage = try runner.run(task.payload, liveness: reporter.liveness, progress: reporter.report)
      try report(damage, to: agent)
    } catch {
      failed = error
    }
    // If bytes could not be read as they should be, whatever came of the task came of that.
    if let failure = agent.failure { return .failed(TaskFailure(.released, failure)) }
    return failed.map { .failed($0) } ?? .finished
  }

  private static func report(_ damage: ShownDamage, to agent: AgentConnection) throws(TaskFailure) {
    if damage.isEmpty { return }
    do {
      agent.send(.damage([UInt8](try JSONCoding.encoder.encode(damage.summary))))
    } catch {
      throw TaskFailure(.media, "the damage of the task's media cannot be encoded: \(error)")
    }
  }
}

/// Reports the task's progress and movement to the agent, a few times a second while one of them rises. A thread of its
/// own does it, because a step of the task may take long, and the last steps before it must be reported too.
private final class ProgressReporter: Sendable {
  private static let interval: useconds_t = 200_000

  let liveness = Liveness()
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
          let (done, moved) = (self.done.load(ordering: .relaxed), self.liveness.count)
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
