import CompositionModel

/// From a clip to the track of the file that it shows.
struct SourceLookup {
  let assets: [AssetID: PlannedAsset]

  func track(of clip: Clip) throws(PlanError) -> (asset: PlannedAsset, track: TrackDescription) {
    let subject = "the clip of '\(clip.asset)' at \(clip.target.start)"
    guard let asset = assets[clip.asset] else { throw PlanError(.assetNotDescribed(clip.asset), subject) }
    guard let track = asset.description.tracks.first(where: { $0.index == clip.sourceTrack }) else {
      throw PlanError(.noTrack(asset: clip.asset, index: clip.sourceTrack), subject)
    }
    return (asset, track)
  }

  func video(of clip: Clip) throws(PlanError) -> (asset: PlannedAsset, track: TrackDescription, format: VideoFormat) {
    let (asset, track) = try track(of: clip)
    guard let format = track.video else {
      throw PlanError(.noTrack(asset: clip.asset, index: clip.sourceTrack), "the picture of '\(clip.asset)'")
    }
    return (asset, track, format)
  }

  /// The stored timestamp of the frame that a clip shows at a time of the composition: the greatest not after the
  /// source time, or the first (DESIGN 5). Nil for a track without frames.
  func shownFrame(
    of clip: Clip, track: TrackDescription, format: VideoFormat, at time: MediaTime
  ) throws(TimeError) -> Int64? {
    guard !format.isStill else { return format.frames.first }
    let tick = try StoredTime.lastTick(
      dueAt: clip.sourceTime(at: time), timebase: track.timebase, origin: track.origin,
      isRounded: track.hasRoundedTimes, cadence: format.cadence
    )
    return format.frames.last(atOrBefore: tick) ?? format.frames.first
  }

  /// Where to start decoding so that the frame a clip shows at a time comes out right. Nil is the head of the file.
  func keyframe(
    of clip: Clip, track: TrackDescription, format: VideoFormat, at time: MediaTime
  ) throws(TimeError) -> Keyframe? {
    guard !format.isStill, let shown = try shownFrame(of: clip, track: track, format: format, at: time) else {
      return nil
    }
    return format.keyframes.last { $0.pts <= shown }
  }
}
