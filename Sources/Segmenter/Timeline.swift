import CompositionModel

/// The output's frames on the composition's timeline: frame n is at exactly start + n·frameDuration.
struct FrameGrid {
  let frameDuration: MediaTime
  let frameCount: Int
  /// The time of frame 0.
  var start = MediaTime.zero

  /// The first frame at or after a time, within 0…frameCount.
  func firstFrame(atOrAfter time: Rational) throws(TimeError) -> Int {
    let frame = try ((time - start.exact) / frameDuration.exact).ceiling
    return Int(min(max(frame, 0), Int128(frameCount)))
  }

  /// The first frame at or after a time, within 0…frameCount.
  func firstFrame(atOrAfter time: MediaTime) throws(TimeError) -> Int {
    try firstFrame(atOrAfter: time.exact)
  }

  /// The frames whose times are in a range.
  func frames(in range: MediaTimeRange) throws(TimeError) -> Range<Int> {
    try firstFrame(atOrAfter: range.start)..<firstFrame(atOrAfter: range.end)
  }

  /// The time of a frame.
  func time(of frame: Int) throws(TimeError) -> MediaTime {
    try start + duration(of: frame)
  }

  /// The duration of a number of frames.
  func duration(of count: Int) throws(TimeError) -> MediaTime {
    try frameDuration * Rational(count)
  }
}

/// Frames of the output that show the same clips in the same stack.
struct TimelineSpan {
  var frames: Range<Int>
  /// Black if layers hide it.
  var background: Color
  var wantsOverlays: Bool
  /// The first is on top. Tracks in a gap are left out, and so is what other layers hide.
  var layers: [TimelineLayer]
  /// The filters of the composited layers, applied in order. Nil: none.
  var filters: [Filter<RampList>]?
}

extension TimelineSpan {
  /// Whether another span, which begins where this one ends, shows the same.
  fileprivate func continues(with next: TimelineSpan) -> Bool {
    background == next.background && wantsOverlays == next.wantsOverlays && layers == next.layers
      && filters == next.filters
  }
}

/// A layer of an instruction with its clips.
enum TimelineLayer: Equatable {
  case clip(TimelineClip)
  case transition(TimelineTransition)
  case compositor(TimelineCompositor)

  var clips: [TimelineClip] {
    switch self {
    case .clip(let clip): [clip]
    case .transition(let transition): [transition.from, transition.to].compactMap(\.self)
    case .compositor(let layer): layer.sources
    }
  }

  /// Whether a compositor of the author's own makes its picture.
  var isCustom: Bool {
    switch self {
    case .clip: return false
    case .transition(let transition): if case .custom = transition.style.kind { return true } else { return false }
    case .compositor: return true
    }
  }
}

/// A transition with its clips. A side is nil if its track is in a gap.
struct TimelineTransition: Equatable {
  var from: TimelineClip?
  var to: TimelineClip?
  var progress: Ramp
  var style: TransitionStyle
  var matte: AssetID?
}

/// A compositor with the clips that it makes a picture of. Tracks in a gap are left out.
struct TimelineCompositor: Equatable {
  var sources: [TimelineClip]
  var progress: Ramp
  var compositor: CustomCompositor
}

/// A clip with the style of its layer, and its track.
struct TimelineClip: Equatable {
  var track: TrackID
  var clip: Clip
  var fit: Fit
  var opacity: RampList
  var filters: [Filter<RampList>]?
  var geometry: LayerGeometry?
  var blendMode: BlendMode?
  var mask: LayerMask?
  var decoration: LayerDecoration?
  /// The clip that is the mask, if that is a track's.
  var matte: Clip?
}

extension TimelineClip {
  /// What it decodes: its own clip, and the one that is its mask.
  var decoded: [(track: TrackID, clip: Clip)] {
    var decoded = [(track, clip)]
    if let id = mask?.track, let matte { decoded.append((id, matte)) }
    return decoded
  }
}

/// The whole film as spans that tile 0..<frameCount.
struct Timeline {
  let grid: FrameGrid
  let spans: [TimelineSpan]

