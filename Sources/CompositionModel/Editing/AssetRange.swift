/// A range of an asset: what an insertion puts on a track.
public struct AssetRange: Sendable, Hashable {
  /// The name under which the edit knows the asset.
  public var asset: AssetID
  /// What is in it.
  public var description: AssetDescription
  /// On the asset's timeline. Of a still image only the duration counts.
  public var range: MediaTimeRange

  public init(asset: AssetID, description: AssetDescription, range: MediaTimeRange) {
    self.asset = asset
    self.description = description
    self.range = range
  }

  /// The whole of an asset that has a duration of its own.
  public init(whole asset: AssetID, description: AssetDescription) throws(EditingError) {
    self.init(
      asset: asset, description: description,
      range: try editing { () throws(TimeError) in try MediaTimeRange(start: .zero, duration: description.duration) })
  }

  /// The clip that plays `track` of the asset at its natural rate from `start` on.
  func clip(_ track: TrackDescription, at start: MediaTime) throws(EditingError) -> Clip {
    if range.isEmpty { throw .emptyRange(range) }
    let target = try editing { () throws(TimeError) in try MediaTimeRange(start: start, duration: range.duration) }
    if track.video?.isStill == true {
      let moment = try editing { () throws(TimeError) in try MediaTimeRange(start: .zero, duration: .zero) }
      return Clip(asset: asset, sourceTrack: track.index, source: moment, target: target)
    }
    guard .zero <= range.start, range.end <= description.duration else {
      throw .beyondAsset(range, of: asset, duration: description.duration)
    }
    return Clip(asset: asset, sourceTrack: track.index, source: range, target: target)
  }
}
