internal import CEBUR128
import CompositionModel
import Glibc
import Media

/// Integrated loudness and true peak of a sound by EBU R 128, measured by libebur128.
final class LoudnessMeter {
  /// Samples of a block whose true peak is kept: a frame of AAC.
  static let blockLength = 1024

  private var state: UnsafeMutablePointer<ebur128_state>?
  private let channels: Int
  private var interleaved: [Float] = []
  /// The number of the next sample, which is negative before the sound's first one.
  private var position: Int
  /// The samples that are not measured after this one. Nil: all are.
  private let end: Int?
  /// The true peak of each block, as an amplitude.
  private(set) var blockPeaks: [Double] = []

  /// - Parameters:
  ///   - initialPadding: The samples that come before the sound's first one, which are not measured.
  ///   - sampleCount: The number of samples of each channel of the sound. What comes after them is not measured. Nil:
  ///     it is all that comes.
  init(
    sampleRate: Int, channels: Int, initialPadding: Int = 0, sampleCount: Int64? = nil
  ) throws(RenderError) {
    self.channels = channels
    position = -initialPadding
    end = sampleCount.map { Int(clamping: $0) }
    let mode = EBUR128_MODE_I.rawValue | EBUR128_MODE_TRUE_PEAK.rawValue
    state = ebur128_init(UInt32(clamping: channels), UInt(sampleRate), Int32(mode))
    guard state != nil else { throw RenderError(.infrastructure, "loudness cannot be measured: there is no memory") }
    // The surround speakers of 7.1: ffmpeg's meter weights those at the back as those at the sides.
    if channels == 8 {
      for (channel, place) in [(6, EBUR128_LEFT_SURROUND), (7, EBUR128_RIGHT_SURROUND)] {
        ebur128_set_channel(state, UInt32(channel), Int32(place.rawValue))
      }
    }
  }

  deinit { ebur128_destroy(&state) }

  /// Measures the first `count` samples of a block.
  func add(_ block: SampleBlock, count: Int) throws(RenderError) {
    if interleaved.count < count * channels { interleaved = [Float](repeating: 0, count: count * channels) }
    for channel in 0..<channels {
      let row = block.row(channel)
      for index in 0..<count { interleaved[index * channels + channel] = row[index] }
    }
    var start = min(count, max(0, -position))
    position += start
    while start < count, end.map({ position < $0 }) ?? true {
      let number = position / Self.blockLength
      let length = min(count - start, min((number + 1) * Self.blockLength, end ?? .max) - position)
      let result = interleaved.withUnsafeBufferPointer { samples in
        ebur128_add_frames_float(state, samples.baseAddress.map { $0 + start * channels }, length)
      }
      guard result == Int32(EBUR128_SUCCESS.rawValue) else {
        throw RenderError(.infrastructure, "loudness cannot be measured: libebur128 returned \(result)")
      }
      let peak = highestPeak(ebur128_prev_true_peak)
      if number < blockPeaks.count {
        blockPeaks[number] = max(blockPeaks[number], peak)
      } else {
        blockPeaks.append(peak)
      }
      start += length
      position += length
    }
  }

  /// The highest of all channels, as an amplitude.
  private func highestPeak(
    _ ofChannel: (UnsafeMutablePointer<ebur128_state>?, UInt32, UnsafeMutablePointer<Double>?) -> Int32
  ) -> Double {
    var highest = 0.0
    for channel in 0..<channels {
      var peak = 0.0
      if ofChannel(state, UInt32(channel), &peak) == Int32(EBUR128_SUCCESS.rawValue) { highest = max(highest, peak) }
    }
    return highest
  }

  /// In LUFS. Nil for silence, and for sound that is too short.
  var integrated: Double? {
    var loudness = 0.0
    guard ebur128_loudness_global(state, &loudness) == Int32(EBUR128_SUCCESS.rawValue), loudness.isFinite else {
      return nil
    }
    return loudness
  }

  /// In decibels of full scale; minus infinity for silence.
  var truePeak: Double { 20 * log10(highestPeak(ebur128_true_peak)) }
}

