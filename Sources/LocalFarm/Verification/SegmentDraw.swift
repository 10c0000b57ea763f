import Digest

/// A share of a film's segments that is drawn by a seed: the first, the last, and of the others those that the seed
/// puts first. Who has the seed draws the same ones.
package enum SegmentDraw {
  /// The numbers of the segments that are drawn, rising.
  /// - Parameters:
  ///   - percent: 1 to 99. At least so many segments in a hundred are drawn, and at least two.
  ///   - count: How many segments the film has.
  ///   - seed: Segments follow in the order of the SHA-256 of `SEED:NUMBER`, with the number in decimal digits.
  package static func segments(percent: Int, of count: Int, seed: String) -> [Int] {
    guard count > 2 else { return Array(0..<max(0, count)) }
    let wanted = min(count, max(2, (percent * count + 99) / 100))
    let inner = (1..<(count - 1)).map { (number: $0, key: SHA256Digest.of("\(seed):\($0)".utf8).hex) }
    let drawn = inner.sorted { $0.key < $1.key }.prefix(wanted - 2).map(\.number)
    return ([0, count - 1] + drawn).sorted()
  }

  /// 16 hexadecimal digits that nobody knows before.
  package static func newSeed() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
