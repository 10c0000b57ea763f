import CMedia
import CompositionModel
import Glibc
import Media

/// Samples through filters of libavfilter, from an allow-list and by typed options: no text of a document reaches its
/// parser of graphs. A filter's first sample is the stream's first; what a filter looks ahead at does not move the
/// sound.
final class FilteredStream: SampleStream {
  private let input: any SampleStream
  private let inputBlock: SampleBlock
  private let chain: OpaquePointer

  init(_ input: any SampleStream, _ filters: [AudioFilter], sampleRate: Int, channels: Int) throws(RenderError) {
    self.input = input
    inputBlock = SampleBlock(channels: channels, capacity: 1024)
    var opened: OpaquePointer?
    try Self.check { sheaf_audio_filters_open(&opened, Int32(sampleRate), Int32(channels), $0, $1) }
    guard let opened else { throw Self.failure("there is no chain of filters", 0) }
    chain = opened
    for filter in filters {
      let (name, options) = filter.libavfilter(sampleRate: sampleRate)
      let texts = options.flatMap { [$0.0, $0.1] }
      try Self.check { message, size in
        withCStrings(texts) { sheaf_audio_filters_add(chain, name, $0, Int32(texts.count), message, size) }
      }
    }
    try Self.check { sheaf_audio_filters_start(chain, $0, $1) }
  }

  deinit { sheaf_audio_filters_close(chain) }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    var filled = 0
    while filled < range.count {
      let received = block.withRows(from: range.start + filled) {
        sheaf_audio_filters_receive(chain, UnsafePointer($0), Int32(range.count - filled))
      }
      guard received >= 0 else { throw Self.failure("the filters returned no samples", received) }
      filled += Int(received)
      guard received == 0 else { continue }
      try input.read(into: inputBlock, SampleRange(start: 0, count: inputBlock.capacity))
      let status = inputBlock.withConstantRows { sheaf_audio_filters_send(chain, $0, Int32(inputBlock.capacity)) }
      guard status >= 0 else { throw Self.failure("the filters refused samples", status) }
    }
  }

  private static func check(_ call: (UnsafeMutablePointer<CChar>, Int) -> Int32) throws(RenderError) {
    var message = ""
    let status = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 300) { text -> Int32 in
      text.initialize(repeating: 0)
      guard let first = text.baseAddress else { return 0 }
      let status = call(first, text.count)
      message = String(cString: first)
      return status
    }
    guard status >= 0 else { throw failure(message, status) }
  }

  /// libavfilter is missing or refused; `status` is libav's.
  private static func failure(_ message: String, _ status: Int32) -> RenderError {
    RenderError(.infrastructure, "sound cannot be filtered: \(message) (status \(status))")
  }
}

/// Strings as C takes a list of them. The pointers are valid inside `body` only.
private func withCStrings<Result>(
  _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
  // All texts in one buffer, each with its end.
  let bytes = texts.flatMap { $0.utf8CString }
  return bytes.withUnsafeBufferPointer { buffer in
    var pointers: [UnsafePointer<CChar>?] = []
    var start = 0
    for text in texts {
      pointers.append(buffer.baseAddress.map { $0 + start })
      start += text.utf8.count + 1
    }
    return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
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
    switch self {
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

/// The factor of a level in decibels.
func amplitude(_ decibels: Double) -> Double { decibels == 0 ? 1 : pow(10, decibels / 20) }
