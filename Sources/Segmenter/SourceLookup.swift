import CompositionModel
import RenderTasks

/// Finds the track of the file that a clip shows.
struct SourceLookup {
  let assets: [AssetID: PlannedAsset]
  /// The assets that are edits, each with the lookup of its own assets.
  private let nested: [AssetID: (edit: NestedEdit, sources: SourceLookup)]
  private let paths = CameraPaths()

  /// Those of an edit: its files, the pictures that are drawn, and the edits.
  init(_ edit: Edit, _ files: [AssetID: PlannedAsset]) {
    let edits = edit.nested ?? [:]
    let descriptions = (edit.drawn ?? [:]).merging(edits.mapValues(\.contents)) { $1 }
    assets = files.merging(descriptions.mapValues { PlannedAsset(description: $0, digest: "") }) { $1 }
    nested = Dictionary(
      uniqueKeysWithValues: edits.map { id, edit in
        let prefix = "\(id)/"
        let own = files.filter { $0.key.hasPrefix(prefix) }.map { (String($0.key.dropFirst(prefix.count)), $0.value) }
        return (id, (edit, SourceLookup(edit.edit, Dictionary(uniqueKeysWithValues: own))))
      })
  }

  /// An asset that is an edit, with the lookup of its own assets. Nil: it is no edit.
  func nested(_ id: AssetID) -> (edit: NestedEdit, sources: SourceLookup)? { nested[id] }

  /// The digest of an asset's file. Empty for an asset without a description, which lowering refuses.
  func digest(of asset: AssetID) -> String { assets[asset]?.digest ?? "" }

  /// The file of the artwork.
  func artwork(_ artwork: Artwork?) -> PlannedArtwork? {
    artwork.map {
      PlannedArtwork(
        digest: digest(of: $0.asset), track: $0.track, format: $0.format, isForSharing: $0.isForSharing)
    }
  }

  /// The clip's track.
  func track(of clip: Clip) throws(PlanError) -> (asset: PlannedAsset, track: TrackDescription) {
    func error(_ code: PlanError.Code) -> PlanError {
      PlanError(code, "the clip of '\(clip.asset)' at \(clip.target.start)")
    }
    guard let asset = assets[clip.asset] else { throw error(.assetNotDescribed(clip.asset)) }
    guard let track = asset.description.tracks.first(where: { $0.index == clip.sourceTrack }) else {
      throw error(.noTrack(asset: clip.asset, index: clip.sourceTrack))
    }
    return (asset, track)
  }

  /// The clip's track, which must be a video track.
  func video(of clip: Clip) throws(PlanError) -> (asset: PlannedAsset, track: TrackDescription, format: VideoFormat) {
    let (asset, track) = try track(of: clip)
    guard let format = track.video else {
      throw PlanError(.noTrack(asset: clip.asset, index: clip.sourceTrack), "the video of '\(clip.asset)'")
    }
    return (asset, track, format)
  }

  /// The stored timestamp of the frame that a clip shows at a time of the composition: the greatest that is not after
  /// the source time (before it, if the clip is reversed), or the first. Nil for a track without frames.
  func shownFrame(
    of clip: Clip, track: TrackDescription, format: VideoFormat, at time: MediaTime
  ) throws(TimeError) -> Int64? {
    guard !format.isStill else { return format.frames.first }
    let tick = try StoredTime.lastTick(
      dueAt: clip.sourceTime(at: time), timebase: track.timebase, origin: track.origin,
      isRounded: track.hasRoundedTimes, cadence: format.cadence, isBefore: clip.retiming.isReversed
    )
    return format.frames.last(atOrBefore: tick) ?? format.frames.first
  }

