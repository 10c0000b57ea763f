import CompositionModel
import Media

/// A range of a track's timeline in its stored timestamps.
struct TrackTicks {
  let track: TrackDescription
  /// The timestamp of what is shown at the range's start. Nil: from the track's beginning.
  let start: Int64?
  let range: MediaTimeRange?

  init(_ track: TrackDescription, _ range: MediaTimeRange?) throws(SheafError) {
    self.track = track
    self.range = range
    do throws(TimeError) {
      start = try range.map { (range) throws(TimeError) in
        try StoredTime.lastTick(
          dueAt: range.start.exact, timebase: track.timebase, origin: track.origin, isRounded: track.hasRoundedTimes,
          cadence: track.video?.cadence)
      }
    } catch {
      throw SheafError(.misuse, "track \(track.index) has no timestamp for \(range?.start ?? .zero): \(error)")
    }
  }

  /// The exact time on the asset's timeline of a stored timestamp: of rounded times of a constant rate the true one.
  func time(of tick: Int64) throws(TimeError) -> MediaTime {
    let stored = try track.timebase * Rational(tick - track.origin)
    guard track.hasRoundedTimes, let cadence = track.video?.cadence else { return stored }
    let rate = try cadence.rate.exact
    let sinceFirst = try track.timebase.exact * Rational(tick - cadence.first)
    let frame = try (sinceFirst * rate).rounded
    let first = try track.timebase.exact * Rational(cadence.first - track.origin)
    return try MediaTime(first + Rational(frame) / rate)
  }

  func isPast(_ time: MediaTime) -> Bool { range.map { $0.end <= time } ?? false }

  /// Whether nothing of the track is in the range. A still picture has no duration, and is at every time.
  var hasNothing: Bool {
    guard let range else { return false }
    if range.isEmpty { return true }
    return track.video?.isStill != true && (range.end <= track.range.start || track.range.end <= range.start)
  }
}
