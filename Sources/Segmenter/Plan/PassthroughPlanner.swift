import CompositionModel

/// Plans a film that is copied. Lowering has checked that it can be.
enum PassthroughPlanner {
  static func task(_ edit: Edit, sources: SourceLookup) throws(PlanError) -> PassthroughTask {
    var task = PassthroughTask(
      container: edit.export.container, tracks: [], optimizeForNetworkUse: edit.export.optimizeForNetworkUse,
      metadata: edit.export.metadata)
    task.artwork = sources.artwork(edit.export.artwork)
    task.chapters = edit.export.chapters
    task.texts = try CarriedCaptions.tracks(of: edit, sources: sources)
    let copied = edit.export.passthrough
    for type in [MediaType.video, .audio] where copied?.contains(type) == true {
      let tracks = try edit.composition.tracks.filter { $0.type == type }.map { track throws(PlanError) in
        try clips(of: track, in: edit, sources)
      }
      guard let clips = tracks.first(where: { !$0.isEmpty }), let end = clips.last?.target.end else { continue }
      task.tracks.append(
        PassthroughTask.Track(
          type: type, clips: try clips.map { clip throws(PlanError) in try plan(clip, sources) }, duration: end,
          label: type == .video ? edit.export.videoLabel : edit.export.audioLabel,
          rotation: type == .video ? edit.export.rotation : nil))
    }
    return task
  }

  /// On the output's own timeline.
  private static func clips(
    of track: CompositionTrack, in edit: Edit, _ sources: SourceLookup
  ) throws(PlanError) -> [Clip] {
    let subject = "the clips of the track '\(track.id)'"
    let range = try mapErrors(to: PlanError.time(subject)) { () throws(TimeError) in try edit.exportedRange }
    var clips: [Clip] = []
    for clip in track.clips {
      let source = try sources.track(of: clip).track
      let part = try mapErrors(to: PlanError.time(subject)) { () throws(TimeError) in
        try clip.copiedPart(range, of: source)
      }
      if let part { clips.append(part) }
    }
    return clips
  }

  private static func plan(_ clip: Clip, _ sources: SourceLookup) throws(PlanError) -> PassthroughTask.Clip {
    let (asset, track) = try sources.track(of: clip)
    return try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
      () throws(TimeError) in
      func tick(_ time: MediaTime) throws(TimeError) -> Int64 {
        StoredTime.tick(try (time / track.timebase).rounded, origin: track.origin)
      }
      let start = try tick(clip.source.start)
      var planned = PassthroughTask.Clip(
        digest: asset.digest, track: track.index, codec: track.codec, timebase: track.timebase,
        discontinuities: track.discontinuities, from: nil, start: start, end: try tick(clip.source.end),
        target: Int64(clamping: try (clip.target.start / track.timebase).rounded))
      if let video = track.video, let shown = try track.firstFrame(in: clip.source.start) {
        planned.from = video.keyframes.last { $0.pts <= shown }
        // The first picture is presented from the start on, if the container rounds its time to after it.
        if shown > start, shown - start <= 1 { planned.start = shown }
      }
      return planned
    }
  }
}
