import CompositionModel

/// Chooses where segments start: at cuts, and inside a clip at places that its source determines. What is shown at a
/// place and near it decides, and not where in the film that is. So after an edit the untouched clips are cut as they
/// were, and their pieces are found in the content store.
struct BoundaryChooser {
  let timeline: Timeline
  let sources: SourceLookup
  let titles: TitleIndex
  /// The intended frames of a segment inside a clip.
  let nominalFrames: Int
  /// No segment has fewer frames, unless the film has.
  let shortestFrames: Int
  /// Where segments may start. Nil: anywhere.
  var keyframes: KeyframeGrid?

  struct Choice {
    var frame: Int
    var boundary: Boundary
  }

  /// A segment has at least its nominal number of frames divided by this, so that very short clips share one.
  private static let shortestDivisor = 4

  var shortest: Int { max(1, shortestFrames, nominalFrames / Self.shortestDivisor) }

  /// The starts of the segments, rising. The first is at frame 0.
  ///
  /// Where places are too near to each other one is taken: a cut before a place inside a clip, and then the one with
  /// the lower hash of what is shown there. So the choice among many short clips depends on the nearest ones only, and
  /// not on how many come before them.
  func boundaries() throws(PlanError) -> [Choice] {
    let candidates = try candidates()
    var isOpen = candidates.map { $0.frame >= shortest && timeline.grid.frameCount - $0.frame >= shortest }
    var chosen: [Int] = []
    for index in candidates.indices.sorted(by: { candidates[$0].isPreferred(to: candidates[$1]) }) where isOpen[index] {
      chosen.append(index)
      let frame = candidates[index].frame
      var near = index
      while near < candidates.count, candidates[near].frame - frame < shortest {
        isOpen[near] = false
        near += 1
      }
      near = index
      while near >= 0, frame - candidates[near].frame < shortest {
        isOpen[near] = false
        near -= 1
      }
    }
    return [Choice(frame: 0, boundary: .start)]
      + chosen.sorted().map { Choice(frame: candidates[$0].frame, boundary: candidates[$0].boundary) }
  }

  // MARK: Candidates

  private struct Candidate {
    var frame: Int
    var boundary: Boundary
    var hash: UInt64

    func isPreferred(to other: Candidate) -> Bool {
      let isCut = boundary == .cut
      if isCut != (other.boundary == .cut) { return isCut }
      return (hash, frame) < (other.hash, other.frame)
    }
  }

  /// Rising, each at a frame of its own.
  private func candidates() throws(PlanError) -> [Candidate] {
    var candidates: [Candidate] = []
    for span in timeline.spans {
      var choices = try places(inside: span)
      if span.frames.lowerBound > 0 { choices.insert(Choice(frame: span.frames.lowerBound, boundary: .cut), at: 0) }
      for choice in choices {
        candidates.append(
          Candidate(frame: choice.frame, boundary: choice.boundary, hash: try hash(of: choice.frame, in: span)))
      }
    }
    return keyframes.map { Self.moved(candidates, to: $0) } ?? candidates
  }

  /// The candidates, each at the keyframe that is nearest to it; of those at the same one the preferred.
  private static func moved(_ candidates: [Candidate], to grid: KeyframeGrid) -> [Candidate] {
    var moved: [Candidate] = []
    for candidate in candidates {
      var candidate = candidate
      let frame = grid.nearest(to: candidate.frame)
      if frame != candidate.frame, candidate.boundary != .cut { candidate.boundary = .keyframe }
      candidate.frame = frame
      if let last = moved.last, last.frame == frame {
        if candidate.isPreferred(to: last) { moved[moved.count - 1] = candidate }
      } else {
        moved.append(candidate)
      }
    }
    return moved
  }

