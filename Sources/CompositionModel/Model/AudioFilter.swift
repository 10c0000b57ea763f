/// A filter of sound: what AVFoundation's audio taps are used for. `docs/document/audio-filters.md` describes each.
/// Times are in seconds, frequencies in Hz, and levels in decibels of full scale.
public enum AudioFilter: Sendable, Hashable, Codable {
  /// A peak or a notch of a parametric equaliser. `gain` is in decibels at `frequency`; `q` is frequency by bandwidth.
  case equalizer(frequency: Double, gain: Double, q: Double)
  /// Two poles: 12 dB an octave below `frequency`, which is 3 dB lower with a `q` of 0.707.
  case highPass(frequency: Double, q: Double)
  case lowPass(frequency: Double, q: Double)
  /// `gain` is in decibels far below `frequency`, and half of it there; `q` is how steep it is.
  case lowShelf(frequency: Double, gain: Double, q: Double)
  case highShelf(frequency: Double, gain: Double, q: Double)
  /// What is below `threshold` falls by `ratio` decibels for one of the input, by `range` at most, with a soft knee of
  /// `knee` decibels.
  case noiseGate(threshold: Double, ratio: Double, range: Double, attack: Double, release: Double, knee: Double)
  /// Lowers hissing consonants. `intensity` decides what counts as one, `maximum` how much of them is taken away, and
  /// `keep` how much of the high frequencies stays then: 0…1.
  case deEsser(intensity: Double, maximum: Double, keep: Double)
  /// Lowers a steady noise of the level `floor` by `reduction` decibels, in each band of frequencies.
  case denoise(reduction: Double, floor: Double)
  /// `ratio` is decibels over `threshold` of the input for one of the output, with a soft knee of `knee` decibels.
  case compressor(
    threshold: Double, ratio: Double, attack: Double, release: Double, knee: Double, makeup: Double)
  /// Looks ahead by `attack`, so that no sample is over `limit`.
  case limiter(limit: Double, attack: Double, release: Double)
  /// The sound comes later.
  case delay(time: Double)
}

/// The kinds of filters of sound. The raw value is the name in documents.
public enum AudioFilterKind: String, Sendable, Hashable, CaseIterable {
  case equalizer, highPass, lowPass, lowShelf, highShelf, noiseGate, deEsser, denoise, compressor, limiter, delay

  /// The parameters that are levels in decibels.
  package static let levels: Set<String> = [
    "gain", "threshold", "knee", "makeup", "limit", "range", "reduction", "floor",
  ]

  /// In the order of the case's values.
  public var parameters: [FilterKind.Parameter] {
    func parameter(_ key: String, _ range: ClosedRange<Double>, _ standard: Double? = nil) -> FilterKind.Parameter {
      FilterKind.Parameter(key: key, range: range, standard: standard, neutral: nil)
    }
    let frequency = parameter("frequency", 10...40_000)
    switch self {
    case .equalizer: return [frequency, parameter("gain", -40...40), parameter("q", 0.1...100, 1)]
    case .highPass, .lowPass: return [frequency, parameter("q", 0.1...10, 0.707)]
    case .lowShelf, .highShelf: return [frequency, parameter("gain", -40...40), parameter("q", 0.1...10, 0.707)]
    case .noiseGate:
      return [
        parameter("threshold", -80...0, -40), parameter("ratio", 1...100, 4), parameter("range", -96...0, -24),
        parameter("attack", 0.0001...2, 0.02), parameter("release", 0.0001...9, 0.25), parameter("knee", 0...18, 9),
      ]
    case .deEsser:
      return [parameter("intensity", 0...1, 0.5), parameter("maximum", 0...1, 0.5), parameter("keep", 0...1, 0.5)]
    case .denoise: return [parameter("reduction", 0.1...97, 12), parameter("floor", -80 ... -20, -50)]
    case .compressor:
      return [
        parameter("threshold", -60...0, -18), parameter("ratio", 1...20, 2), parameter("attack", 0.0001...2, 0.02),
        parameter("release", 0.0001...9, 0.25), parameter("knee", 0...18, 9), parameter("makeup", 0...36, 0),
      ]
    case .limiter:
      return [
        parameter("limit", -24...0, -1), parameter("attack", 0.0001...0.08, 0.005),
        parameter("release", 0.001...8, 0.05),
      ]
    case .delay: return [parameter("time", 0...10)]
    }
  }
}

extension AudioFilter {
  public var kind: AudioFilterKind { parts.kind }

  /// The parameters, in the order of `AudioFilterKind.parameters`.
  public var values: [Double] { parts.values }

  private var parts: (kind: AudioFilterKind, values: [Double]) {
    switch self {
    case .equalizer(let frequency, let gain, let q): (.equalizer, [frequency, gain, q])
    case .highPass(let frequency, let q): (.highPass, [frequency, q])
    case .lowPass(let frequency, let q): (.lowPass, [frequency, q])
    case .lowShelf(let frequency, let gain, let q): (.lowShelf, [frequency, gain, q])
    case .highShelf(let frequency, let gain, let q): (.highShelf, [frequency, gain, q])
    case .noiseGate(let threshold, let ratio, let range, let attack, let release, let knee):
      (.noiseGate, [threshold, ratio, range, attack, release, knee])
    case .deEsser(let intensity, let maximum, let keep): (.deEsser, [intensity, maximum, keep])
    case .denoise(let reduction, let floor): (.denoise, [reduction, floor])
    case .compressor(let threshold, let ratio, let attack, let release, let knee, let makeup):
      (.compressor, [threshold, ratio, attack, release, knee, makeup])
    case .limiter(let limit, let attack, let release): (.limiter, [limit, attack, release])
    case .delay(let time): (.delay, [time])
    }
  }

  /// - Parameter values: As many as `kind` has parameters.
  package init(_ kind: AudioFilterKind, _ values: [Double]) {
    switch kind {
    case .equalizer: self = .equalizer(frequency: values[0], gain: values[1], q: values[2])
    case .highPass: self = .highPass(frequency: values[0], q: values[1])
    case .lowPass: self = .lowPass(frequency: values[0], q: values[1])
    case .lowShelf: self = .lowShelf(frequency: values[0], gain: values[1], q: values[2])
    case .highShelf: self = .highShelf(frequency: values[0], gain: values[1], q: values[2])
    case .noiseGate:
      self = .noiseGate(
        threshold: values[0], ratio: values[1], range: values[2], attack: values[3], release: values[4],
        knee: values[5])
    case .deEsser: self = .deEsser(intensity: values[0], maximum: values[1], keep: values[2])
    case .denoise: self = .denoise(reduction: values[0], floor: values[1])
    case .compressor:
      self = .compressor(
        threshold: values[0], ratio: values[1], attack: values[2], release: values[3], knee: values[4],
        makeup: values[5])
    case .limiter: self = .limiter(limit: values[0], attack: values[1], release: values[2])
    case .delay: self = .delay(time: values[0])
    }
  }

  /// The frequency that must be below half the sample rate. Nil: there is none.
  package var frequency: Double? {
    switch self {
    case .equalizer(let frequency, _, _), .lowShelf(let frequency, _, _), .highShelf(let frequency, _, _): frequency
    case .highPass(let frequency, _), .lowPass(let frequency, _): frequency
    case .noiseGate, .deEsser, .denoise, .compressor, .limiter, .delay: nil
    }
  }
}
