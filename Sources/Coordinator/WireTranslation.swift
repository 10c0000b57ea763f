import FarmModel
import FarmWire
import Jobs
import SwiftProtobuf
import Wire

// What workers report as values of the store, and what they are answered.

extension PublishOutcome? {
  var message: Sheaf_PublishReply.Outcome {
    switch self {
    // A worker is not told that its result is compared: it could return right results only when it is.
    case .published, .compared: .published
    case .duplicate: .duplicate
    case .stale: .stale
    case nil: .missingContent
    }
  }
}

extension String {
  /// With "…" in place of the middle if there are more characters than the limit: a message begins with what failed and
  /// ends with the reason.
  func shortened(to limit: Int) -> String {
    guard count > limit else { return self }
    return prefix((limit - 1) / 2) + "…" + suffix(limit / 2)
  }
}

extension TaskFailure {
  /// - Parameter limit: The most characters of the message, and the most bytes of the log.
  init(_ message: Sheaf_Failure, limit: Int) {
    // An end that another version reports is counted as none of the task's.
    self.init(
      end: AttemptEnd(message.end) ?? .released, message: message.message.shortened(to: limit),
      process: message.hasProcess ? ProcessEnd(message.process, limit: limit) : nil,
      usage: message.hasUsage ? AttemptUsage(attempt: message.usage) : nil, jitter: .random(in: 0...1))
  }
}

extension Duration {
  /// Truncated to whole milliseconds.
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