/// What is done to the mix so that it has a loudness: a gain, and a limiter if its true peaks would be too high with
/// it.
struct Mastering: Equatable {
  /// Decibels.
  var gain = 0.0
  /// The ceiling of the limiter, in decibels of full scale. Nil: there is no limiter.
  var ceiling: Double?
  /// Decibels by which the sound is lowered besides, by the number of the meter's block: few short places whose peaks a
  /// codec makes too high.
  var dips: [Int: Double] = [:]

  /// How often the mix is measured at most.
  static let greatestPasses = 9
  /// Decibels that the limiter takes from the highest peak at most. A sound that would need more, such as short beeps
  /// in silence, stays below the target.
  static let greatestLimiting = 24.0
  /// The same where a codec needs lower peaks than the target's.
  static let greatestLimitingForCodec = 32.0
  /// How far from the target is near enough, in LU.
  private static let tolerance = 0.1

  /// A mastering, and what was measured of the mix with it.
  struct Found: Equatable {
    var mastering = Mastering()
    /// In LUFS. Nil: the sound has none.
    var loudness: Double?
    /// In decibels of full scale.
    var truePeak = -Double.infinity
  }

  /// Decides on the mastering by measuring the mix as often as needed: once if a gain is enough; with a limiter, which
  /// takes loudness away, until what it gives has the loudness. The result is one that was measured: the nearest to the
  /// target of those that keep the true peak.
  /// - Parameters:
  ///   - encoded: What was found for the mix that a codec has changed too much: the search starts there.
  ///   - dips: The dips of the mastering.
  ///   - measure: Measures the whole mix with a mastering.
  static func find(
    _ target: LoudnessTarget, after encoded: Found? = nil, dips: [Int: Double] = [:],
    _ measure: (Mastering) throws(RenderError) -> LoudnessMeter
  ) throws(RenderError) -> Found {
    let greatestLimiting = encoded == nil ? greatestLimiting : greatestLimitingForCodec
    let mix = try measure(Mastering())
    guard let loudness = mix.integrated else { return Found() }
    let gain = target.target - loudness
    // The highest gain at which no peak is too high.
    let plain = target.truePeak - mix.truePeak
    guard gain > plain else {
      let mastering = Mastering(gain: gain, dips: dips)
      return Found(mastering: mastering, loudness: target.target, truePeak: mix.truePeak + gain)
    }
    var mastering = Mastering(gain: gain, ceiling: target.truePeak, dips: dips)
    if let encoded, encoded.mastering.ceiling != nil, let loudness = encoded.loudness {
      mastering.gain = max(gain, encoded.mastering.gain + target.target - loudness)
    }
    // The gains between which the right one is, and what each misses: a higher gain never gives less.
    var low = (gain: min(plain, gain), missing: target.target - (loudness + min(plain, gain)))
    var high: (gain: Double, missing: Double)?
    // A sound with few loud peaks gets louder by little at first: the steps grow.
    var step = 1.5
    var best: (found: Found, over: Double, missing: Double)?
    for _ in 1..<greatestPasses {
      mastering.gain = min(mastering.gain, plain + greatestLimiting)
      let meter = try measure(mastering)
      guard let loudness = meter.integrated else { break }
      let missing = target.target - loudness
      let over = max(0, meter.truePeak - target.truePeak - 0.01)
      if best.map({ (over, abs(missing)) < ($0.over, abs($0.missing)) }) ?? true {
        best = (Found(mastering: mastering, loudness: loudness, truePeak: meter.truePeak), over, missing)
      }
      let isLoudest = mastering.gain >= plain + greatestLimiting
      if over == 0, abs(missing) <= tolerance || (missing > 0 && isLoudest) { break }
      if over > 0 { mastering.ceiling = (mastering.ceiling ?? target.truePeak) - over - 0.01 }
      if missing > 0 { low = (mastering.gain, missing) } else { high = (mastering.gain, missing) }
      guard let high else {
        mastering.gain += missing * step
        step *= 1.5
        continue
      }
      // On the line between the two, but not too near to either.
      let share = low.missing / (low.missing - high.missing)
      mastering.gain = low.gain + (high.gain - low.gain) * min(0.95, max(0.05, share))
    }
    return best?.found ?? Found(mastering: mastering)
  }
}

