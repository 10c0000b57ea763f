internal import CMedia
internal import CompositionModel

/// Gives each block of decoded samples its position on the asset's timeline.
///
/// Samples follow one another without a break. Only where a stored timestamp disagrees with the count by more than
/// rounding explains does the stored one hold: later is a gap; earlier, and what is already there is dropped.
struct SampleClock {
  struct Place {
    var position: Int64
    /// Samples at the block's beginning that are not heard.
    var skipped: Int
  }

  private let origin: Int64
  private let timebase: AVRational
  private let sample: AVRational
  /// In samples.
  private let tolerance: Int64
  private var next: Int64?

  init(_ stream: UnsafeMutablePointer<AVStream>, container: String, origin: Int64, sampleRate: Int) {
    self.origin = origin
    timebase = stream.pointee.time_base
    sample = AVRational(num: 1, den: Int32(clamping: max(1, sampleRate)))
    tolerance = SampleClock.tolerance(
      codec: stream.pointee.codecpar.pointee.codec_id, container: container, timebase: timebase, sample: sample)
  }

  /// How far, in samples, a stored timestamp may be from the count of samples without being believed.
  private static func tolerance(
    codec: AVCodecID, container: String, timebase: AVRational, sample: AVRational
  ) -> Int64 {
    // Files without timestamps: libavformat makes them up from the bit rate.
    if timeless.contains(container) { return .max / 4 }
    // Half of its longest block: libavformat's times are off by that where block sizes change.
    if codec == AV_CODEC_ID_VORBIS { return 4096 }
    let ticks = av_rescale_q_rnd(2, timebase, sample, AV_ROUND_UP)
    // Timestamps of a millisecond are often those of a clock that jitters.
    let isCoarse = Int64(timebase.den) < 2000 * Int64(max(1, timebase.num))
    return max(ticks, Int64(sample.den) / (isCoarse ? 100 : 1000))
  }

  private static let timeless: Set<String> = ["ac3", "eac3", "aac", "loas", "dts", "dtshd", "truehd", "mlp", "mp3"]

  /// Where the block lies; nil if all of it is before what was already there.
  mutating func place(_ frame: UnsafePointer<AVFrame>) -> Place? {
    let count = Int64(frame.pointee.nb_samples)
    let stored = frame.pointee.best_effort_timestamp
    let position = stored == sheaf_no_pts ? Int64.min : av_rescale_q(stored &- origin, timebase, sample)
    // No timestamp, or one that no film reaches.
    guard position.magnitude < 1 << 56 else { return follow(next ?? 0, count) }
    guard let expected = next else { return follow(position, count) }
    if position > expected + tolerance { return follow(position, count) }
    if position >= expected - tolerance { return follow(expected, count) }
    let overlap = expected - position
    guard overlap < count else { return nil }
    next = position + count
    return Place(position: expected, skipped: Int(overlap))
  }

  private mutating func follow(_ position: Int64, _ count: Int64) -> Place {
    next = position + count
    return Place(position: position, skipped: 0)
  }

  /// The stored timestamp of a sample; nil where it is none that a file could have.
  static func timestamp(of position: Int64, origin: Int64, timebase: AVRational, _ format: AudioFormat) -> Int64? {
    guard position > 0 else { return nil }
    let sample = AVRational(num: 1, den: Int32(clamping: max(1, format.sampleRate)))
    let (timestamp, overflow) = av_rescale_q_rnd(position, sample, timebase, AV_ROUND_DOWN)
      .addingReportingOverflow(origin)
    return overflow ? nil : timestamp
  }
}
