package import CompositionModel
import RenderTasks

/// Finds the runs of a film's frames that are stored pictures of a file, one after the other, which are copied.
struct SmartPlanner {
  /// Frames that are copied.
  struct Run {
    var frames: Range<Int>
    var asset: AssetID
    var copy: CopiedFrames
    var parameterSets: [UInt8]
    fileprivate var clip: Shown
  }

  /// What frames show: a clip, or something else that has a time only.
  fileprivate struct Shown: Hashable {
    var track: TrackID?
    var asset: AssetID?
    var start: MediaTime
  }

  private struct Refusals {
    private(set) var list: [SmartRenderingPlan.Refusal] = []
    private var places: [SmartRenderingPlan.Refusal: Int] = [:]

    mutating func add(_ count: Int, of shown: Shown, _ reason: String) {
      guard count > 0 else { return }
      let key = SmartRenderingPlan.Refusal(
        track: shown.track, asset: shown.asset, start: shown.start, frames: 0, reason: reason)
      if let place = places[key] {
        list[place].frames += count
      } else {
        places[key] = list.count
        list.append(key)
        list[list.count - 1].frames = count
      }
    }
  }

  private let edit: Edit
  private let timeline: Timeline
  private let sources: SourceLookup
  private let encoder: VideoSettings
  private let obstacles: SmartObstacles
  /// The frames in which overlays and captions are drawn, rising and apart, each with its reason.
  private let overlays: [Range<Int>]
  private let captions: [Range<Int>]
  /// The fewest frames of a run. A shorter one costs more than it saves.
  private let shortest: Int
  /// The most frames of a task that copies, unless no keyframe is there.
  private let longest: Int
  private var refusals = Refusals()
  private var runs: [Run] = []

  /// Seconds of a film that one task copies. Its fallback is to encode them.
  private static let longestRun = Rational(60)

  private init(
    _ edit: Edit, timeline: Timeline, rendition: VideoRendition, sources: SourceLookup,
    fonts: [FontRequest: TextFonts]
  ) throws(PlanError) {
    (self.edit, self.timeline, self.sources, encoder) = (edit, timeline, sources, rendition.encoder)
    obstacles = SmartObstacles(sources: sources, size: rendition.size, encoder: rendition.encoder)
    let grid = timeline.grid
    overlays = Self.merged(
      try edit.videoComposition.overlays.map { overlay throws(PlanError) in
        try mapErrors(to: PlanError.time("the overlay over \(overlay.over)")) { () throws(TimeError) in
          try grid.frames(in: overlay.over)
        }
      })
    captions = Self.merged(
      try CaptionPlanner(edit, grid: grid, sources: sources, fonts: fonts).drawnFrames())
    let second = try mapErrors(to: PlanError.time("a second of the film")) { () throws(TimeError) in
      try Rational(1) / grid.frameDuration.exact
    }
    let isByPictures = rendition.encoder.codec.definition.smartRendering == .pictures
    shortest = isByPictures ? RenderPlanner.shortestSegment : Int(clamping: max(2, second.ceiling))
    longest = Int(
      clamping: max(
        2,
        (try mapErrors(to: PlanError.time("a minute of the film")) { () throws(TimeError) in
          try second * Self.longestRun
        }).ceiling))
  }

  /// The runs of a film, rising and apart, and why other frames are encoded.
  static func plan(
    _ edit: Edit, timeline: Timeline, rendition: VideoRendition, sources: SourceLookup, fonts: [FontRequest: TextFonts]
  ) throws(PlanError) -> (runs: [Run], refusals: [SmartRenderingPlan.Refusal]) {
    var planner = try SmartPlanner(edit, timeline: timeline, rendition: rendition, sources: sources, fonts: fonts)
    for span in timeline.spans { try planner.examine(span) }
    planner.chooseParameterSets()
    planner.markNeighbours()
    return (planner.runs, planner.refusals.list)
  }

  // MARK: What is shown

  private mutating func examine(_ span: TimelineSpan) throws(PlanError) {
    let top = span.layers.flatMap(\.clips).first
    let time = try mapErrors(to: PlanError.time("frame \(span.frames.lowerBound)")) { () throws(TimeError) in
      try timeline.grid.time(of: span.frames.lowerBound)
    }
    let shown = Shown(track: top?.track, asset: top?.clip.asset, start: top?.clip.target.start ?? time)
    guard span.layers.count == 1, case .clip(let layer) = span.layers[0] else {
      let reason =
        switch span.layers.first {
        case nil: "no clip is shown"
        case .transition? where span.layers.count == 1: "a transition is shown"
        case .compositor? where span.layers.count == 1: "a compositor makes the picture"
        default: "several layers are composited"
        }
      return refusals.add(span.frames.count, of: shown, reason)
    }
    if let obstacle = try obstacles.obstacle(to: layer) {
      return refusals.add(span.frames.count, of: shown, obstacle)
    }
    for (frames, reason) in try parts(of: span, layer) {
      if let reason {
        refusals.add(frames.count, of: shown, reason)
      } else {
        try examine(frames, of: layer, shown)
      }
    }
  }

