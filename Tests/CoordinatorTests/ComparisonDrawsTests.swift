import TestPrograms
import Testing

@testable import Coordinator

@Suite struct ComparisonDrawsTests {
  @Test(arguments: [(0.1, 10), (0.01, 100), (0.3, 3), (0.5, 2)])
  func `one of so many results of an account is drawn, and never twice as many come without one`(
    _ share: Double, _ length: Int
  ) {
    var random = SeededRandom(seed: 7)
    var draws = ComparisonDraws(share: share)
    var places: Set<Int> = []
    for account in ["a", "b"] {
      var (last, count) = (-1, 0)
      for index in 0..<length * 200 where draws.draws(account, using: &random) {
        #expect(index - last < 2 * length && index / length == count)
        (last, count) = (index, count + 1)
        places.insert(index % length)
      }
      #expect(count == 200)
    }
    #expect(places.count > length / 2, "the place in each is another")
  }

  @Test func `of more than a half each is drawn by itself, and of no share none is`() {
    var random = SeededRandom(seed: 8)
    var draws = ComparisonDraws(share: 0.7)
    let drawn = (0..<2_000).count { _ in draws.draws("a", using: &random) }
    #expect((1_300...1_500).contains(drawn))
    var all = ComparisonDraws(share: 1)
    var none = ComparisonDraws(share: 0)
    #expect((0..<100).allSatisfy { _ in all.draws("a", using: &random) && !none.draws("a", using: &random) })
  }
}
