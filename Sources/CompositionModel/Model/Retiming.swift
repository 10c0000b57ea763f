/// How a clip plays the part of its asset, if that is not forwards at one speed.
public struct Retiming: Sendable, Hashable, Codable {
  /// Whether the part is played from its end to its start. At a time the clip then shows the picture just before the
  /// mirrored time, so that it shows every picture of the part that it shows forwards, in the opposite order.
  public var isReversed: Bool
  /// The speed over the clip's own time. Nil: one speed, at which the whole part is played.
  public var speed: SpeedCurve?

  public init(isReversed: Bool = false, speed: SpeedCurve? = nil) {
    self.isReversed = isReversed
    self.speed = speed
  }

  /// Nil if the clip plays forwards at one speed.
  package var orNil: Retiming? { isReversed || speed != nil ? self : nil }
}

/// A speed over time, in seconds of the asset a second of the clip: linear from one point to the next, the first
/// point's before it, and the last one's after it. A speed of 0 is a frozen picture.
public struct SpeedCurve: Sendable, Hashable, Codable {
  public struct Point: Sendable, Hashable, Codable {
    /// Seconds from the start of the clip; not negative.
    public var at: MediaTime
    /// From 0 on.
    public var speed: Rational

    public init(at: MediaTime, speed: Rational) {
      self.at = at
      self.speed = speed
    }

