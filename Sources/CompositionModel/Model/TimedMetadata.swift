/// A track of values over time that drive a compositor or an overlay: the timed metadata of AVFoundation. It has no
/// pictures and no sound, and does not make the film longer.
public struct MetadataTrack: Sendable, Hashable, Codable {
  public var id: TrackID
  /// In order of time, none overlapping another. Between them the track has no value.
  public var items: [TimedMetadata]

  public init(id: TrackID, items: [TimedMetadata] = []) {
    self.id = id
    self.items = items
  }

  /// The value at a time. Nil: there is none.
  public func value(at time: MediaTime) throws(TimeError) -> MetadataValue? {
    let next = items.partitionPoint { time < $0.over.start }
    guard next > 0, items[next - 1].over.contains(time) else { return nil }
    return try items[next - 1].value(at: time)
  }
}

/// A value over a range of time: AVFoundation's `AVTimedMetadataGroup`.
public struct TimedMetadata: Sendable, Hashable, Codable {
  public enum Content: Sendable, Hashable, Codable {
    case text(String)
    /// Linear over the range. The same number twice stays.
    case number(from: Double, to: Double)
  }

  /// On the composition's timeline. Not empty.
  public var over: MediaTimeRange
  public var content: Content

  public init(over: MediaTimeRange, _ content: Content) {
    self.over = over
    self.content = content
  }

  /// The value at a time of the range.
  package func value(at time: MediaTime) throws(TimeError) -> MetadataValue {
    switch content {
    case .text(let text): .text(text)
    case .number(let from, let to):
      .number(from == to ? from : from + (to - from) * (try over.position(of: time, easing: nil)))
    }
  }
}

/// The value of a metadata track at one time.
public enum MetadataValue: Sendable, Hashable {
  case number(Double)
  case text(String)

  /// Nil for a text.
  public var number: Double? { if case .number(let number) = self { number } else { nil } }
  /// Nil for a number.
  public var text: String? { if case .text(let text) = self { text } else { nil } }
}
