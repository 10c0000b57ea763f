import Digest
import FarmModel
import Glibc
import SystemSupport

/// How a task process ended, and what came of its task.
struct TaskEnd: Sendable {
  enum Outcome: Sendable {
    /// The output is complete.
    case made(TaskProduct)
    case failed(TaskFailure)
    /// The agent ended the process.
    case killed
  }

  var outcome: Outcome
  /// Nil if no process had been started, or its end is not known.
  var process: ProcessEnd?
}

extension TaskEnd {
  /// The end of a process that the agent did not end.
  /// - Parameters:
  ///   - channel: What the process sent.
  ///   - process: Nil if the fork server, which would have reported it, ended too.
  ///   - isShortOfMemory: Whether the kernel may have killed the process for lack of memory.
  ///   - output: The file that the process was given to write; nil if it was given no task.
  ///   - onRead: Called again and again while the output is digested.
  init(
    _ channel: TaskChannel, process: ProcessEnd?, isShortOfMemory: Bool = false, output: OpenFile?,
    onRead: @escaping () -> Void = {}
  ) {
    self.process = process
    do throws(TaskFailure) {
      outcome = .made(try Self.product(channel, process, isShortOfMemory, output, onRead))
    } catch {
      var failure = error
      failure.process = process
      outcome = .failed(failure)
    }
  }

  private static func product(
    _ channel: TaskChannel, _ process: ProcessEnd?, _ isShortOfMemory: Bool, _ output: OpenFile?,
    _ onRead: @escaping () -> Void
  ) throws(TaskFailure) -> TaskProduct {
    if let violation = channel.violation {
      throw TaskFailure(.crashed, "the task process broke its protocol: \(violation)")
    }
    if case .failed(let failure) = channel.result { throw failure }
    guard let process else {
      throw TaskFailure(.released, "the fork server, which starts the task processes, has ended")
    }
    if process.signal == SIGKILL { throw killed(process, isShortOfMemory) }
    if process.signal != 0 {
      let name = strsignal(process.signal).map { String(cString: $0) } ?? "signal \(process.signal)"
      throw TaskFailure(.crashed, "the task process was ended by a signal: \(name)\(channel.excerpt)")
    }
    guard channel.isReady else {
      throw TaskFailure(
        .released, "a task process could not be started; it ended with code \(process.exitCode)\(channel.excerpt)")
    }
    guard case .finished = channel.result, let output, process.exitCode == 0 else {
      throw TaskFailure(
        .crashed, "the task process ended with code \(process.exitCode) and no result\(channel.excerpt)")
    }
    do {
      return TaskProduct(file: output, blocks: try output.blockDigests { _ in onRead() }, damage: channel.damage)
    } catch {
      throw TaskFailure(.released, "the task's output cannot be read back: \(error)")
    }
  }

  /// No error of a codec ends a process with this signal: the kernel sends it, or a person.
  private static func killed(_ process: ProcessEnd, _ isShortOfMemory: Bool) -> TaskFailure {
    let peak = "\(process.peakBytes >> 20) MiB at its peak"
    return TaskFailure(
      .killed,
      isShortOfMemory
        ? "the kernel killed the task process, most likely for lack of memory: \(peak)"
        : "the task process was killed with SIGKILL, and not by the worker: \(peak)")
  }
}
