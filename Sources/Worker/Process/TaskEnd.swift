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
  func outcome(_ end: ProcessEnd?, output: OpenFile?) -> TaskEnd.Outcome {
    if let violation {
      return .failed(TaskFailure(cause: .media, message: "the task process broke its protocol: \(violation)"))
    }
    if case .failed(let failure) = lastWord { return .failed(failure) }
    guard let end else {
      return .failed(
        TaskFailure(cause: .infrastructure, message: "the process that task processes come from has died"))
    }
    if end.signal != 0 {
      let name = strsignal(end.signal).map { String(cString: $0) } ?? "signal \(end.signal)"
      return .failed(TaskFailure(cause: .media, message: "the task process was ended by the system: \(name)\(said)"))
    }
    guard isReady else {
      return .failed(
        TaskFailure(
          cause: .infrastructure,
          message: "a task process could not be started, it ended with code \(end.exitCode)\(said)"))
    }
    switch (lastWord, output) {
    case (.finished, let output?) where end.exitCode == 0:
      do {
        let (digest, size) = try FileDigest.of(descriptor: output.descriptor)
        return .made(TaskProduct(file: output, digest: digest, size: size))
      } catch {
        return .failed(TaskFailure(cause: .infrastructure, message: "the task's output cannot be read back: \(error)"))
      }
    default:
      return .failed(
        TaskFailure(cause: .media, message: "the task process ended with code \(end.exitCode) and no result\(said)"))
    }
  }
}