/// The search for a mix that has the loudness and the true peak of a target once it is encoded and decoded again: a
/// lossy codec makes some peaks higher, few of them by up to 4 dB, and some of its encoders make the sound quieter.
/// What most of the peaks need is taken from the ceiling, and half of what the highest need besides from their places
/// alone.
struct EncodedLoudness {
  enum Step {
    case accepted
    /// The mix is to be mastered for this target with these dips, and encoded again.
    case search(LoudnessTarget, dips: [Int: Double])
    /// No more is tried: the nearest of those that were encoded is taken.
    case takeBest(Mastering.Found)
  }

  private let target: LoudnessTarget
  /// What the mix is mastered for.
  private var wanted: LoudnessTarget
  private var dips: [Int: Double] = [:]
  /// In LUFS: the target, or what the mix has where it cannot be as loud. Nil: nothing was encoded yet.
  private var goal: Double?
  private var tried: [Mastering] = []
  private var best: (found: Mastering.Found, distance: Double)?

  private static let greatestAttempts = 6
  /// In LU and in decibels.
  private static let tolerance = (loudness: 0.15, peak: 0.1)
  /// The part of all blocks that get a dip at most, each time.
  private static let greatestShare = 0.02
  /// How much of what the highest peak needs besides is taken from the ceiling: the next encoding may have a peak as
  /// high at another place.
  private static let shareOfHighest = 0.5

  init(_ target: LoudnessTarget) {
    self.target = target
    wanted = target
  }

  /// Decides what follows an encoding.
  /// - Parameters:
  ///   - found: The mastering of the mix that was encoded.
  ///   - heard: What was decoded.
  mutating func next(after found: Mastering.Found, heard: LoudnessMeter) -> Step {
    guard let mixed = found.loudness, let loudness = heard.integrated else { return .accepted }
    let goal = goal ?? (mixed < target.target - Self.tolerance.loudness ? mixed : target.target)
    if self.goal == nil { (self.goal, wanted.target) = (goal, goal) }
    let missing = goal - loudness
    let over = max(0, heard.truePeak - target.truePeak)
    if abs(missing) <= Self.tolerance.loudness, over <= Self.tolerance.peak { return .accepted }
    let distance = abs(missing) + 2 * over
    if best.map({ distance < $0.distance }) ?? true { best = (found, distance) }
    tried.append(found.mastering)
    if tried.count >= Self.greatestAttempts { return end(after: found) }
    wanted.target += missing
    if over > Self.tolerance.peak { lower(heard.blockPeaks.map { max(0, 20 * log10($0) - target.truePeak) }) }
    return .search(wanted, dips: dips)
  }

  /// Whether a mix with this mastering was encoded before: it is as loud as it can be with its peaks.
  func hasTried(_ mastering: Mastering) -> Bool {
    tried.contains {
      abs($0.gain - mastering.gain) < 0.001 && abs(($0.ceiling ?? 0) - (mastering.ceiling ?? 0)) < 0.001
        && $0.dips == mastering.dips
    }
  }

  /// Takes the best.
  /// - Parameter found: What was encoded last.
  func end(after found: Mastering.Found) -> Step {
    guard let best, best.found != found else { return .accepted }
    return .takeBest(best.found)
  }

  /// - Parameter overs: The decibels by which the peak of each block is too high.
  private mutating func lower(_ overs: [Double]) {
    let sorted = overs.sorted(by: >)
    let common = sorted[Int(Double(sorted.count) * Self.greatestShare)]
    let lowering = common + (sorted[0] - common) * Self.shareOfHighest
    wanted.truePeak -= lowering
    for (number, over) in overs.enumerated() where over > lowering {
      dips[number, default: 0] += over - lowering + 0.05
    }
  }
}