  /// The source time of the first of some frames of the output that show a clip. It is the time of the source's own
  /// frame if each of them shows the next frame of the source: then it does not depend on where the clip lies between
  /// the output's frames.
  func time(
    of clip: Clip, track: TrackDescription, format: VideoFormat, in frames: Range<Int>, grid: FrameGrid
  ) throws(TimeError) -> Rational {
    let first = try grid.time(of: frames.lowerBound)
    let exact = try clip.sourceTime(at: first)
    guard !format.isStill, !track.hasRoundedTimes, clip.retiming == nil, clip.source.duration == clip.target.duration,
      let shown = try shownFrame(of: clip, track: track, format: format, at: first),
      let run = format.frames.run(from: shown), run.count >= frames.count || run.last == format.frames.last,
      try track.timebase.exact * Rational(run.step) == grid.frameDuration.exact,
      // What follows the run may be due before its last frame has been shown for as long as the others.
      try shownFrame(of: clip, track: track, format: format, at: grid.time(of: frames.upperBound - 1)).map({
        Int128($0)
      })
        == min(Int128(run.last), Int128(shown) + Int128(frames.count - 1) * Int128(run.step))
    else { return exact }
    let stored = try track.timebase.exact * Rational(shown - track.origin)
    let next = try stored + grid.frameDuration.exact
    // Before its first frame a source shows that frame. Where its next frame is overdue, that may be a picture which
    // cannot be decoded, and is to be reported.
    return stored <= exact && exact < next ? stored : exact
  }

  /// Where to start decoding for the frame that a clip shows at a time: the index of one of the format's keyframes.
  /// Nil: at the start of the file.
  func keyframe(
    of clip: Clip, track: TrackDescription, format: VideoFormat, at time: MediaTime
  ) throws(TimeError) -> Int? {
    guard !format.isStill, let shown = try shownFrame(of: clip, track: track, format: format, at: time) else {
      return nil
    }
    let next = format.keyframes.partitionPoint { shown < $0.pts }
    return next > 0 ? next - 1 : nil
  }
}

extension SourceLookup {
  /// Where to start decoding for the frame that is shown at a time of the asset: the index of one of the format's
  /// keyframes. Nil: at the start of the file.
  fileprivate static func keyframe(
    at time: Rational, _ track: TrackDescription, _ format: VideoFormat
  ) throws(TimeError) -> Int? {
    let tick = try StoredTime.lastTick(
      dueAt: time, timebase: track.timebase, origin: track.origin, isRounded: track.hasRoundedTimes,
      cadence: format.cadence)
    guard let shown = format.frames.last(atOrBefore: tick) ?? format.frames.first else { return nil }
    let next = format.keyframes.partitionPoint { shown < $0.pts }
    return next > 0 ? next - 1 : nil
  }
}

extension SourceLookup {
  /// The places of the pictures that are shown of a stabilized clip. Nil: they stay where they are.
  /// - Parameter shown: Stored timestamps of pictures.
  fileprivate func stabilization(
    of clip: Clip, showing shown: ClosedRange<Int64>
  ) throws(TimeError) -> PlannedStabilization? {
    guard let wanted = clip.stabilization, let asset = assets[clip.asset],
      let steps = asset.motion[clip.sourceTrack],
      let track = asset.description.tracks.first(where: { $0.index == clip.sourceTrack }), let video = track.video
    else { return nil }
    var planned = try paths.path(of: clip, track, video, steps, wanted)
    let first = max(0, planned.places.partitionPoint { shown.lowerBound <= $0.pts } - 1)
    let end = min(planned.places.count, planned.places.partitionPoint { shown.upperBound < $0.pts } + 1)
    planned.places = Array(planned.places[first..<max(first, end)])
    return planned.zoom == 1 ? nil : planned
  }
}

extension VideoFormat {
  /// What is deinterlaced of a clip. Every output is progressive.
  func deinterlacing(_ wanted: Deinterlacing?) -> PlannedDeinterlacing? {
    switch wanted {
    case .always: isStill ? nil : .all
    case .never: nil
    case nil: isInterlaced && !isStill ? .flagged : nil
    }
  }
}

/// The sources of one segment. Each clip has one source, and each still picture has one, however many clips show it.
struct SegmentSources {
  private struct Key: Hashable {
    var asset: AssetID
    var track: Int
    /// Nil for still pictures and overlays.
    var clip: ClipKey?
    var overlay: OverlayKey?
    var alpha: AlphaMode?
  }

  private struct OverlayKey: Hashable {
    var video: OverlayVideo
    var start: MediaTime
    var shown: Range<Int>
  }

  private struct ClipKey: Hashable {
    var track: TrackID
    var start: MediaTime
  }

  let lookup: SourceLookup
  /// Plans the pictures of assets that are edits.
  private let nested: NestedPlanner
  /// The film's frames that are in the segment.
  private let frames: Range<Int>
  private(set) var sources: [PlannedSource] = []
  private var indices: [Key: Int] = [:]

