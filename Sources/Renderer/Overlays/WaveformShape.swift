import CompositionModel
import Glibc
import RenderTasks

/// What a picture of sound shows at a time, in 1/256 of a pixel of the picture.
enum WaveformShape: Equatable {
  /// Each from its left edge to its right one, around the middle of the height.
  case bars([Bar])
  /// On the lower edge of the picture.
  case levels([Bar])
  /// The upper and the lower end of each column of pixels.
  case line(upper: [Int32], lower: [Int32])

  struct Bar: Equatable {
    var left: Int32
    var right: Int32
    var height: Int32
  }

  static let unit = 256.0
}

/// Finds the shapes of a picture of sound.
final class WaveformMeter {
  private let planned: PlannedWaveform
  private let sound: WaveformSound
  /// The samples in the width.
  private let count: Int64
  /// The greatest samples of bars, by number.
  private var peaks: [Int64: Float] = [:]
  private let factor: Double
  private let spectrum: Spectrum?

  init(_ planned: PlannedWaveform, _ sound: WaveformSound) throws(TimeError) {
    (self.planned, self.sound) = (planned, sound)
    count = try PlannedWaveform.samples(of: planned.waveform)
    factor = pow(10, planned.waveform.gain / 20)
    spectrum = planned.waveform.style == .spectrum ? Spectrum(bars: planned.waveform.bars) : nil
  }

  private var waveform: Waveform { planned.waveform }
  private var width: Double { Double(waveform.size.width) * WaveformShape.unit }
  private var height: Double { Double(waveform.size.height) * WaveformShape.unit }
  /// What is seen of silence: two pixels, in a picture that has them.
  private var least: Double { min(2 * WaveformShape.unit, height) }

  /// - Parameter time: On the segment's clock.
  func shape(at time: Rational) throws(RenderError) -> WaveformShape {
    let shown = try mapErrors(to: RenderError.caused(.task, "a waveform has no time")) { () throws(TimeError) in
      try planned.samples(at: time, count: count)
    }
    switch waveform.style {
    case .bars: return try bars(shown)
    case .line: return try line(shown)
    case .spectrum: return try levels(shown)
    }
  }

  /// Bars of fixed parts of the sound, which move with it.
  private func bars(_ shown: Range<Int64>) throws(RenderError) -> WaveformShape {
    let bars = Int64(waveform.bars)
    func start(_ number: Int64) -> Int64 { (number * count).dividedDown(by: bars) }
    let first = (shown.lowerBound * bars).dividedDown(by: count)
    let step = width / Double(bars)
    let numbers = first...(first + bars)
    var all: [WaveformShape.Bar] = []
    for number in numbers {
      let peak: Float
      if let known = peaks[number] {
        peak = known
      } else {
        let own = start(number)..<max(start(number) + 1, start(number + 1))
        peak = try sound.samples(own).reduce(0) { max($0, abs($1)) }
        peaks[number] = peak
      }
      // From the left edge of the picture, at an exact multiple of a bar's part.
      let left = Double(number * count - shown.lowerBound * bars) / Double(count * bars) * width
      all.append(bar(left, step, Double(peak) * factor))
    }
    peaks = peaks.filter { numbers.contains($0.key) }
    return .bars(all)
  }

  private func bar(_ left: Double, _ step: Double, _ level: Double) -> WaveformShape.Bar {
    let free = step * waveform.gap / 2
    return WaveformShape.Bar(
      left: Int32((left + free).rounded()), right: Int32((left + step - free).rounded()),
      height: Int32(max(least, min(1, level) * height).rounded()))
  }

  private func line(_ shown: Range<Int64>) throws(RenderError) -> WaveformShape {
    let samples = try sound.samples(shown)
    let columns = waveform.size.width
    var (upper, lower): ([Int32], [Int32]) = ([], [])
    func place(_ sample: Float) -> Int32 {
      Int32(((1 - max(-1, min(1, Double(sample) * factor))) / 2 * height).rounded())
    }
    for column in 0..<columns {
      let from = min(samples.count - 1, column * samples.count / columns)
      let part = samples[from..<max(from + 1, (column + 1) * samples.count / columns)]
      upper.append(place(part.max() ?? 0))
      lower.append(place(part.min() ?? 0))
    }
    return .line(upper: upper, lower: lower)
  }

