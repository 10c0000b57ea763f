import CompositionModel
import Media
import RenderTasks

/// The frames of an edit that is a source.
protocol NestedFrameSource: AnyObject {
  /// The frame with a timestamp, or the nearest that there is. What is the same picture has the same timestamp.
  func frame(at tick: Int64) throws(RenderError) -> Frame
}

/// The frames of one planned source by time. The file is opened with the first request, and closed with the last
/// reference.
///
/// Times mostly rise. If several layers show the source at different times, each has a cursor. A time before every
/// cursor's position opens a new one.
final class SourceStream {
  private let source: PlannedSource
  /// Nil: nothing of it is stored.
  private let input: (any ByteSource)?
  /// Nil: it is no edit.
  private let nested: (any NestedFrameSource)?
  private let liveness: Liveness?
  /// How many layers may show the source at once.
  private let capacity: Int
  private let leavesOut: Bool
  /// What an earlier source has left, which may go on for the first frame of this one.
  private var left: SourceCursor?
  /// Least recently used first.
  private var cursors: [SourceCursor] = []
  private var still: Frame?
  private var reversed: ReversedFrames?
  /// Nil: pictures stay where they are.
  private let stabilizer: Stabilizer?
  /// The stored timestamp of the picture that the last request should have shown, if that is damaged.
  private(set) var damage: Int64?

  /// - Parameters:
  ///   - earlier: A stream of the same track that is not needed any more. Its decoder goes on if the first frame is
  ///     reached sooner that way.
  ///   - leavesOut: As `VideoReader`'s.
  ///   - liveness: Advanced with every picture that is decoded.
  init(
    _ source: PlannedSource, input: any ByteSource, capacity: Int, after earlier: SourceStream? = nil,
    leavesOut: Bool = false, liveness: Liveness? = nil
  ) {
    self.leavesOut = leavesOut
    self.liveness = liveness
    left = earlier?.cursors.last
    self.source = source
    self.input = input
    self.capacity = max(1, capacity)
    nested = nil
    stabilizer = source.stabilization.map { Stabilizer($0, source) }
  }

  /// A picture that is not stored.
  init(_ source: PlannedSource, drawn: Frame) {
    (self.source, still, input, liveness, capacity, leavesOut) = (source, drawn, nil, nil, 1, false)
    (nested, stabilizer) = (nil, nil)
  }

  /// The pictures of an edit.
  init(_ source: PlannedSource, nested: any NestedFrameSource) {
    (self.source, self.nested, input, liveness, capacity, leavesOut) = (source, nested, nil, nil, 1, false)
    stabilizer = nil
  }

  /// The frame shown at a time of the asset; for a still, its only one.
  /// - Parameter isReversed: whether the frame just before the time is meant, and times fall.
  func frame(at time: Rational, isReversed: Bool = false) throws(RenderError) -> Frame {
    if source.video.isStill { return try onlyFrame() }
    let tick = try source.tick(at: time, isBefore: isReversed)
    if let nested { return try nested.frame(at: tick) }
    guard isReversed else { return try frame(atTick: tick) }
    let input = try stored
    let reversed = self.reversed ?? ReversedFrames(source, input: input, liveness: liveness)
    self.reversed = reversed
    let frame: Frame
    (frame, damage) = try reversed.frame(at: tick)
    return try stabilizer?.frame(frame) ?? frame
  }

  /// The last frame at or before a stored timestamp, or the first; for a still, its only one.
  func frame(atTick tick: Int64) throws(RenderError) -> Frame {
    if source.video.isStill { return try onlyFrame() }
    if let nested { return try nested.frame(at: tick) }
    let nearest = cursors.indices.filter { cursors[$0].canReach(tick) }
      .max { cursors[$0].current.pts < cursors[$1].current.pts }
    let cursor: SourceCursor
    if let nearest {
      cursor = cursors.remove(at: nearest)
    } else {
      if cursors.count == capacity { cursors.removeFirst() }
      if let left, left.goOn(as: source, at: tick) {
        cursor = left
      } else {
        cursor = try SourceCursor(source, input: stored, at: tick, leavesOut: leavesOut, liveness)
      }
      left = nil
    }
    cursors.append(cursor)
    let frame = try cursor.frame(at: tick)
    damage = cursor.damage(at: tick)
    return try stabilizer?.frame(frame) ?? frame
  }

  private var stored: any ByteSource {
    get throws(RenderError) {
      guard let input else { throw RenderError(.task, "\(source.title) is not stored") }
      return input
    }
  }

  /// The picture of a still, or the first frame of any other source. The decoder is closed at once.
  func onlyFrame() throws(RenderError) -> Frame {
    if let still { return still }
    if let nested { return try nested.frame(at: .min) }
    let frame = try SourceCursor(source, input: stored, at: .min, leavesOut: false, liveness).current
    still = frame
    damage = frame.isDamaged ? frame.pts : nil
    return frame
  }
}

