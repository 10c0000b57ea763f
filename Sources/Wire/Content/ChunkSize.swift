/// How much content is in one message: as much as the link carries in a tenth of a second, so that other messages do
/// not wait for longer. Pure.
struct ChunkSize: Sendable {
  static let smallest = 16 << 10
  static let largest = WireProtocol.maximumChunk
  /// In seconds.
  private static let time = 0.1

  /// A power of two.
  private(set) var bytes = 64 << 10
  /// Bytes a second, as far as it is known.
  private var rate: Double?
  private var last: ContinuousClock.Instant?

  /// Takes note of content that has arrived.
  /// - Parameter requested: When it was requested, or sent if `now` is the time of an answer.
  mutating func arrived(_ count: Int, requested: ContinuousClock.Instant, now: ContinuousClock.Instant) {
    let since = last.map { max($0, requested) } ?? requested
    last = now
    let seconds = max((now - since) / .seconds(1), 1e-6)
    // The end of content says little about the link.
    guard count >= min(bytes, Self.smallest) else { return }
    let measured = Double(count) / seconds
    let smoothed = rate.map { 0.7 * $0 + 0.3 * min(measured, 8 * $0) } ?? measured
    rate = smoothed
    let wanted = smoothed * Self.time
    if wanted >= Double(2 * bytes) {
      bytes = min(2 * bytes, Self.largest)
    } else if wanted < Double(bytes) {
      bytes = max(bytes / 2, Self.smallest)
    }
  }
}
