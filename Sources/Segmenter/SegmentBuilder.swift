import CompositionModel
import RenderTasks

/// Makes the task of one segment. All times are on the segment's own clock, and the task contains nothing that its
/// frames do not depend on, so that equal frames have equal fingerprints.
struct SegmentBuilder {
  private let timeline: Timeline
  private let format: VideoTaskFormat
  private let renditions: [VideoRendition]
  private let sources: SourceLookup
  private let fonts: [FontRequest: TextFonts]
  private let segments: [Range<Int>]
  private let overlays: OverlayIndex
  private let filters: [Filter<RampList>]?
  private let captions: CaptionPlanner
  private let waveforms: WaveformPlanner
  private let metadata: [TrackID: MetadataTrack]
  private let nestedCount: NestedPlanner.Count
  /// Whether it builds what another segment shows.
  private let isNested: Bool

  /// - Parameters:
  ///   - renditions: Those of all segments. Empty: their frames are not encoded.
  ///   - segments: the frames of every segment, rising and apart.
  ///   - count: That of the film whose segment shows what is built. Nil: it is a film of its own.
  init(
    edit: Edit, timeline: Timeline, format: VideoTaskFormat, renditions: [VideoRendition], sources: SourceLookup,
    fonts: [FontRequest: TextFonts], segments: [Range<Int>], within count: NestedPlanner.Count? = nil
  ) throws(PlanError) {
    (nestedCount, isNested) = (count ?? NestedPlanner.Count(), count != nil)
    self.timeline = timeline
    self.format = format
    self.renditions = renditions
    self.sources = sources
    self.fonts = fonts
    self.segments = segments
    filters = edit.videoComposition.filters
    metadata = Dictionary((edit.metadata ?? []).map { ($0.id, $0) }) { first, _ in first }
    waveforms = WaveformPlanner(edit: edit, sources: sources)
    captions = try CaptionPlanner(edit, grid: timeline.grid, sources: sources, fonts: fonts)
    overlays = try OverlayIndex(edit.videoComposition.overlays, timeline: timeline, segments: segments)
  }

  /// The task of a segment, by its index.
  func task(_ segment: Int) throws(PlanError) -> VideoTask {
    let frames = segments[segment]
    let clock = try mapErrors(to: PlanError.time("frame \(frames.lowerBound)")) { () throws(TimeError) in
      try SegmentClock(frames: frames, grid: timeline.grid)
    }
    if !isNested { nestedCount.beginSegment() }
    let nestedPlanner = NestedPlanner(format: format, fonts: fonts, count: nestedCount)
    var used = SegmentSources(lookup: sources, nested: nestedPlanner, frames: frames)
    var spans: [Span] = []
    for span in timeline.spans(in: frames) {
      let shown = span.frames.clamped(to: frames)
      var layers: [PlannedLayer] = []
      for layer in span.layers {
        layers.append(try plan(layer, clock: clock, firstFrame: shown.lowerBound, used: &used))
      }
      let local = clock.local(shown)
      let filters = try mapErrors(to: PlanError.time("an instruction's filters")) { () throws(TimeError) in
        try clock.local(span.filters, digests: sources.digest(of:))
      }
      if let last = spans.last, last.layers == layers, last.background == span.background, last.filters == filters {
        spans[spans.count - 1].frames = last.frames.lowerBound..<local.upperBound
      } else {
        spans.append(Span(frames: local, background: span.background, layers: layers))
        spans[spans.count - 1].filters = filters
      }
    }
    var overlays: [PlannedOverlay] = []
    for (overlay, shown) in self.overlays.overlays(of: segment, frames: frames) {
      overlays.append(try plan(overlay, shown: shown, clock: clock, used: &used))
    }
    var task = VideoTask(
      format: format, renditions: renditions, frameCount: frames.count, spans: spans, overlays: overlays,
      sources: used.sources)
    task.filters = try mapErrors(to: PlanError.time("the film's filters")) { () throws(TimeError) in
      try clock.local(filters, digests: sources.digest(of:))
    }
    task.captions = try captions.captions(in: frames)
    let given = Set(task.compositors.flatMap { $0.metadata ?? [] }).sorted()
    if !given.isEmpty {
      task.metadata = try mapErrors(to: PlanError.time("the metadata tracks")) { () throws(TimeError) in
        try given.compactMap { metadata[$0] }.map { track throws(TimeError) in try clock.local(track) }
      }
    }
    return task
  }

