import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

@Suite struct VideoReadingTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func reader(
    _ path: String, _ track: TrackDescription, from keyframe: Keyframe? = nil, shownAt: Int64? = nil
  ) throws -> VideoReader {
    try VideoReader(
      source: openSource(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
      decodeFrom: keyframe, shownAt: shownAt)
  }

  private func videoTracks(_ path: String) throws -> [TrackDescription] {
    do {
      return try AssetProbe.probe(openSource(path), name: path).tracks.filter { $0.video != nil }
    } catch let error as MediaError {
      // ProbeTests checks the refusals.
      #expect(!error.message.isEmpty)
      return []
    }
  }

  /// Time and digest of at most so many frames.
  private func frames(_ reader: VideoReader, limit: Int = .max) throws -> [(pts: Int64, digest: Int)] {
    var found: [(Int64, Int)] = []
    while found.count < limit, let frame = try reader.next() { found.append((frame.pts, frame.digest)) }
    return found
  }

  @Test(arguments: MediaFiles.own) func `frames are those that ffmpeg decodes`(path: String) throws {
    for track in try videoTracks(path) {
      let decoded = try Tool.ffmpeg(
        "-noautorotate", "-i", path, "-map", "0:\(track.index)", "-vsync", "passthrough", "-frames:v", "40", "-f",
        "rawvideo", "-")
      let video = try reader(path, track)
      var pixels = Data()
      for _ in 0..<40 {
        if let frame = try video.next() { pixels.append(frame.pixels) }
      }
      #expect(pixels == decoded)
    }
  }

  @Test(arguments: MediaFiles.all) func `decoding from a keyframe gives what decoding from the head gives`(
    path: String
  ) throws {
    for track in try videoTracks(path) {
      guard let keyframes = track.video?.keyframes, !keyframes.isEmpty else { continue }
      // Of large pictures the second keyframe is mostly among fewer frames.
      let isLarge = (track.video.map { $0.size.width * $0.size.height } ?? 0) > 1_000_000 && !MediaFiles.isExhaustive
      let whole = try frames(reader(path, track), limit: isLarge ? 130 : 250)
      let reached = keyframes.filter { $0.pts <= (whole.last?.pts ?? .min) }
      for index in stride(from: 0, to: reached.count, by: max(1, reached.count / 3)) {
        let expected = whole.filter { $0.pts >= reached[index].pts }.prefix(isLarge ? 15 : 40)
        let found = try frames(reader(path, track, from: reached[index]), limit: expected.count)
        #expect(found.map(\.pts) == expected.map(\.pts))
        #expect(found.map(\.digest) == expected.map(\.digest))
      }
    }
  }

  @Test(
    arguments: [
      ("movie.mp4", ["-c:v", "libx264", "-x264-params", "open-gop=1:keyint=15:bframes=3"]),
      ("movie.ts", ["-c:v", "libx264", "-x264-params", "open-gop=1:keyint=15:bframes=3"]),
      ("movie.mp4", ["-c:v", "libx264", "-x264-params", "intra-refresh=1:keyint=15"]),
      ("movie.mp4", ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "open-gop=1:keyint=15:bframes=3"]),
      ("movie.ts", ["-c:v", "mpeg2video", "-g", "12", "-bf", "2"]),
      ("movie.mpg", ["-c:v", "mpeg2video", "-g", "12", "-bf", "2"]),
      ("movie.avi", ["-c:v", "mpeg4", "-g", "12", "-bf", "2"]),
      ("movie.mkv", ["-c:v", "libvpx-vp9", "-g", "15", "-deadline", "realtime", "-cpu-used", "8"]),
    ].spread(4))
  func `keyframes of open groups are safe to start from`(name: String, options: [String]) throws {
    let path = scratch.path(name)
    let source = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=4", "-pix_fmt", "yuv420p"]
    _ = try Tool.run("ffmpeg", ["-v", "error", "-nostdin", "-y"] + source + options + [path])
    let track = try #require(try videoTracks(path).first)
    let whole = try frames(reader(path, track))
    #expect(whole.map(\.pts) == track.video?.frames.times)
    for keyframe in track.video?.keyframes ?? [] {
      let found = try frames(reader(path, track, from: keyframe))
      let expected = whole.filter { $0.pts >= keyframe.pts }
      #expect(found.map(\.pts) == expected.map(\.pts))
      #expect(found.map(\.digest) == expected.map(\.digest))
    }
  }

  @Test(arguments: MediaFiles.own) func `the first frame is the last at or before the requested time`(path: String)
    throws
  {
    let track = try #require(try videoTracks(path).first)
    let times = try #require(track.video?.frames.times)
    for index in [0, 1, times.count / 2, times.count - 1] {
      for shownAt in [times[index], times[index] + 1] {
        let expected = track.video?.frames.last(atOrBefore: shownAt)
        let keyframe = track.video?.keyframes.last { $0.pts <= shownAt }
        let reader = try reader(path, track, from: keyframe, shownAt: shownAt)
        #expect(try reader.next()?.pts == expected)
        let following = times.first { $0 > (expected ?? .min) }
        #expect(try reader.next()?.pts == following)
      }
    }
    #expect(try reader(path, track, shownAt: times[0] - 1000).next()?.pts == times[0])
  }

  @Test func `another file than the one described is refused`() throws {
    let path = try #require(MediaFiles.own.first)
    var track = try #require(try videoTracks(path).first)
    let foreign = Keyframe(pts: 123_456_789, dts: 123_456_788, position: 5)
    #expect(throws: MediaError.self) { try reader(path, track, from: foreign) }
    track.codec = "prores"
    #expect(throws: MediaError.self) { try reader(path, track) }
    track.index = 77
    let error = #expect(throws: MediaError.self) { try reader(path, track) }
    #expect(error?.code == .noTrack)
  }

  @Test(arguments: MediaFiles.own) func `damaged files are errors or other pictures, never a crash`(path: String) throws
  {
    let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
    var random = SystemRandomNumberGenerator()
    for round in 0..<6 {
      var damaged = round == 0 ? Array(bytes.prefix(bytes.count / 2)) : bytes
      for _ in 0..<(round * 20) {
        damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let source = MemorySource(damaged)
      do throws(MediaError) {
        let description = try AssetProbe.probe(source, name: "damaged")
        #expect(!description.tracks.isEmpty)
      } catch {
        #expect(!error.message.isEmpty)
      }
    }
  }
}
