/// A half-open range of time [start, start+duration): AVFoundation's `CMTimeRange`.
public struct MediaTimeRange: Sendable, Hashable {
  public let start: MediaTime
  /// Not negative. Of the place of a clip it is exact, also where the end has been rounded.
  public let duration: MediaTime
  /// The first time after the range.
  public let end: MediaTime

  /// Throws `.notNumeric` unless both are finite, `.negativeDuration` if the duration is negative, `.overflow` if the
  /// end does not fit.
  public init(start: MediaTime, duration: MediaTime) throws(TimeError) {
    guard start.isNumeric, duration.isNumeric else { throw .notNumeric }
    try self.init(start: start, duration: duration, roundedEnd: start + duration)
  }

  /// - Parameter end: within what rounding makes of `start + duration`.
  init(start: MediaTime, duration: MediaTime, roundedEnd end: MediaTime) throws(TimeError) {
    guard start.isNumeric, duration.isNumeric, end.isNumeric else { throw .notNumeric }
    guard .zero <= duration, start <= end else { throw .negativeDuration }
    self.start = start
    self.duration = duration
    self.end = end
  }

  /// The range from `start` up to, and without, `end`. Throws `.negativeDuration` if the end is before the start.
  public init(start: MediaTime, end: MediaTime) throws(TimeError) {
    try self.init(start: start, duration: end - start)
  }

  /// The empty range at a finite time.
  package init(emptyAt start: MediaTime) {
    self.start = start
    duration = .zero
    end = start
  }

  public var isEmpty: Bool { duration == .zero }

  /// Whether a time is in the range. Its end is not.
  public func contains(_ time: MediaTime) -> Bool { start <= time && time < end }

  /// Whether every time of `other` is in this range. An empty range is contained if it starts in this range or at its
  /// end.
  public func contains(_ other: MediaTimeRange) -> Bool { start <= other.start && other.end <= end }

  /// The times in both ranges. Nil if there are none, as for ranges that only touch.
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
    try MediaTimeRange(start: start + offset, duration: duration, roundedEnd: end + offset)
  }
}

extension MediaTimeRange: CustomStringConvertible {
  /// The notation of documents: `4..9`.
  public var description: String { "\(start)..\(end)" }
}
