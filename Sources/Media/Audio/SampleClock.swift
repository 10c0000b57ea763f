internal import CMedia
internal import CompositionModel

/// The position of each block of decoded samples on the asset's timeline.
///
/// Samples follow one another without a break as long as the stored timestamps agree with their count within rounding.
/// A stored timestamp that is later makes a gap. One that is earlier drops the samples that overlap earlier ones.
struct SampleClock {
  struct Place {
    var position: Int64
    /// Samples at the block's beginning to leave out.
    var skipped: Int
    /// The position after the block.
    var end: Int64
  }

  private let origin: Int64
  private let timebase: AVRational
  private let sample: AVRational
  /// The difference, in samples, up to which a stored timestamp agrees with the count of samples.
  private let tolerance: Int64
  private var next: Int64?
  /// Whether libavformat computes the timestamps.
  private let isTimeless: Bool
  /// Samples of the longest block so far.
  private var longest: Int64 = 0

  init(_ stream: UnsafeMutablePointer<AVStream>, container: String, origin: Int64, sampleRate: Int) {
    self.origin = origin
    isTimeless = Self.timeless.contains(container)
    timebase = stream.pointee.time_base
    sample = AVRational(num: 1, den: Int32(clamping: max(1, sampleRate)))
    let ticks = av_rescale_q_rnd(2, timebase, sample, AV_ROUND_UP)
    // Timestamps of a millisecond often come from a clock that jitters.
    let isCoarse = Int64(timebase.den) < 2000 * Int64(max(1, timebase.num))
    tolerance = max(
      ticks, Int64(sample.den) / (isCoarse ? 100 : 1000),
      SampleClock.agreement(stream.pointee.codecpar, container: container))
  }

  /// The difference, in samples, up to which a stored timestamp agrees with the count of samples where more than
  /// rounding makes them differ; else 0.
  static func agreement(_ parameters: UnsafePointer<AVCodecParameters>, container: String) -> Int64 {
    if timeless.contains(container) { return .max / 4 }
    switch parameters.pointee.codec_id {
    // Half of its longest block: libavformat's times are off by that where block sizes change.
    case AV_CODEC_ID_VORBIS: return 4096
    // All that a pack of a DVD can hold: its time is that of the first access unit that begins in it, and samples of
    // the unit before may precede it.
    case AV_CODEC_ID_PCM_DVD:
      let bits = max(16, parameters.pointee.bits_per_coded_sample) * max(1, parameters.pointee.ch_layout.nb_channels)
      return 2048 * 8 / Int64(bits)
    default: return 0
    }
  }

  /// Containers without timestamps: libavformat computes them from the bit rate or from counts of samples.
  static let timeless: Set<String> = [
    "ac3", "eac3", "aac", "loas", "dts", "dtshd", "truehd", "mlp", "mp3", "caf",
  ]

  /// The next block's place; nil if all of it overlaps earlier samples.
  mutating func place(_ frame: UnsafePointer<AVFrame>) -> Place? {
    place(count: Int64(frame.pointee.nb_samples), stored: frame.pointee.best_effort_timestamp)
  }

  /// The place of the next `count` samples at the clock's rate; nil if all of them overlap earlier samples.
  /// - Parameters:
  ///   - stored: A stored timestamp, or `sheaf_no_pts`.
  ///   - delay: How many samples the first of them is before that timestamp.
  ///   - isResampled: Whether they are stored at another rate. libavformat's times are off by up to half a second
  ///     there: those of frames within a packet of MPEG-TS, and of packets within a page of Ogg, which it reckons.
  mutating func place(count: Int64, stored: Int64, delay: Int64 = 0, isResampled: Bool = false) -> Place? {
    longest = max(longest, count)
    let tolerance = isResampled ? max(tolerance, Int64(sample.den) / 2) : tolerance
    let position = stored == sheaf_no_pts ? Int64.min : av_rescale_q(stored &- origin, timebase, sample) &- delay
    // No timestamp, or an impossible one.
    guard position.magnitude < 1 << 56 else { return start(at: next ?? 0, count) }
    guard let expected = next else { return start(at: position, count) }
    if position > expected + tolerance { return start(at: position, count) }
    if position >= expected - tolerance { return start(at: expected, count) }
    let overlap = expected - position
    guard overlap < count else { return nil }
    next = position + count
    return Place(position: expected, skipped: Int(overlap), end: position + count)
  }

  /// Leaves a packet's samples out. In containers without timestamps, all of whose packets have the same number of
  /// samples, nothing else shows that some are missing.
  mutating func leaveOutPacket() {
    if isTimeless, let next { self.next = next + longest }
  }

  /// The position of a packet's first sample by its stored timestamp; nil if it has none.
  func position(ofPacketAt stored: Int64) -> Int64? {
    guard stored != sheaf_no_pts else { return next }
    let position = av_rescale_q(stored &- origin, timebase, sample)
    return position.magnitude < 1 << 56 ? position : nil
  }

  private mutating func start(at position: Int64, _ count: Int64) -> Place {
    next = position + count
    return Place(position: position, skipped: 0, end: position + count)
  }

  /// The stored timestamp of a sample; nil for the samples up to time zero and if it does not fit.
  static func timestamp(of position: Int64, origin: Int64, timebase: AVRational, _ format: AudioFormat) -> Int64? {
    guard position > 0 else { return nil }
    let sample = AVRational(num: 1, den: Int32(clamping: max(1, format.sampleRate)))
    let (timestamp, overflow) = av_rescale_q_rnd(position, sample, timebase, AV_ROUND_DOWN)
      .addingReportingOverflow(origin)
    return overflow ? nil : timestamp
  }
}
