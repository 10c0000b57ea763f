import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Files with changed bytes inside their packets, which no packet shows: pictures are the same wherever reading begins.
@Suite struct DamagedPictureTests {
  private static let sources: [(name: String, encoder: [String])] = [
    ("cabac.mp4", ["-c:v", "libx264", "-preset", "fast", "-bf", "3"]),
    ("cavlc.mp4", ["-c:v", "libx264", "-preset", "fast", "-coder", "0", "-bf", "2"]),
    ("mpeg2.mp4", ["-c:v", "mpeg2video", "-bf", "2", "-b:v", "800k"]),
    ("mpeg4.mp4", ["-c:v", "mpeg4", "-bf", "2", "-b:v", "800k"]),
    ("hevc.mp4", ["-c:v", "libx265", "-preset", "fast", "-x265-params", "log-level=0:keyint=12:min-keyint=12"]),
    ("vp9.mp4", ["-c:v", "libvpx-vp9", "-cpu-used", "8", "-deadline", "realtime"]),
    ("vp8.mkv", ["-c:v", "libvpx", "-cpu-used", "8", "-deadline", "realtime"]),
    ("mpeg1.mkv", ["-c:v", "mpeg1video", "-bf", "2", "-b:v", "800k"]),
    ("msmpeg4.mkv", ["-c:v", "msmpeg4", "-b:v", "800k"]),
    ("h264.ts", ["-c:v", "libx264", "-preset", "veryfast", "-x264-params", "slices=3"]),
  ]

