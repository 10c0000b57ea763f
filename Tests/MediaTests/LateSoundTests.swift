import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Tracks of sound that begin later than libavformat looks for their formats, and that stop and start again. The
/// reference is the decode of ffmpeg with a probe of the whole file.
@Suite struct LateSoundTests {
  struct Kind: Sendable, CustomTestStringConvertible {
    var name: String
    var codec: String
    /// Earlier tracks, which have sound throughout.
    var before = 0
    /// When there is sound, as an expression of ffmpeg.
    var heard = "between(t,9,10)"
    var testDescription: String { "\(codec) in \(name) after \(before), \(heard)" }
  }

  private static let stopsAndStarts = "between(t,8,8.5)+between(t,10,10.4)"
  private static let kinds = [
    Kind(name: "a.ts", codec: "aac"), Kind(name: "a.ts", codec: "aac", before: 2),
    Kind(name: "a.ts", codec: "mp2", heard: stopsAndStarts), Kind(name: "a.ts", codec: "ac3", before: 1),
    Kind(name: "a.ts", codec: "libopus"), Kind(name: "a.mpg", codec: "mp2"),
    Kind(name: "a.mpg", codec: "pcm_dvd"),
    Kind(name: "a.flv", codec: "aac", heard: stopsAndStarts), Kind(name: "a.mkv", codec: "aac", before: 2),
    Kind(name: "a.avi", codec: "ac3"), Kind(name: "a.ogg", codec: "libvorbis"),
  ]

  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func make(_ kind: Kind) throws -> String {
    let path = scratch.path(kind.name)
    let picture = ["mpg": "mpeg2video", "ts": "mpeg2video", "flv": "flv1", "ogg": "libtheora"]
    var arguments = ["-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=12"]
    let sound = "sine=440:d=12:r=48000,aformat=channel_layouts=stereo"
    for _ in 0..<kind.before { arguments += ["-f", "lavfi", "-i", sound] }
    arguments += ["-f", "lavfi", "-i", "\(sound),aselect='\(kind.heard)'", "-map", "0"]
    for track in 0...kind.before { arguments += ["-map", "\(track + 1)"] }
    arguments += [
      "-c:v", picture[String(kind.name.drop { $0 != "." }.dropFirst())] ?? "mpeg4", "-c:a", kind.codec, "-b:a", "192k",
    ]
    if kind.name == "a.mpg" { arguments += ["-f", "vob"] }
    // Else each input begins at 0, however late its first sample is.
    arguments.insert("-copyts", at: 0)
    try Tool.ffmpeg(arguments + ["-max_interleave_delta", "0", "-strict", "-2", path])
    return path
  }

  private static let lookingAtAll = ["-probesize", "100M", "-analyzeduration", "100M"]

  /// The samples of an audio track, and where it starts and ends in the file's time.
  private func decoded(_ path: String, _ number: Int) throws -> (samples: [Float], start: Double, end: Double) {
    let input = Self.lookingAtAll + ["-copyts", "-i", path, "-map", "0:a:\(number)", "-c:a"]
    let samples = try Tool.ffmpeg(input + ["pcm_f32le", "-f", "f32le", "-"]).floats
    let list = String(decoding: try Tool.ffmpeg(input + ["pcm_f32le", "-f", "framecrc", "-"]), as: UTF8.self)
    let rows = list.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
      line.split(separator: ",").map { Double($0.trimmingCharacters(in: .whitespaces)) ?? 0 }
    }
    return (samples, try #require(rows.first)[2] / 48000, try #require(rows.last)[2...3].reduce(0, +) / 48000)
  }

  @Test(arguments: kinds.spread(4)) func `sound that begins late is found and decoded whole`(kind: Kind) throws {
    let path = try make(kind)
    let asset = try AssetProbe.probe(openSource(path), name: path)
    #expect(asset.failures == nil)
    let tracks = asset.tracks.filter { $0.type == .audio }
    #expect(tracks.count == kind.before + 1)
    let starts = try Tool.ffprobe(
      "-probesize", "100M", "-analyzeduration", "100M", "-show_entries", "stream=start_time", path)
    let zero = try #require(starts.compactMap { $0.first.flatMap(Double.init) }.min())
    for (number, track) in tracks.enumerated() {
      let expected = try decoded(path, number)
      let format = try #require(track.audio)
      #expect(format.sampleRate == 48000 && format.layout == "stereo")
      // These begin at 0 with silence, or with nothing that says when it is.
      if number == kind.before, !["a.avi", "a.ogg"].contains(kind.name) { #expect(expected.start > 7) }
      #expect(abs(track.range.start.approximateSeconds + zero - expected.start) < 0.003)
      // A pack of a DVD states the time of the first access unit that begins in it.
      let rounding = kind.codec == "pcm_dvd" ? 0.011 : 0.003
      #expect(abs(track.range.end.approximateSeconds + zero - expected.end) < rounding)
      let reader = try AudioReader(
        source: openSource(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
        discontinuities: track.discontinuities, format: format, from: -1 << 40)
      var samples: [Float] = []
      while let block = try reader.next() {
        let rows = (0..<2).map { block.samples.row($0) }
        for index in 0..<block.samples.capacity { samples += [rows[0][index], rows[1][index]] }
      }
      // Not the arrays: the difference of long ones takes minutes to find.
      let same = zip(samples, expected.samples).prefix { $0 == $1 }.count
      #expect(
        same == expected.samples.count && samples.count == same,
        "\(samples.count) samples for \(expected.samples.count), the first \(same) alike")
    }
  }

  @Test func `a track without samples says how many packets were looked at, and where`() throws {
    let path = scratch.path("broken.mkv")
    try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=1", "-f", "lavfi", "-i", "sine=d=1:r=48000", "-c:v", "mpeg4", "-c:a",
      "flac", "-bsf:a", "noise=amount=1", path,
    ])
    let asset = try AssetProbe.probe(openSource(path), name: path)
    let failure = try #require(asset.failures?.first)
    #expect(failure.index == 1 && failure.type == .audio && failure.codec == "flac")
    #expect(failure.message.contains("none of its 11 packets from 0.0 s to 0.96 s gives any ("), "\(failure.message)")
  }
}
