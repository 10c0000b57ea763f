/// From an asset's timeline to the timestamps that its container stores.
public enum StoredTime {
  /// The greatest tick that is due at a time of the asset's timeline.
  ///
  /// A tick is due when it is not after the time (DESIGN 5). Matroska, WebM and FLV round the times of 30 frames a second
  /// to 0, 33, 67, 100 ms; there the true time may be up to half a tick earlier than the stored one, and a frame that is
  /// due by its true time must not wait for its rounded one: it would be shown a frame too late, two frames in three.
  /// Where time zero is such a time itself, both roundings add up to less than a tick.
  /// - Parameters:
  ///   - timebase: seconds a tick.
  ///   - origin: the tick of the asset's time zero.
  ///   - isRounded: whether the container rounds to its ticks.
  public static func lastTick(
    dueAt time: Rational, timebase: MediaTime, origin: Int64, isRounded: Bool
  ) throws(TimeError) -> Int64 {
    let ticks = try time / timebase.exact
    let due = !isRounded ? ticks.floor : origin == 0 ? try (ticks + Rational(1, 2)).floor : -(-ticks).floor
    return Int64(clamping: due + Int128(origin))
  }
}
