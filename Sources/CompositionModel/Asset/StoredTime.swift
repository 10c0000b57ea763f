/// The conversion from an asset's timeline to the timestamps that its container stores.
public enum StoredTime {
  /// The stored timestamps that a description may have. Sums and differences of two fit 64 bits.
  package static let ticks: ClosedRange<Int64> = -(1 << 61)...1 << 61

  /// A tick that is counted from time zero as a stored timestamp. One beyond all that may be stored is twice as far as
  /// they may be, so that its differences to them fit 64 bits too.
  package static func tick(_ number: Int128, origin: Int64) -> Int64 {
    let most = Int128(2 * ticks.upperBound)
    // `origin` is far less than what is added to it here.
    let stored = min(max(number, -4 * most), 4 * most) + Int128(origin)
    return Int64(min(max(stored, -most), most))
  }

  /// The constant rate behind rounded times: frame n is due n/rate after the first.
  public struct Cadence: Sendable, Hashable, Codable {
    /// The first frame's stored timestamp, in ticks.
    public var first: Int64
    /// Frames a second; each lasts three ticks or more, and is stored within one of its true time.
    public var rate: MediaTime

    public init(first: Int64, rate: MediaTime) {
      self.first = first
      self.rate = rate
    }

    private enum CodingKeys: CodingKey {
      case first, rate
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      first = try container.decode(in: StoredTime.ticks, forKey: .first)
      rate = try container.decode(MediaTime.self, forKey: .rate)
      guard rate.isNumeric, rate > .zero else {
        throw DecodingError.dataCorruptedError(
          forKey: .rate, in: container, debugDescription: "the rate \(rate) is not above 0")
      }
    }
  }

  /// The greatest tick that is due at a time of the asset's timeline: the frame to show is the last one whose stored
  /// timestamp is not after this tick.
  ///
  /// With exact timestamps a tick is due when it is not after the time. Matroska, WebM and FLV round the times of 30
  /// frames a second to 0, 33, 67, 100 ms, so that a frame's true time may be half a tick before its stored one. Such a
  /// frame must not wait for its stored time, or two frames in three would be shown one frame too late. If the rate
  /// is constant, the true times are known and used. Elsewhere, ticks up to half a tick after the time are due if time
  /// zero is exact. If time zero is a rounded time itself, both roundings add up to less than a tick, and the next tick
  /// is due.
  /// - Parameters:
  ///   - time: seconds since the asset's time zero.
  ///   - timebase: seconds a tick.
  ///   - origin: the tick of the asset's time zero.
  ///   - isRounded: whether the container rounds times to its ticks.
  ///   - cadence: the constant rate behind the rounded times, if it is known.
  ///   - isBefore: whether the tick must be due before the time, and not only at it: what is shown backwards at a time
  ///     is what is shown forwards just before it.
  public static func lastTick(
    dueAt time: Rational, timebase: MediaTime, origin: Int64, isRounded: Bool, cadence: Cadence? = nil,
    isBefore: Bool = false
  ) throws(TimeError) -> Int64 {
    func last(_ number: Rational) -> Int128 { isBefore ? number.ceiling - 1 : number.floor }
    let ticks = try time / timebase.exact
    if isRounded, let cadence {
      let sinceFirst = try time - timebase.exact * Rational(cadence.first - origin)
      let frame = last(try sinceFirst * cadence.rate.exact)
      // This tick lies between this frame's stored time and the next one's, whichever way both were rounded.
      if frame >= 0 {
        let place = try (Rational(frame) / (cadence.rate.exact * timebase.exact)).floor + 1
        return tick(place, origin: cadence.first)
      }
    }
    let due = !isRounded ? last(ticks) : origin == 0 ? last(try ticks + Rational(1, 2)) : ticks.ceiling
    return tick(due, origin: origin)
  }
}

extension TrackDescription {
  /// The part of this track that is shown for a part of its asset.
  ///
  /// Rounded times have frame n of a constant rate at n/rate, which may be after the time that the file stores for it.
  /// A part that starts at such a stored time is moved by the difference, less than a tick: it then starts with that
  /// frame, and each later frame follows at its time.
  public func shown(_ use: MediaTimeRange) throws(TimeError) -> MediaTimeRange {
    let delay = try delay(ofFrameStoredAt: use.start.exact)
    return delay == .zero ? use : try use.shifted(by: MediaTime(delay))
  }

  /// How much later a frame is due than at the time that the file stores for it, where it rounds times. Zero for a time
  /// at which no frame is stored, and for a frame that is due at its time or before.
  package func delay(ofFrameStoredAt time: Rational) throws(TimeError) -> Rational {
    guard hasRoundedTimes, let video, let cadence = video.cadence else { return .zero }
    let ticks = try time / timebase.exact
    guard ticks == Rational(ticks.floor), let tick = Int64(exactly: ticks.floor + Int128(origin)),
      video.frames.last(atOrBefore: tick) == tick
    else { return .zero }
    let stored = try timebase.exact * Rational(tick - cadence.first)
    let due = try Rational((stored * cadence.rate.exact).rounded) / cadence.rate.exact
    return due > stored ? try due - stored : .zero
  }
}
