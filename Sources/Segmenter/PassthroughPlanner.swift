import CompositionModel
import RenderTasks

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
      let planned = try clips.map { clip throws(PlanError) in try plan(clip, sources) }
      if type == .video {
        let formats = try clips.map { clip throws(PlanError) in try sources.video(of: clip).format }
        task.pictureCount = zip(planned, formats).reduce(0) { $0 + pictureCount(of: $1.0, $1.1) }
      }
      task.tracks.append(
        PassthroughTask.Track(
          type: type, clips: planned, duration: end,
          label: type == .video ? edit.export.videoLabel : edit.export.audioLabel,
          rotation: type == .video ? edit.export.rotation : nil))
    }
    let carried = edit.export.carried ?? CarriedMedia()
    for track in carried.tracks {
      let clips = try clips(of: track, in: edit, sources)
      guard let end = clips.last?.target.end else { continue }
      var planned = PassthroughTask.Track(
        type: track.type, clips: try clips.map { clip throws(PlanError) in try plan(clip, sources) }, duration: end)
      planned.isCarried = true
      task.tracks.append(planned)
    }
    sort(&task.tracks)
    try stateFormat(of: &task, edit, sources)
    let attachments = carried.attachments.map {
      PassthroughTask.Attachment(digest: sources.digest(of: $0.asset), track: $0.index)
    }
    if !attachments.isEmpty { task.attachments = attachments }
    return task
  }

  /// Puts tracks of one type in the order of the first clip's file. A player that takes the first one of a type takes
  /// the first of the file.
  private static func sort(_ tracks: inout [PassthroughTask.Track]) {
    let order: [MediaType] = [.video, .audio, .subtitle, .metadata]
    tracks.sort { first, second in
      func place(_ track: PassthroughTask.Track) -> (Int, Int, Int) {
        // The pictures that the document names stay the first.
        let isNamed = track.type == .video && track.isCarried == nil
        return (order.firstIndex(of: track.type) ?? order.count, isNamed ? 0 : 1, track.clips.first?.track ?? 0)
      }
      return place(first) < place(second)
    }
  }

  /// States what libavformat does not copy with the packets of the first clip.
  private static func stateFormat(
    of task: inout PassthroughTask, _ edit: Edit, _ sources: SourceLookup
  ) throws(PlanError) {
    guard let place = task.tracks.firstIndex(where: { $0.type == .video && $0.isCarried == nil }),
      let track = edit.composition.tracks.first(where: { $0.type == .video && !$0.clips.isEmpty })
    else { return }
    let clips = try clips(of: track, in: edit, sources)
    guard let first = clips.first else { return }
    let source = try sources.track(of: first).track
    var apertures: Set<PixelRect?> = []
    for clip in clips { apertures.insert(try sources.track(of: clip).track.video?.cleanAperture) }
    // A film has one for all of its pictures.
    if edit.export.container.hasEditLists, apertures.count == 1 {
      task.tracks[place].cleanAperture = source.video?.cleanAperture
    }
    if edit.export.carried?.hasTimecode == true {
      task.tracks[place].timecode = try mapErrors(to: PlanError.time("the timecode")) { () throws(TimeError) in
        try source.timecode(at: first.source.start)
      }
    }
  }

  /// How many pictures a clip presents.
  private static func pictureCount(of clip: PassthroughTask.Clip, _ video: VideoFormat) -> Int {
    let times = video.frames.times
    let first = times.partitionPoint { (clip.held ?? clip.start) <= $0 }
    return max(0, times.partitionPoint { clip.end <= $0 } - first)
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
        if shown < planned.start { planned.held = shown }
      }
      return planned
    }
  }
}
