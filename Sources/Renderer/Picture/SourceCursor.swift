import CompositionModel
import Media
import Segmenter

/// A place in a track from which frames are taken in order: the frame that is shown, and the next one.
final class SourceCursor {
  private let reader: VideoReader
  /// Greatest timestamp that the first frame was wanted for.
  private let wanted: Int64
  private let first: Int64
  private(set) var current: Frame
  private var next: Frame?

  /// Opens the track so that the first frame is the one shown at a stored timestamp.
  init(_ source: PlannedSource, input: any ByteSource, at tick: Int64) throws(RenderError) {
    wanted = tick
    let keyframe = source.decodeFrom.flatMap { $0.pts <= tick || source.video.isStill ? $0 : nil }
    (reader, current, next) = try media(source.title) { () throws(MediaError) in
      let reader = try VideoReader(
        source: input, name: source.title, track: source.track, codec: source.codec, timebase: source.timebase,
        decodeFrom: keyframe, wanted: tick)
      guard let first = try reader.next() else {
        throw MediaError(
          .damaged, operation: "decoding", subject: source.title, message: "track \(source.track) gave no frame at all")
      }
      return (reader, first, source.video.isStill ? nil : try reader.next())
    }
    first = current.pts
  }

  /// Whether frames from a stored timestamp on can be had without going back. Before the first frame of a track its
  /// first is shown.
  func canServe(_ tick: Int64) -> Bool {
    current.pts <= tick || (current.pts == first && first > wanted)
  }

  /// The last frame that is not after a stored timestamp, or the first. The last of all is held.
  func frame(at tick: Int64) throws(RenderError) -> Frame {
    while let following = next, following.pts <= tick {
      current = following
      next = try media("decoding") { () throws(MediaError) in try reader.next() }
    }
    return current
  }
}

extension PlannedSource {
  /// What messages call it: a task knows media by digest only.
  var title: String { "media \(digest.prefix(12)) track \(track)" }

  /// The greatest stored timestamp that is not after a time of the asset.
  func tick(at time: Rational) throws(RenderError) -> Int64 {
    do {
      return try StoredTime.lastTick(
        dueAt: time, timebase: timebase, origin: origin, isRounded: hasRoundedTimes, cadence: video.cadence)
    } catch {
      throw RenderError(.task, "\(title) has no timestamp for \(time) s: \(error)")
    }
  }
}
