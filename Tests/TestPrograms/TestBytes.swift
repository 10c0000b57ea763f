/// Megabytes for tests, which a loop of an unoptimised test would take a second to make.
package enum TestBytes {
  /// The same bytes for each count, in which neighbouring blocks differ.
  package static func varied(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
  }

  package static func random(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }
}