  /// The frames of a span in parts, each with the reason why its pictures are changed. Nil: they are not.
  private func parts(
    of span: TimelineSpan, _ layer: TimelineClip
  ) throws(PlanError) -> [(frames: Range<Int>, reason: String?)] {
    let subject = "the clip of '\(layer.clip.asset)' at \(layer.clip.target.start)"
    return try mapErrors(to: PlanError.time(subject)) { () throws(TimeError) in
      var ramps = layer.opacity.ramps
      for filters in [layer.filters, span.filters, edit.videoComposition.filters] {
        for filter in filters ?? [] { ramps += filter.values.flatMap(\.ramps) }
      }
      var cuts: Set<Int> = [span.frames.lowerBound, span.frames.upperBound]
      for ramp in ramps {
        // The value of the ramp's end is that of the frame at it.
        for time in [ramp.over.start, ramp.over.end] {
          let frame = try timeline.grid.firstFrame(atOrAfter: time)
          cuts.formUnion([frame, frame + 1].filter(span.frames.contains))
        }
      }
      let drawn = (span.wantsOverlays ? overlays : []) + captions
      for range in drawn { cuts.formUnion([range.lowerBound, range.upperBound].filter(span.frames.contains)) }
      let ordered = cuts.sorted()
      var parts: [(frames: Range<Int>, reason: String?)] = []
      for (start, end) in zip(ordered, ordered.dropFirst()) {
        let reason = try change(of: start..<end, span, layer)
        if let last = parts.last, last.reason == reason {
          parts[parts.count - 1].frames = last.frames.lowerBound..<end
        } else {
          parts.append((start..<end, reason))
        }
      }
      return parts
    }
  }

  private func change(
    of frames: Range<Int>, _ span: TimelineSpan, _ layer: TimelineClip
  ) throws(TimeError) -> String? {
    func isDrawn(_ ranges: [Range<Int>]) -> Bool {
      let next = ranges.partitionPoint { frames.lowerBound < $0.upperBound }
      return next < ranges.count && ranges[next].lowerBound < frames.upperBound
    }
    if span.wantsOverlays, isDrawn(overlays) { return "an overlay is drawn over it" }
    if isDrawn(captions) { return "captions are drawn over it" }
    let clock = try SegmentClock(frames: frames, grid: timeline.grid)
    if try clock.local(layer.opacity) != .one { return "its opacity is changed" }
    for filters in [layer.filters, span.filters, edit.videoComposition.filters]
    where try clock.local(filters, digests: sources.digest(of:)) != nil {
      return "filters change it"
    }
    return nil
  }

  // MARK: Which pictures

  /// Looks for runs in frames that show a clip as it is.
  private mutating func examine(_ frames: Range<Int>, of layer: TimelineClip, _ shown: Shown) throws(PlanError) {
    let (_, track, video) = try sources.video(of: layer.clip)
    var next = frames.lowerBound
    while next < frames.upperBound {
      let found = try mapErrors(to: PlanError.time("the clip of '\(layer.clip.asset)' at frame \(next)")) {
        () throws(TimeError) in
        try mapped(layer.clip, track, video, from: next, to: frames.upperBound)
      }
      let part = next..<(next + found.count)
      next = part.upperBound
      guard let first = found.first.flatMap(video.frames.index) else {
        refusals.add(part.count, of: shown, "no stored picture is shown")
        continue
      }
      if part.count < shortest, part != frames {
        refusals.add(part.count, of: shown, "its pictures are not shown once each, one after the other")
        continue
      }
      findRuns(in: part, picture: first, layer.clip.asset, video, shown)
    }
  }

  /// The picture that is shown at a frame, and how many frames from there on show each the next picture.
  private func mapped(
    _ clip: Clip, _ track: TrackDescription, _ video: VideoFormat, from frame: Int, to end: Int
  ) throws(TimeError) -> (first: Int64?, count: Int) {
    func shown(_ frame: Int) throws(TimeError) -> Int64? {
      try sources.shownFrame(of: clip, track: track, format: video, at: timeline.grid.time(of: frame))
    }
    guard let first = try shown(frame) else { return (nil, 1) }
    if !track.hasRoundedTimes, let run = video.frames.run(from: first), run.step > 0,
      try track.timebase.exact * Rational(run.step) == timeline.grid.frameDuration.exact
    {
      // Frames and pictures are equally far apart, so that the last one shows it of all.
      let count = min(run.count, end - frame)
      if try shown(frame + count - 1) == first + run.step * Int64(count - 1) { return (first, count) }
    }
    var (current, count) = (first, 1)
    while frame + count < end, let following = video.frames.first(after: current),
      try shown(frame + count) == following
    {
      current = following
      count += 1
    }
    return (first, count)
  }

