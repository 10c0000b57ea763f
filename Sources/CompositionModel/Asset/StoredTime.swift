/// From an asset's timeline to the timestamps that its container stores.
public enum StoredTime {
  /// A constant rate that the container's rounding hides: frame n is due n/rate after the first.
  public struct Cadence: Sendable, Hashable, Codable {
    /// The first frame's stored timestamp, in ticks.
    public var first: Int64
    /// Frames a second; each lasts three ticks or more, and is stored within one of its true time.
    public var rate: MediaTime

    public init(first: Int64, rate: MediaTime) {
      self.first = first
      self.rate = rate
    }
  }

  /// The greatest tick that is due at a time of the asset's timeline.
  ///
  /// A tick is due when it is not after the time (DESIGN 5). Matroska, WebM and FLV round the times of 30 frames a second
  /// to 0, 33, 67, 100 ms; there the true time may be up to half a tick earlier than the stored one, and a frame that is
  /// due by its true time must not wait for its rounded one: it would be shown a frame too late, two frames in three.
  /// Where the rate is constant the true times are known. Elsewhere half a tick after the time still counts; where time
  /// zero is such a time itself, both roundings add up to less than a tick.
  /// - Parameters:
  ///   - timebase: seconds a tick.
  ///   - origin: the tick of the asset's time zero.
  ///   - isRounded: whether the container rounds to its ticks.
  ///   - cadence: the rate that it hides, where that is known.
  public static func lastTick(
    dueAt time: Rational, timebase: MediaTime, origin: Int64, isRounded: Bool, cadence: Cadence? = nil
  ) throws(TimeError) -> Int64 {
    let ticks = try time / timebase.exact
    if isRounded, let cadence {
      let sinceFirst = try time - timebase.exact * Rational(cadence.first - origin)
      let frame = try (sinceFirst * cadence.rate.exact).floor
      // Between this frame's stored time and the next one's, whichever way both were rounded.
      if frame >= 0 {
        let place = try (Rational(frame) / (cadence.rate.exact * timebase.exact)).floor + 1
        return Int64(clamping: place + Int128(cadence.first))
      }
    }
    let due = !isRounded ? ticks.floor : origin == 0 ? try (ticks + Rational(1, 2)).floor : -(-ticks).floor
    return Int64(clamping: due + Int128(origin))
  }
}