  private func plan(
    _ layer: TimelineLayer, clock: SegmentClock, firstFrame: Int, used: inout SegmentSources
  ) throws(PlanError) -> PlannedLayer {
    switch layer {
    case .clip(let clip):
      return .clip(try plan(clip, clock: clock, firstFrame: firstFrame, used: &used))
    case .transition(let layer):
      let from = try layer.from.map { clip throws(PlanError) in
        try plan(clip, clock: clock, firstFrame: firstFrame, used: &used)
      }
      let to = try layer.to.map { clip throws(PlanError) in
        try plan(clip, clock: clock, firstFrame: firstFrame, used: &used)
      }
      var progress = layer.progress
      progress.over = try mapErrors(to: PlanError.time("the transition over \(progress.over)")) {
        () throws(TimeError) in
        try progress.over.shifted(by: clock.offset)
      }
      return .transition(
        from: from, to: to, progress: progress, style: layer.style == .dissolve ? nil : layer.style,
        matte: try layer.matte.map { matte throws(PlanError) in try used.index(ofStill: matte, for: "a transition") })
    case .compositor(let layer):
      let sources = try layer.sources.map { clip throws(PlanError) in
        PlannedCompositor.Source(
          track: clip.track, clip: try plan(clip, clock: clock, firstFrame: firstFrame, used: &used))
      }
      return try mapErrors(to: PlanError.time("the instruction over \(layer.progress.over)")) { () throws(TimeError) in
        var progress = layer.progress
        progress.over = try progress.over.shifted(by: clock.offset)
        return .compositor(
          PlannedCompositor(
            sources: sources, progress: progress, filmStart: try timeline.grid.time(of: clock.frames.lowerBound),
            compositor: layer.compositor))
      }
    }
  }

  private func plan(
    _ layer: TimelineClip, clock: SegmentClock, firstFrame: Int, used: inout SegmentSources
  ) throws(PlanError) -> ClipLayer {
    let clip = layer.clip
    let source = try used.index(of: clip, track: layer.track, from: firstFrame, grid: timeline.grid)
    let (_, track, video) = try sources.video(of: clip)
    let mask = try layer.mask.flatMap { mask throws(PlanError) in
      try plan(mask, matte: layer.matte, clock: clock, firstFrame: firstFrame, used: &used)
    }
    return try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
      () throws(TimeError) in
      let local = try clock.local(clip) { frames throws(TimeError) in
        try sources.time(of: clip, track: track, format: video, in: frames, grid: timeline.grid)
      }
      var planned = ClipLayer(
        source: source, sourceRange: local.source, targetRange: local.target, fit: layer.fit,
        opacity: try clock.local(layer.opacity), geometry: try clock.local(layer.geometry),
        blendMode: layer.blendMode, mask: mask)
      planned.filters = try clock.local(layer.filters, digests: sources.digest(of:))
      planned.decoration = layer.decoration
      planned.retiming = local.retiming
      return planned
    }
  }

  /// - Parameter matte: the clip of a mask that is a track.
  private func plan(
    _ mask: LayerMask, matte: Clip?, clock: SegmentClock, firstFrame: Int, used: inout SegmentSources
  ) throws(PlanError) -> PlannedMask? {
    switch mask.source {
    case .image(let image):
      return PlannedMask(
        source: try used.index(ofStill: image, for: "a mask"), channel: mask.channel, isInverted: mask.isInverted)
    case .track(let id):
      guard let matte else { return nil }
      var planned = PlannedMask(
        source: try used.index(of: matte, track: id, from: firstFrame, grid: timeline.grid), channel: mask.channel,
        isInverted: mask.isInverted)
      let (_, track, video) = try sources.video(of: matte)
      if video.isStill { return planned }
      let ranges = try mapErrors(to: PlanError.time("the mask of '\(matte.asset)' at \(matte.target.start)")) {
        () throws(TimeError) in
        try clock.local(matte) { frames throws(TimeError) in
          try sources.time(of: matte, track: track, format: video, in: frames, grid: timeline.grid)
        }
      }
      (planned.sourceRange, planned.targetRange) = (ranges.source, ranges.target)
      planned.retiming = ranges.retiming
      return planned
    }
  }

  private func plan(
    _ overlay: Overlay, shown: [Range<Int>], clock: SegmentClock, used: inout SegmentSources
  ) throws(PlanError) -> PlannedOverlay {
    let content: PlannedOverlayContent
    switch overlay.content {
    case .text(var text):
      text.counting = try mapErrors(to: PlanError.time("the text of the overlay over \(overlay.over)")) {
        () throws(TimeError) in
        try text.counting?.shifted(by: clock.offset)
      }
      content = try plan(text, "the overlay over \(overlay.over)")
    case .video(let video):
      let all =
        (shown.first?.lowerBound ?? clock.frames.lowerBound)..<(shown.last?.upperBound ?? clock.frames.upperBound)
      content = .video(
        try OverlayVideoPlanner(
          video: video, alpha: overlay.alpha, start: overlay.over.start, grid: timeline.grid, clock: clock
        ).plan(all, used: &used))
    case .waveform(let waveform):
      let start = try mapErrors(to: PlanError.time("the waveform over \(overlay.over)")) { () throws(TimeError) in
        try timeline.grid.time(of: clock.frames.lowerBound)
      }
      let times = try mapErrors(to: PlanError.time("the waveform over \(overlay.over)")) { () throws(TimeError) in
        let first = try timeline.grid.time(of: shown.first?.lowerBound ?? clock.frames.lowerBound)
        return first...max(first, try timeline.grid.time(of: (shown.last?.upperBound ?? clock.frames.upperBound) - 1))
      }
      content = .waveform(try waveforms.plan(waveform, over: overlay.over, shown: times, start: start))
    case .image(let asset, let width, let height):
      content = .image(
        source: try used.index(ofStill: asset, alpha: overlay.alpha, for: "an overlay"), width: width, height: height)
    }
    var planned = PlannedOverlay(
      content: content, frames: shown.map(clock.local), placement: overlay.placement, opacity: overlay.opacity,
      ramps: try mapErrors(to: PlanError.time("the ramps of the overlay over \(overlay.over)")) {
        () throws(TimeError) in
        try clock.local(overlay.ramps)
      }, blendMode: overlay.blendMode)
    (planned.geometry, planned.filters) = try mapErrors(
      to: PlanError.time("the geometry of the overlay over \(overlay.over)")
    ) { () throws(TimeError) in
      (try clock.local(overlay.geometry), try clock.local(overlay.filters, digests: sources.digest(of:)))
    }
    return planned
  }
}