  init(lookup: SourceLookup, nested: NestedPlanner, frames: Range<Int>) {
    self.lookup = lookup
    self.nested = nested
    self.frames = frames
  }

  /// The index of a clip's source, which is read from the first frame that needs it.
  mutating func index(
    of clip: Clip, track: TrackID, from frame: Int, grid: FrameGrid
  ) throws(PlanError) -> Int {
    let (asset, description, video) = try lookup.video(of: clip)
    let key = Key(
      asset: clip.asset, track: clip.sourceTrack,
      clip: video.isStill ? nil : ClipKey(track: track, start: clip.target.start), alpha: clip.alpha)
    if let index = indices[key] { return index }
    func error() -> (TimeError) -> PlanError {
      PlanError.time("the clip of '\(clip.asset)' at frame \(frame)")
    }
    let (earliest, latest) = try mapErrors(to: error()) { () throws(TimeError) in
      let last = max(frame, try grid.frames(in: clip.target).clamped(to: frames).last ?? frame)
      return clip.retiming.isReversed ? (last, frame) : (frame, last)
    }
    if lookup.nested(clip.asset) != nil {
      let shown = try mapErrors(to: error()) { () throws(TimeError) in
        (
          first: try lookup.shownFrame(of: clip, track: description, format: video, at: grid.time(of: earliest)),
          last: try lookup.shownFrame(of: clip, track: description, format: video, at: grid.time(of: latest))
        )
      }
      let index = add(key, asset: asset, track: description, video: video, decodeFrom: nil, starts: nil)
      let (first, last) = (shown.first ?? 0, shown.last ?? 0)
      try nest(clip.asset, min(first, last)...max(first, last), at: index)
      return index
    }
    let (start, end) = try mapErrors(to: error()) { () throws(TimeError) in
      return (
        try lookup.keyframe(of: clip, track: description, format: video, at: grid.time(of: earliest)),
        try lookup.keyframe(of: clip, track: description, format: video, at: grid.time(of: latest))
      )
    }
    let deinterlacing = video.deinterlacing(clip.deinterlace)
    // The frame before the first is decoded too, and may be of an earlier start.
    let neededBefore = Keyframe.neededBefore + (deinterlacing == nil ? 0 : 1)
    let starts = video.isStill ? nil : max(0, (start ?? -1) - neededBefore)..<((end ?? -1) + 2)
    let index = add(key, asset: asset, track: description, video: video, decodeFrom: start, starts: starts)
    sources[index].deinterlacing = deinterlacing
    sources[index].stabilization = try mapErrors(to: error()) { () throws(TimeError) in
      let shown = (
        try lookup.shownFrame(of: clip, track: description, format: video, at: grid.time(of: earliest)),
        try lookup.shownFrame(of: clip, track: description, format: video, at: grid.time(of: latest))
      )
      guard let first = shown.0, let last = shown.1 else { return nil }
      return try lookup.stabilization(of: clip, showing: min(first, last)...max(first, last))
    }
    return index
  }

  /// The index of a still picture that no clip shows, such as that of an overlay.
  /// - Parameter subject: what shows it.
  mutating func index(
    ofStill id: AssetID, alpha: AlphaMode? = nil, for subject: String
  ) throws(PlanError) -> Int {
    guard let asset = lookup.assets[id] else { throw PlanError(.assetNotDescribed(id), subject) }
    guard let track = asset.description.defaultTrack(.video), let video = track.video else {
      throw PlanError(.noTrack(asset: id, index: 0), subject)
    }
    let key = Key(asset: id, track: track.index, clip: nil, alpha: alpha)
    return indices[key] ?? add(key, asset: asset, track: track, video: video, decodeFrom: nil, starts: nil)
  }