  private func places(inside span: TimelineSpan) throws(PlanError) -> [Choice] {
    let clips = span.layers.reversed().flatMap(\.clips)
    for clip in clips {
      let (_, track, video) = try sources.video(of: clip.clip)
      // What a clip with a speed over time shows at its places depends on more than its source.
      guard !video.isStill, !clip.clip.source.isEmpty, clip.clip.retiming?.speed == nil else { continue }
      return try mapErrors(to: PlanError.time("the clip of '\(clip.clip.asset)' at \(clip.clip.target.start)")) {
        () throws(TimeError) in
        try SourceDivision(
          clip: clip.clip, track: track, video: video, nominalFrames: nominalFrames, grid: timeline.grid, titles: titles
        ).places(in: span.frames)
      }
    }
    // Nothing moves: every frame is the same, wherever the clip is cut.
    guard let clip = clips.first else { return multiples(from: span.frames.lowerBound, in: span) }
    let first = try mapErrors(to: PlanError.time("the clip of '\(clip.clip.asset)' at \(clip.clip.target.start)")) {
      () throws(TimeError) in
      try timeline.grid.firstFrame(atOrAfter: clip.clip.target.start)
    }
    return multiples(from: first, in: span)
  }

  private func multiples(from first: Int, in span: TimelineSpan) -> [Choice] {
    let skipped = (span.frames.lowerBound - first) / nominalFrames
    return stride(from: first + (skipped + 1) * nominalFrames, to: span.frames.upperBound, by: nominalFrames).map {
      Choice(frame: $0, boundary: .nominalLength)
    }
  }

  /// The hash of what is shown at a frame, from the digests of the media and the timestamps of their frames.
  private func hash(of frame: Int, in span: TimelineSpan) throws(PlanError) -> UInt64 {
    var hash = ContentHash()
    for clip in span.layers.flatMap(\.clips) {
      let (asset, track, video) = try sources.video(of: clip.clip)
      hash.combine(asset.digest)
      hash.combine(Int64(track.index))
      let shown = try mapErrors(to: PlanError.time("the clip of '\(clip.clip.asset)' at frame \(frame)")) {
        () throws(TimeError) in
        try sources.shownFrame(
          of: clip.clip, track: track, format: video, at: timeline.grid.time(of: frame))
      }
      hash.combine(shown ?? -1)
    }
    return hash.value
  }
}

/// The places inside a clip at which a segment may start: the multiples of the nominal length in the source's own time,
/// each moved to the source's nearest keyframe within half of that length. A multiple without a keyframe is left out if
/// the one before or after it has one, so that few frames are decoded that are not shown; but not if a title is shown
/// between the keyframes around it, because titles are often changed. All this depends on the source and the clip's
/// speed, and not on where the clip starts.
private struct SourceDivision {
  private let clip: Clip
  private let track: TrackDescription
  private let video: VideoFormat
  private let grid: FrameGrid
  private let titles: TitleIndex
  /// Source seconds for one second of the output.
  private let speed: Rational
  /// The nominal length in seconds of the source.
  private let step: Rational

  init(
    clip: Clip, track: TrackDescription, video: VideoFormat, nominalFrames: Int, grid: FrameGrid, titles: TitleIndex
  ) throws(TimeError) {
    self.clip = clip
    self.track = track
    self.video = video
    self.grid = grid
    self.titles = titles
    speed = try clip.source.duration / clip.target.duration
    step = try grid.frameDuration.exact * Rational(nominalFrames) * speed
  }

  /// The places in a span's frames but the first, rising.
  func places(in frames: Range<Int>) throws(TimeError) -> [BoundaryChooser.Choice] {
    let ends = [
      try clip.sourceTime(at: grid.time(of: frames.lowerBound)),
      try clip.sourceTime(at: grid.time(of: frames.upperBound)),
    ]
    let (from, to) = clip.retiming.isReversed ? (ends[1], ends[0]) : (ends[0], ends[1])
    let multiples = max(1, try (from / step).floor)...max(1, try (to / step).ceiling)
    var choices: [BoundaryChooser.Choice] = []
    var last: Keyframe? = multiples.lowerBound > 1 ? try keyframe(near: multiples.lowerBound - 1) : nil
    var current = try keyframe(near: multiples.lowerBound)
    for multiple in multiples {
      let next = try keyframe(near: multiple + 1)
      defer { (last, current) = (current, next) }
      let time: Rational
      if let current { time = try self.time(of: current) } else { time = try step * Rational(multiple) }
      if current == nil, last != nil || next != nil, try !isTitled(around: time) { continue }
      let frame = try frame(at: time)
      guard frames.dropFirst().contains(frame) else { continue }
      choices.append(
        BoundaryChooser.Choice(
          frame: frame, boundary: current == nil ? .nominalLength : .sourceKeyframe(asset: clip.asset)))
    }
    return clip.retiming.isReversed ? choices.reversed() : choices
  }

