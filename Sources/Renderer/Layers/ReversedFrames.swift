import CompositionModel
import Media
import RenderTasks

/// The frames of a track for times that fall.
///
/// Decoders go forwards only, so the frames from a start on are decoded together and kept, as many as fit the memory.
/// Those of a longer group of pictures are decoded in several passes, each from the group's start up to the frames that
/// are kept already. A frame is the same as if it had been read forwards.
final class ReversedFrames {
  /// The most bytes of the frames that are kept: 86 of 1920x1080 with 8 bits.
  private static let greatestSize = 1 << 28
  /// Frames that are kept however large they are: one with its neighbours, which deinterlacing needs, and one more.
  private static let least = 4

  private let source: PlannedSource
  private let input: any ByteSource
  private let liveness: Liveness?
  private let limit: Int
  private var pass: Pass?
  /// The latest frame that was deinterlaced.
  private var progressive: Frame?

  /// The frames of one pass.
  private struct Pass {
    /// Finished, or stopped behind the last frame. It has the damage of what it has decoded.
    var reader: VideoReader
    /// By time, without a gap.
    var frames: [Frame]
    /// Whether the first frame is the track's first.
    var isFromFirst: Bool
    /// The frame after the last one. Nil if that is the track's last.
    var next: Frame?
  }

  /// - Parameter limit: the most bytes of the frames that are kept; nil: as many as a task may use.
  init(_ source: PlannedSource, input: any ByteSource, liveness: Liveness?, limit: Int? = nil) {
    self.source = source
    self.input = input
    self.liveness = liveness
    self.limit = limit ?? Self.greatestSize
  }

  /// The last frame at or before a stored timestamp, or the first, and the stored timestamp of the damaged picture that
  /// is shown there.
  func frame(at tick: Int64) throws(RenderError) -> (frame: Frame, damage: Int64?) {
    if let pass, let index = index(at: tick, in: pass) { return try frame(index, of: pass, at: tick) }
    // The memory of what is kept is free before more is decoded.
    pass = nil
    let made = try mapErrors(to: RenderError.during(source.title)) { () throws(MediaError) in try decode(through: tick)
    }
    pass = made
    guard let index = index(at: tick, in: made) else {
      throw RenderError.during("decoding")(
        MediaError(
          .damaged, operation: "decoding backwards", subject: source.title,
          message: "track \(source.track) has no frame at \(tick) when it is read again"))
    }
    return try frame(index, of: made, at: tick)
  }

  /// The index of the frame that is shown at a stored timestamp. Nil if it, or a neighbour that it needs, is not kept.
  private func index(at tick: Int64, in pass: Pass) -> Int? {
    if let next = pass.next, next.pts <= tick { return nil }
    let found = pass.frames.partitionPoint { tick < $0.pts } - 1
    if found < 0 { return pass.isFromFirst ? 0 : nil }
    return found > 0 || pass.isFromFirst || source.deinterlacing == nil ? found : nil
  }

  private func frame(_ index: Int, of pass: Pass, at tick: Int64) throws(RenderError) -> (frame: Frame, damage: Int64?)
  {
    let frame = pass.frames[index]
    let damage = pass.reader.damage(at: tick, in: frame)
    guard let deinterlacing = source.deinterlacing, deinterlacing == .all || frame.isInterlaced else {
      return (frame, damage)
    }
    if let progressive, progressive.pts == frame.pts { return (progressive, damage) }
    let next = index + 1 < pass.frames.count ? pass.frames[index + 1] : pass.next
    let made = try mapErrors(to: RenderError.during("deinterlacing")) { () throws(MediaError) in
      try Deinterlacer.progressive(previous: index > 0 ? pass.frames[index - 1] : nil, frame, next: next ?? frame)
    }
    progressive = made
    return (made, damage)
  }

  // MARK: Passes

  /// Decodes the frames up to the one that is shown at a stored timestamp, and one more.
  private func decode(through tick: Int64) throws(MediaError) -> Pass {
    var start = source.video.keyframes.partitionPoint { tick < $0.pts } - 1
    while true {
      let pass = try decode(from: start, through: tick)
      // Without the frame before it, a frame cannot be deinterlaced.
      let isShort = pass.frames.isEmpty || (source.deinterlacing != nil && pass.frames.count == 1)
      guard isShort, !pass.isFromFirst else {
        guard pass.frames.isEmpty else { return pass }
        guard let first = pass.next else {
          throw MediaError(
            .damaged, operation: "decoding", subject: source.title, message: "track \(source.track) has no frames")
        }
        // All frames are later, so the first is shown.
        return Pass(reader: pass.reader, frames: [first], isFromFirst: true, next: try pass.reader.next())
      }
      start -= 1
    }
  }

  /// - Parameter start: the index of a keyframe; -1: the head of the file.
  private func decode(from start: Int, through tick: Int64) throws(MediaError) -> Pass {
    let keyframe = start >= 0 ? source.video.keyframes[start] : nil
    let reader = try VideoReader(
      source: input, name: source.title, track: source.track, codec: source.codec, timebase: source.timebase,
      discontinuities: source.discontinuities, decodeFrom: keyframe,
      state: keyframe.flatMap { source.video.decoderState(at: $0) }, starts: source.video, shownAt: nil,
      liveness: liveness)
    var pass = Pass(reader: reader, frames: [], isFromFirst: start < 0, next: nil)
    var kept = 0
    while let frame = try reader.next() {
      guard frame.pts <= tick else {
        pass.next = frame
        break
      }
      pass.frames.append(frame)
      kept += frame.byteCount
      while kept > limit, pass.frames.count > Self.least {
        kept -= pass.frames.removeFirst().byteCount
        pass.isFromFirst = false
      }
    }
    return pass
  }
}

extension Frame {
  /// The bytes of all planes, with the padding of their rows.
  fileprivate var byteCount: Int {
    (0..<format.planeCount).reduce(0) { $0 + stride(ofPlane: $1) * extent(ofPlane: $1).rows }
  }
}