  /// - Parameter first: The number of the picture that the first frame shows.
  private mutating func findRuns(
    in frames: Range<Int>, picture first: Int, _ asset: AssetID, _ video: VideoFormat, _ shown: Shown
  ) {
    let isByPictures = encoder.codec.definition.smartRendering == .pictures
    let starts = isByPictures ? [] : keyframes(of: video, first..<(first + frames.count)).map { $0 - first }
    let damaged = Set(
      (video.damagedFrames?.times ?? []).compactMap(video.frames.index).map { $0 - first }
        .filter { (0..<frames.count).contains($0) }
    ).sorted()
    var next = 0
    while next < frames.count {
      guard let start = isByPictures ? next : starts.first(where: { next <= $0 }) else {
        return refusals.add(frames.count - next, of: shown, "no keyframe follows in what is used of it")
      }
      refusals.add(start - next, of: shown, "they are before the first keyframe of what is used")
      let limit = damaged.first { start <= $0 } ?? frames.count
      var end = limit
      if let copyable = video.copyable, !isByPictures {
        while end > start, !copyable.canEnd(with: first + end - 1) { end -= 1 }
      }
      if end - start >= shortest {
        add(frames.lowerBound + start, first + start, end - start, starts.map { $0 - start }, asset, video, shown)
      } else {
        refusals.add(end - start, of: shown, "they are too few to be copied: fewer than \(shortest) frames")
      }
      refusals.add(limit - end, of: shown, "they are decoded with pictures after the end of what is used")
      next = limit
      if limit < frames.count {
        refusals.add(1, of: shown, "it is damaged")
        next += 1
      }
    }
  }

  /// The numbers of the pictures within a range at which decoding can start.
  private func keyframes(of video: VideoFormat, _ pictures: Range<Int>) -> [Int] {
    guard let from = video.frames.time(at: pictures.lowerBound),
      let through = video.frames.time(at: pictures.upperBound - 1)
    else { return [] }
    let next = video.keyframes.partitionPoint { from <= $0.pts }
    // A state would have to be set before the picture.
    return video.keyframes[next...].prefix { $0.pts <= through }
      .filter { video.decoderState(at: $0) == nil }.compactMap { video.frames.index(of: $0.pts) }
  }

  /// Adds a run, in parts of at most `longest` frames if there are keyframes.
  private mutating func add(
    _ frame: Int, _ picture: Int, _ count: Int, _ starts: [Int], _ asset: AssetID, _ video: VideoFormat, _ shown: Shown
  ) {
    let isByPictures = encoder.codec.definition.smartRendering == .pictures
    var cuts = [0]
    let places = isByPictures ? Array(stride(from: longest, to: count, by: longest)) : starts
    for place in places where place > 0 {
      guard count - place >= shortest, place - (cuts.last ?? 0) >= longest else { continue }
      cuts.append(place)
    }
    for (start, end) in zip(cuts, cuts.dropFirst() + [count]) {
      guard let first = video.frames.time(at: picture + start), let last = video.frames.time(at: picture + end - 1)
      else { continue }
      runs.append(
        Run(
          frames: (frame + start)..<(frame + end), asset: asset,
          copy: CopiedFrames(
            times: FrameTimes(video.frames.times(in: first...last)), reorderDepth: video.copyable?.reorderDepth ?? 0,
            followsCopy: false),
          parameterSets: video.copyable?.parameterSets ?? [], clip: shown))
    }
  }

  // MARK: One stream

  /// Keeps the runs with the parameter sets of the most frames; of equally many those that come first.
  private mutating func chooseParameterSets() {
    var counts: [[UInt8]: Int] = [:]
    for run in runs { counts[run.parameterSets, default: 0] += run.frames.count }
    guard counts.count > 1, let most = counts.values.max(),
      let owner = runs.first(where: { counts[$0.parameterSets] == most })
    else { return }
    for run in runs where run.parameterSets != owner.parameterSets {
      refusals.add(
        run.frames.count, of: run.clip,
        "its parameter sets are not those of '\(owner.asset)', of which more is copied: a film has one of them")
    }
    runs.removeAll { $0.parameterSets != owner.parameterSets }
  }

  private mutating func markNeighbours() {
    for index in runs.indices.dropFirst() where runs[index - 1].frames.upperBound == runs[index].frames.lowerBound {
      runs[index].copy.followsCopy = true
    }
  }

  private static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for range in ranges.filter({ !$0.isEmpty }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }
}

/// What of a film with smart rendering is copied, and why the rest is not.
package struct SmartRenderingPlan: Sendable, Hashable, Codable {
  /// Frames of a clip that are encoded, and why.
  package struct Refusal: Sendable, Hashable, Codable {
    /// Nil: no clip is shown.
    package var track: TrackID?
    package var asset: AssetID?
    /// Where the clip starts on the composition's timeline, or where the frames do.
    package var start: MediaTime
    package var frames: Int
    package var reason: String
  }

  package var copiedFrames: Int
  package var encodedFrames: Int
  /// In the order of the film.
  package var refusals: [Refusal]
}
