// Where the place of a clip is too finely divided to be kept exactly, it is rounded, and what follows is computed from
// the rounded place. All rounding of times that reaches a film is in this file.

extension MediaTime {
  /// The greatest denominator of a time that is written or stored: of a part of an asset, or of a duration.
  package static let finestDenominator = Int128(1) << 48

  /// The place of a clip on a composition's timeline: the exact time if it is an `Int64` over an `Int32`, and otherwise
  /// the nearest `roundingTimescale`th of a second, halves away from zero. Throws `.overflow` for a time that is too
  /// large.
  package init(place exact: Rational) throws(TimeError) {
    let isNarrow = Int64(exactly: exact.numerator) != nil && Int32(exactly: exact.denominator) != nil
    self = isNarrow ? try MediaTime(exact) : try MediaTime(roundedPlace: exact)
  }

  /// A duration, or a time of an asset: exact if it can be computed with, and otherwise rounded as the place of a clip.
  package init(stored exact: Rational) throws(TimeError) {
    self = exact.denominator <= Self.finestDenominator ? try MediaTime(exact) : try MediaTime(roundedPlace: exact)
  }

  private init(roundedPlace exact: Rational) throws(TimeError) {
    guard let value = Int64(exactly: try (exact * Rational(Self.roundingTimescale)).rounded) else { throw .overflow }
    self = MediaTime(value: value, timescale: Self.roundingTimescale).rounded(if: true)
  }

  /// Whether the time is an `Int64` over an `Int32`, as the place of a clip is.
  package var isPlace: Bool {
    guard let exact = try? exact else { return false }  // It is not numeric.
    return Int64(exactly: exact.numerator) != nil && Int32(exactly: exact.denominator) != nil
  }

  /// Whether two places are the same but for rounding: within a microsecond, which is less than a frame or a sample of
  /// any film, and more than the rounding of a thousand clips one after the other.
  package func isNear(_ other: MediaTime) throws(TimeError) -> Bool {
    let (difference, microsecond) = (try exact - other.exact, Rational(1, over: 1_000_000))
    return difference <= microsecond && -microsecond <= difference
  }

  /// The same place, if it is one that a clip can have, and otherwise the nearest.
  package var place: MediaTime {
    get throws(TimeError) { try MediaTime(place: exact).rounded(if: hasBeenRounded) }
  }
}

extension MediaTimeRange {
  /// The place of a clip that starts at a place and lasts for exactly `duration`: its end, at which the next clip
  /// starts, is rounded if it must be.
  package init(placing start: MediaTime, lasting duration: MediaTime) throws(TimeError) {
    let end = try MediaTime(place: start.exact + duration.exact)
    try self.init(start: start, duration: duration, roundedEnd: end.rounded(if: start.hasBeenRounded))
  }

  /// Whether the end has been rounded, and is so not exactly the start and the duration.
  package var endsRounded: Bool {
    get throws(TimeError) { try end.exact != start.exact + duration.exact }
  }

  /// The part between two times of the range. It lasts as long as its share of the duration: what the end has been
  /// rounded by is not counted.
  package func part(from first: MediaTime, to last: MediaTime) throws(TimeError) -> MediaTimeRange {
    guard last == end else {
      return try MediaTimeRange(start: first, duration: MediaTime(stored: last.exact - first.exact), roundedEnd: last)
    }
    let rest = try MediaTime(stored: duration.exact - (first.exact - start.exact))
    // Of a range whose end has been rounded up, what the rounding has added may be left alone.
    return try MediaTimeRange(start: first, duration: max(.zero, rest), roundedEnd: last)
  }
}

extension MediaTimeRange: Codable {
  private enum CodingKeys: CodingKey { case start, duration, end }

  /// How far apart the end, and the start and the duration, can be: many times what rounding makes of it.
  private static let greatestRounding = Rational(1, over: 1000)

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let start = try container.decode(MediaTime.self, forKey: .start)
    let duration = try container.decode(MediaTime.self, forKey: .duration)
    guard let end = try container.decodeIfPresent(MediaTime.self, forKey: .end) else {
      try self.init(start: start, duration: duration)
      return
    }
    let difference = try end.exact - (start.exact + duration.exact)
    guard difference <= Self.greatestRounding, -Self.greatestRounding <= difference else {
      throw DecodingError.dataCorruptedError(
        forKey: .end, in: container, debugDescription: "\(end) is not the end of \(duration) from \(start) on")
    }
    try self.init(start: start, duration: duration, roundedEnd: end)
  }

  /// The end is written only where it has been rounded.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(start, forKey: .start)
    try container.encode(duration, forKey: .duration)
    if try endsRounded { try container.encode(end, forKey: .end) }
  }
}

/// A clip of a composition whose place has been rounded, or follows from one that has been.
package struct RoundedPlace: Sendable, Hashable, Codable {
  package var track: TrackID
  /// Its number on the track, from 0.
  package var clip: Int
  package var asset: AssetID
  package var start: MediaTime
}

extension Composition {
  /// The clips whose places are not exactly the sum of what is before them, by track. Nil if there are none.
  package var roundedPlaces: [RoundedPlace]? {
    let places = tracks.flatMap { track in
      track.clips.enumerated().filter { $0.element.target.start.hasBeenRounded }.map { number, clip in
        RoundedPlace(track: track.id, clip: number, asset: clip.asset, start: clip.target.start)
      }
    }
    return places.isEmpty ? nil : places
  }
}
