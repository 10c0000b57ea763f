import CompositionModel
import Glibc
import Media

/// Samples through filters of libavfilter, from an allow-list and by typed options: no text of a document reaches its
/// parser of graphs.
final class FilteredStream: SampleStream {
  private let input: any SampleStream
  private let inputBlock: SampleBlock
  private let chain: AudioFilterChain
  /// Samples of the chain that come before the first of the input, and are left out.
  private var latency: Int

  init(_ input: any SampleStream, _ filters: [AudioFilter], sampleRate: Int, channels: Int) throws(RenderError) {
    self.input = input
    inputBlock = SampleBlock(channels: channels, capacity: 1024)
    latency = filters.reduce(0) { $0 + $1.latency(sampleRate: sampleRate) }
    chain = try mapErrors(to: Self.failure) { () throws(MediaError) in
      try AudioFilterChain(
        filters.map { $0.libavfilter(sampleRate: sampleRate) }, sampleRate: sampleRate, channels: channels)
    }
  }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    try skipLatency(block.channels)
    var filled = 0
    while filled < range.count {
      let received = try mapErrors(to: Self.failure) { () throws(MediaError) in
        try chain.receive(into: block, from: range.start + filled, count: range.count - filled)
      }
      filled += received
      if received == 0 { try send() }
    }
  }

  private func send() throws(RenderError) {
    try input.read(into: inputBlock, SampleRange(start: 0, count: inputBlock.capacity))
    try mapErrors(to: Self.failure) { () throws(MediaError) in try chain.send(inputBlock) }
  }

  private func skipLatency(_ channels: Int) throws(RenderError) {
    if latency == 0 { return }
    let skipped = SampleBlock(channels: channels, capacity: latency)
    while latency > 0 {
      let received = try mapErrors(to: Self.failure) { () throws(MediaError) in
        try chain.receive(into: skipped, from: 0, count: latency)
      }
      latency -= received
      if received == 0 { try send() }
    }
  }

  private static func failure(_ error: MediaError) -> RenderError {
    RenderError(.infrastructure, "sound cannot be filtered: \(error)")
  }
}

extension AudioFilter {
  /// libavfilter's filter and its options. They are all stated, so that another version's defaults change nothing.
  func libavfilter(sampleRate: Int) -> (name: String, options: [(String, String)]) {
    // In double precision: in single, a filter of a low frequency adds noise of its own.
    func pole(_ frequency: Double, _ q: Double) -> [(String, String)] {
      [
        ("frequency", "\(frequency)"), ("width_type", "q"), ("width", "\(q)"), ("mix", "1"), ("normalize", "0"),
        ("transform", "di"), ("precision", "f64"),
      ]
    }
    func gain(_ decibels: Double) -> String { "\(amplitude(decibels))" }
    func shelf(_ frequency: Double, _ level: Double, _ q: Double) -> [(String, String)] {
      pole(frequency, q) + [("poles", "2"), ("gain", "\(level)")]
    }
    switch self {
    case .lowShelf(let frequency, let level, let q): return ("lowshelf", shelf(frequency, level, q))
    case .highShelf(let frequency, let level, let q): return ("highshelf", shelf(frequency, level, q))
    case .noiseGate(let threshold, let ratio, let range, let attack, let release, let knee):
      return (
        "agate",
        [
          ("level_in", "1"), ("mode", "downward"), ("range", gain(range)), ("threshold", gain(threshold)),
          ("ratio", "\(ratio)"), ("attack", "\(attack * 1000)"), ("release", "\(release * 1000)"), ("makeup", "1"),
          ("knee", gain(knee)), ("detection", "rms"), ("link", "maximum"), ("level_sc", "1"),
        ]
      )
    case .deEsser(let intensity, let maximum, let keep):
      return ("deesser", [("i", "\(intensity)"), ("m", "\(maximum)"), ("f", "\(keep)"), ("s", "o")])
    case .denoise(let reduction, let floor):
      return (
        "afftdn",
        [
          ("noise_reduction", "\(reduction)"), ("noise_floor", "\(floor)"), ("noise_type", "white"),
          ("residual_floor", "-38"), ("track_noise", "0"), ("track_residual", "0"), ("output_mode", "output"),
          ("adaptivity", "0.5"), ("floor_offset", "1"), ("noise_link", "min"), ("band_multiplier", "1.25"),
          ("sample_noise", "none"), ("gain_smooth", "0"),
        ]
      )
    case .equalizer(let frequency, let level, let q):
      return ("equalizer", pole(frequency, q) + [("gain", "\(level)")])
    case .highPass(let frequency, let q): return ("highpass", pole(frequency, q) + [("poles", "2")])
    case .lowPass(let frequency, let q): return ("lowpass", pole(frequency, q) + [("poles", "2")])
    case .compressor(let threshold, let ratio, let attack, let release, let knee, let makeup):
      return (
        "acompressor",
        [
          ("level_in", "1"), ("mode", "downward"), ("threshold", gain(threshold)), ("ratio", "\(ratio)"),
          ("attack", "\(attack * 1000)"), ("release", "\(release * 1000)"), ("makeup", gain(makeup)),
          ("knee", gain(knee)), ("link", "maximum"), ("detection", "rms"), ("level_sc", "1"), ("mix", "1"),
        ]
      )
    case .limiter(let limit, let attack, let release):
      return (
        "alimiter",
        [
          ("level_in", "1"), ("level_out", "1"), ("limit", gain(limit)), ("attack", "\(attack * 1000)"),
          ("release", "\(release * 1000)"), ("asc", "0"), ("level", "0"), ("latency", "1"),
        ]
      )
    case .delay(let time):
      return ("adelay", [("delays", "\(Int((time * Double(sampleRate)).rounded()))S"), ("all", "1")])
    }
  }
}

extension AudioFilter {
  /// The samples by which libavfilter's filter is late and does not say so.
  func latency(sampleRate: Int) -> Int {
    // Its windows overlap by two steps of an 80th of a second.
    if case .denoise = self { 2 * (sampleRate / 80) } else { 0 }
  }
}

/// The factor of a level in decibels.
func amplitude(_ decibels: Double) -> Double { decibels == 0 ? 1 : pow(10, decibels / 20) }
