import FarmModel

/// When a message is tried again, as the Standard Webhooks specification recommends.
enum SendingSchedule {
  /// After each attempt that failed. After the last one there is none: it was tried for three days.
  static let pauses: [Duration] = [
    .seconds(5), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
    .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
  ]
  /// The longest time that a reply may ask for.
  private static let longest = Duration.seconds(24 * 3600)

  /// What follows an attempt.
  /// - Parameters:
  ///   - turn: Counts the attempts from 1, this one included.
  ///   - jitter: From 0 to 1: lengthens the pause by up to a tenth, so that not all are tried at once.
  static func outcome(of attempt: Attempt, turn: Int, jitter: Double) -> DeliveryOutcome {
    switch attempt {
    case .answered(let status, _) where (200..<300).contains(status): return DeliveryOutcome(.delivered, status: status)
    case .answered(410, _):
      return DeliveryOutcome(
        .failed, status: 410, message: "the address answered with 410",
        disables: "its address answered with 410 Gone")
    case .answered(let status, let wait):
      return DeliveryOutcome(
        next(turn, jitter, atLeast: wait), status: status, message: "the address answered with \(status)")
    case .failed(let message): return DeliveryOutcome(next(turn, jitter, atLeast: .zero), message: message)
    }
  }

  /// What an attempt has come to.
  enum Attempt: Sendable, Hashable {
    /// With the time that the reply asks for.
    case answered(status: Int32, wait: Duration)
    /// Without a reply: why, for a person.
    case failed(String)
  }

  private static func next(_ turn: Int, _ jitter: Double, atLeast wait: Duration) -> DeliveryOutcome.Next {
    guard pauses.indices.contains(turn - 1) else { return .failed }
    let pause = pauses[turn - 1] * (1 + min(max(jitter, 0), 1) / 10)
    return .retry(after: max(pause, min(wait, longest)))
  }
}
