import CompositionModel
import Media

/// A track's pictures as they are decoded, with their times.
final class PictureSource<Sample: Sendable>: SampleSource {
  /// Makes a sample of a picture, its time and its duration.
  typealias Make = (_ frame: Frame, _ time: MediaTime, _ duration: MediaTime) throws -> Sample

  private let reader: VideoReader
  private let ticks: TrackTicks
  private let make: Make
  private var held: (frame: Frame, time: MediaTime)?
  private var isAtEnd = false

  init(
    _ path: String, _ track: TrackDescription, _ video: VideoFormat, _ ticks: TrackTicks, _ make: @escaping Make
  ) throws {
    (self.ticks, self.make) = (ticks, make)
    let keyframe = ticks.start.flatMap { start in video.keyframes.last { $0.pts <= start } }
    reader = try VideoReader(
      source: openFile(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
      discontinuities: track.discontinuities, decodeFrom: keyframe,
      state: keyframe.flatMap { video.decoderState(at: $0) }, starts: video.isStill ? nil : video,
      shownAt: video.isStill ? nil : ticks.start)
    held = try read()
  }

  func next() throws -> Sample? {
    guard let current = held else { return nil }
    let following = try read()
    held = following.flatMap { ticks.isPast($0.time) ? nil : $0 }
    let end = following?.time ?? max(current.time, ticks.track.range.end)
    return try make(current.frame, current.time, try end - current.time)
  }

  private func read() throws -> (frame: Frame, time: MediaTime)? {
    guard !isAtEnd, let frame = try reader.next() else {
      isAtEnd = true
      return nil
    }
    return (frame, try ticks.time(of: frame.pts))
  }
}
