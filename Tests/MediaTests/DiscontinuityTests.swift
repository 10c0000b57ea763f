import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Files whose timestamps count from another zero in the middle. The reference is ffmpeg's decode of the whole file.
@Suite struct DiscontinuityTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private static let h264 = [
    "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "12", "-x264-params", "scenecut=0", "-c:a", "mp2",
  ]
  private static let mpeg2 = ["-c:v", "mpeg2video", "-c:a", "mp2"]

  /// A part of a stream: pictures and noise that differ by `seed`.
  private func part(_ name: String, seconds: Double, seed: Int, _ options: [String]) throws -> Data {
    let path = scratch.path("\(seed)-\(name)")
    try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=\(seconds)", "-f", "lavfi", "-i",
        "aevalsrc='0.4*random(\(seed))-0.2|0.2*random(\(seed + 1))':d=\(seconds):s=48000", "-vf", "hue=h=\(seed * 60)",
      ] + options + [path])
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  private func probe(_ path: String) throws -> AssetDescription {
    try AssetProbe.probe(openSource(path), name: path)
  }

  private func frames(_ path: String, _ track: TrackDescription, from keyframe: Keyframe?) throws -> [(Int64, Data)] {
    let reader = try VideoReader(
      source: openSource(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
      discontinuities: track.discontinuities, decodeFrom: keyframe, shownAt: nil)
    var frames: [(Int64, Data)] = []
    while let frame = try reader.next() { frames.append((frame.pts, frame.pixels)) }
    return frames
  }

  /// The samples without gaps, and the positions and lengths of gaps.
  private func samples(
    _ path: String, _ track: TrackDescription, from position: Int64
  ) throws -> (samples: [Float], gaps: [(at: Int64, count: Int64)]) {
    let reader = try AudioReader(
      source: openSource(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
      discontinuities: track.discontinuities, format: try #require(track.audio), from: position)
    var (samples, gaps, end): ([Float], [(Int64, Int64)], Int64?) = ([], [], nil)
    while let block = try reader.next() {
      if let end, block.position > end { gaps.append((end, block.position - end)) }
      end = block.end
      let rows = (0..<block.samples.channels).map { block.samples.row($0) }
      for index in 0..<block.samples.capacity { for row in rows { samples.append(row[index]) } }
    }
    return (samples, gaps)
  }

  /// Checks that every frame and every sample of ffmpeg's decode is there, from the head and from each keyframe.
  private func check(_ path: String, parts: Int, seconds: Double) throws {
    let asset = try probe(path)
    #expect(asset.timeJumps.count == parts - 1)
    // A part may wait for its predecessor's longest track.
    #expect(abs(try asset.duration.exact.approximate - seconds) < 0.06 * Double(parts), "\(asset.duration)")
    for track in asset.tracks {
      if let video = track.video {
        let decoded = try Tool.ffmpeg(
          "-i", path, "-map", "0:\(track.index)", "-fps_mode", "passthrough", "-f", "rawvideo", "-")
        let size = decoded.count / max(1, video.frames.count)
        let reference = (0..<video.frames.count).map { decoded[($0 * size)..<(($0 + 1) * size)] }
        let whole = try frames(path, track, from: nil)
        #expect(whole.map(\.1) == reference)
        #expect(whole.map(\.0) == video.frames.times)
        let steps = zip(video.frames.times, video.frames.times.dropFirst()).map { $1 - $0 }
        let frame = try MediaTime(value: 1, timescale: 25).exact / track.timebase.exact
        #expect(steps.allSatisfy { $0 > 0 && Double($0) <= frame.approximate * 2.5 })
        if let last = track.discontinuities?.last, asset.container == "mpegts" {
          #expect(video.keyframes.contains { $0.pts > last.start })
        }
        for keyframe in video.keyframes {
          let part = try frames(path, track, from: keyframe)
          let rest = whole.filter { $0.0 >= keyframe.pts }
          #expect(part.elementsEqual(rest) { $0 == $1 }, "from \(keyframe.pts)")
        }
      } else if let audio = track.audio {
        let reference = ["-i", path, "-map", "0:\(track.index)", "-c:a", "pcm_f32le", "-f", "f32le", "-"]
        let decoded = try Tool.ffmpeg(reference).floats
        let whole = try samples(path, track, from: -1 << 40)
        #expect(whole.samples == decoded)
        #expect(whole.gaps.count < parts)
        #expect(whole.gaps.allSatisfy { $0.count < 4800 }, "\(whole.gaps)")
        let later = try samples(path, track, from: 150_001)
        #expect(later.samples == Array(decoded.suffix(later.samples.count)))
        #expect(!later.samples.isEmpty)
        let end = try (track.range.end.exact * Rational(audio.sampleRate)).approximate
        let length = Double(decoded.count / audio.channels) + Double(whole.gaps.reduce(0) { $0 + $1.count })
        #expect(abs(end - length) < 2400)
      }
    }
  }

  @Test(arguments: [("a.ts", h264), ("a.ts", mpeg2), ("a.mpg", mpeg2)])
  func `joined streams continue one after the other`(name: String, options: [String]) throws {
    let data = try part(name, seconds: 3, seed: 0, options) + part(name, seconds: 2, seed: 1, options)
    let path = try scratch.write(data + part(name, seconds: 2, seed: 2, options), "joined-\(name)")
    try check(path, parts: 3, seconds: 7)
  }

  @Test func `a recording whose clock jumps by hours and back has its true length`() throws {
    let late = Self.h264 + ["-output_ts_offset", "7200"]
    let data = try part("a.ts", seconds: 3, seed: 0, Self.h264) + part("a.ts", seconds: 2, seed: 1, late)
    let path = try scratch.write(data + part("a.ts", seconds: 2, seed: 2, Self.h264), "jump.ts")
    try check(path, parts: 3, seconds: 7)
    let jumps = try probe(path).timeJumps
    #expect(abs(try jumps[0].jump.exact.approximate - 7197) < 0.1)
    #expect(abs(try jumps[0].time.exact.approximate - 3) < 0.1)
    #expect(abs(try jumps[1].jump.exact.approximate + 7202) < 0.1)
  }

  @Test func `a clock that wraps is no discontinuity`() throws {
    let data = try part("a.ts", seconds: 7, seed: 0, Self.h264 + ["-output_ts_offset", "95440"])
    let path = try scratch.write(data, "wrap.ts")
    try check(path, parts: 1, seconds: 7)
  }

  @Test func `a pause of a few seconds stays a pause`() throws {
    let options = Self.h264 + ["-output_ts_offset", "10"]
    let data = try part("a.ts", seconds: 3, seed: 0, Self.h264) + part("a.ts", seconds: 2, seed: 1, options)
    let asset = try probe(scratch.write(data, "pause.ts"))
    #expect(asset.timeJumps.isEmpty)
    #expect(abs(try asset.duration.exact.approximate - 12) < 0.1)
  }

  /// Each part has its headers as packets of its own.
  @Test func `a chained Ogg file with pictures has no more of them than its parts`() throws {
    let options = ["-c:v", "libtheora", "-g", "12", "-an"]
    let parts = try (0..<2).map { try part("a.ogv", seconds: 2, seed: $0, options) }
    let asset = try probe(scratch.write(parts[0] + parts[1], "chained.ogv"))
    let counts = try parts.enumerated().map { number, data in
      try probe(scratch.write(data, "\(number).ogv")).defaultTrack(.video)?.video?.frames.count ?? 0
    }
    let video = try #require(asset.defaultTrack(.video)?.video)
    #expect(video.frames.count == counts[0] + counts[1])
    #expect(video.damagedFrames == nil)
    // The second part begins one frame after the last picture of the first.
    let times = video.frames.times.map { $0 }
    #expect(times[counts[0]] == times[counts[0] - 1] + 1)
    #expect(asset.timeJumps.count == 1)
  }

  @Test func `a second Flash video in a file is reported`() throws {
    let options = ["-c:v", "flv", "-g", "12", "-an"]
    let parts = try (0..<2).map { try part("a.flv", seconds: 2, seed: $0, options) }
    let asset = try probe(scratch.write(parts[0] + parts[1], "joined.flv"))
    #expect(asset.unreadBytes == Int64(parts[1].count))
    #expect(asset.defaultTrack(.video)?.video?.frames.count == 50)
    #expect(try probe(scratch.write(parts[0], "one.flv")).unreadBytes == nil)
  }

  /// The starts of one codec are proved by its packets' headers, and those of the other by decoding.
  @Test(arguments: ["flv", "flashsv"])
  func `a Flash video whose clock starts anew plays to its end`(codec: String) throws {
    let options = ["-c:v", codec, "-g", "12", "-ar", "44100", "-c:a", "libmp3lame"]
    // Without the header of the second file, which ends a demuxer's reading.
    let second = try part("a.flv", seconds: 2, seed: 1, options).dropFirst(13)
    let path = try scratch.write(part("a.flv", seconds: 3, seed: 0, options) + second, "reset.flv")
    try check(path, parts: 2, seconds: 5)
    let video = try #require(try probe(path).defaultTrack(.video)?.video)
    #expect(video.startsProvedBy == (codec == "flv" ? .bitstream : .decoding))
    #expect(try #require(video.keyframes.last).pts > 3000, "ms: in the second part too")
  }

  @Test(arguments: ["libvorbis", "libopus", "flac"])
  func `chained Ogg plays to its end`(codec: String) throws {
    var data = Data()
    for (index, seconds) in [3, 2].enumerated() {
      let path = scratch.path("\(index).ogg")
      try Tool.ffmpeg(
        "-f", "lavfi", "-i", "aevalsrc='0.4*random(\(index))-0.2':d=\(seconds):s=48000", "-c:a", codec, path)
      data += try Data(contentsOf: URL(fileURLWithPath: path))
    }
    try check(scratch.write(data, "chained.ogg"), parts: 2, seconds: 5)
  }

  /// The reference is each part alone: of the joined file, ffmpeg leaves out some frames before each joint.
  @Test func `FLAC joined byte by byte has every sample of its parts`() throws {
    var (data, parts): (Data, [Float]) = (Data(), [])
    for (seed, seconds) in [4.17, 2, 3.3].enumerated() {
      let path = scratch.path("\(seed).flac")
      let noise = "aevalsrc='0.4*random(\(seed))-0.2|0.2*sin(2765*t)':d=\(seconds):s=44100"
      try Tool.ffmpeg("-f", "lavfi", "-i", noise, "-sample_fmt", "s16", path)
      data += try Data(contentsOf: URL(fileURLWithPath: path))
      parts += try Tool.ffmpeg("-i", path, "-c:a", "pcm_f32le", "-f", "f32le", "-").floats
    }
    let path = try scratch.write(data, "joined.flac")
    let asset = try probe(path)
    let track = try #require(asset.defaultTrack(.audio))
    #expect(try asset.duration.exact == Rational(947, 100))
    #expect(asset.timeJumps.count == 2)
    let (heard, gaps) = try samples(path, track, from: 0)
    #expect(gaps.isEmpty, "\(gaps)")
    #expect(heard == parts)
  }

  /// Each part of Opus begins with samples that are left out.
  @Test func `chained Opus has no pause between its parts`() throws {
    let parts = try (0..<3).map { try part("a.opus", seconds: 1, seed: $0, ["-map", "1:a", "-c:a", "libopus"]) }
    let path = try scratch.write(parts[0] + parts[1] + parts[2], "chained.opus")
    let asset = try probe(path)
    #expect(try asset.duration.exact == Rational(3))
    let track = try #require(asset.defaultTrack(.audio))
    let (heard, gaps) = try samples(path, track, from: 0)
    #expect(gaps.isEmpty, "\(gaps)")
    #expect(heard.count == 3 * 48000 * 2)
  }

  @Test func `a description without discontinuities is read as before`() throws {
    let track = TrackDescription(
      index: 0, type: .metadata, codec: "bin", timebase: MediaTime(value: 1, timescale: 1000),
      range: try MediaTimeRange(start: .zero, duration: .zero))
    let encoded = try JSONEncoder().encode(track)
    #expect(!String(decoding: encoded, as: UTF8.self).contains("discontinuities"))
    #expect(try JSONDecoder().decode(TrackDescription.self, from: encoded) == track)
  }
}