    private enum CodingKeys: CodingKey { case at, speed }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      at = try container.decode(MediaTime.self, forKey: .at)
      let text = try container.decode(String.self, forKey: .speed)
      let parts = text.split(separator: "/", maxSplits: 1).map { Int128($0) }
      guard let numerator = parts.first ?? nil, let denominator = parts.count == 2 ? parts[1] : 1,
        let speed = try? Rational(numerator, denominator), Rational.zero <= speed
      else {
        throw DecodingError.dataCorruptedError(
          forKey: .speed, in: container, debugDescription: "'\(text)' is not a speed such as 1/3")
      }
      self.speed = speed
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(at, forKey: .at)
      try container.encode(speed.description, forKey: .speed)
    }
  }

  /// At least one, each later than the one before.
  public var points: [Point]

  public init(points: [Point]) {
    self.points = points
  }

  /// The time over which the speed goes linearly from one value to another. The last stretch has no end.
  package struct Stretch: Sendable, Hashable {
    /// Seconds from the start of the clip.
    package var start: Rational
    package var end: Rational?
    package var from: Rational
    package var to: Rational

    func speed(at time: Rational) throws(TimeError) -> Rational {
      guard let end, from != to else { return from }
      return try from + (to - from) * ((time - start) / (end - start))
    }

    /// What is played from its start up to a time in it.
    package func played(until time: Rational) throws(TimeError) -> Rational {
      try (time - start) * ((from + speed(at: time)) * Rational(1, over: 2))
    }
  }

  /// From the start of the clip on, each where the one before it ends.
  package var stretches: [Stretch] {
    get throws(TimeError) {
      guard let first = points.first, let last = points.last else {
        return [Stretch(start: .zero, end: nil, from: .one, to: .one)]
      }
      var stretches: [Stretch] = []
      if first.at > .zero {
        stretches.append(Stretch(start: .zero, end: try first.at.exact, from: first.speed, to: first.speed))
      }
      for (point, next) in zip(points, points.dropFirst()) {
        stretches.append(
          Stretch(start: try point.at.exact, end: try next.at.exact, from: point.speed, to: next.speed))
      }
      stretches.append(Stretch(start: try last.at.exact, end: nil, from: last.speed, to: last.speed))
      return stretches
    }
  }

  /// The seconds of the asset that are played in the first seconds of the clip: the exact integral.
  public func played(in time: Rational) throws(TimeError) -> Rational {
    var played = Rational.zero
    for stretch in try stretches {
      guard let end = stretch.end, end < time else {
        return try stretch.start < time ? played + stretch.played(until: time) : played
      }
      played = try played + stretch.played(until: end)
    }
    return played
  }

  /// The speed at a time of the clip.
  public func speed(at time: Rational) throws(TimeError) -> Rational {
    let stretches = try stretches
    guard let stretch = stretches.last(where: { $0.start <= time }) ?? stretches.first else { return .one }
    return try stretch.speed(at: time)
  }

  /// How long it takes to play some seconds of the asset. Nil: forever, because the speed ends at 0.
  ///
  /// Where that is while the speed changes, it is in general no fraction: it is then rounded down to whole frames.
  /// - Parameter frame: seconds of a frame of the output.
  package func duration(playing length: Rational, frame: MediaTime) throws(TimeError) -> MediaTime? {
    var played = Rational.zero
    for stretch in try stretches {
      let rest = try length - played
      if rest == .zero { return try MediaTime(stored: stretch.start) }
      if stretch.from == stretch.to, stretch.from > .zero {
        let end = try stretch.start + rest / stretch.from
        if stretch.end.map({ end <= $0 }) ?? true { return try MediaTime(stored: end) }
      }
      guard let end = stretch.end else { return nil }
      let through = try played + stretch.played(until: end)
      guard length < through else {
        played = through
        continue
      }
      // Frame `low` is not after the end of what is played, frame `high` is.
      var low = try (stretch.start / frame.exact).floor
      var high = try (end / frame.exact).ceiling
      while high - low > 1 {
        let middle = (low + high) / 2
        let place = try Rational(middle) * frame.exact
        if try self.played(in: place) <= length { low = middle } else { high = middle }
      }
      return try frame * Rational(low)
    }
    return nil
  }

  /// The curve from a time of the clip on, on a clock on which that time is 0.
  package func suffix(from time: MediaTime) throws(TimeError) -> SpeedCurve {
    var suffix = [Point(at: .zero, speed: try speed(at: time.exact))]
    for point in points where time < point.at {
      suffix.append(Point(at: try point.at - time, speed: point.speed))
    }
    return SpeedCurve(points: suffix)
  }

  /// The curve of a clip that lasts `rate` times as long and plays the same.
  func lasting(_ rate: Rational) throws(TimeError) -> SpeedCurve {
    var scaled: [Point] = []
    for point in points { scaled.append(Point(at: try point.at * rate, speed: try point.speed / rate)) }
    return SpeedCurve(points: scaled)
  }

  /// Whether every time of the asset that it leads to fits a fraction with room to spare.
  /// - Parameter times: what is added to its times, or what they are multiples of.
  package func isExact(with times: [MediaTime]) throws(TimeError) -> Bool {
    let finest = Int128(1) << 80
    var (divisions, values) = (Int128(1), Int128(1))
    func divide(_ whole: inout Int128, by denominator: Int128) -> Bool {
      let common = Int128(Rational.greatestCommonDivisor(whole.magnitude, denominator.magnitude))
      let (product, overflow) = whole.multipliedReportingOverflow(by: denominator / common)
      guard !overflow, product < finest else { return false }
      whole = product
      return true
    }
    for time in times + points.map(\.at) where !divide(&divisions, by: try time.exact.denominator) { return false }
    for stretch in try stretches {
      guard divide(&values, by: stretch.from.denominator) else { return false }
      guard let end = stretch.end else { continue }
      let slope = try (stretch.to - stretch.from) / (end - stretch.start)
      guard divide(&values, by: slope.denominator) else { return false }
    }
    for factor in [divisions, values] {
      let (product, overflow) = divisions.multipliedReportingOverflow(by: factor)
      guard !overflow, product < finest else { return false }
      divisions = product
    }
    return true
  }
}

extension Retiming? {
  /// The exact time of the asset after `elapsed` seconds of a clip. If the clip is reversed, the picture just before
  /// this time is shown.
  /// - Parameters:
  ///   - source: the part of the asset that is played.
  ///   - duration: how long the clip lasts.
  package func sourceTime(
    after elapsed: Rational, of source: MediaTimeRange, lasting duration: MediaTime
  ) throws(TimeError) -> Rational {
    let played: Rational
    if let curve = self?.speed {
      played = try curve.played(in: elapsed)
    } else {
      let isNatural = source.duration == duration
      played = try source.isEmpty ? .zero : isNatural ? elapsed : elapsed * (source.duration / duration)
    }
    return try isReversed ? source.end.exact - played : source.start.exact + played
  }

  package var isReversed: Bool { self?.isReversed == true }
}