extension SegmentBuilder {
  /// A text with its fonts. A font file's own name in the document has no effect on the pictures.
  private func plan(_ text: StyledText, _ subject: String) throws(PlanError) -> PlannedOverlayContent {
    guard let found = fonts[text.fontRequest] else { throw PlanError(.fontsNotFound(text: text.text), subject) }
    guard let file = text.fontFile else { return .text(text, found) }
    guard let asset = sources.assets[file], let font = asset.description.font else {
      throw PlanError(.assetNotDescribed(file), subject)
    }
    var text = text
    text.fontFile = nil
    return .text(text, found.preferring(font, digest: asset.digest, in: text.text))
  }
}

/// The overlays of each segment.
private struct OverlayIndex {
  /// The most places of overlays in all segments together: an overlay has one in each segment of its time, and one
  /// more wherever it is interrupted. A film has thousands; the tasks of more would take gigabytes.
  private static let greatestCount = 1_000_000

  private let overlays: [Overlay]
  /// The frames of each overlay, without interruptions.
  private let frames: [Range<Int>]
  /// The frames in which overlays are drawn, rising and apart.
  private let drawn: [Range<Int>]
  /// Indices in `overlays`, rising, by segment.
  private var bySegment: [[Int]]

  init(_ overlays: [Overlay], timeline: Timeline, segments: [Range<Int>]) throws(PlanError) {
    self.overlays = overlays
    var drawn: [Range<Int>] = []
    for span in timeline.spans where span.wantsOverlays {
      if let last = drawn.last, last.upperBound == span.frames.lowerBound {
        drawn[drawn.count - 1] = last.lowerBound..<span.frames.upperBound
      } else {
        drawn.append(span.frames)
      }
    }
    self.drawn = drawn
    var frames: [Range<Int>] = []
    bySegment = Array(repeating: [], count: segments.count)
    var count = 0
    for (index, overlay) in overlays.enumerated() {
      let own = try mapErrors(to: PlanError.time("the overlay over \(overlay.over)")) { () throws(TimeError) in
        try timeline.grid.frames(in: overlay.over)
      }
      frames.append(own)
      for segment in segments.partitionPoint(where: { own.lowerBound < $0.upperBound })..<segments.count {
        guard segments[segment].lowerBound < own.upperBound else { break }
        let places = Self.ranges(of: own.clamped(to: segments[segment]), in: drawn).count
        count += max(1, places)
        guard count <= Self.greatestCount else {
          throw PlanError(.tooManyOverlays(limit: Self.greatestCount), "the overlays")
        }
        if places > 0 { bySegment[segment].append(index) }
      }
    }
    self.frames = frames
  }

