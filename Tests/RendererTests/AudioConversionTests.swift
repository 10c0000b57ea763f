import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Computed samples, so that the expected output is known at any time.
final class ComputedSource: SampleSource {
  let sampleRate: Int
  let channels: Int
  private let value: (_ channel: Int, _ position: Int64) -> Float

  init(sampleRate: Int, channels: Int = 1, _ value: @escaping (Int, Int64) -> Float) {
    self.sampleRate = sampleRate
    self.channels = channels
    self.value = value
  }

  func read(at position: Int64, into block: SampleBlock, _ range: SampleRange) {
    for channel in 0..<channels {
      for index in 0..<range.count {
        block.row(channel)[range.start + index] = value(channel, position + Int64(index))
      }
    }
  }
}

private func read(_ stream: any SampleStream, channels: Int, count: Int, steps: Int = 1000) throws -> [[Float]] {
  let block = SampleBlock(channels: channels, capacity: count)
  for start in stride(from: 0, to: count, by: steps) {
    try stream.read(into: block, SampleRange(start: start, count: min(steps, count - start)))
  }
  return (0..<channels).map { Array(UnsafeBufferPointer(start: block.row($0), count: count)) }
}

@Suite struct AudioConversionTests {
  @Test(arguments: [(44100, 48000), (48000, 44100), (22050, 48000), (96000, 44100), (8000, 48000), (48000, 8000)])
  func `a sine keeps its frequency and its phase`(_ from: Int, _ to: Int) throws {
    let frequency = 997.0
    let source = ComputedSource(sampleRate: from) { _, position in
      Float(0.5 * sin(2 * .pi * frequency * Double(position) / Double(from)))
    }
    let start = try Rational(1001, 30000)
    let stream = try ConvertedStream(source, plan: .same, start: start, outputRate: to, outputChannels: 1)
    let converted = try read(stream, channels: 1, count: to)[0]
    let phases = min(1024, Double(try Rational(Int128(from), Int128(to)).denominator))
    let miss = 0.5 / phases / Double(from)
    // From the very first sample: the run-up has filled the filter.
    for index in 0..<to {
      let time = start.approximate + Double(index) / Double(to)
      let expected = 0.5 * sin(2 * .pi * frequency * time)
      let allowed = 0.5 * 2 * .pi * frequency * miss + 2e-4
      #expect(abs(Double(converted[index]) - expected) < allowed, "sample \(index)")
      if abs(Double(converted[index]) - expected) >= allowed { break }
    }
  }

