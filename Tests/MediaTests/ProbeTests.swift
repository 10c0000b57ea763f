import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

@Suite struct ProbeTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func probe(_ path: String) throws -> AssetDescription {
    try AssetProbe.probe(openSource(path), name: URL(fileURLWithPath: path).lastPathComponent)
  }

  private func video(_ path: String) throws -> (track: TrackDescription, format: VideoFormat) {
    let track = try #require(try probe(path).defaultTrack(.video))
    return (track, try #require(track.video))
  }

  /// The times of all frames by ffprobe; nil where the file has none. Of a long film they are the packets', because
  /// ffprobe takes longer to decode it than all others.
  private func probedTimes(_ path: String, stream: Int, isLong: Bool = false) throws -> [Int64?] {
    let entries = isLong ? "packet=pts" : "frame=best_effort_timestamp"
    let times = try Tool.ffprobe("-select_streams", "\(stream)", "-show_entries", entries, path).map { Int64($0[0]) }
    return isLong ? try times.map { try #require($0) }.sorted() : times
  }

  @Test(arguments: MediaFiles.all) func `frame times are those that ffprobe gives`(path: String) throws {
    let description: AssetDescription
    do {
      description = try probe(path)
    } catch let error as MediaError {
      // ffmpeg cannot decode such a file either, and the error has a message.
      #expect(throws: Tool.Failure.self) { try Tool.ffmpeg("-xerror", "-i", path, "-f", "null", "-") }
      #expect(!error.message.isEmpty)
      return
    }
    for track in description.tracks {
      guard let video = track.video else { continue }
      let times = video.frames.times
      let probed = try probedTimes(path, stream: track.index, isLong: times.count > 5000)
      #expect(times.count == probed.count)
      for (time, other) in zip(times, probed) where other != nil { #expect(time == other) }
    }
  }

  @Test(
    arguments: [
      ("movie.mkv", ["-c:v", "libx264", "-bf", "3"]), ("movie.mkv", ["-c:v", "libx265", "-preset", "ultrafast"]),
      ("movie.webm", ["-c:v", "libvpx-vp9", "-deadline", "good", "-cpu-used", "8", "-lag-in-frames", "25"]),
    ].spread(1))
  func `a track is not decoded if its packets show the frames' times`(name: String, options: [String]) throws {
    let path = scratch.path(name)
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=30:duration=10", "-pix_fmt", "yuv420p"] + options + [path])
    let liveness = Liveness()
    let description = try AssetProbe.probe(openSource(path), name: name, liveness: liveness)
    #expect(description.tracks.first?.video?.frames.count == 300)
    // Decoding would read each packet a second time, and then there would be as many pictures.
    #expect(liveness.count < 600)
  }

  @Test func `a track whose packets have decoding times for presentation times is decoded`() throws {
    let path = scratch.path("movie.mkv")
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=4", "-pix_fmt", "yuv420p", "-bf", "3"]
        + ["-c:v", "libx264", "-bsf:v", "setts=ts=TS+40", path])
    let (track, format) = try video(path)
    let reader = try VideoReader(
      source: openSource(path), name: "movie.mkv", track: track.index, codec: track.codec, timebase: track.timebase,
      decodeFrom: nil, shownAt: nil)
    var times: [Int64] = []
    while let frame = try reader.next() { times.append(frame.pts) }
    #expect(format.frames == FrameTimes(times))
    #expect(times.count < 100)
  }

  @Test(arguments: ["m2v", "mpg", "avi"], [45, 46, 47, 48])
  func `the last picture of a stream with soft pulldown begins where ffmpeg has it`(
    container: String, count: Int
  ) throws {
    let stream = scratch.path("plain.m2v")
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=24000/1001", "-frames:v", "\(count)"]
        + ["-c:v", "mpeg2video", "-bf", "2", stream])
    let pulled = scratch.path("pulldown.m2v")
    try SoftPulldown.added(to: Data(contentsOf: URL(fileURLWithPath: stream)))
      .write(to: URL(fileURLWithPath: pulled))
    let path = scratch.path("copy.\(container)")
    _ = try Tool.ffmpeg(["-i", pulled, "-c", "copy", path])
    let times = try video(path).format.frames.times
    #expect(times.count == count)
    #expect(try times == shownTimes(path))
  }

  @Test(arguments: ["25", "30000/1001"])
  func `the last pictures of H.264 that is copied into AVI begin where ffmpeg has them`(rate: String) throws {
    let movie = scratch.path("movie.mp4")
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=\(rate):duration=2", "-pix_fmt", "yuv420p"]
        + ["-c:v", "libx264", "-bf", "3", movie])
    let path = scratch.path("movie.avi")
    _ = try Tool.ffmpeg(["-i", movie, "-c", "copy", path])
    #expect(try video(path).format.frames.times == shownTimes(path))
  }

  /// The times at which ffmpeg shows the pictures of a file's first video track. ffprobe has none for those that come
  /// after the last packet.
  private func shownTimes(_ path: String) throws -> [Int64] {
    let output = try Tool.run(
      "ffmpeg",
      ["-v", "error", "-nostdin", "-threads", "1", "-copyts", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough"]
        + ["-enc_time_base", "-1", "-f", "framehash", "-"]
    ).output
    return String(decoding: output, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("0,") }.compactMap {
      $0.split { $0 == "," || $0 == " " }.dropFirst(2).first.flatMap { Int64($0) }
    }
  }

  @Test func `every packet that is read moves`() throws {
    let path = scratch.path("movie.mp4")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=30:duration=10", path])
    let liveness = Liveness()
    _ = try AssetProbe.probe(openSource(path), name: "movie.mp4", liveness: liveness)
    #expect(liveness.count >= 300)
  }

  @Test(
    arguments: [
      ("movie.mp4", ["-c:v", "libx264", "-bf", "3", "-g", "250"]), ("movie.mkv", ["-c:v", "libx264", "-bf", "2"]),
      ("movie.ts", ["-c:v", "libx264", "-bf", "3", "-g", "12"]), ("movie.avi", ["-c:v", "mpeg4", "-bf", "2"]),
      ("movie.mpg", ["-c:v", "mpeg2video", "-bf", "2"]), ("movie.ts", ["-c:v", "mpeg2video", "-bf", "2", "-g", "10"]),
      ("movie.mp4", ["-c:v", "libx264", "-x264-params", "open-gop=1", "-g", "15", "-bf", "3"]),
      ("movie.h264", ["-c:v", "libx264", "-bf", "2"]), ("movie.webm", ["-c:v", "libvpx", "-auto-alt-ref", "1"]),
      ("movie.mov", ["-c:v", "mjpeg", "-q:v", "3"]), ("movie.mp4", ["-c:v", "libx265", "-preset", "ultrafast"]),
      ("movie.mp4", ["-c:v", "libx264", "-movflags", "frag_keyframe+empty_moov"]),
      ("movie.mkv", ["-c:v", "libx264", "-x264-params", "open-gop=1", "-g", "15", "-bf", "3"]),
      ("movie.mkv", ["-c:v", "libx265", "-preset", "ultrafast"]), ("movie.mkv", ["-c:v", "mpeg4", "-bf", "2"]),
      ("movie.webm", ["-c:v", "libvpx", "-auto-alt-ref", "1", "-lag-in-frames", "20", "-b:v", "100k"]),
      ("movie.webm", ["-c:v", "libvpx-vp9", "-deadline", "good", "-cpu-used", "8", "-lag-in-frames", "25"]),
      ("movie.mkv", ["-c:v", "libvpx-vp9", "-deadline", "good", "-cpu-used", "8", "-pix_fmt", "yuv444p10le"]),
      ("movie.webm", ["-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime"]),
      ("movie.mkv", ["-c:v", "libsvtav1", "-preset", "12"]),
    ].spread(8))
  func `generated files have ffprobe's frame times`(name: String, options: [String]) throws {
    let path = scratch.path(name)
    let source = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=30000/1001:duration=2", "-pix_fmt", "yuv420p"]
    _ = try Tool.run("ffmpeg", ["-v", "error", "-nostdin", "-y"] + source + options + [path])
    let (track, format) = try video(path)
    let probed = try probedTimes(path, stream: track.index)
    #expect(format.frames.count == probed.count)
    for (time, other) in zip(format.frames.times, probed) where other != nil { #expect(time == other) }
    #expect(abs(format.nominalFrameRate.approximateSeconds - 29.97) < 0.01)
  }

  @Test(arguments: [
    (0, false), (90, false), (180, false), (270, false), (0, true), (90, true), (180, true), (270, true),
  ])
  func `a photograph's orientation is the one that ffmpeg applies`(clockwise: Int, isMirrored: Bool) throws {
    // An arrow-like picture: no two of its eight orientations look alike.
    let orientation = Orientation(clockwise: clockwise, isMirrored: isMirrored)
    let exif: [Orientation: UInt8] = [
      Orientation(clockwise: 0): 1, Orientation(clockwise: 0, isMirrored: true): 2, Orientation(clockwise: 180): 3,
      Orientation(clockwise: 180, isMirrored: true): 4, Orientation(clockwise: 270, isMirrored: true): 5,
      Orientation(clockwise: 90): 6, Orientation(clockwise: 90, isMirrored: true): 7, Orientation(clockwise: 270): 8,
    ]
    let path = scratch.path("photo.jpg")
    try Tool.ffmpeg("-f", "lavfi", "-i", "testsrc=size=64x32:duration=1", "-frames:v", "1", path)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let number = try #require(exif[orientation])
    let tag: [UInt8] = [
      0xff, 0xe1, 0, 34, 0x45, 0x78, 0x69, 0x66, 0, 0, 0x4d, 0x4d, 0, 0x2a, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1,
      0, number, 0, 0, 0, 0, 0, 0,
    ]
    bytes.insert(contentsOf: tag, at: 2)
    try bytes.write(to: URL(fileURLWithPath: path))
    let format = try video(path).format
    #expect(format.orientation == orientation)
    #expect(format.isStill)
  }

  @Test(arguments: [0, 90, 180, 270]) func `a film has the orientation that ffmpeg applies`(rotate: Int) throws {
    let (plain, path) = (scratch.path("plain.mp4"), scratch.path("turned.mp4"))
    try Tool.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x32:duration=0.1", "-pix_fmt", "yuv420p", plain)
    try Tool.ffmpeg("-i", plain, "-c", "copy", "-metadata:s:v:0", "rotate=\(rotate)", path)
    let (track, format) = try video(path)
    let reader = try VideoReader(
      source: openSource(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
      decodeFrom: nil, shownAt: nil)
    let frame = try #require(try reader.next())
    let luma = Array(frame.pixels.prefix(64 * 32))
    let shown = try Tool.ffmpeg("-i", path, "-frames:v", "1", "-f", "rawvideo", "-")
    #expect(turned(luma, width: 64, height: 32, format.orientation) == Array(shown.prefix(64 * 32)))
  }

  /// Mirrored left-right or not, then turned clockwise a quarter at a time.
  private func turned(_ pixels: [UInt8], width: Int, height: Int, _ orientation: Orientation) -> [UInt8] {
    var (pixels, width, height) = (pixels, width, height)
    if orientation.isMirrored {
      pixels = (0..<height).flatMap { row in pixels[(row * width)..<((row + 1) * width)].reversed() }
    }
    for _ in 0..<(orientation.clockwise / 90) {
      pixels = (0..<width).flatMap { row in (0..<height).map { pixels[(height - 1 - $0) * width + row] } }
      (width, height) = (height, width)
    }
    return pixels
  }

  @Test func `formats, colours and shapes are read from the pictures`() throws {
    let path = scratch.path("movie.mp4")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=0.4", "-vf", "setsar=4/3,format=yuv422p10le",
      "-colorspace", "bt2020nc", "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-c:v", "libx264", path)
    let (track, format) = try video(path)
    #expect(track.codec == "h264")
    #expect(format.pixelFormat == "yuv422p10le")
    #expect(format.bitDepth == 10)
    #expect(format.pixelAspect == AspectRatio(horizontal: 4, vertical: 3))
    #expect(format.colour.matrix == "bt2020nc")
    #expect(format.colour.transfer == "smpte2084")
    #expect(!format.isStill)
    #expect(track.range.duration == MediaTime(value: 2, timescale: 5))
  }

  /// The samples that an Opus decoder removes at the head are not part of the track: time zero is the first presented
  /// one.
  @Test func `a Matroska file with Opus begins with its audio`() throws {
    let path = scratch.path("movie.mkv")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=2", "-f", "lavfi", "-i",
      "sine=sample_rate=48000:duration=2", "-c:v", "libx264", "-c:a", "libopus", path)
    let tracks = try probe(path).tracks
    let audio = try #require(tracks.first { $0.audio != nil })
    let first = try #require(try Tool.ffprobe("-select_streams", "a", "-show_entries", "packet=pts", path).first)
    #expect(try #require(Int64(first[0])) < 0, "there is something to drop")
    #expect(audio.origin == 0)
    #expect(audio.range.start == .zero)
  }

  /// 65 frames at 30 a second are 65/30 s; Matroska stores 2.167 s.
  @Test func `a constant rate is found behind rounded times`() throws {
    let path = scratch.path("movie.mkv")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30", "-frames:v", "65", "-c:v", "libx264", "-bf", "2", path)
    let track = try #require(try probe(path).tracks.first)
    #expect(track.range.duration == MediaTime(value: 65, timescale: 30))
    #expect(track.video?.cadence == StoredTime.Cadence(first: 0, rate: MediaTime(value: 30, timescale: 1)))
    let uneven = scratch.path("uneven.mkv")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30:duration=3", "-vf", "select='not(eq(mod(n,7),3))'", "-fps_mode",
      "vfr", "-c:v", "libx264", uneven)
    #expect(try probe(uneven).tracks.first?.video?.cadence == nil)
  }

  @Test func `cover art is not a track`() throws {
    let (cover, path) = (scratch.path("cover.png"), scratch.path("song.m4a"))
    try Tool.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x64", "-frames:v", "1", cover)
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "sine=duration=1", "-i", cover, "-map", "0", "-map", "1", "-c:v", "copy", "-disposition:v",
      "attached_pic", path)
    #expect(try probe(path).tracks.map(\.type) == [.audio])
  }

  @Test func `audio starts at zero and has its length`() throws {
    let path = scratch.path("song.m4a")
    try Tool.ffmpeg("-f", "lavfi", "-i", "sine=duration=3:sample_rate=44100", path)
    let track = try #require(try probe(path).tracks.first)
    #expect(track.range.start == .zero)
    #expect(track.range.duration == MediaTime(seconds: 3))
    #expect(track.audio?.sampleRate == 44100)
  }

  @Test func `an empty file, a text and a playlist are refused with a message`() throws {
    let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n/etc/passwd\n#EXT-X-ENDLIST\n"
    let concat = "ffconcat version 1.0\nfile /etc/passwd\n"
    for text in ["", "Just some words, no media at all.", playlist, concat] {
      let error = #expect(throws: MediaError.self) {
        try AssetProbe.probe(MemorySource(Array(text.utf8)), name: "file")
      }
      #expect(error?.code == .unrecognized)
    }
  }
}
