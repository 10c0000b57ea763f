package import CompositionModel

/// A video or an animated picture as an overlay of a segment.
package struct PlannedOverlayVideo: Sendable, Hashable, Codable {
  /// Index in `VideoTask.sources`.
  package var source: Int
  /// What one turn plays, on the asset's timeline. If it is empty, the frame at its start stays.
  package var sourceRange: MediaTimeRange
  /// The start of the first turn that the segment shows, on the segment's clock. It may be before the segment.
  package var start: MediaTime
  /// How many turns there are from then on. Nil: as many as the segment shows.
  package var turns: Int?
  /// The asset's time that is shown after the last turn. Nil if the segment does not show it.
  package var held: MediaTime?
  /// As in `OverlayVideo`.
  package var width: Int?
  package var height: Int?

  package init(
    source: Int, sourceRange: MediaTimeRange, start: MediaTime, turns: Int? = nil, held: MediaTime? = nil,
    width: Int? = nil, height: Int? = nil
  ) {
    self.source = source
    self.sourceRange = sourceRange
    self.start = start
    self.turns = turns
    self.held = held
    self.width = width
    self.height = height
  }

  /// The asset's time that is shown at a time of the segment's clock.
  package func sourceTime(at time: MediaTime) throws(TimeError) -> Rational {
    let first = try sourceRange.start.exact
    guard !sourceRange.isEmpty else { return first }
    let elapsed = try time.exact - start.exact
    let period = try sourceRange.duration.exact
    let turn = max(0, try (elapsed / period).floor)
    if let turns, turn >= turns, let held { return try held.exact }
    return try first + elapsed - period * Rational(turn)
  }
}
