import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Before the next picture that is shown, those that no other refers to are not decoded.
@Suite struct UnneededPictureTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  /// Which films have pictures that are left out.
  private static let films: [(name: String, encoder: [String], isRegular: Bool)] = [
    ("pyramid.mp4", ["-bf", "3", "-x264-params", "b-pyramid=normal"], true),
    ("strict.mkv", ["-bf", "5", "-x264-params", "b-pyramid=strict:slices=3"], true),
    ("flat.ts", ["-bf", "2", "-x264-params", "b-pyramid=none:b-adapt=0"], true),
    ("matrices.mp4", ["-pix_fmt", "yuv444p10", "-bf", "3", "-x264-params", "cqm=jvt"], true),
    // The stream does not say by how many pictures it reorders.
    ("unstated.mkv", ["-bf", "3", "-bsf:v", "filter_units=remove_types=6"], true),
    ("forward.mp4", ["-bf", "0"], false),
    ("fields.mp4", ["-bf", "3", "-flags", "+ildct+ilme", "-x264-params", "interlaced=1"], false),
  ]

  private struct Shown: Equatable {
    var time: Int64
    var digest: Int
  }

  private static let picture = "testsrc2=size=176x144:rate=25:duration=12,noise=alls=6:allf=t:all_seed=3"

  private func film(_ name: String, _ encoder: [String], filter: String = picture) throws -> (
    path: String, track: TrackDescription, video: VideoFormat
  ) {
    let path = scratch.path(name)
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", filter, "-c:v", "libx264", "-preset", "veryfast", "-g", "150", "-sc_threshold", "0"]
        + ["-vsync", "passthrough", "-video_track_timescale", "12800"] + encoder + [path])
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
    return (path, track, try #require(track.video))
  }

  /// The frames from a time on, and the steps that the reader took for the first.
  /// - Parameter isWhole: Whether all pictures are decoded.
  private static func read(
    _ film: (path: String, track: TrackDescription, video: VideoFormat), shownAt: Int64, isWhole: Bool, count: Int = 12
  ) throws -> (frames: [Shown], steps: UInt64) {
    let liveness = Liveness()
    let start = film.video.keyframes.last { $0.pts <= shownAt }
    let reader = try VideoReader(
      source: openSource(film.path), name: film.path, track: film.track.index, codec: film.track.codec,
      timebase: film.track.timebase, decodeFrom: start, state: start.flatMap { film.video.decoderState(at: $0) },
      starts: film.video, shownAt: shownAt, leavesOut: !isWhole, liveness: liveness)
    var frames: [Shown] = []
    var steps: UInt64 = 0
    while frames.count < count, let frame = try reader.next() {
      if frames.isEmpty { steps = liveness.count }
      frames.append(Shown(time: frame.pts, digest: frame.digest))
    }
    return (frames, steps)
  }

  @Test(arguments: (0..<7).spread(3)) func `the pictures that are shown are those of a whole decode`(number: Int) throws
  {
    let (name, encoder, isRegular) = Self.films[number]
    let film = try film(name, encoder)
    let decoded = try Tool.ffmpeg("-i", film.path, "-vsync", "passthrough", "-f", "rawvideo", "-")
    let whole = try Self.read(film, shownAt: .min, isWhole: false, count: .max).frames
    try #require(whole.count == 300 && whole.map(\.time) == film.video.frames.times)
    // The whole decode is ffmpeg's.
    let reader = try VideoReader(
      source: openSource(film.path), name: film.path, track: film.track.index, codec: film.track.codec,
      timebase: film.track.timebase, decodeFrom: nil, shownAt: nil)
    var pixels = Data()
    while let frame = try reader.next() { pixels.append(frame.pixels) }
    #expect(pixels == decoded)

    var random = SeededRandom(seed: UInt64(number))
    var fewer = 0
    let tries = MediaFiles.isExhaustive ? 6 : 3
    for _ in 0..<tries {
      let index = (Int.random(in: 0..<2, using: &random) * 150) + Int.random(in: 40..<149, using: &random)
      for time in [whole[index].time, whole[index].time + 1, whole[index + 1].time - 1] {
        let found = try Self.read(film, shownAt: time, isWhole: false)
        #expect(found.frames == Array(whole[index...].prefix(12)), "frame \(index), shown at \(time)")
        if try Self.read(film, shownAt: time, isWhole: true).steps > found.steps + 4 { fewer += 1 }
      }
    }
    // From 32 frames after a start on.
    if isRegular { #expect(fewer > 2 * tries) } else { #expect(fewer == 0) }
  }

  /// - Parameter times: Rising.
  /// - Returns: The frame that is shown at each time, and the steps that the reader took for all.
  private static func series(
    _ film: (path: String, track: TrackDescription, video: VideoFormat), at times: [Int64], isWhole: Bool
  ) throws -> (frames: [Shown?], steps: UInt64) {
    let liveness = Liveness()
    let start = film.video.keyframes.last { $0.pts <= times[0] }
    let reader = try VideoReader(
      source: openSource(film.path), name: film.path, track: film.track.index, codec: film.track.codec,
      timebase: film.track.timebase, decodeFrom: start, state: start.flatMap { film.video.decoderState(at: $0) },
      starts: film.video, shownAt: times[0], leavesOut: true, liveness: liveness)
    var (shown, next) = (try reader.next(), try reader.next())
    let frames = try times.map { time throws in
      if !isWhole { reader.show(at: time) }
      while let frame = next, frame.pts <= time { (shown, next) = (frame, try reader.next()) }
      return shown.map { Shown(time: $0.pts, digest: $0.digest) }
    }
    return (frames, liveness.count)
  }

  @Test(arguments: (0..<7).spread(3)) func `pictures between those of a series are left out`(number: Int) throws {
    let (name, encoder, isRegular) = Self.films[number]
    let film = try film(name, encoder)
    let whole = try Self.read(film, shownAt: .min, isWhole: false, count: .max).frames
    var random = SeededRandom(seed: UInt64(number))
    for most in [3, 15, 60] {
      var indices = [Int.random(in: 0..<40, using: &random)]
      while indices[indices.count - 1] < 300 - most {
        indices.append(indices[indices.count - 1] + Int.random(in: 0...most, using: &random))
      }
      let times = indices.map { whole[$0].time }
      let found = try Self.series(film, at: times, isWhole: false)
      #expect(found.frames == indices.map { whole[$0] }, "up to \(most) frames apart")
      let steps = try Self.series(film, at: times, isWhole: true).steps
      if most == 60 { #expect(isRegular ? found.steps + 20 < steps : found.steps == steps) }
    }
  }

  /// The decoder then leaves pictures out that come too late.
  @Test func `pictures are those of a whole decode where a stream states too small a reordering`() throws {
    var film = try film("stated.ts", Self.films[0].encoder)
    let trace = try Tool.run(
      "ffmpeg", ["-v", "trace", "-i", film.path, "-c", "copy", "-bsf:v", "trace_headers", "-f", "null", "-"])
    let line = try #require(trace.log.split(separator: "\n").first { $0.contains("max_num_reorder_frames") })
    let fields = line.split(separator: " ").suffix(5)
    let place = try #require(fields.first.flatMap { Int($0) })
    try #require(fields.suffix(3).joined() == "011=2")
    var data = try Data(contentsOf: URL(fileURLWithPath: film.path))
    let sets = data.ranges(of: [0, 0, 1, 0x67, 0x64, 0]).map { $0.lowerBound + 3 }
    try #require(sets.count > 1)
    // From 2 to 1.
    for start in sets { data[start + (place + 2) / 8] ^= UInt8(0x80 >> ((place + 2) % 8)) }
    let path = scratch.path("understated.ts")
    try data.write(to: URL(fileURLWithPath: path))
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
    film = (path, track, try #require(track.video))
    try #require(film.video.keyframes.count > 1)
    let whole = try Self.read(film, shownAt: .min, isWhole: false, count: .max).frames
    #expect(whole.count < 300)
    for index in stride(from: 20, to: whole.count - 20, by: 3) {
      for time in [whole[index].time, whole[index + 1].time - 1] {
        let found = try Self.read(film, shownAt: time, isWhole: false)
        #expect(found.frames == Array(whole[index...].prefix(12)), "frame \(index), shown at \(time)")
      }
    }
    for step in [2, 3, 7, 30] {
      let indices = Array(stride(from: step, to: whole.count, by: step))
      let found = try Self.series(film, at: indices.map { whole[$0].time }, isWhole: false)
      #expect(found.frames == indices.map { whole[$0] }, "each \(step)")
    }
  }

  @Test func `a picture that stays for long is not left out`() throws {
    // Every eighth second has frames.
    let film = try film(
      "gaps.mp4", ["-bf", "3", "-x264-params", "b-adapt=0:keyint=infinite"],
      filter: "testsrc2=size=176x144:rate=25:duration=40,select='eq(mod(floor(t),8),0)+eq(mod(n,97),5)'")
    let times = film.video.frames.times
    try #require(times.count > 120)
    let whole = try Self.read(film, shownAt: .min, isWhole: false, count: .max).frames
    for index in times.indices.dropFirst(30).dropLast() {
      let found = try Self.read(film, shownAt: times[index + 1] - 1, isWhole: false, count: 3)
      #expect(found.frames == Array(whole[index...].prefix(3)), "frame \(index)")
    }
  }

  /// Which packets of an open group of pictures are lost: all, the first, or one in seventeen.
  @Test(
    arguments: [
      ("gop.mp4", "between(n\\,21\\,44)"), ("start.ts", "eq(n\\,45)"), ("some.mkv", "eq(mod(n\\,17)\\,11)"),
    ].spread(2))
  func `where pictures are missing, frames are the same wherever reading begins`(name: String, lost: String) throws {
    let source = try film(
      "whole.mp4", ["-bf", "3", "-x264-params", "open-gop=1:keyint=24:min-keyint=24:b-adapt=0"],
      filter: "testsrc2=size=176x144:rate=25:duration=5,noise=alls=6:allf=t:all_seed=3")
    let path = scratch.path(name)
    _ = try Tool.ffmpeg("-i", source.path, "-c", "copy", "-bsf:v", "noise=amount=0:drop='\(lost)'", path)
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
    let film = (path: path, track: track, video: try #require(track.video))
    #expect(film.video.damagedFrames != nil)
    let decoded = try Self.read(film, shownAt: .min, isWhole: false, count: .max).frames
    // Of pictures at one time, the last is shown.
    let whole = zip(decoded, decoded.dropFirst().map(\.time) + [.max]).filter { $0.time < $1 }.map(\.0)
    #expect(whole.map(\.time) == film.video.frames.times)
    for index in stride(from: 0, to: whole.count, by: 3) {
      let found = try Self.read(film, shownAt: whole[index].time, isWhole: false, count: 1)
      #expect(found.frames.first == whole[index], "frame \(index)")
    }
  }

  @Test(arguments: 0..<(MediaFiles.isExhaustive ? 5 : TestExtent.of(1, whole: 2)))
  func `damaged pictures are the same as those of a whole decode`(seed: Int) throws {
    let film = try film("damaged.mp4", ["-bf", "3", "-pix_fmt", "yuv420p"])
    var random = SeededRandom(seed: UInt64(seed))
    let packets = try Tool.ffprobe("-select_streams", "v:0", "-show_entries", "packet=size,pos", film.path)
    var data = try Data(contentsOf: URL(fileURLWithPath: film.path))
    for _ in 0..<12 {
      let packet = try #require(packets.randomElement(using: &random))
      let (size, position) = (try #require(Int(packet[0])), try #require(Int(packet[1])))
      // After the length of the first unit.
      for _ in 0..<3 { data[position + Int.random(in: 4..<min(60, size), using: &random)] ^= 0x24 }
    }
    try data.write(to: URL(fileURLWithPath: film.path))
    let times = film.video.frames.times
    let whole = try Self.read(film, shownAt: .min, isWhole: false, count: .max).frames
    for index in stride(from: 40, to: 295, by: 17) {
      let found = try Self.read(film, shownAt: times[index], isWhole: false, count: 10)
      let other = try Self.read(film, shownAt: times[index], isWhole: true, count: 10).frames
      #expect(found.frames == other, "frame \(index)")
      let first = whole.lastIndex { $0.time <= times[index] } ?? 0
      #expect(found.frames == Array(whole[first...].prefix(10)), "frame \(index)")
    }
  }
}