  /// The time of a keyframe on the asset's timeline, in seconds.
  private func time(of key: Keyframe) throws(TimeError) -> Rational {
    try track.timebase.exact * Rational(key.pts - track.origin)
  }

  /// The first frame of the output at or after a time of the asset; of a reversed clip the first that shows what is
  /// before that time.
  private func frame(at time: Rational) throws(TimeError) -> Int {
    let isReversed = clip.retiming.isReversed
    let played = isReversed ? try clip.source.end.exact - time : try time - clip.source.start.exact
    return try grid.firstFrame(atOrAfter: clip.target.start.exact + played / speed)
  }

  /// Whether a title is shown between the keyframes around a time of the asset.
  private func isTitled(around time: Rational) throws(TimeError) -> Bool {
    let pts = StoredTime.tick(try (time / track.timebase.exact).floor, origin: track.origin)
    let next = video.keyframes.partitionPoint { pts < $0.pts }
    let isReversed = clip.retiming.isReversed
    let before = next > 0 ? try frame(at: self.time(of: video.keyframes[next - 1])) : isReversed ? grid.frameCount : 0
    let after =
      next < video.keyframes.count
      ? try frame(at: self.time(of: video.keyframes[next])) : isReversed ? 0 : grid.frameCount
    let (start, end) = isReversed ? (after, before) : (before, after)
    return titles.areShown(in: start..<max(start, end))
  }

  /// The keyframe nearest to a multiple of the nominal length, if one is within half of that length.
  private func keyframe(near multiple: Int128) throws(TimeError) -> Keyframe? {
    let tick = try track.timebase.exact
    let (middle, half) = (try step * Rational(multiple) / tick, try step / tick * Rational(1, 2))
    func pts(_ ticks: Rational) -> Int64 { StoredTime.tick(ticks.ceiling, origin: track.origin) }
    let (first, centre, end) = (pts(try middle - half), pts(middle), pts(try middle + half))
    let next = video.keyframes.partitionPoint { centre <= $0.pts }
    let near = [next - 1, next].filter { video.keyframes.indices.contains($0) }.map { video.keyframes[$0] }
      .filter { first <= $0.pts && $0.pts < end }
    return near.min { abs($0.pts - centre) < abs($1.pts - centre) }
  }
}

/// The overlays that are shown for at most two nominal lengths.
struct TitleIndex {
  private let longest: Int
  /// Rising by their start.
  private var titles: [Range<Int>] = []

  init(_ overlays: [Overlay], grid: FrameGrid, nominalFrames: Int) throws(PlanError) {
    longest = 2 * nominalFrames
    for overlay in overlays {
      let frames = try mapErrors(to: PlanError.time("the overlay over \(overlay.over)")) { () throws(TimeError) in
        try grid.frames(in: overlay.over)
      }
      if !frames.isEmpty, frames.count <= longest { titles.append(frames) }
    }
    titles.sort { $0.lowerBound < $1.lowerBound }
  }

  func areShown(in frames: Range<Int>) -> Bool {
    titles[titles.partitionPoint { frames.lowerBound - longest < $0.lowerBound }...]
      .prefix { $0.lowerBound < frames.upperBound }.contains { $0.overlaps(frames) }
  }
}

/// FNV-1a of 64 bits: the same on every machine, unlike Swift's own hashes.
private struct ContentHash {
  private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func combine(_ text: String) {
    for byte in text.utf8 { combine(byte) }
  }

  mutating func combine(_ number: Int64) {
    for shift in stride(from: 0, to: 64, by: 8) { combine(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  private mutating func combine(_ byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x100_0000_01b3
  }
}