/// A position in a track from which frames are taken in order: the frame that is shown, and the next one.
private final class SourceCursor {
  private let reader: VideoReader
  private let deinterlacing: PlannedDeinterlacing?
  /// The stored timestamp that the cursor was opened for.
  private var start: Int64
  private var first: Int64
  private(set) var current: Frame
  private var next: Frame?
  /// The frame before `current`. Nil for the track's first, and if nothing is deinterlaced.
  private var previous: Frame?
  /// The latest frame that was deinterlaced.
  private var progressive: Frame?

  /// Opens the track so that the first frame is the one shown at a stored timestamp.
  init(
    _ source: PlannedSource, input: any ByteSource, at tick: Int64, leavesOut: Bool, _ liveness: Liveness?
  ) throws(RenderError) {
    start = tick
    let deinterlacing = source.deinterlacing
    self.deinterlacing = deinterlacing
    let keyframe = source.decodeFrom.flatMap { $0.pts <= tick || source.video.isStill ? $0 : nil }
    (reader, current, next, previous) = try mapErrors(to: RenderError.during(source.title)) { () throws(MediaError) in
      let reader = try VideoReader(
        source: input, name: source.title, track: source.track, codec: source.codec, timebase: source.timebase,
        discontinuities: source.discontinuities, decodeFrom: keyframe,
        state: keyframe.flatMap { source.video.decoderState(at: $0) },
        starts: source.video.isStill ? nil : source.video,
        shownAt: tick, wantsPrevious: deinterlacing != nil, leavesOut: leavesOut, liveness: liveness)
      guard let first = try reader.next() else {
        throw MediaError(
          .damaged, operation: "decoding", subject: source.title, message: "track \(source.track) has no frames")
      }
      return (reader, first, source.video.isStill ? nil : try reader.next(), reader.previous)
    }
    first = current.pts
  }

  /// Goes on as a cursor of another source of the same track that is opened for a stored timestamp. Returns false if a
  /// new decoder has less to decode, or if pictures might depend on where decoding began.
  func goOn(as source: PlannedSource, at tick: Int64) -> Bool {
    let begin = source.decodeFrom.flatMap { $0.pts <= tick ? $0.pts : nil } ?? .min
    guard reader.isWhole, begin <= current.pts, current.pts <= tick else { return false }
    reader.goOn(with: source.video)
    (start, first) = (tick, current.pts)
    return true
  }

  /// Whether frames from a stored timestamp on can be read without going back. Before the first frame of a track its
  /// first is shown.
  func canReach(_ tick: Int64) -> Bool {
    current.pts <= tick || (current.pts == first && first > start)
  }

  /// The last frame at or before a stored timestamp, or the first. After the last frame that one stays.
  func frame(at tick: Int64) throws(RenderError) -> Frame {
    reader.show(at: tick)
    while let following = next, following.pts <= tick {
      if deinterlacing != nil { previous = current }
      current = following
      next = try mapErrors(to: RenderError.during("decoding")) { () throws(MediaError) in try reader.next() }
    }
    guard let deinterlacing, deinterlacing == .all || current.isInterlaced else { return current }
    if let progressive, progressive.pts == current.pts { return progressive }
    let made = try mapErrors(to: RenderError.during("deinterlacing")) { () throws(MediaError) in
      try Deinterlacer.progressive(previous: previous, current, next: next ?? current)
    }
    progressive = made
    return made
  }

  /// The time of the damaged picture that is shown at a stored timestamp, or that would be if it could be decoded.
  func damage(at tick: Int64) -> Int64? { reader.damage(at: tick, in: current) }
}

extension PlannedSource {
  /// Whether a decoder of this source has the pictures of another one too.
  func isOfSameTrack(as other: PlannedSource) -> Bool {
    nested == nil && digest == other.digest && track == other.track && codec == other.codec
      && timebase == other.timebase
      && discontinuities == other.discontinuities && deinterlacing == other.deinterlacing && !video.isStill
  }

  /// The source's name in messages. A task has no other name for its media than their digests.
  var title: String {
    if nested != nil { return "a document that is an asset" }
    return video.drawn == nil ? "media \(digest.prefix(12)) track \(track)" : "a picture that is drawn"
  }

  /// A stored timestamp on the asset's timeline, in seconds.
  func seconds(of tick: Int64) -> Double { Double(tick &- origin) * timebase.approximateSeconds }

  /// The greatest stored timestamp that is due at a time of the asset, or before it.
  fileprivate func tick(at time: Rational, isBefore: Bool) throws(RenderError) -> Int64 {
    try mapErrors(to: RenderError.caused(.task, "\(title) has no timestamp for \(time) s")) {
      () throws(TimeError) in
      try StoredTime.lastTick(
        dueAt: time, timebase: timebase, origin: origin, isRounded: hasRoundedTimes, cadence: video.cadence,
        isBefore: isBefore)
    }
  }
}
