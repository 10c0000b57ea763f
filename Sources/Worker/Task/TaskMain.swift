import FoundationEssentials
import Glibc
import Media
import Renderer
import Segmenter

/// A task process: confined, then one task, then gone.
enum TaskMain {
  /// - Parameter files: What the nursery has confined already.
  static func run(confinement files: UInt8) -> Never {
    let link = AgentLink(descriptor: 0)
    do {
      link.send(.ready(confinement: try Confinement.enterCalls(after: files)))
      guard case .task(let order) = try link.receive() else { throw ControlError("an answer before a question") }
      let descriptors = try link.receiveDescriptors(order.inputs.count + 1)
      link.send(result(of: order, descriptors, link))
    } catch {
      // Descriptor 2 is the agent's: it goes into the failure's message.
      let words = Array("\(error)\n".utf8)
      _ = write(2, words, words.count)
      _exit(71)
    }
    // Nothing is left to tidy: descriptors and memory go with the process, and destructors would take their time.
    _exit(0)
  }

  private static func result(of order: TaskOrder, _ descriptors: [Int32], _ link: AgentLink) -> TaskMessage {
    let output = descriptors[0]
    let inputs = zip(order.inputs, descriptors.dropFirst()).enumerated().map { index, opened in
      let (input, descriptor) = opened
      return TaskRunner.Input(
        digest: input.digest, name: input.name,
        source: input.isRanged
          ? RangedByteSource(
            file: OpenFile(owning: descriptor), input: index, size: input.size, name: input.name, link: link)
          : FileByteSource(descriptor: descriptor))
    }
    do throws(TaskFailure) {
      let runner = TaskRunner(inputs: inputs, output: output)
      try runner.run(order.payload, progress: ProgressReporter(link).report)
      return .finished
    } catch {
      // Without its bytes anything may have failed, and it is nobody's fault here.
      if let loss = link.loss {
        return .failed(TaskFailure(cause: .infrastructure, message: "an input's bytes could not be had: \(loss)"))
      }
      return .failed(error)
    }
  }
}

/// Tells the agent how far the task is, at most ten times a second.
private final class ProgressReporter {
  private let link: AgentLink
  private var last: ContinuousClock.Instant?

  init(_ link: AgentLink) {
    self.link = link
  }

  func report(_ done: Int64) {
    let now = ContinuousClock.now
    if let last, now - last < .milliseconds(100) { return }
    last = now
    link.send(.progress(UInt64(max(0, done))))
  }
}
