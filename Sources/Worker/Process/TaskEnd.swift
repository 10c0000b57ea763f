import CSandbox
import Digest
import Glibc

/// How a task process ended.
struct TaskEnd: Sendable {
  enum Outcome: Sendable {
    /// Its output is complete.
    case made(TaskProduct)
    case failed(TaskFailure)
    /// The agent ended it.
    case killed
    /// It was asked for something other than a task and has answered.
    case answered
  }

  var outcome: Outcome
  var cpuMilliseconds: UInt64 = 0
  var peakKilobytes: UInt64 = 0
}

/// A complete output.
struct TaskProduct: Sendable {
  var file: OpenFile
  var digest: SHA256Digest
  /// In bytes.
  var size: Int64
}

extension TaskConversation {
  /// What the process's last words and its end amount to.
  func outcome(_ end: sandbox_end, output: OpenFile?) -> TaskEnd.Outcome {
    if let violation {
      return .failed(TaskFailure(cause: .media, message: "the task process broke its protocol: \(violation)"))
    }
    if case .failed(let failure) = lastWord { return .failed(failure) }
    if end.signal != 0 {
      let name = strsignal(end.signal).map { String(cString: $0) } ?? "signal \(end.signal)"
      return .failed(TaskFailure(cause: .media, message: "the task process was ended by the system: \(name)\(said)"))
    }
    guard isReady else {
      return .failed(
        TaskFailure(
          cause: .infrastructure,
          message: "a task process could not be started, it ended with code \(end.exit_code)\(said)"))
    }
    switch (lastWord, output) {
    case (.finished, let output?) where end.exit_code == 0:
      do {
        let (digest, size) = try FileDigest.of(descriptor: output.descriptor)
        return .made(TaskProduct(file: output, digest: digest, size: size))
      } catch {
        return .failed(TaskFailure(cause: .infrastructure, message: "the task's output cannot be read back: \(error)"))
      }
    case (.identity, _) where end.exit_code == 0: return .answered
    default:
      return .failed(
        TaskFailure(cause: .media, message: "the task process ended with code \(end.exit_code) and no result\(said)"))
    }
  }
}
