package import CompositionModel
package import RenderTasks

/// Plans how the motion of the camera in stabilized clips is measured.
package enum MotionPlanner {
  /// Seconds of a stretch that one task measures. Stretches begin at multiples of this on the asset's timeline, so that
  /// a clip that is cut elsewhere, or another one of the same asset, has the same.
  private static let stretch = MediaTime(seconds: 10)

  /// The tasks that an edit needs, and the edits that are its assets, each once.
  package static func tasks(_ edit: Edit, assets: [AssetID: PlannedAsset]) throws(PlanError) -> [MotionTask] {
    var tasks: [MotionTask] = []
    var seen: Set<MotionTask> = []
    for task in try self.tasks(edit, SourceLookup(edit, assets)) where seen.insert(task).inserted { tasks.append(task) }
    return tasks
  }

  /// The assets with the motion that was measured in them.
  package static func adding(
    _ found: [MotionTask: CameraMotion], to assets: [AssetID: PlannedAsset]
  ) -> [AssetID: PlannedAsset] {
    var assets = assets
    for (task, motion) in found {
      for id in assets.keys where assets[id]?.digest == task.source.digest {
        assets[id]?.motion[task.source.track, default: []] += motion.steps
      }
    }
    return assets.mapValues { asset in
      var asset = asset
      asset.motion = asset.motion.mapValues { $0.sorted { $0.pts < $1.pts } }
      return asset
    }
  }

  private static func tasks(_ edit: Edit, _ sources: SourceLookup) throws(PlanError) -> [MotionTask] {
    var tasks: [MotionTask] = []
    let tracks = edit.composition.tracks.filter { $0.type == .video }
    for clip in tracks.flatMap(\.clips) where clip.stabilization != nil {
      if sources.nested(clip.asset) != nil { continue }
      let (asset, track, video) = try sources.video(of: clip)
      tasks += try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
        () throws(TimeError) in
        try self.tasks(clip, asset, track, video)
      }
    }
    for id in (edit.nested ?? [:]).keys.sorted() {
      guard let (nested, own) = sources.nested(id) else { continue }
      tasks += try self.tasks(nested.edit, own)
    }
    return tasks
  }

  private static func tasks(
    _ clip: Clip, _ asset: PlannedAsset, _ track: TrackDescription, _ video: VideoFormat
  ) throws(TimeError) -> [MotionTask] {
    guard let used = try track.pictures(of: clip.stabilization?.part ?? clip.source, video) else { return [] }
    let length = Int64(clamping: max(1, try (stretch / track.timebase).floor))
    var tasks: [MotionTask] = []
    var next: Int64? = used.lowerBound
    while let picture = next, picture <= used.upperBound {
      let place = picture.subtractingReportingOverflow(track.origin).partialValue
      let number = place >= 0 ? place / length : -((length - 1 - place) / length)
      let start = track.origin + number * length
      let end = start + length - 1
      guard let first = video.frames.first(atOrAfter: start), let last = video.frames.last(atOrBefore: end),
        first <= last
      else { break }
      tasks.append(MotionTask(source: source(asset, track, video, first...last), pictures: first...last))
      next = video.frames.first(after: last)
    }
    return tasks
  }

  private static func source(
    _ asset: PlannedAsset, _ track: TrackDescription, _ video: VideoFormat, _ pictures: ClosedRange<Int64>
  ) -> PlannedSource {
    func start(_ picture: Int64) -> Int { video.keyframes.partitionPoint { picture < $0.pts } - 1 }
    let (first, last) = (start(pictures.lowerBound), start(pictures.upperBound))
    // The picture before the first is decoded too, and may be of an earlier start.
    return PlannedSource(
      asset, track, video, decodeFrom: first < 0 ? nil : first,
      starts: max(0, first - Keyframe.neededBefore - 1)..<(last + 2))
  }
}

extension TrackDescription {
  /// The stored timestamps of the first and the last picture that a part of the asset shows. Nil for one that does not
  /// move.
  fileprivate func pictures(of part: MediaTimeRange, _ video: VideoFormat) throws(TimeError) -> ClosedRange<Int64>? {
    guard !video.isStill, !part.isEmpty, let earliest = video.frames.first else { return nil }
    func tick(_ time: MediaTime, isBefore: Bool) throws(TimeError) -> Int64 {
      try StoredTime.lastTick(
        dueAt: time.exact, timebase: timebase, origin: origin, isRounded: hasRoundedTimes, cadence: video.cadence,
        isBefore: isBefore)
    }
    let first = video.frames.last(atOrBefore: try tick(part.start, isBefore: false)) ?? earliest
    let last = video.frames.last(atOrBefore: try tick(part.end, isBefore: true)) ?? earliest
    return first...max(first, last)
  }
}

/// The evened paths of stabilized clips, each computed once.
final class CameraPaths {
  private struct Key: Hashable {
    var asset: AssetID
    var track: Int
    var part: MediaTimeRange
    var stabilization: Stabilization
  }

  private var known: [Key: PlannedStabilization] = [:]

  /// - Parameter steps: Those of the track.
  /// - Returns: The places of all pictures of the clip.
  func path(
    of clip: Clip, _ track: TrackDescription, _ video: VideoFormat, _ steps: [MotionStep],
    _ stabilization: Stabilization
  ) throws(TimeError) -> PlannedStabilization {
    let part = stabilization.part ?? clip.source
    let key = Key(asset: clip.asset, track: clip.sourceTrack, part: part, stabilization: stabilization)
    if let path = known[key] { return path }
    var own: [MotionStep] = []
    if let used = try track.pictures(of: part, video) { own = steps.filter { used.contains($0.pts) } }
    let shown = video.cleanAperture?.size ?? video.size
    let path = CameraPath(
      own, width: Double(shown.width * video.pixelAspect.horizontal) / Double(video.pixelAspect.vertical),
      height: Double(shown.height),
      timebase: track.timebase
    ).stabilized(stabilization)
    known[key] = path
    return path
  }
}