  /// The overlays that a segment shows, each with the frames of the film that show it, ascending and apart.
  func overlays(of segment: Int, frames: Range<Int>) -> [(overlay: Overlay, shown: [Range<Int>])] {
    bySegment[segment].map { index in
      let own = self.frames[index].clamped(to: frames)
      return (overlays[index], Self.ranges(of: own, in: drawn).map { $0.clamped(to: own) })
    }
  }

  /// The ranges of `drawn` that overlap some frames.
  private static func ranges(of frames: Range<Int>, in drawn: [Range<Int>]) -> ArraySlice<Range<Int>> {
    guard !frames.isEmpty else { return [] }
    return drawn[drawn.partitionPoint { frames.lowerBound < $0.upperBound }...].prefix {
      $0.lowerBound < frames.upperBound
    }
  }
}

/// The conversion from the composition's timeline to a segment's own clock, on which its first frame is at zero.
struct SegmentClock {
  let frames: Range<Int>
  private let grid: FrameGrid
  /// The difference to add to a time of the composition.
  let offset: MediaTime
  private let duration: MediaTime
  /// On the composition's timeline.
  private let start: MediaTime
  private let end: MediaTime

  init(frames: Range<Int>, grid: FrameGrid) throws(TimeError) {
    self.frames = frames
    self.grid = grid
    start = try grid.time(of: frames.lowerBound)
    end = try grid.time(of: frames.upperBound)
    offset = try MediaTime.zero - start
    duration = try grid.duration(of: frames.count)
  }

  /// Frames of the output as frames of the segment.
  func local(_ part: Range<Int>) -> Range<Int> {
    (part.lowerBound - frames.lowerBound)..<(part.upperBound - frames.lowerBound)
  }

  /// A clip's ranges, cut to the frames of the segment that show it, because the rest of the clip does not change them.
  /// Where a cut would not be exact, the ranges are those of the whole clip.
  /// - Parameter sourceTime: the source time of the first of some frames.
  func local(
    _ clip: Clip, sourceTime: (_ frames: Range<Int>) throws(TimeError) -> Rational
  ) throws(TimeError) -> (source: MediaTimeRange, target: MediaTimeRange, retiming: Retiming?) {
    guard !clip.source.isEmpty else {
      return (clip.source, try MediaTimeRange(start: .zero, duration: duration), clip.retiming)
    }
    let shown = try grid.frames(in: clip.target).clamped(to: frames)
    do throws(TimeError) {
      if let curve = clip.retiming?.speed { return try local(clip, curve, shown) }
      let length = try grid.duration(of: shown.count)
      let speed = try clip.source.duration / clip.target.duration
      let (time, played) = (try MediaTime(sourceTime(shown)), try length * speed)
      return (
        try MediaTimeRange(start: clip.retiming.isReversed ? time - played : time, duration: played),
        try MediaTimeRange(start: grid.duration(of: shown.lowerBound - frames.lowerBound), duration: length),
        clip.retiming
      )
    } catch {
      guard error == .overflow else { throw error }
      return (clip.source, try clip.target.shifted(by: offset), clip.retiming)
    }
  }

