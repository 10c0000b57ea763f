import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Where decoding starts, the frames are those of a decode of the whole file by `ffmpeg`.
@Suite struct DecodingStartTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private static let picture = ["-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=3"]

  /// Compares the frames from each start with those that `ffmpeg` decodes from the head of the file.
  @discardableResult
  private func compare(_ path: String, frames limit: Int = .max) throws -> VideoFormat {
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
    let video = try #require(track.video)
    // Without -bitexact, which makes some decoders round in another way.
    let decoded = try Tool.run(
      "ffmpeg",
      ["-v", "quiet", "-nostdin", "-threads", "1", "-i", path, "-map", "0:\(track.index)"]
        + ["-vsync", "passthrough", "-f", "rawvideo", "-"]
    ).output
    let times = video.frames.times
    try #require(!decoded.isEmpty && decoded.count % times.count == 0)
    let size = decoded.count / times.count
    for (number, start) in video.keyframes.enumerated() {
      let first = try #require(times.firstIndex { $0 >= start.pts })
      let reader = try VideoReader(
        source: openSource(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
        decodeFrom: start, shownAt: nil)
      var wrong = 0
      var count = 0
      while count < limit, let frame = try reader.next() {
        let index = first + count
        let expected = index < times.count ? decoded.dropFirst(index * size).prefix(size) : Data()
        if index >= times.count || frame.pts != times[index] || frame.pixels != expected { wrong += 1 }
        count += 1
      }
      #expect(wrong == 0, "\(wrong) of \(count) frames from start \(number) at \(start.pts)")
      #expect(count == min(limit, times.count - first), "start \(number) at \(start.pts)")
    }
    return video
  }

  @Test(arguments: [
    ("msmpeg4v2.avi", ["-c:v", "msmpeg4v2"]), ("msmpeg4v3.avi", ["-c:v", "msmpeg4"]),
    ("wmv1.avi", ["-c:v", "wmv1"]), ("wmv2.avi", ["-c:v", "wmv2"]), ("flv1.avi", ["-c:v", "flv"]),
    ("h263.avi", ["-c:v", "h263"]), ("h263p.avi", ["-c:v", "h263p"]),
    ("mpeg4.avi", ["-c:v", "mpeg4", "-bf", "2"]), ("mpeg2.avi", ["-c:v", "mpeg2video", "-bf", "2"]),
    ("mpeg1.avi", ["-c:v", "mpeg1video"]), ("ffv1.avi", ["-c:v", "ffv1", "-level", "1"]),
    ("ffv1-3.avi", ["-c:v", "ffv1", "-level", "3"]), ("vp8.avi", ["-c:v", "libvpx", "-deadline", "realtime"]),
    ("h264.avi", ["-c:v", "libx264", "-preset", "veryfast"]),
    ("msmpeg4v3.mov", ["-c:v", "msmpeg4"]), ("h263.mov", ["-c:v", "h263"]),
    ("mpeg4.mov", ["-c:v", "mpeg4", "-bf", "2"]), ("mpeg2.mov", ["-c:v", "mpeg2video", "-bf", "2"]),
    ("h264.mov", ["-c:v", "libx264", "-preset", "veryfast"]), ("vp9.mp4", ["-c:v", "libvpx-vp9", "-cpu-used", "8"]),
    ("av1.mp4", ["-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime"]),
    ("flv1.flv", ["-c:v", "flv"]), ("h264.flv", ["-c:v", "libx264", "-preset", "veryfast"]),
  ])
  func `a packet is no start because its container flags it as a keyframe`(name: String, options: [String]) throws {
    let path = scratch.path(name)
    _ = try Tool.ffmpeg(Self.picture + ["-pix_fmt", "yuv420p", "-g", "20"] + options + [path])
    switch name.split(separator: ".").last {
    case "avi": try FalseKeyframes.removeIndex(ofAVI: path)
    case "flv": try FalseKeyframes.flagAllTags(ofFLV: path)
    default: try FalseKeyframes.removeSyncSamples(ofMovie: path)
    }
    let video = try compare(path)
    // Without an index, AVI has no times for reordered pictures, nor for packets that may be any part of a picture.
    if name.hasSuffix("avi"), video.keyframes.isEmpty {
      #expect(video.startsProvedBy == .headOnly)
    } else {
      // The encoder made a start every 20 frames or more often.
      #expect(video.startsProvedBy == .bitstream)
      #expect((4...8).contains(video.keyframes.count), "\(video.keyframes.count) starts")
    }
  }

  @Test(arguments: [
    ("svq1.mov", ["-c:v", "svq1"]), ("qtrle.mov", ["-c:v", "qtrle"]),
    ("zmbv.avi", ["-c:v", "zmbv"]), ("snow.avi", ["-c:v", "snow", "-strict", "-2"]), ("h261.avi", ["-c:v", "h261"]),
    ("cinepak.avi", ["-c:v", "cinepak"]), ("flashsv.flv", ["-c:v", "flashsv"]), ("rv20.rm", ["-c:v", "rv20"]),
  ])
  func `starts of a codec whose packets do not show them are proved by decoding`(
    name: String, options: [String]
  ) throws {
    let path = scratch.path(name)
    _ = try Tool.ffmpeg(Self.picture + ["-g", "20"] + options + [path])
    let flagged = try compare(path)
    switch name.split(separator: ".").last {
    case "avi": try FalseKeyframes.removeIndex(ofAVI: path)
    case "flv": try FalseKeyframes.flagAllTags(ofFLV: path)
    case "mov": try FalseKeyframes.removeSyncSamples(ofMovie: path)
    default: break
    }
    let unflagged = try compare(path)
    for video in [flagged, unflagged] {
      #expect(video.startsProvedBy == (video.keyframes.count > 1 ? .decoding : .headOnly))
    }
    #expect(unflagged.keyframes.count <= 8)
    #expect(unflagged.keyframes.map(\.pts) == flagged.keyframes.map(\.pts))
  }

  @Test func `a codec without references needs no proof`() throws {
    let path = scratch.path("movie.mov")
    _ = try Tool.ffmpeg(Self.picture + ["-c:v", "prores", path])
    #expect(try compare(path, frames: 3).startsProvedBy == .intraOnly)
  }
}
