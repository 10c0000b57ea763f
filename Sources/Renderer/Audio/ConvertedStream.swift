import CompositionModel
import Media

/// Samples of another rate, other channels or another speed, converted to the output's. The pitch follows the speed.
final class ConvertedStream: SampleStream {
  /// Half the length of the converter's filter, in samples of the slower of the two rates.
  private static let filterReach = 16

  private let source: any SampleSource
  private var position: Int64
  private let converter: SampleConverter
  private let input: SampleBlock
  /// Converted samples, of which those from `taken` to `available` have not been read.
  private let output: SampleBlock
  private var taken = 0
  private var available = 0
  /// How many converted samples to drop before the first that is read.
  private var discarded: Int64

  /// A stream at the output's rate, whose first sample is the one at `start` seconds of the asset's timeline.
  /// - Parameters:
  ///   - speed: Seconds of the source in a second of the output, from 1/100 to 100.
  ///   - skipped: How many of the stream's samples are left out. Those that are read are the same as without.
  init(
    _ source: any SampleSource, plan: ChannelPlan, start: Rational, speed: Rational = .one, skipping skipped: Int64 = 0,
    outputRate: Int, outputChannels: Int
  ) throws(RenderError) {
    self.source = source
    let rates = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
      try Self.rates(from: source.sampleRate, to: outputRate, speed: speed)
    }
    let phase = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
      if rates.source == rates.output {
        let requested = try start * Rational(source.sampleRate)
        guard let first = Int64(exactly: requested.rounded) else { throw TimeError.overflow }
        return ResamplePhase(firstSource: first + skipped, discarded: 0)
      }
      let reach = Self.filterReach * max(1, (rates.source + rates.output - 1) / rates.output)
      let step = try Rational(Int128(rates.source), Int128(rates.output))
      return try ResamplePhase(sourceStart: start, sourceRate: source.sampleRate, step: step, runUp: reach)
        .skipping(skipped, step: step)
    }
    (position, discarded) = (phase.firstSource, phase.discarded)
    let growth = rates.output / rates.source + 1
    input = SampleBlock(channels: source.channels, capacity: min(4096, max(64, 262_144 / growth)))
    output = SampleBlock(channels: outputChannels, capacity: input.capacity * growth + Self.filterReach * 64)
    let mixing: SampleConverter.Mixing =
      switch plan {
      // Only the rate changes: each channel is converted by itself, whatever the layout's name.
      case .same: .matrix((0..<outputChannels * outputChannels).map { $0 % (outputChannels + 1) == 0 ? 1 : 0 })
      case .mixed(let mixing): mixing
      }
    converter = try mapErrors(to: RenderError.caused(.task, "audio cannot be converted to the output's format")) {
      () throws(MediaError) in
      try SampleConverter(
        fromRate: rates.source, channels: source.channels, toRate: rates.output, channels: outputChannels,
        mixing: mixing)
    }
  }

  /// The rates between which the converter converts, which it takes as whole numbers: the source's samples in some time
  /// of the output, and the output's.
  private static func rates(
    from source: Int, to output: Int, speed: Rational
  ) throws(TimeError) -> (source: Int, output: Int) {
    guard speed != .one else { return (source, output) }
    var step = try Rational(Int128(source), Int128(output)) * speed
    let greatest: Int128 = 1 << 30
    if step.numerator > greatest || step.denominator > greatest {
      // The nearest with a denominator for which both fit: less than a sample off in an hour.
      let denominator = greatest / max(1, step.ceiling)
      step = try Rational((step * Rational(denominator)).rounded, denominator)
    }
    guard let from = Int(exactly: step.numerator), let to = Int(exactly: step.denominator) else { throw .overflow }
    return (from, to)
  }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    var filled = 0
    while filled < range.count {
      if taken == available { try convert() }
      let count = min(range.count - filled, available - taken)
      block.copy(output, from: taken, to: range.start + filled, count: count)
      taken += count
      filled += count
    }
  }

  private func convert() throws(RenderError) {
    try source.read(at: position, into: input, SampleRange(start: 0, count: input.capacity))
    position += Int64(input.capacity)
    available = try mapErrors(to: RenderError.caused(.infrastructure, "audio could not be converted")) {
      () throws(MediaError) in try converter.convert(input, into: output)
    }
    taken = Int(min(discarded, Int64(available)))
    discarded -= Int64(taken)
  }
}

/// The start of a sample rate conversion, chosen so that the first sample that is read has the right time.
///
/// A converter's first output is exactly at its first input, and output m at input m · sourceRate/outputRate. The first
/// requested sample is seldom exactly on a sample of the source. So the conversion starts earlier and discards as many
/// outputs as bring the grid of outputs nearest to it. The discarded outputs also fill the filter with the samples
/// before the first requested one.
struct ResamplePhase: Sendable, Equatable {
  /// The source's sample to start with.
  let firstSource: Int64
  /// How many outputs to discard.
  let discarded: Int64

  /// How many numbers of outputs are tried. With so many, every usual pair of rates comes within 1/300 of a source
  /// sample.
  private static let maximumTries: Int128 = 1024