  @Test func `a clip cut in two gives the samples of one`() throws {
    let source = ComputedSource(sampleRate: 44100) { _, position in
      Float(0.5 * sin(2 * .pi * 440 * Double(position) / 44100))
    }
    let whole = try ConvertedStream(source, plan: .same, start: .zero, outputRate: 48000, outputChannels: 1)
    let rest = try ConvertedStream(
      source, plan: .same, start: Rational(12_345, 48000), outputRate: 48000, outputChannels: 1)
    let (a, b) = try (read(whole, channels: 1, count: 20_000)[0], read(rest, channels: 1, count: 5000)[0])
    for index in 0..<5000 { #expect(abs(a[12_345 + index] - b[index]) < 2e-5) }
  }

  private func downmix(_ layout: String, _ gains: [Float], to channels: Int) throws -> [Float] {
    let format = AudioFormat(sampleRate: 48000, channels: gains.count, layout: layout)
    let source = ComputedSource(sampleRate: 48000, channels: gains.count) { channel, _ in gains[channel] }
    let plan = ChannelPlan(from: format, to: channels)
    if plan == .same { return gains }
    let stream = try ConvertedStream(source, plan: plan, start: .zero, outputRate: 48000, outputChannels: channels)
    return try read(stream, channels: channels, count: 10).map { $0[9] }
  }

  @Test func `a layout that is the output's is not touched`() {
    for (layout, channels) in [("mono", 1), ("stereo", 2), ("5.1", 6), ("5.1(side)", 6), ("7.1", 8), ("2 channels", 2)]
    {
      #expect(ChannelPlan(from: AudioFormat(sampleRate: 1, channels: channels, layout: layout), to: channels) == .same)
    }
  }

  @Test(arguments: ["mono", "1 channels (FL)", "1 channels (LFE)", "1 channels"])
  func `one channel is at its full level in both of stereo, whatever speaker it is for`(layout: String) {
    let plan = ChannelPlan(from: AudioFormat(sampleRate: 48000, channels: 1, layout: layout), to: 2)
    #expect(plan == .mixed(.matrix([1, 1])))
  }

  @Test(arguments: [
    "mono", "stereo", "2.1", "3.0", "quad", "5.0(side)", "5.1", "5.1(side)", "6.1", "7.1", "7.1(wide)", "hexadecagonal",
  ])
  func `layouts are mixed as ffmpeg mixes them`(_ layout: String) throws {
    let counts = ["mono": 1, "stereo": 2, "2.1": 3, "3.0": 3, "quad": 4, "5.0(side)": 5, "5.1": 6, "5.1(side)": 6]
    let count = counts[layout] ?? (layout == "6.1" ? 7 : layout == "hexadecagonal" ? 16 : 8)
    let gains = (0..<count).map { Float($0 + 1) / 20 }
    let folder = try TemporaryFolder()
    let input = gains.map { $0.bitPattern.littleEndian }
    let raw = input.withUnsafeBytes { bytes in
      (0..<100).reduce(into: Data()) { data, _ in data.append(contentsOf: bytes) }
    }
    try raw.write(to: folder.url.appendingPathComponent("in.f32"))
    for (channels, name) in [(1, "mono"), (2, "stereo"), (6, "5.1"), (8, "7.1")] {
      // Here ffmpeg is 3 dB quieter.
      if layout == "mono", channels == 2 { continue }
      let mixed = try downmix(layout, gains, to: channels)
      let judged = try Tool.ffmpeg([
        "-f", "f32le", "-ar", "48000", "-channels", "\(count)", "-channel_layout", layout, "-i", folder.path("in.f32"),
        "-af", "aresample=och=0:rematrix_maxval=1.0,aformat=channel_layouts=\(name)", "-f", "f32le", "-",
      ]).floats
      let isSideForBack = layout == "5.1(side)" && channels == 6
      if !isSideForBack { #expect(judged.prefix(channels).elementsEqual(mixed), "\(layout) to \(name)") }
      if isSideForBack { #expect(mixed == gains) }
    }
  }

  /// ffmpeg refuses these: libswresample has no matrix for them.
  @Test(arguments: [
    ("2 channels (BL+BR)", "stereo"), ("3 channels (FL+BL+BR)", "2.1"), ("2 channels (LFE+TC)", "stereo"),
    ("4 channels (BL+BR+SL+SR)", "4.0"), ("4 channels (SL+SR+BL+BR)", "4.0"),
  ])
  func `channels without a speaker in front are those of the usual layout of their number`(
    layout: String, usual: String
  ) throws {
    let gains = (1...(Int(layout.prefix(1)) ?? 0)).map { Float($0) * 0.1875 }
    for channels in [1, 2, 6] {
      #expect(try downmix(layout, gains, to: channels) == downmix(usual, gains, to: channels), "\(channels)")
    }
  }

  @Test func `mono is at its full level in both channels of stereo`() throws {
    for gain: Float in [0.3, 0.8125, 1] { #expect(try downmix("mono", [gain], to: 2) == [gain, gain]) }
  }

  private static let names = [
    1: ["FC"], 2: ["FL", "FR"], 6: ["FL", "FR", "FC", "LFE", "BL", "BR"],
    8: ["FL", "FR", "FC", "LFE", "BL", "BR", "SL", "SR"],
  ]
  /// The channels of the layouts that a document names.
  private static let channels: [SpeakerLayout: String] = [
    .mono: "FC", .stereo: "FL FR", .surround21: "FL FR LFE", .surround30: "FL FR FC", .quad: "FL FR BL BR",
    .surround40: "FL FR FC BC", .surround50: "FL FR FC BL BR", .surround51: "FL FR FC LFE BL BR",
    .surround61: "FL FR FC LFE BC SL SR", .surround70: "FL FR FC BL BR SL SR",
    .surround71: "FL FR FC LFE BL BR SL SR", .octagonal: "FL FR FC BL BR BC SL SR",
    .hexadecagonal: "FL FR FC BL BR BC SL SR TFL TFC TFR TBL TBC TBR WL WR",
  ]

  /// The gains of the page for a pair of layouts, by output and input channel. Nil: the pair is in no row.
  private static func documented(_ page: String, _ from: String, _ to: String) throws -> [String: [String: Double]]? {
    guard let row = page.split(separator: "\n").first(where: { $0.hasPrefix("| `\(from)` | `\(to)` |") }) else {
      return nil
    }
    func mirrored(_ name: Substring) -> String {
      name.hasSuffix("L") && name != "FC" ? name.dropLast() + "R" : String(name)
    }
    var gains: [String: [String: Double]] = [:]
    for equation in row.split(separator: "|")[2].split(separator: ";") {
      let sides = equation.split(separator: "=").map { $0.trimmingCharacters(in: .whitespaces)[...] }
      for term in sides[1].components(separatedBy: " + ") {
        let parts = term.split(separator: " ")
        let (gain, name) = (parts.count == 2 ? Double(parts[0]) : 1, parts[parts.count - 1])
        gains[String(sides[0]), default: [:]][String(name)] = gain
        if sides[0].hasSuffix("L") { gains[mirrored(sides[0]), default: [:]][mirrored(name)] = gain }
      }
    }
    return gains
  }

  @Test(arguments: SpeakerLayout.allCases) func `each gain is that of the documentation`(layout: SpeakerLayout) throws {
    let page = try PublishedPage("docs/document/channels.md").text
    let inputs = try #require(Self.channels[layout]).split(separator: " ").map { String($0) }
    for (count, name) in [(1, "mono"), (2, "stereo"), (6, "5.1"), (8, "7.1")] {
      let outputs = try #require(Self.names[count])
      let table = try Self.documented(page, layout.rawValue, name)
      for (index, input) in inputs.enumerated() {
        var gains = [Float](repeating: 0, count: inputs.count)
        gains[index] = 0.3
        let mixed = try downmix(layout.rawValue, gains, to: count)
        for (channel, output) in outputs.enumerated() {
          let expected = table.map { $0[output]?[input] ?? 0 } ?? (input == output ? 1 : 0)
          let difference = abs(Double(mixed[channel]) / 0.3 - expected)
          #expect(difference < 6e-5, "\(input) of \(layout.rawValue) in \(output) of \(name)")
        }
      }
    }
  }

  @Test func `channels without speakers are all mixed and never clip`() throws {
    let format = AudioFormat(sampleRate: 16000, channels: 16, layout: "16 channels")
    guard case .mixed(.matrix(let gains)) = ChannelPlan(from: format, to: 2) else {
      Issue.record("16 channels without speakers were taken for a layout")
      return
    }
    for side in 0..<2 {
      let row = gains[side * 16..<side * 16 + 16]
      #expect(row.reduce(0, +) == 1)
      #expect(row.enumerated().allSatisfy { ($1 > 0) == ($0 % 2 == side) })
    }
    #expect(try downmix("16 channels", Array(repeating: 1, count: 16), to: 1) == [1])
    #expect(try downmix("ambisonic 1", [0.5, 0.5, 0, 0], to: 2) == [0.5, 0])
  }
}

@Suite struct AudioStretchTests {
  private func bursts(_ rate: Int, every step: Int64) -> ComputedSource {
    ComputedSource(sampleRate: rate) { _, position in
      let phase = ((position % step) + step) % step - step / 2
      let tone = 0.2 * sin(2 * .pi * 330 * Double(position) / Double(rate))
      guard (0..<480).contains(phase) else { return Float(tone) }
      let window = 0.5 - 0.5 * cos(2 * .pi * Double(phase) / 480)
      return Float(tone + 0.7 * window * sin(2 * .pi * 9000 * Double(phase) / Double(rate)))
    }
  }

  /// Strength of 9 kHz around a sample.
  private func strength(_ sound: [Float], at index: Int) -> Double {
    var (real, imaginary) = (0.0, 0.0)
    for offset in -240..<240 where sound.indices.contains(index + offset) {
      let angle = 2 * .pi * 9000 * Double(offset) / 48000
      let window = 0.5 + 0.5 * cos(2 * .pi * Double(offset) / 480)
      real += Double(sound[index + offset]) * window * cos(angle)
      imaginary += Double(sound[index + offset]) * window * sin(angle)
    }
    return real * real + imaginary * imaginary
  }

  private func stretched(
    _ source: ComputedSource, _ pitch: PitchAlgorithm, tempo: Rational
  ) throws -> StretchedStream {
    let stretcher = try TimeStretcher(pitch, tempo: tempo, sampleRate: source.sampleRate, channels: source.channels)
    return StretchedStream(CopiedStream(source, from: -Int64(stretcher.runUp)), stretcher)
  }

  @Test(arguments: TestExtent.of([(4, 5), (21, 20)], whole: [(4, 5), (19, 20), (21, 20), (5, 4)]))
  func `bursts land within a few milliseconds`(_ numerator: Int, _ denominator: Int) throws {
    let tempo = try Rational(Int128(numerator), Int128(denominator))
    let step: Int64 = 24_000
    let stream = try stretched(bursts(48000, every: step), .spectral, tempo: tempo)
    let number = TestExtent.of(4, whole: 8)
    let count = Int(Double(step) * Double(number) / tempo.approximate)
    let converted = try read(stream, channels: 1, count: count)[0]
    for burst in 0..<number {
      let expected = Int((Double(burst) * Double(step) + Double(step / 2) + 240) / tempo.approximate)
      let window = (expected - 2400..<expected + 2400)
      let strengths = stride(from: window.lowerBound, to: window.upperBound, by: 24).map { strength(converted, at: $0) }
      let sum = strengths.reduce(0, +)
      let centre = strengths.enumerated().reduce(0) { $0 + Double($1.offset) * $1.element } / sum
      let miss = (centre * 24 - 2400) / 48
      #expect(abs(miss) < 6, "burst \(burst) at \(tempo) is \(miss) ms from its place")
    }
  }

  @Test(arguments: [PitchAlgorithm.spectral, .timeDomain])
  func `pitch is kept`(_ pitch: PitchAlgorithm) throws {
    let source = ComputedSource(sampleRate: 48000, channels: 2) { channel, position in
      Float(0.5 * sin(2 * .pi * (channel == 0 ? 440 : 1000) * Double(position) / 48000))
    }
    let stream = try stretched(source, pitch, tempo: Rational(3, 2))
    let converted = try read(stream, channels: 2, count: 96_000)
    for (channel, frequency) in [(0, 440.0), (1, 1000)] {
      let sound = converted[channel][24_000..<72_000]
      let crossings = zip(sound, sound.dropFirst()).count { $0 < 0 && $1 >= 0 }
      #expect(abs(Double(crossings) - frequency) <= 2)
    }
  }

  @Test(arguments: [PitchAlgorithm.spectral, .timeDomain])
  func `the same input gives the same samples`(_ pitch: PitchAlgorithm) throws {
    let sounds = try (0..<2).map { _ in
      try read(stretched(bursts(44100, every: 5000), pitch, tempo: Rational(7, 5)), channels: 1, count: 30_000)[0]
    }
    #expect(sounds[0] == sounds[1])
  }

  /// The time of a click in milliseconds after `expected`: the centre of its energy above the tone.
  private func miss(_ sound: [Float], _ expected: Double) -> Double {
    let window = Int(expected) - 9600..<Int(expected) + 9600
    var (sum, moment) = (0.0, 0.0)
    for index in window where index >= 2 {
      let bend = Double(sound[index]) - 2 * Double(sound[index - 1]) + Double(sound[index - 2])
      sum += bend * bend
      moment += bend * bend * (Double(index - 1) - expected)
    }
    return moment / sum / 48
  }

  private static let speeds: [(PitchAlgorithm, (Int, Int))] = {
    let speeds = [(1, 4), (1, 2), (9, 10), (3, 2), (2, 1), (4, 1)]
    let pitches = [PitchAlgorithm.spectral, .timeDomain]
    let few = speeds.enumerated().map { (pitches[$0 % 2], $1) }
    return TestExtent.of(few, whole: pitches.flatMap { pitch in speeds.map { (pitch, $0) } })
  }()

  @Test(arguments: speeds)
  func `a click comes within a few milliseconds of its time`(_ pitch: PitchAlgorithm, _ speed: (Int, Int)) throws {
    let tempo = try Rational(Int128(speed.0), Int128(speed.1))
    // The first click, and one that follows it, are 1/2 s apart in the output.
    let step = Int64(24_000 * tempo.approximate)
    let source = ComputedSource(sampleRate: 48000) { _, position in
      let tone = 0.1 * sin(2 * .pi * 330 * Double(position) / 48000)
      return Float(position > 0 && position % step == step / 2 ? 0.8 : tone)
    }
    let clicks = TestExtent.of(3, whole: 6)
    let converted = try read(stretched(source, pitch, tempo: tempo), channels: 1, count: 24_000 * (clicks + 1))[0]
    for click in 0..<clicks {
      let expected = (Double(click) + 0.5) * Double(step) / tempo.approximate
      let miss = miss(converted, expected)
      #expect(abs(miss) < (speed == (1, 4) ? 11 : 6), "click \(click) at \(tempo) is \(miss) ms from its time")
    }
  }

  @Test(arguments: [(1, 4), (1, 2), (9, 10), (3, 2), (2, 1), (4, 1), (1, 100), (100, 1)], [44100, 48000])
  func `varispeed puts every click on its sample`(_ speed: (Int, Int), _ rate: Int) throws {
    let tempo = try Rational(Int128(speed.0), Int128(speed.1))
    let step = Int64((Double(rate) * tempo.approximate / 2).rounded())
    let source = ComputedSource(sampleRate: rate) { _, position in
      position > 0 && position % step == step / 2 ? 1 : 0
    }
    let stream = try ConvertedStream(
      source, plan: .same, start: Rational(Int128(step / 4), Int128(rate)), speed: tempo, outputRate: 48000,
      outputChannels: 1)
    let converted = try read(stream, channels: 1, count: 96_000)[0]
    for click in 0..<3 {
      let place = Double(Int64(click) * step + step / 2 - step / 4) / tempo.approximate / Double(rate) * 48000
      let near = max(0, Int(place) - 5000)..<Int(place) + 5000
      let peak = near.max { abs(converted[$0]) < abs(converted[$1]) } ?? 0
      #expect(abs(Double(peak) - place) <= 1, "click \(click) at \(tempo) is at \(peak), not \(place)")
    }
  }

  @Test func `varispeed moves the pitch with the speed`() throws {
    let source = ComputedSource(sampleRate: 44100) { _, position in
      Float(0.5 * sin(2 * .pi * 440 * Double(position) / 44100))
    }
    let stream = try ConvertedStream(
      source, plan: .same, start: .zero, speed: Rational(3, 2), outputRate: 48000, outputChannels: 1)
    let converted = try read(stream, channels: 1, count: 48000)[0]
    for index in 0..<48000 {
      let expected = 0.5 * sin(2 * .pi * 660 * Double(index) / 48000)
      guard abs(Double(converted[index]) - expected) < 3e-4 else {
        Issue.record("sample \(index) is \(converted[index]), not \(expected)")
        break
      }
    }
  }

  @Test func `speeds out of range are refused`() {
    let source = ComputedSource(sampleRate: 48000) { _, _ in 0 }
    for tempo in [Rational(101), Rational.zero] {
      #expect(throws: RenderError.self) { try stretched(source, .spectral, tempo: tempo) }
    }
  }
}
