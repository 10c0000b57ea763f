import CompositionModel
import Segmenter

/// Where a clip lies among the output's samples, and what of its asset they hear: exactly, from absolute times, so that
/// neighbours share their edit point (DESIGN 5).
struct ClipPlacement: Sendable, Equatable {
  /// The output's samples [round(start · rate), round(end · rate)), as far as the output has them.
  let output: Range<Int64>
  /// Seconds of the asset heard in a second of the output. Positive.
  let speed: Rational
  /// The first sample of an asset that has the output's own rate: round(source start · rate).
  let alignedSource: Int64
  /// The asset's time, in seconds, at the sample `output.lowerBound`.
  let sourceStart: Rational

  /// `rate` is the output's, in samples a second; `sampleCount` is the output's length.
  init(_ clip: PlannedAudioClip, rate: Int, sampleCount: Int64) throws(TimeError) {
    let rate = Rational(rate)
    let start = try ClipPlacement.sample(at: clip.targetRange.start, rate: rate)
    let end = try ClipPlacement.sample(at: clip.targetRange.end, rate: rate)
    let first = min(max(0, start), sampleCount)
    output = first..<max(first, min(end, sampleCount))
    speed =
      clip.sourceRange.duration == clip.targetRange.duration
      ? .one : try clip.sourceRange.duration / clip.targetRange.duration
    alignedSource = try ClipPlacement.sample(at: clip.sourceRange.start, rate: rate) + (first - start)
    let elapsed = try Rational(first) / rate - clip.targetRange.start.exact
    sourceStart = try clip.sourceRange.start.exact + elapsed * speed
  }

  /// The sample nearest to a time; halves go away from zero.
  private static func sample(at time: MediaTime, rate: Rational) throws(TimeError) -> Int64 {
    guard let sample = Int64(exactly: try (time.exact * rate).rounded) else { throw .overflow }
    return sample
  }
}
