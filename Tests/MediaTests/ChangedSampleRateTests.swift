import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Files whose sound changes its sample rate or its channels, as files do that are joined byte by byte. The reference
/// is what ffmpeg gives for each part alone in the format of the first: of the joined file it drops some samples at
/// each change, and of MPEG audio it takes the first frame for one of the other rate.
@Suite struct ChangedSampleRateTests {
  struct Kind: Sendable, CustomTestStringConvertible {
    var name: String
    var audio: [String]
    var rates: [Int]
    var channels = [2, 2, 2]
    /// Samples at the end of the first part that libavformat leaves out of the part alone.
    var padding = 0
    var testDescription: String { "\(audio.joined(separator: " ")) in \(name), \(rates), \(channels)" }
  }

  private static let kinds = [
    Kind(name: "a.aac", audio: ["-c:a", "aac"], rates: [44100, 48000]),
    Kind(name: "a.aac", audio: ["-c:a", "aac"], rates: [48000, 22050]),
    Kind(name: "a.aac", audio: ["-c:a", "aac"], rates: [8000, 48000]),
    Kind(name: "a.aac", audio: ["-c:a", "aac"], rates: [44100, 48000, 44100]),
    Kind(name: "a.aac", audio: ["-c:a", "aac"], rates: [48000, 48000], channels: [1, 2]),
    Kind(name: "a.ac3", audio: ["-c:a", "ac3"], rates: [48000, 44100, 48000], channels: [2, 1, 2]),
    Kind(
      name: "a.mp3", audio: ["-c:a", "libmp3lame", "-write_xing", "0", "-id3v2_version", "0"], rates: [44100, 48000]),
    Kind(name: "a.ac3", audio: ["-c:a", "ac3"], rates: [48000, 32000]),
    Kind(name: "a.eac3", audio: ["-c:a", "eac3"], rates: [48000, 32000]),
    Kind(name: "a.mpg", audio: ["-c:a", "mp2"], rates: [44100, 48000]),
    Kind(name: "a.ogg", audio: ["-c:a", "libvorbis"], rates: [44100, 48000], padding: 117),
    Kind(name: "a.ts", audio: ["-c:a", "aac"], rates: [44100, 48000]),
    Kind(name: "a.ts", audio: ["-c:a", "mp2"], rates: [48000, 44100]),
    Kind(name: "a.ts", audio: ["-c:a", "ac3"], rates: [48000, 44100]),
  ]

  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  /// The joined file, and the samples of each part in the format of the first.
  private func make(_ kind: Kind, lasting seconds: Int) throws -> (path: String, parts: [[Float]]) {
    var bytes = Data()
    var parts: [[Float]] = []
    for (index, rate) in kind.rates.enumerated() {
      let part = scratch.path("\(index)-\(kind.name)")
      let sound = "aevalsrc='0.3*sin(t*\(1500 + 700 * index))+0.1*sin(t*t*900)|0.2*sin(t*900)':d=\(seconds):s=\(rate)"
      try Tool.ffmpeg(["-f", "lavfi", "-i", sound] + kind.audio + ["-ac", "\(kind.channels[index])", part])
      bytes += try Data(contentsOf: URL(fileURLWithPath: part))
      // Mono is played at its full level in both channels of stereo.
      let isDoubled = kind.channels[index] == 1 && kind.channels[0] == 2
      parts.append(
        try Tool.ffmpeg([
          "-i", part, "-map", "0:a", "-af", isDoubled ? "pan=stereo|c0=c0|c1=c0" : "anull", "-c:a", "pcm_f32le", "-ar",
          "\(kind.rates[0])", "-ac", "\(kind.channels[0])",
          "-f", "f32le", "-",
        ]).floats)
    }
    return (try scratch.write(bytes, kind.name), parts)
  }

  private func read(_ path: String, _ track: TrackDescription, from position: Int64) throws -> (Int64, [Float]) {
    let reader = try AudioReader(
      source: openSource(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
      discontinuities: track.discontinuities, format: try #require(track.audio), from: position)
    var start: Int64?
    var samples: [Float] = []
    while let block = try reader.next() {
      start = start ?? block.position
      #expect(block.position == (start ?? 0) + Int64(samples.count / block.samples.channels), "there is a gap")
      for index in 0..<block.samples.capacity {
        for channel in 0..<block.samples.channels { samples.append(block.samples.row(channel)[index]) }
      }
    }
    return (try #require(start), samples)
  }

  /// The mean of the differences.
  private func difference(_ one: some Collection<Float>, _ other: [Float], _ range: Range<Int>) -> Float {
    let pairs = zip(one, other).dropFirst(range.lowerBound).prefix(range.count)
    return pairs.reduce(0) { $0 + abs($1.0 - $1.1) } / Float(range.count)
  }

  /// The second part begins after the first packets, which the probe decodes, or within them.
  @Test(arguments: kinds.spread(5), [1, 3]) func `later parts are converted to the first part's format`(
    kind: Kind, seconds: Int
  ) throws {
    let (path, parts) = try make(kind, lasting: seconds)
    let asset = try AssetProbe.probe(openSource(path), name: path)
    let track = try #require(asset.tracks.first { $0.type == .audio })
    let audio = try #require(track.audio)
    #expect(audio.sampleRate == kind.rates[0])
    let (start, samples) = try read(path, track, from: -1 << 40)
    let channels = audio.channels
    #expect(abs(samples.count - parts.joined().count - kind.padding * channels) <= 2 * channels)
    // Decoders begin a later part with what the earlier one has left in them, which is also a state of noise. It may
    // begin a sample earlier or later, because each part's length is rounded; half a sample is 3e-3 here.
    #expect(difference(samples, parts[0], 0..<parts[0].count - 2000) < 1e-6)
    var place = parts[0].count + kind.padding * channels
    for part in parts.dropFirst() {
      let differences = (-2...2).map { shift in
        difference(samples.dropFirst(place + shift * channels), part, part.count / 4..<part.count - 4 * channels)
      }
      #expect(try #require(differences.min()) < 3e-3)
      place += part.count
    }

    let changes = try #require(audio.changes)
    #expect(changes.map(\.sampleRate) == Array(kind.rates.dropFirst()))
    #expect(
      changes.map(\.layout) == kind.channels.dropFirst().prefix(changes.count).map { $0 == 1 ? "mono" : "stereo" })
    for (index, change) in changes.enumerated() {
      #expect(abs(Double(change.sample) / Double(audio.sampleRate) - Double(seconds * (index + 1))) < 0.25)
    }

    // The description has as many samples, and reading from within the second part gives the same.
    let length = track.range.duration.approximateSeconds * Double(audio.sampleRate)
    #expect(abs(length - Double(samples.count / channels)) <= 2)
    let middle = start + Int64(samples.count / channels * 3 / 4)
    let (from, rest) = try read(path, track, from: middle)
    #expect(from == middle)
    #expect(rest == Array(samples.suffix(from: Int(middle - start) * channels)))
  }
}
