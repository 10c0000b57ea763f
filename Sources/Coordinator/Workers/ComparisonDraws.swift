/// Draws which results of each account are compared with another worker's: of so many that follow each other one, at a
/// place that the account cannot know. So an account that returns wrong results is found after fewer than twice as
/// many, and not only probably.
struct ComparisonDraws: Sendable {
  private struct Block: Sendable {
    /// How many results are left of it.
    var left: Int
    /// How many are left of it when the one that is drawn comes.
    var drawn: Int
  }

  /// Beyond this number of accounts what was counted of them is forgotten.
  private static let maximumAccounts = 10_000

  private let share: Double
  private var blocks: [String: Block] = [:]

  /// - Parameter share: From 0, at which none is drawn, to 1.
  init(share: Double) {
    self.share = share
  }

  /// Whether the next result of an account is compared. Of a share above a half, each one by itself is drawn or not.
  mutating func draws(_ account: String, using random: inout some RandomNumberGenerator) -> Bool {
    guard share > 0 else { return false }
    guard share <= 0.5 else { return Double.random(in: 0..<1, using: &random) < share }
    if blocks.count >= Self.maximumAccounts { blocks = [:] }
    var block = blocks[account] ?? Block(left: 0, drawn: 0)
    if block.left == 0 {
      let length = Int(min(1 / share, 1e9))
      block = Block(left: length, drawn: Int.random(in: 1...length, using: &random))
    }
    let isDrawn = block.left == block.drawn
    block.left -= 1
    blocks[account] = block
    return isDrawn
  }
}
