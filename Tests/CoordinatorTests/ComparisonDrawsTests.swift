import TestPrograms
import Testing

@testable import Coordinator

@Suite struct ComparisonDrawsTests {
  @Test(arguments: [0.1, 0.01, 0.3, 0.5, 0.9])
  func `each result of an account may be drawn, and one of twice as many as the share says is`(_ share: Double) {
    var random = SeededRandom(seed: 7)
    var draws = ComparisonDraws(share: share)
    let count = Int(2_000 / share)
    for account in ["a", "b"] {
      var (last, drawn) = (-1, 0)
      var gaps: Set<Int> = []
      for index in 0..<count where draws.draws(account, using: &random) {
        gaps.insert(index - last)
        (last, drawn) = (index, drawn + 1)
      }
      #expect(gaps.allSatisfy { Double($0) < 2 / share + 1 })
      // Right after one that was drawn another one may be.
      #expect(gaps.contains(1) && gaps.contains(2))
      #expect((1_900...2_700).contains(drawn), "\(drawn)")
    }
  }

  @Test func `a draw for a result that was dropped is made again`() {
    var random = SeededRandom(seed: 9)
    var draws = ComparisonDraws(share: 0.05)
    var last = 0
    for index in 1...2_000 where draws.draws("a", using: &random) {
      // Dropped: the next one is drawn, whatever the chance.
      draws.undo(true, of: "a")
      #expect(draws.draws("a", using: &random))
      last = index
    }
    #expect(last > 0)
    // What was dropped without having been drawn brings none nearer, and none further away.
    var count = 0
    while !draws.draws("a", using: &random) {
      draws.undo(false, of: "a")
      count += 1
      if count > 100_000 { break }
    }
    #expect(count <= 100_000)
  }

  @Test func `of no share none is drawn, and of the whole each`() {
    var random = SeededRandom(seed: 8)
    var all = ComparisonDraws(share: 1)
    var none = ComparisonDraws(share: 0)
    #expect((0..<100).allSatisfy { _ in all.draws("a", using: &random) && !none.draws("a", using: &random) })
  }
}
