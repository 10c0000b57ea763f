public import CompositionModel
import Media

extension AssetReader {
  /// The timed metadata of a track, in order of time: AVFoundation's `AVAssetReaderOutputMetadataAdaptor`.
  ///
  /// Two forms are read. **Boxed metadata** (the track's `formatTag` is `mebx`), as iPhones and `AssetWriter` write it:
  /// a group is a sample. **Telemetry of action cameras** (`gpmd`), such as `gpmd/GPS5`: a group is a reading of a
  /// sensor, scaled to its unit, and what the file states beside it, such as whether there is a fix (`gpmd/GPSF`). The
  /// readings of a sample are spread evenly over its time, and the groups of several sensors overlap.
  ///
  ///     for try await group in try reader.timedMetadata(of: track) {
  ///       guard let numbers = group["gpmd/GPS5"]?.numbers, numbers.count == 5 else { continue }
  ///       print(group.timeRange.start, numbers[3])  // metres a second over ground
  ///     }
  /// - Parameters:
  ///   - track: A metadata track of this asset's contents.
  ///   - range: On the asset's timeline: the groups of which something is in it. Nil: all.
  public func timedMetadata(
    of track: TrackDescription, in range: MediaTimeRange? = nil
  ) throws(SheafError) -> SampleBuffers<TimedMetadataGroup> {
    guard contents.tracks.contains(where: { $0.index == track.index }), track.type == .metadata else {
      throw SheafError(.misuse, "\(path) has no metadata track \(track.index)")
    }
    let (path, ticks) = (path, try TrackTicks(track, range))
    if ticks.hasNothing { return .none }
    return SampleBuffers { try TimedMetadataSource(path, ticks) }
  }
}

/// The groups of a metadata track.
final class TimedMetadataSource: SampleSource {
  private let reader: TimedMetadataReader
  private let ticks: TrackTicks

  init(_ path: String, _ ticks: TrackTicks) throws {
    self.ticks = ticks
    reader = try TimedMetadataReader(openFile(path), name: path, track: ticks.track.index)
  }

  func next() throws -> TimedMetadataGroup? {
    while let group = try reader.next() {
      let timebase = try ticks.track.timebase.exact
      let start = try MediaTime(stored: (group.start - Rational(ticks.track.origin)) * timebase)
      if ticks.isPast(start) { return nil }
      let range = try MediaTimeRange(start: start, duration: MediaTime(stored: group.duration * timebase))
      if let wanted = ticks.range, range.end <= wanted.start { continue }
      return TimedMetadataGroup(timeRange: range, items: group.items)
    }
    return nil
  }
}