  private struct Read: Equatable {
    var time: Int64
    var pixels: Data
  }

  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  /// Changes a few bits inside packets.
  private static func damage(_ path: String, seed: UInt64) throws {
    let listed = try Tool.run(
      "ffprobe",
      ["-v", "quiet", "-select_streams", "v:0", "-show_entries", "packet=size,pos", "-of", "csv=p=0", path])
    let packets = String(decoding: listed.output, as: UTF8.self).split(separator: "\n").compactMap { line in
      let fields = line.split(separator: ",").compactMap { Int($0) }
      return fields.count == 2 ? (size: fields[0], position: fields[1]) : nil
    }
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    var random = SeededRandom(seed: seed)
    for _ in 0..<Int.random(in: 2...8, using: &random) {
      let packet = try #require(packets.randomElement(using: &random))
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        // In a transport stream a packet's bytes are not one after the other, and may be headers of others.
        let place = packet.position + Int.random(in: 4..<max(5, packet.size), using: &random)
        if place < data.count, !path.hasSuffix("ts") || place % 188 > 12 {
          data[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
      }
    }
    try data.write(to: URL(fileURLWithPath: path))
  }

  private static func read(
    _ path: String, _ track: TrackDescription, from start: Keyframe?, starts: VideoFormat, shownAt: Int64?,
    before end: Int64
  ) throws -> [Read] {
    let reader = try VideoReader(
      source: openSource(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
      decodeFrom: start, state: start.flatMap { starts.decoderState(at: $0) }, starts: starts, shownAt: shownAt)
    var frames: [Read] = []
    while let frame = try reader.next(), frame.pts < end {
      frames.append(Read(time: frame.pts, pixels: frame.pixels))
    }
    return frames
  }

  @Test(arguments: (0..<10).spread(3), [UInt64(2)])
  func `damaged pictures are the same wherever reading begins`(number: Int, seed: UInt64) throws {
    let (name, encoder) = Self.sources[number]
    let path = scratch.path(name)
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=3,noise=alls=8:allf=t", "-pix_fmt", "yuv420p"]
        + encoder + ["-g", "12", path])
    try Self.damage(path, seed: seed &* 100 &+ UInt64(number))
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
    let video = try #require(track.video)
    let keyframes = video.keyframes
    try #require(keyframes.count >= 3)
    let whole = try Self.read(path, track, from: nil, starts: video, shownAt: nil, before: .max)
    var compared = 0
    for index in keyframes.indices {
      // As a task has it: some starts before, and one after what is shown.
      let some = video.withKeyframes(in: max(0, index - Keyframe.neededBefore)..<(index + 3))
      let start = try #require(some.keyframes.first { $0.pts == keyframes[index].pts })
      let end = index + 2 < keyframes.count ? keyframes[index + 2].pts : Int64.max
      for shownAt in [start.pts, start.pts + (min(end, keyframes.last!.pts + 1000) - start.pts) / 3] {
        let shown = try Self.read(path, track, from: start, starts: some, shownAt: shownAt, before: end)
        let first = whole.lastIndex { $0.time <= shownAt } ?? 0
        let expected = whole[first...].filter { $0.time < end }
        let wrong = zip(shown, expected).count { $0 != $1 }
        #expect(shown.count == expected.count, "start \(index) of \(keyframes.count), shown at \(shownAt)")
        #expect(wrong == 0, "\(wrong) of \(expected.count) frames from start \(index) at \(start.pts) for \(shownAt)")
        compared += expected.count
      }
    }
    #expect(compared > 50)
  }

  /// libavcodec gives other pictures after a damaged one that no other refers to than without it.
  @Test func `a damaged picture that no other refers to is decoded wherever reading begins`() throws {
    let path = scratch.path("cavlc.mp4")
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=2,noise=alls=8:allf=t", "-pix_fmt", "yuv420p"]
        + Self.sources[1].encoder + ["-g", "12", path])
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    let packets = try Tool.ffprobe("-select_streams", "v:0", "-show_entries", "packet=pts,size,pos", path)
    var random = SeededRandom(seed: 1)
    var compared = 0
    for packet in packets {
      let (time, size) = (try #require(Int64(packet[0])), try #require(Int(packet[1])))
      let position = try #require(Int(packet[2]))
      // The type of the network unit and nal_ref_idc, after the unit's length.
      guard whole[position + 4] == 1 else { continue }
      for _ in 0..<6 {
        var data = whole
        data[position + Int.random(in: size / 4..<size, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        try data.write(to: URL(fileURLWithPath: path))
        let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
        let video = try #require(track.video)
        let start = try #require(video.keyframes.last { $0.pts <= time })
        let later = try Self.read(path, track, from: nil, starts: video, shownAt: nil, before: .max)
          .drop { $0.time <= time }
        guard let first = later.first else { continue }
        let shown = try Self.read(path, track, from: start, starts: video, shownAt: first.time, before: .max)
        let isSame = shown == Array(later)
        #expect(isSame, "after the picture at \(time)")
        compared += 1
      }
    }
    #expect(compared > 50)
  }

  /// Changes bytes of one picture so much that its decoder conceals most of it.
  private static func destroy(_ path: String, pictures: [Int], from part: Int) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let packets = try Tool.ffprobe("-select_streams", "v:0", "-show_entries", "packet=size,pos", path)
    for index in pictures {
      let (size, position) = (try #require(Int(packets[index][0])), try #require(Int(packets[index][1])))
      for place in stride(from: position + part, to: position + size, by: 5) { data[place] ^= 0x55 }
    }
    try data.write(to: URL(fileURLWithPath: path))
  }

  /// Where the stretch before a damaged one is whole, the pictures are those of the ffmpeg tool that starts there.
  @Test func `a damaged stretch is decoded as ffmpeg decodes it from the start before`() throws {
    let path = scratch.path("movie.mp4")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=4", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g",
      "25", "-bf", "2", path)
    try Self.destroy(path, pictures: [54, 58], from: 60)
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
    let video = try #require(track.video)
    #expect(video.damagedFrames == nil)
    let decoded = try Tool.run(
      "ffmpeg",
      [
        "-v", "quiet", "-nostdin", "-threads", "1", "-ss", "1", "-i", path, "-vsync", "passthrough", "-f", "rawvideo",
        "-",
      ]
    ).output
    let size = 176 * 144 * 3 / 2
    try #require(decoded.count == 75 * size)
    for start in [nil] + video.keyframes.prefix(3).map(Optional.some) {
      let reader = try VideoReader(
        source: openSource(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
        decodeFrom: start, starts: video, shownAt: video.keyframes[2].pts)
      var damaged = 0
      for index in 25..<50 {
        let frame = try #require(try reader.next())
        #expect(frame.pixels == decoded.dropFirst(index * size).prefix(size), "frame \(25 + index)")
        if reader.damage(at: frame.pts, in: frame) != nil { damaged += 1 }
      }
      #expect(damaged >= 1)
    }
  }

  @Test func `a picture that cannot be decoded is reported, and the one before stays`() throws {
    let path = scratch.path("movie.mp4")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=2", "-pix_fmt", "yuv420p", "-c:v", "libvpx-vp9",
      "-cpu-used", "8", "-deadline", "realtime", "-g", "10", path)
    // The first picture of a stretch: those after it refer to it, so none of them can be decoded either.
    try Self.destroy(path, pictures: [20], from: 1)
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
    let video = try #require(track.video)
    let times = video.frames.times
    try #require(times.count == 50)
    var shown: [[Read]] = []
    for start in [nil] + video.keyframes.filter({ $0.pts <= times[20] }).map(Optional.some) {
      let reader = try VideoReader(
        source: openSource(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
        decodeFrom: start, starts: video, shownAt: times[20])
      let frame = try #require(try reader.next())
      #expect(frame.pts <= times[20])
      if frame.pts < times[20] { #expect(reader.damage(at: times[20], in: frame) == times[20]) }
      shown.append([Read(time: frame.pts, pixels: frame.pixels)])
    }
    #expect(shown.allSatisfy { $0 == shown[0] })
  }

  @Test func `a packet of audio that cannot be decoded is reported`() throws {
    let path = scratch.path("sound.mkv")
    _ = try Tool.ffmpeg("-f", "lavfi", "-i", "sine=440:duration=4", "-c:a", "libmp3lame", path)
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let packets = try Tool.ffprobe("-select_streams", "a:0", "-show_entries", "packet=pts,pos", path)
      .compactMap { fields in fields.compactMap { Int($0) } }.filter { $0.count >= 2 }
    for index in [20, 80] { for place in 4..<18 { data[packets[index][1] + place] ^= 0xFF } }
    try data.write(to: URL(fileURLWithPath: path))
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.audio))
    // From two seconds on only the second is heard.
    for (position, expected) in [(Int64(0), [20, 80]), (88_200, [80])] {
      let reader = try AudioReader(
        source: openSource(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
        format: try #require(track.audio), from: position)
      while try reader.next() != nil {}
      let found = reader.takeDamage().map { Double($0) / 44100 }
      let times = expected.map { Double(Int64(packets[$0][0]) - track.origin) / 1000 }
      #expect(found.count == times.count, "\(found)")
      for (found, time) in zip(found, times) { #expect(abs(found - time) < 0.03, "\(found) at \(time)") }
    }
  }

  /// Nothing but the packets' order gives the time of what follows in these formats. The reference is what ffmpeg
  /// decodes, with each block at the time that ffprobe gives.
  @Test(arguments: [
    (["mp3", "libmp3lame", "-write_xing", "0"], 4, UInt8(0xFF)), (["aac", "aac"], 7, 0x55), (["ac3", "ac3"], 5, 0xFF),
  ])
  func `a packet that is lost from sound without timestamps is silent at its place`(
    options: [String], header: Int, change: UInt8
  ) throws {
    let path = scratch.path("sound.\(options[0])")
    let noise = "aevalsrc='0.3*sin(2765*t)+0.2*random(1)-0.1':d=4:s=48000"
    try Tool.ffmpeg(["-f", "lavfi", "-i", noise, "-c:a"] + options.dropFirst() + [path])
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let packets = try Tool.ffprobe("-select_streams", "a:0", "-show_entries", "packet=pos,size", path)
      .map { fields in fields.compactMap { Int($0) } }.filter { $0.count >= 2 }
    // The first of them is among the packets that are decoded when the file is described.
    for index in [10, 80] {
      let (size, position) = (packets[index][0], packets[index][1])
      for place in header..<size { data[position + place] ^= change }
    }
    try data.write(to: URL(fileURLWithPath: path))
    let blocks = try Tool.ffprobe("-select_streams", "a:0", "-show_entries", "frame=pts_time,nb_samples", path)
      .compactMap { fields in fields.compactMap(Double.init) }.filter { $0.count >= 2 }
    var decoded = try Tool.ffmpeg("-i", path, "-c:a", "pcm_f32le", "-f", "f32le", "-").floats[...]
    #expect(blocks.count <= packets.count - 2)
    var expected: [Float] = []
    for block in blocks {
      let silence = Int(((block[0] - blocks[0][0]) * 48000).rounded()) - expected.count
      expected += Array(repeating: 0, count: max(0, silence)) + decoded.prefix(Int(block[1]))
      decoded = decoded.dropFirst(Int(block[1]))
    }
    let asset = try AssetProbe.probe(openSource(path), name: path)
    let track = try #require(asset.defaultTrack(.audio))
    let reader = try AudioReader(
      source: openSource(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
      format: try #require(track.audio), from: 0)
    var heard: [Float] = []
    while let block = try reader.next() {
      heard += Array(repeating: 0, count: Int(block.position) - heard.count)
      let row = block.samples.row(0)
      heard += (0..<block.samples.capacity).map { row[$0] }
    }
    #expect(heard == expected)
    #expect(try (track.range.duration.exact * Rational(48000)).approximate == Double(expected.count))
  }
}
