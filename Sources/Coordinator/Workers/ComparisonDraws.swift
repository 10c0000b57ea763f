/// Draws which results of each account are compared with another worker's: each by itself, and one if twice as many as
/// the share stands for have come without. So none is safe, and an account that returns wrong results is found for
/// certain.
struct ComparisonDraws: Sendable {
  /// Beyond this number of accounts what was counted of them is forgotten.
  private static let maximumAccounts = 10_000

  private let share: Double
  /// How many results of each account have come since one was drawn.
  private var passed: [String: Int] = [:]

  /// - Parameter share: From 0, at which none is drawn, to 1.
  init(share: Double) {
    self.share = share
  }

  /// Whether the next result of an account is compared.
  mutating func draws(_ account: String, using random: inout some RandomNumberGenerator) -> Bool {
    guard share > 0 else { return false }
    if passed.count >= Self.maximumAccounts { passed = [:] }
    let count = passed[account, default: 0] + 1
    let isDrawn = Double.random(in: 0..<1, using: &random) < share || Double(count) >= 2 / share
    passed[account] = isDrawn ? 0 : count
    return isDrawn
  }

  /// The result for which this was drawn was dropped: the next one is drawn in its place, or it is not counted.
  mutating func undo(_ isDrawn: Bool, of account: String) {
    guard share > 0, let count = passed[account] else { return }
    passed[account] = isDrawn ? Int(min(2 / share, 1e9)) : max(0, count - 1)
  }
}