  init(_ edit: Edit, grid: FrameGrid, visibility: Visibility) throws(PlanError) {
    self.grid = grid
    var spans: [TimelineSpan] = []
    var tracks = TrackIndex(edit.composition, grid: grid)
    for instruction in edit.videoComposition.instructions {
      let frames = try mapErrors(to: PlanError.time("the instruction over \(instruction.over)")) {
        () throws(TimeError) in
        try grid.frames(in: instruction.over)
      }
      guard !frames.isEmpty else { continue }
      var cuts: Set<Int> = [frames.lowerBound, frames.upperBound]
      for track in instruction.layers.flatMap(\.tracks).flatMap({ [$0.track, $0.mask?.track].compactMap(\.self) }) {
        for shown in try tracks.shown(of: track, around: frames) {
          cuts.formUnion([shown.lowerBound, shown.upperBound].filter { frames.contains($0) })
        }
      }
      let ordered = cuts.sorted()
      for (start, end) in zip(ordered, ordered.dropFirst()) {
        let time = try mapErrors(to: PlanError.time("frame \(start)")) { () throws(TimeError) in
          try grid.time(of: start)
        }
        let span = try visibility.visible(
          TimelineSpan(
            frames: start..<end, background: instruction.background, wantsOverlays: instruction.wantsOverlays,
            layers: instruction.layers.compactMap { Timeline.resolve($0, at: time, in: tracks) },
            filters: instruction.filters), grid: grid)
        if let last = spans.last, last.continues(with: span) {
          spans[spans.count - 1].frames = last.frames.lowerBound..<end
        } else {
          spans.append(span)
        }
      }
    }
    self.spans = spans
  }

  /// The spans that have frames in a range.
  func spans(in frames: Range<Int>) -> ArraySlice<TimelineSpan> {
    spans[spans.partitionPoint { frames.lowerBound < $0.frames.upperBound }...].prefix {
      $0.frames.lowerBound < frames.upperBound
    }
  }

  /// A layer with the clips that it shows at a time. Nil if it shows none.
  private static func resolve(_ layer: Layer, at time: MediaTime, in tracks: TrackIndex) -> TimelineLayer? {
    func clip(_ layer: TrackLayer) -> TimelineClip? {
      guard let shown = tracks.clip(of: layer.track, at: time) else { return nil }
      var clip = TimelineClip(
        track: layer.track, clip: shown, fit: layer.fit, opacity: layer.opacity, filters: layer.filters,
        geometry: layer.geometry, blendMode: layer.blendMode, mask: layer.mask, decoration: layer.decoration)
      guard let mask = layer.mask, let track = mask.track else { return clip }
      clip.matte = tracks.clip(of: track, at: time)
      if clip.matte != nil { return clip }
      // In a gap the mask is transparent: the layer is not seen, or all of it. It is drawn in the same way as with a
      // mask.
      guard mask.isInverted else { return nil }
      clip.mask = nil
      clip.geometry = layer.geometry ?? LayerGeometry()
      return clip
    }
    switch layer {
    case .track(let layer):
      return clip(layer).map(TimelineLayer.clip)
    case .transition(let layer):
      let (from, to) = (clip(layer.from), clip(layer.to))
      guard from != nil || to != nil else { return nil }
      return .transition(
        TimelineTransition(from: from, to: to, progress: layer.progress, style: layer.style, matte: layer.matte))
    case .compositor(let layer):
      return .compositor(
        TimelineCompositor(
          sources: layer.sources.compactMap(clip), progress: layer.progress, compositor: layer.compositor))
    }
  }
}

/// The clips of tracks by time.
private struct TrackIndex {
  private let grid: FrameGrid
  private var tracks: [TrackID: CompositionTrack] = [:]
  /// The frames that each clip of a track shows, rising; only of tracks that were asked for.
  private var shown: [TrackID: [Range<Int>]] = [:]

  init(_ composition: Composition, grid: FrameGrid) {
    self.grid = grid
    for track in composition.tracks where tracks[track.id] == nil { tracks[track.id] = track }
  }

  /// The frames of each clip of a track that has frames in a range, or that starts or ends there.
  mutating func shown(of id: TrackID, around frames: Range<Int>) throws(PlanError) -> ArraySlice<Range<Int>> {
    let all: [Range<Int>]
    if let known = shown[id] { all = known } else { all = try frameRanges(of: id) }
    shown[id] = all
    return all[all.partitionPoint { frames.lowerBound <= $0.upperBound }...].prefix {
      $0.lowerBound < frames.upperBound
    }
  }

  private func frameRanges(of id: TrackID) throws(PlanError) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    for clip in tracks[id]?.clips ?? [] {
      ranges.append(
        try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
          () throws(TimeError) in
          try grid.frames(in: clip.target)
        })
    }
    return ranges
  }

  /// The clip of a track that plays at a time.
  func clip(of id: TrackID, at time: MediaTime) -> Clip? {
    guard let clips = tracks[id]?.clips else { return nil }
    let next = clips.partitionPoint { time < $0.target.start }
    guard next > 0, clips[next - 1].target.contains(time) else { return nil }
    return clips[next - 1]
  }
}
