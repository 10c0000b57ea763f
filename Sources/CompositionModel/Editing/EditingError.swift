/// Why an edit of a composition was refused. The composition is then as it was.
public enum EditingError: Error, Sendable, Hashable {
  /// There is no track of that name.
  case unknownTrack(TrackID)
  /// There is a track of that name already.
  case trackExists(TrackID)
  /// A composition has video and audio tracks only.
  case unsupportedTrack(MediaType)
  /// The asset has no track of the type.
  case noTrack(MediaType, of: AssetID)
  /// The range is not within the asset, whose length this is.
  case beyondAsset(MediaTimeRange, of: AssetID, duration: MediaTime)
  /// A clip, a gap or a scaled range must last longer than 0.
  case emptyRange(MediaTimeRange)
  /// A place that is before 0 or infinite.
  case outsideTimeline(MediaTime)
  /// The exact result cannot be kept.
  case time(TimeError)
}

extension EditingError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownTrack(let id): "there is no track '\(id)'"
    case .trackExists(let id): "there is a track '\(id)' already"
    case .unsupportedTrack(let type): "a composition has video and audio tracks, not \(type) tracks"
    case .noTrack(let type, let id): "'\(id)' has no \(type) track"
    case .beyondAsset(let range, let id, let duration):
      "\(range) goes beyond '\(id)', which is \(seconds(duration)) long"
    case .emptyRange(let range): "\(range) is empty; it must last longer than 0"
    case .outsideTimeline(let time): "\(time) is no place on a timeline; one is at 0 or after"
    case .time(let error): "\(error)"
    }
  }
}

/// Runs an exact computation of an edit.
func editing<Value>(_ compute: () throws(TimeError) -> Value) throws(EditingError) -> Value {
  do { return try compute() } catch { throw .time(error) }
}
