package import CompositionModel

/// The frames of one video track, decoded in one thread, in order of presentation, as the ffmpeg tool decodes them.
///
/// Pictures of H.264 before the frame that is wanted next are not decoded if no other needs them
/// (`UnneededPictures`), the track has a start, and no frame around is known to be damaged: a stretch is damaged if one
/// of its pictures is.
///
/// A decoder conceals what is missing of a damaged picture with parts of earlier pictures, and what it takes depends on
/// all that it has decoded. So that a picture is the same wherever reading began, the frames of a damaged stretch (from
/// one start to the next) come from a decoder of their own, which begins at the start before, or, while the stretch
/// after that start is damaged too, at one more before, up to `Keyframe.deepest`. The frames after a damaged stretch
/// come from a decoder that begins at their own start.
package final class VideoReader {
  private enum Part {
    /// Frames from the decoder's own start on, in which no damage was found.
    case whole
    /// The frames of one damaged stretch.
    case damaged(Int)
  }

  private let opening: DecodingSession.Opening
  private var starts: [Keyframe]
  private var format: VideoFormat?
  private let shownAt: Int64?
  /// The index of the start that reading began at; -1: the head of the file.
  private var begin: Int
  private var session: DecodingSession
  private var part = Part.whole
  /// Frames that are decoded and not returned yet.
  private var held: [Frame] = []
  private var lastReturned: Int64?
  private var isAtEnd = false
  private let wantsPrevious: Bool
  private let leavesOut: Bool
  /// The frame before the first that was returned. Nil if that is the track's first, or `wantsPrevious` was false.
  package private(set) var previous: Frame?
  /// A frame returned while looking for the first one to return.
  private var ahead: Frame?
  private var hasStarted = false
  /// The times of pictures that could not be decoded at all, rising.
  private(set) var missing: [Int64] = []
  private var hasSeenDamage = false

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - track: The stream's index in the file.
  ///   - codec: The described track's. Another is refused.
  ///   - timebase: The described track's. Another is refused.
  ///   - discontinuities: The described track's.
  ///   - decodeFrom: Where decoding starts; nil is the head of the file.
  ///   - state: What the decoder is given before it starts at `decodeFrom`.
  ///   - starts: Has the starts around what is read: `decodeFrom`, those of the frames up to the last that is read, and
  ///     `Keyframe.neededBefore` before. If there are fewer before, they are all that the file has. Nil: one decoder
  ///     decodes everything, and damaged pictures depend on `decodeFrom`.
  ///   - shownAt: A stored timestamp. The first frame returned is the last one at or before it, or the first of the
  ///     track (or from the keyframe on) if all are later. Nil returns every frame from `decodeFrom` on.
  ///   - wantsPrevious: Whether `previous` is decoded too.
  ///   - leavesOut: Whether pictures of H.264 that no other refers to may be left out before the one that is shown.
  ///     libavcodec gives other pictures after a damaged one of them than without it, so frames of damaged media then
  ///     depend on `shownAt`.
  ///   - liveness: Advanced with every packet that is read and every picture that is decoded, shown or not.
  package init(
    source: any ByteSource, name: String, track: Int, codec: String, timebase: MediaTime,
    discontinuities: [Discontinuity]? = nil, decodeFrom: Keyframe?, state: DecoderState? = nil,
    starts: VideoFormat? = nil, shownAt: Int64?, wantsPrevious: Bool = false, leavesOut: Bool = false,
    liveness: Liveness? = nil
  ) throws(MediaError) {
    self.wantsPrevious = wantsPrevious
    self.leavesOut = leavesOut && !wantsPrevious
    opening = DecodingSession.Opening(
      source: source, name: name, track: track, codec: codec, timebase: timebase, discontinuities: discontinuities,
      liveness: liveness)
    self.shownAt = shownAt
    format = starts
    self.starts = starts?.keyframes ?? []
    begin = decodeFrom.flatMap { keyframe in starts?.keyframes.firstIndex { $0.pts == keyframe.pts } } ?? -1
    session = try DecodingSession(
      opening, at: decodeFrom, state: state, index: begin, conceals: self.starts.isEmpty,
      shownAt: self.leavesOut && starts?.needsEveryPicture != true ? shownAt : nil)
  }

  /// The first error that the codec reported for the data.
  var firstFailure: MediaError? { session.firstFailure }

  /// Whether every picture of the decoder that is in use had the presentation time of its own packet so far.
  var followsPackets: Bool { session.followsPackets }

  /// The next frame; nil after the last. Its `pts` is the stored timestamp that `FrameTimes` lists, and rises from
  /// frame to frame. The frame may share its planes with the decoder, so they must not be changed.
  package func next() throws(MediaError) -> Frame? {
    if !hasStarted {
      hasStarted = true
      return try first()
    }
    if let frame = ahead {
      ahead = nil
      return frame
    }
    return try decode()
  }

  /// The next frame that is wanted is the last one at or before a stored timestamp. Earlier ones may be left out if
  /// `leavesOut` is true and the reader was opened for such a timestamp.
  package func show(at tick: Int64) {
    if leavesOut, format?.needsEveryPicture != true { session.show(at: tick) }
  }

  /// Whether nothing that was decoded so far is damaged. A reader that begins at any start before then has the same
  /// frames from here on.
  package var isWhole: Bool { !hasSeenDamage && session.suspects.isEmpty }

  /// Goes on for what another reader was to read, of the same track and from later on than this one is. `isWhole` must
  /// be true.
  /// - Parameter starts: The other reader's.
  package func goOn(with starts: VideoFormat?) {
    precondition(isWhole, "a reader of damaged pictures goes on for another")
    format = starts
    self.starts = starts?.keyframes ?? []
  }

  /// The time of the damaged picture that is shown at a stored timestamp where `frame` is the last one at or before it:
  /// the frame's own, or that of a later picture which could not be decoded at all. Nil if the picture is whole.
  package func damage(at tick: Int64, in frame: Frame) -> Int64? {
    if let lost = missing.last(where: { $0 <= tick }), lost > frame.pts { return lost }
    return frame.isDamaged ? frame.pts : nil
  }

  private func first() throws(MediaError) -> Frame? {
    guard let shownAt else { return try decode() }
    while true {
      let (first, before) = try first(shownAt: shownAt)
      previous = wantsPrevious ? before : nil
      guard wantsPrevious, before == nil, first != nil, begin >= 0 else { return first }
      // The decoder began with the frame that is shown.
      begin -= 1
      lastReturned = nil
      ahead = nil
      held = []
      isAtEnd = false
      try open(begin, for: .whole)
    }
  }

  /// The frame that is shown at a stored timestamp, and the one before it if that was decoded.
  private func first(shownAt: Int64) throws(MediaError) -> (shown: Frame?, before: Frame?) {
    var first = try decode()
    // What is shown is before the start if no picture from the start on can be decoded.
    while begin >= 0, first.map({ $0.pts > shownAt }) ?? true {
      begin -= 1
      lastReturned = nil
      try open(begin, for: .whole, shownAt: shownAt)
      first = try decode()
    }
    guard var best = first else { return (nil, nil) }
    var before: Frame?
    while best.pts <= shownAt, let frame = try decode() {
      if frame.pts > shownAt {
        ahead = frame
        break
      }
      if wantsPrevious { before = best }
      best = frame
    }
    return (best, before)
  }

  // MARK: Stretches

  /// The stretch that a time is in: the index of the last start at or before it; -1 before the first start.
  private func stretch(of time: Int64) -> Int { starts.partitionPoint { time < $0.pts } - 1 }

  private func decode() throws(MediaError) -> Frame? {
    while true {
      if let frame = held.first, isAtEnd || !mayBeDamaged(frame) {
        lastReturned = frame.pts
        return held.removeFirst()
      }
      if isAtEnd { return nil }
      try step()
    }
  }

  /// Whether a picture of the frame's stretch that is decoded already, and is presented later, may be damaged: this
  /// frame may refer to it.
  private func mayBeDamaged(_ frame: Frame) -> Bool {
    guard case .whole = part, !starts.isEmpty, !session.suspects.isEmpty else { return false }
    let own = stretch(of: frame.pts)
    return session.suspects.contains { $0.time > frame.pts && stretch(of: $0.time) == own }
  }

  /// Decodes a frame and holds it, or begins anew elsewhere.
  private func step() throws(MediaError) {
    guard let frame = try session.next() else {
      if try beginsAnew(session.takeSuspects(before: .max), nil) { return }
      if case .damaged(let index) = part, index + 1 < starts.count { return try open(index + 1, for: .whole) }
      isAtEnd = true
      return
    }
    if try beginsAnew(session.takeSuspects(before: frame.pts), frame) { return }
    let last = held.last?.pts ?? lastReturned
    guard case .damaged(let index) = part else {
      if last.map({ frame.pts >= $0 }) ?? true { held.append(frame) }
      return
    }
    let own = stretch(of: frame.pts)
    if own > index { return try open(index + 1, for: .whole) }
    if own == index, last.map({ frame.pts > $0 }) ?? true { held.append(frame) }
  }

  /// Chooses the decoder for what is damaged. Returns whether it is another one.
  /// - Parameter lost: The packets before `frame` that may be damaged and have no frame.
  private func beginsAnew(_ lost: [PacketReport], _ frame: Frame?) throws(MediaError) -> Bool {
    var damage = lost.sorted { $0.time < $1.time }
    if let frame, frame.isDamaged { damage.append(PacketReport(time: frame.pts, isError: false)) }
    if !damage.isEmpty { hasSeenDamage = true }
    for report in damage {
      let stretch = stretch(of: report.time)
      switch part {
      case .whole where starts.isEmpty: break
      case .whole:
        // A packet may have a wrong time. Nothing is changed in a stretch that has been read.
        let own = max(stretch, lastReturned.map(self.stretch) ?? -1)
        guard own >= 0 else {
          // The head of the file is the only place before the first start.
          part = .damaged(own)
          break
        }
        held.removeAll { self.stretch(of: $0.pts) >= own }
        try open(own - 1, for: .damaged(own))
        return true
      case .damaged(let own)
      where stretch == session.index && stretch < own && stretch > max(-1, own - Keyframe.deepest):
        try open(stretch - 1, for: part)
        return true
      case .damaged: break
      }
      let place = missing.partitionPoint { report.time <= $0 }
      if report.isError, place == missing.count || missing[place] != report.time {
        missing.insert(report.time, at: place)
      }
    }
    return false
  }

  /// - Parameter shownAt: That of the first frame that is returned, if the decoder is to find it.
  private func open(_ index: Int, for part: Part, shownAt: Int64? = nil) throws(MediaError) {
    let start = index >= 0 ? starts[index] : nil
    self.part = part
    let conceals = if case .damaged = part { true } else { starts.isEmpty }
    session = try DecodingSession(
      opening, at: start, state: start.flatMap { format?.decoderState(at: $0) }, index: index, conceals: conceals,
      shownAt: leavesOut && format?.needsEveryPicture != true ? shownAt : nil)
  }
}

extension VideoFormat {
  /// Whether frames may depend on pictures that no other refers to: their times may if only the head of the file is a
  /// start.
  fileprivate var needsEveryPicture: Bool { damagedFrames != nil || keyframes.isEmpty }
}