  /// A clip with a speed over time, from the last point of its curve before the frames that show it up to the first
  /// after them.
  private func local(
    _ clip: Clip, _ curve: SpeedCurve, _ shown: Range<Int>
  ) throws(TimeError) -> (source: MediaTimeRange, target: MediaTimeRange, retiming: Retiming?) {
    let from = try grid.time(of: shown.lowerBound) - clip.target.start
    let through = try grid.time(of: max(shown.lowerBound, shown.upperBound - 1)) - clip.target.start
    let start = curve.points.last { $0.at <= from }?.at ?? .zero
    var kept = try curve.suffix(from: start)
    let length = try through - start
    if let end = kept.points.firstIndex(where: { length <= $0.at }) { kept.points.removeSubrange((end + 1)...) }
    // The whole of this is played, and the last frame is before its end.
    let end = max(kept.points.last?.at ?? length, try length + grid.frameDuration)
    let place = try MediaTime(
      clip.retiming.sourceTime(
        after: start.exact, of: clip.source, lasting: clip.target.duration))
    let played = try MediaTime(kept.played(in: (kept.points.last?.at ?? end).exact))
    let range =
      clip.retiming.isReversed
      ? try MediaTimeRange(start: place - played, end: place) : try MediaTimeRange(start: place, duration: played)
    return (
      range, try MediaTimeRange(start: clip.target.start + start, duration: end).shifted(by: offset),
      Retiming(isReversed: clip.retiming.isReversed, speed: kept)
    )
  }

  /// The ramps that have an effect between the segment's first frame and its end.
  func local(_ list: RampList) throws(TimeError) -> RampList {
    var kept = try RampList(effective(list.ramps, over: \.over)).shifted(by: offset).ramps
    for index in kept.indices where kept[index].over.end <= .zero {
      kept[index] = Ramp(over: try now, from: kept[index].to, to: kept[index].to)
    }
    return kept.allSatisfy { $0.from == 1 && $0.to == 1 } ? .one : RampList(kept)
  }

  /// The ramps of geometry that have an effect in the segment. A clip that has geometry at another time keeps an empty
  /// one, because it is drawn in another way than one without.
  func local(_ geometry: LayerGeometry?) throws(TimeError) -> LayerGeometry? {
    guard let geometry else { return nil }
    var local = LayerGeometry(crop: try self.local(geometry.crop), frame: try self.local(geometry.frame))
    switch geometry.transform {
    // Without a ramp that has started, a matrix is the identity, which is not what a picture without one has.
    case .matrix(let matrices): local.transform = .matrix(try self.local(matrices) ?? .constant(.identity))
    case .turn(let turns): local.transform = try self.local(turns).map { .turn($0) }
    case nil: break
    }
    return local
  }

  /// The values that a track has in the segment. A number that changes keeps its whole range, on which each of its
  /// values depends.
  func local(_ track: MetadataTrack) throws(TimeError) -> MetadataTrack {
    var local = MetadataTrack(id: track.id)
    let first = track.items.partitionPoint { start < $0.over.end }
    for item in track.items[first...].prefix(while: { $0.over.start < end }) {
      var over = item.over
      switch item.content {
      case .number(let from, let to) where from != to: break
      case .number, .text: over = try MediaTimeRange(start: max(over.start, start), end: min(over.end, end))
      }
      local.items.append(TimedMetadata(over: try over.shifted(by: offset), item.content))
    }
    return local
  }

  private func local<Value>(_ list: ValueRampList<Value>?) throws(TimeError) -> ValueRampList<Value>? {
    guard let list else { return nil }
    var kept = try ValueRampList(effective(list.ramps, over: \.over)).shifted(by: offset).ramps
    for index in kept.indices where kept[index].over.end <= .zero {
      kept[index] = ValueRamp(over: try now, from: kept[index].to, to: kept[index].to)
    }
    return kept.isEmpty ? nil : ValueRampList(kept)
  }

  private var now: MediaTimeRange {
    get throws(TimeError) { try MediaTimeRange(start: .zero, duration: .zero) }
  }

  /// The ramps that change a value in the segment, and the last before them.
  private func effective<Step>(_ ramps: [Step], over: (Step) -> MediaTimeRange) -> [Step] {
    // A ramp has no effect if the next one has started when the segment starts.
    let first = max(0, ramps.partitionPoint { start < over($0).start } - 1)
    return Array(ramps[first...].prefix { over($0).start < end })
  }
}

extension SegmentClock {
  /// Filters as they are in the segment. Those that change nothing there are left out.
  /// - Parameter digests: The digest of an asset's file.
  func local(
    _ filters: [Filter<RampList>]?, digests: (AssetID) -> String
  ) throws(TimeError) -> [Filter<RampList>]? {
    var kept: [Filter<RampList>] = []
    for filter in filters ?? [] {
      let local = try filter.map { list throws(TimeError) in try self.local(list) }.shifted(by: offset)
      if local.changesNothing { continue }
      kept.append(local.table.map { local.withTable(digests($0)) } ?? local)
    }
    return kept.isEmpty ? nil : kept
  }
}
