/// A half-open range of time [start, start+duration): AVFoundation's `CMTimeRange`.
public struct MediaTimeRange: Sendable, Hashable, Codable {
  public let start: MediaTime
  /// Not negative.
  public let duration: MediaTime

  /// Throws `.notNumeric` unless both are finite and the duration is not negative, `.overflow` if the end does not fit.
  public init(start: MediaTime, duration: MediaTime) throws(TimeError) {
    guard duration.isNumeric, start.isNumeric, duration.value >= 0 else { throw .notNumeric }
    self.start = start
    self.duration = duration
    end = try start + duration
  }

  /// The range from `start` up to, and without, `end`.
  public init(start: MediaTime, end: MediaTime) throws(TimeError) {
    try self.init(start: start, duration: end - start)
  }

  /// The empty range at a finite time.
  init(emptyAt start: MediaTime) {
    self.start = start
    duration = .zero
    end = start
  }

  /// The first time after the range.
  public let end: MediaTime

  public var isEmpty: Bool { duration == .zero }

  public func contains(_ time: MediaTime) -> Bool { start <= time && time < end }

  /// Whether every time of `other` is in this range. An empty range is contained if it starts in this range or at its
  /// end.
  public func contains(_ other: MediaTimeRange) -> Bool { start <= other.start && other.end <= end }

  /// The times in both ranges. Nil where there are none, as for ranges that only touch.
  public func intersection(_ other: MediaTimeRange) throws(TimeError) -> MediaTimeRange? {
    let (start, end) = (max(start, other.start), min(end, other.end))
    return start < end ? try MediaTimeRange(start: start, end: end) : nil
  }

  /// The smallest range that holds both.
  public func union(_ other: MediaTimeRange) throws(TimeError) -> MediaTimeRange {
    try MediaTimeRange(start: min(start, other.start), end: max(end, other.end))
  }

  /// The same duration, `offset` later.
  public func shifted(by offset: MediaTime) throws(TimeError) -> MediaTimeRange {
    try MediaTimeRange(start: start + offset, duration: duration)
  }

  private enum CodingKeys: CodingKey { case start, duration }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      start: container.decode(MediaTime.self, forKey: .start),
      duration: container.decode(MediaTime.self, forKey: .duration))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(start, forKey: .start)
    try container.encode(duration, forKey: .duration)
  }
}

extension MediaTimeRange: CustomStringConvertible {
  /// The notation of documents: `4..9`.
  public var description: String { "\(start)..\(end)" }
}