  private func levels(_ shown: Range<Int64>) throws(RenderError) -> WaveformShape {
    guard let spectrum else { return .levels([]) }
    let step = width / Double(waveform.bars)
    let levels = spectrum.levels(try sound.samples(shown), gain: waveform.gain)
    return .levels(levels.enumerated().map { bar(Double($0) * step, step, $1) })
  }
}

/// The levels of bands of frequencies, which are equally wide for the ear.
struct Spectrum {
  /// In hertz.
  private static let frequencies = 50.0...12_000.0
  /// The quietest level that is seen, in decibels of a sine of full scale.
  private static let floor = -60.0

  private let size = PlannedWaveform.spectrumSize
  private let window: [Double]
  /// The parts of the discrete Fourier transform of each bar.
  private let bins: [Range<Int>]

  init(bars: Int) {
    let size = PlannedWaveform.spectrumSize
    window = (0..<size).map { 0.5 - 0.5 * Trigonometry.sineAndCosine(ofDegrees: Double($0) * 360 / Double(size)).1 }
    let step = Double(PlannedWaveform.sampleRate) / Double(size)
    let ratio = Self.frequencies.upperBound / Self.frequencies.lowerBound
    func bin(_ bar: Int) -> Int {
      Int((Self.frequencies.lowerBound * pow(ratio, Double(bar) / Double(bars)) / step).rounded())
    }
    bins = (0..<bars).map { bin($0)..<max(bin($0) + 1, bin($0 + 1)) }
  }

  /// From 0, the quietest, to 1.
  func levels(_ samples: [Float], gain: Double) -> [Double] {
    var real = zip(samples, window).map { Double($0) * $1 }
    var imaginary = Array(repeating: 0.0, count: size)
    Self.transform(&real, &imaginary)
    return bins.map { bins in
      let power = bins.map { real[$0] * real[$0] + imaginary[$0] * imaginary[$0] }.max() ?? 0
      // The window halves the amplitude of a sine, and half of it is in each of two parts.
      let amplitude = power.squareRoot() * 4 / Double(size)
      guard amplitude > 0 else { return 0 }
      return max(0, min(1, 1 - (20 * log10(amplitude) + gain) / Self.floor))
    }
  }

  /// The discrete Fourier transform in its place, of a power of two.
  private static func transform(_ real: inout [Double], _ imaginary: inout [Double]) {
    let count = real.count
    var mirrored = 0
    for index in 1..<count {
      var bit = count >> 1
      while mirrored & bit != 0 {
        mirrored ^= bit
        bit >>= 1
      }
      mirrored ^= bit
      if index < mirrored {
        real.swapAt(index, mirrored)
        imaginary.swapAt(index, mirrored)
      }
    }
    var length = 2
    while length <= count {
      let turns = (0..<length / 2).map { Trigonometry.sineAndCosine(ofDegrees: -360 * Double($0) / Double(length)) }
      for start in stride(from: 0, to: count, by: length) {
        for (offset, (sine, cosine)) in turns.enumerated() {
          let (low, high) = (start + offset, start + offset + length / 2)
          let re = real[high] * cosine - imaginary[high] * sine
          let im = real[high] * sine + imaginary[high] * cosine
          (real[high], imaginary[high]) = (real[low] - re, imaginary[low] - im)
          (real[low], imaginary[low]) = (real[low] + re, imaginary[low] + im)
        }
      }
      length *= 2
    }
  }
}

extension Int64 {
  /// The quotient, rounded to the whole number below.
  fileprivate func dividedDown(by divisor: Int64) -> Int64 {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? quotient - 1 : quotient
  }
}