  init(firstSource: Int64, discarded: Int64) {
    self.firstSource = firstSource
    self.discarded = discarded
  }

  /// - Parameters:
  ///   - sourceStart: The requested time in seconds of the source's timeline.
  ///   - runUp: The smallest number of source samples to start early.
  ///   - step: Source samples from one output to the next.
  init(sourceStart: Rational, sourceRate: Int, step: Rational, runUp: Int) throws(TimeError) {
    let requested = try sourceStart * Rational(sourceRate)
    let least = try (Rational(runUp) / step).ceiling
    // The fraction of a source sample by which the grid misses, in parts of `whole`, for each number of outputs.
    let (whole, overflow) = requested.denominator.multipliedReportingOverflow(by: step.denominator)
    let (stride, strideOverflow) = requested.denominator.multipliedReportingOverflow(
      by: step.numerator % step.denominator)
    guard !overflow, !strideOverflow, whole < .max / 2 else { throw .overflow }
    var fraction = try ((requested - Rational(least) * step) * Rational(whole)).numerator % whole
    var best = (miss: whole, discarded: least)
    for discarded in least..<(least + min(step.denominator, Self.maximumTries)) {
      if fraction < 0 { fraction += whole }
      let miss = min(fraction, whole - fraction)
      if miss < best.miss { best = (miss, discarded) }
      if miss == 0 { break }
      fraction -= stride
    }
    guard let first = Int64(exactly: try (requested - Rational(best.discarded) * step).rounded) else { throw .overflow }
    firstSource = first
    discarded = Int64(best.discarded)
  }

  /// The phase of which the outputs are the same, without the first `count` after those that are discarded.
  ///
  /// After as many outputs as the step's denominator the converter is where it was on a sample of the source, so it may
  /// start there. It starts earlier by twice the run-up, because it makes up what is before its first sample.
  func skipping(_ count: Int64, step: Rational) throws(TimeError) -> ResamplePhase {
    let periods = max(0, (Int128(count) - Int128(discarded)) / step.denominator)
    guard let first = Int64(exactly: Int128(firstSource) + periods * step.numerator),
      let discarded = Int64(exactly: Int128(discarded) + Int128(count) - periods * step.denominator)
    else { throw .overflow }
    return ResamplePhase(firstSource: first, discarded: discarded)
  }
}

/// How a track's channels become the output's.
enum ChannelPlan: Sendable, Equatable {
  /// The same speakers in the same order, so that nothing is computed.
  case same
  case mixed(SampleConverter.Mixing)

  /// `channels` is the output's: 1 mono, 2 stereo, 6 5.1 or 8 7.1.
  init(from input: AudioFormat, to channels: Int) {
    let output = SpeakerLayout.usual(channels)?.rawValue ?? "\(channels) channels"
    let named =
      Self.namesSpeakers(input.layout) ? input.layout : SpeakerLayout.usual(input.channels)?.rawValue ?? ""
    if input.layout.hasPrefix("ambisonic") {
      self = .mixed(.matrix(Self.ambisonic(input.channels, to: channels)))
    } else if named == output || (channels == 6 && named == "5.1(side)") {
      self = .same
    } else if input.channels == 1, channels == 2 {
      // Whatever speaker it is for: libswresample takes one channel for mono, and lowers each side by 3 dB, as a mixing
      // console pans. Heard from both sides, that is quieter than the same sound in a film of one channel, and than
      // what every editor plays.
      self = .mixed(.matrix(SampleConverter.monoInStereo))
    } else if !named.isEmpty {
      self = .mixed(.layouts(from: named, to: output))
    } else {
      self = .mixed(.matrix(Self.unplaced(input.channels, to: channels)))
    }
  }

  /// Whether libavutil's description of a layout names its speakers; `16 channels` does not.
  private static func namesSpeakers(_ layout: String) -> Bool {
    !layout.isEmpty && !layout.hasSuffix("channels") && layout != "unknown"
  }

  /// For channels without known speakers, numbered as a recorder does: odd ones go left and even ones right, and all
  /// channels of a side together are as loud as one.
  private static func unplaced(_ inputs: Int, to outputs: Int) -> [Double] {
    var matrix = [Double](repeating: 0, count: inputs * outputs)
    let sides = outputs == 1 ? 1 : 2
    for input in 0..<inputs {
      let side = input % sides
      matrix[side * inputs + input] = 1 / Double((inputs - side + sides - 1) / sides)
    }
    return matrix
  }

  /// For ambisonic audio in the usual order W, Y, Z, X…: the signals of two cardioid microphones that point left and
  /// right; W alone for mono.
  private static func ambisonic(_ inputs: Int, to outputs: Int) -> [Double] {
    var matrix = [Double](repeating: 0, count: inputs * outputs)
    guard outputs > 1, inputs > 1 else {
      for output in 0..<min(2, outputs) { matrix[output * inputs] = 1 }
      return matrix
    }
    (matrix[0], matrix[1]) = (0.5, 0.5)
    (matrix[inputs], matrix[inputs + 1]) = (0.5, -0.5)
    return matrix
  }
}
