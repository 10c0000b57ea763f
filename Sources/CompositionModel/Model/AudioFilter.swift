/// A filter of sound: what AVFoundation's audio taps are used for. `docs/document.md` describes each. Times are in
/// seconds, frequencies in Hz, and levels in decibels of full scale.
public enum AudioFilter: Sendable, Hashable, Codable {
  /// A peak or a notch of a parametric equaliser. `gain` is in decibels at `frequency`; `q` is frequency by bandwidth.
  case equalizer(frequency: Double, gain: Double, q: Double)
  /// Two poles: 12 dB an octave below `frequency`, which is 3 dB lower with a `q` of 0.707.
  case highPass(frequency: Double, q: Double)
  case lowPass(frequency: Double, q: Double)
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
  case equalizer, highPass, lowPass, compressor, limiter, delay

  /// The parameters that are levels in decibels.
  package static let levels: Set<String> = ["gain", "threshold", "knee", "makeup", "limit"]

  /// In the order of the case's values.
  public var parameters: [FilterKind.Parameter] {
    func parameter(_ key: String, _ range: ClosedRange<Double>, _ standard: Double? = nil) -> FilterKind.Parameter {
      FilterKind.Parameter(key: key, range: range, standard: standard, neutral: nil)
    }
    let frequency = parameter("frequency", 10...40_000)
    switch self {
    case .equalizer: return [frequency, parameter("gain", -40...40), parameter("q", 0.1...100, 1)]
    case .highPass, .lowPass: return [frequency, parameter("q", 0.1...10, 0.707)]
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
    case .equalizer(let frequency, _, _), .highPass(let frequency, _), .lowPass(let frequency, _): frequency
    case .compressor, .limiter, .delay: nil
    }
  }
}
