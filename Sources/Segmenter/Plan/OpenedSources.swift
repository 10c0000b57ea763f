import CompositionModel

/// The sources of one segment, each once: a clip's are found again by its track and start, a still's by its asset.
struct OpenedSources {
  private struct Key: Hashable {
    var asset: AssetID
    var track: Int
    /// Nil for stills, which have no place to be read from.
    var clip: ClipKey?
  }

  private struct ClipKey: Hashable {
    var track: TrackID
    var start: MediaTime
  }

  let lookup: SourceLookup
  private(set) var sources: [PlannedSource] = []
  private var indices: [Key: Int] = [:]

  init(lookup: SourceLookup) {
    self.lookup = lookup
  }

  mutating func index(
    of clip: Clip, track: TrackID, from frame: Int, grid: FrameGrid
  ) throws(PlanError) -> Int {
    let (asset, description, video) = try lookup.video(of: clip)
    let key = Key(
      asset: clip.asset, track: clip.sourceTrack,
      clip: video.isStill ? nil : ClipKey(track: track, start: clip.target.start))
    if let index = indices[key] { return index }
    let keyframe = try timed("the clip of '\(clip.asset)' at frame \(frame)") { () throws(TimeError) in
      try lookup.keyframe(of: clip, track: description, format: video, at: grid.time(of: frame))
    }
    return add(key, asset: asset, track: description, video: video, decodeFrom: keyframe)
  }

  /// The picture of an image overlay.
  mutating func index(ofStill id: AssetID) throws(PlanError) -> Int {
    guard let asset = lookup.assets[id] else { throw PlanError(.assetNotDescribed(id), "an overlay") }
    guard let track = asset.description.defaultTrack(.video), let video = track.video else {
      throw PlanError(.noTrack(asset: id, index: 0), "an overlay")
    }
    let key = Key(asset: id, track: track.index, clip: nil)
    return indices[key] ?? add(key, asset: asset, track: track, video: video, decodeFrom: nil)
  }

  private mutating func add(
    _ key: Key, asset: PlannedAsset, track: TrackDescription, video: VideoFormat, decodeFrom: Keyframe?
  ) -> Int {
    var format = video
    format.frames = FrameTimes([])
    format.keyframes = []
    sources.append(
      PlannedSource(
        digest: asset.digest, track: track.index, codec: track.codec, timebase: track.timebase, origin: track.origin,
        hasRoundedTimes: track.hasRoundedTimes, decodeFrom: decodeFrom, video: format))
    indices[key] = sources.count - 1
    return sources.count - 1
  }
}