  /// The index of the source of a moving overlay, which is read between two times of the asset.
  /// - Parameters:
  ///   - start: The start of the overlay, on the composition's timeline.
  ///   - shown: The frames of the film that show it in the segment.
  mutating func index(
    of overlay: OverlayVideo, alpha: AlphaMode?, start: MediaTime, shown: Range<Int>, from: Rational,
    through: Rational
  ) throws(PlanError) -> Int {
    guard let asset = lookup.assets[overlay.asset] else {
      throw PlanError(.assetNotDescribed(overlay.asset), "an overlay")
    }
    guard let track = asset.description.tracks.first(where: { $0.index == overlay.sourceTrack }),
      let video = track.video
    else { throw PlanError(.noTrack(asset: overlay.asset, index: overlay.sourceTrack), "an overlay") }
    let key = Key(
      asset: overlay.asset, track: track.index, overlay: OverlayKey(video: overlay, start: start, shown: shown),
      alpha: alpha)
    if let index = indices[key] { return index }
    func error() -> (TimeError) -> PlanError {
      PlanError.time("the overlay of '\(overlay.asset)' at \(start)")
    }
    if lookup.nested(overlay.asset) != nil {
      func frame(at time: Rational) throws(PlanError) -> Int64 {
        let tick = try mapErrors(to: error()) { () throws(TimeError) in
          try StoredTime.lastTick(dueAt: time, timebase: track.timebase, origin: track.origin, isRounded: false)
        }
        return video.frames.last(atOrBefore: tick) ?? 0
      }
      let (first, last) = (try frame(at: from), try frame(at: through))
      let index = add(key, asset: asset, track: track, video: video, decodeFrom: nil, starts: nil)
      try nest(overlay.asset, min(first, last)...max(first, last), at: index)
      return index
    }
    let (first, last) = try mapErrors(to: error()) { () throws(TimeError) in
      (try SourceLookup.keyframe(at: from, track, video), try SourceLookup.keyframe(at: through, track, video))
    }
    let starts = max(0, (first ?? -1) - Keyframe.neededBefore)..<((last ?? -1) + 2)
    return add(key, asset: asset, track: track, video: video, decodeFrom: first, starts: starts)
  }

  /// Gives a source the pictures of an edit.
  /// - Parameter shown: The frames of its film that are shown.
  private mutating func nest(_ id: AssetID, _ shown: ClosedRange<Int64>, at index: Int) throws(PlanError) {
    guard let pictures = try nested.pictures(of: id, shown, in: lookup) else { return }
    sources[index].video = nested.format(of: pictures, sources[index].video)
    if pictures.isTransparent == true { sources[index].alpha = .premultiplied }
    sources[index].nested = pictures
  }

  /// - Parameters:
  ///   - decodeFrom: The index of a keyframe.
  ///   - starts: The indices of the keyframes that the task needs.
  private mutating func add(
    _ key: Key, asset: PlannedAsset, track: TrackDescription, video: VideoFormat, decodeFrom: Int?, starts: Range<Int>?
  ) -> Int {
    sources.append(PlannedSource(asset, track, video, decodeFrom: decodeFrom, starts: starts))
    sources[sources.count - 1].alpha = key.alpha
    indices[key] = sources.count - 1
    return sources.count - 1
  }
}

extension PlannedSource {
  /// - Parameters:
  ///   - decodeFrom: The index of a keyframe.
  ///   - starts: The indices of the keyframes that the task needs.
  init(
    _ asset: PlannedAsset, _ track: TrackDescription, _ video: VideoFormat, decodeFrom: Int?, starts: Range<Int>?
  ) {
    var format = video.withKeyframes(in: starts ?? 0..<0)
    format.frames = FrameTimes([])
    format.startsProvedBy = nil
    format.lacksStoredTimes = nil
    format.copyable = nil
    // Whether there are any around is all that a reader needs.
    let from = starts.flatMap { $0.lowerBound > 0 ? format.keyframes.first?.pts : nil } ?? .min
    let through = starts.flatMap {
      video.keyframes.indices.contains($0.upperBound) ? video.keyframes[$0.upperBound].pts : nil
    }
    format.damagedFrames = video.damagedFrames?.first(atOrAfter: from).flatMap {
      $0 <= through ?? .max ? FrameTimes([$0]) : nil
    }
    let start = decodeFrom.map { format.keyframes[$0 - (starts?.lowerBound ?? 0)] }
    self.init(
      digest: asset.digest, track: track.index, codec: track.codec, timebase: track.timebase, origin: track.origin,
      hasRoundedTimes: track.hasRoundedTimes, discontinuities: track.discontinuities, decodeFrom: start,
      video: format)
  }
}
