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
        decodeFrom: start, state: video.decoderState(at: start), shownAt: nil)
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

  /// The IDR picture of each copy is lost, so that the order of pictures goes on from the copy before.
  @Test func `copies of a transport stream one after the other have starts`() throws {
    let (part, path) = (scratch.path("part.ts"), scratch.path("copies.ts"))
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=s=320x180:r=50:d=6,noise=alls=40:allf=t", "-pix_fmt", "yuv420p", "-c:v", "libx264",
      "-preset", "ultrafast", "-g", "50", "-bf", "2", part)
    try Tool.ffmpeg("-stream_loop", "2", "-i", part, "-c", "copy", path)
    let frames = try Tool.ffprobe("-show_entries", "frame=pts,best_effort_timestamp", path)
      .map { $0.prefix(2).compactMap { Int64($0) } }.filter { $0.count == 2 }
    #expect(frames.count > 800 && frames.allSatisfy { $0[0] == $0[1] })
    let video = try #require(AssetProbe.probe(openSource(path), name: path).defaultTrack(.video)?.video)
    #expect(video.keyframes.count >= 15 && video.startsProvedBy != .headOnly)
  }

  @Test(
    arguments: [
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
    ].spread(8))
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

  @Test(
    arguments: [
      ("svq1.mov", ["-c:v", "svq1"]), ("qtrle.mov", ["-c:v", "qtrle"]),
      ("zmbv.avi", ["-c:v", "zmbv"]), ("snow.avi", ["-c:v", "snow", "-strict", "-2"]), ("h261.avi", ["-c:v", "h261"]),
      ("cinepak.avi", ["-c:v", "cinepak"]), ("flashsv.flv", ["-c:v", "flashsv"]), ("rv20.rm", ["-c:v", "rv20"]),
    ].spread(4))
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

  private static let matrix = (0..<64).map { "\(16 + $0)" }.joined(separator: ",")

  @Test(
    arguments: [
      (
        "h264", ["libx264", "-x264-params", "ref=1:cabac=1:weightp=0:aud=1"],
        ["libx264", "-x264-params", "ref=4:cabac=0:aud=1"]
      ),
      (
        "hevc", ["libx265", "-preset", "ultrafast", "-x265-params", "aud=1"],
        ["libx265", "-preset", "fast", "-x265-params", "aud=1"]
      ),
      ("mpegvideo", ["mpeg2video"], ["mpeg2video", "-inter_matrix", Self.matrix]),
      ("m4v", ["mpeg4"], ["mpeg4", "-flags", "+qpel"]),
    ].spread(2))
  func `a start has the headers of its part of a joined stream`(
    codec: String, first: [String], second: [String]
  ) throws {
    var joined = Data()
    for (number, encoder) in [first, second].enumerated() {
      let path = scratch.path("part\(number)")
      _ = try Tool.ffmpeg(
        Self.picture + ["-pix_fmt", "yuv420p", "-c:v"] + encoder + [
          "-g", "20", "-bf", "0", "-f", codec == "mpegvideo" ? "mpeg2video" : codec, path,
        ])
      joined += JoinedStreams.withHeadersOnce(try Data(contentsOf: URL(fileURLWithPath: path))) {
        JoinedStreams.header(of: codec, $0, $1)
      }
    }
    let stream = scratch.path("joined")
    try joined.write(to: URL(fileURLWithPath: stream))
    let containers = ["h264": ["ts", "mkv", "mp4", "flv"], "m4v": ["mkv", "avi"]][codec] ?? ["ts", "mkv"]
    for container in containers {
      let path = scratch.path("joined.\(container)")
      _ = try Tool.ffmpeg("-fflags", "+genpts", "-r", "25", "-f", codec, "-i", stream, "-c", "copy", path)
      let video = try compare(path)
      #expect(video.keyframes.count >= 7, "\(container): \(video.keyframes.count) starts")
      #expect((1...2).contains(video.decoderStates?.count ?? 0), "\(container)")
    }
  }

  /// A program stream gives no time to a packet that begins in a pack together with another.
  @Test(arguments: ["mpeg2video", "mpeg1video"])
  func `times that packets lack follow from the order of the pictures`(encoder: String) throws {
    let path = scratch.path("movie.mpg")
    _ = try Tool.ffmpeg(
      Self.picture + ["-pix_fmt", "yuv420p", "-c:v", encoder, "-q:v", "31", "-bf", "2", "-g", "12", path])
    let stored = try Tool.ffprobe("-select_streams", "v", "-show_entries", "packet=pts", path)
    #expect(stored.contains { $0.first == "N/A" })
    let video = try compare(path)
    let probed = try Tool.ffprobe("-select_streams", "v", "-show_entries", "frame=best_effort_timestamp", path)
    let times = probed.map { $0.first.flatMap { Int64($0) } }
    // ffprobe has none for the last picture, after which none is decoded.
    #expect(times.count == video.frames.count && times.dropLast().allSatisfy { $0 != nil })
    for (time, other) in zip(video.frames.times, times) where other != nil { #expect(time == other) }
    #expect(video.keyframes.count >= 2)
  }

  /// libavformat's muxers take the decoding times of Xvid's packets for presentation times.
  @Test func `decoding times that are stored as presentation times are no starts' times`() throws {
    let path = scratch.path("movie.mkv")
    _ = try Tool.ffmpeg(Self.picture + ["-c:v", "libxvid", "-bf", "2", "-g", "24", path])
    let video = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video)?.video)
    #expect(video.keyframes.isEmpty)
    #expect(video.startsProvedBy == .headOnly)
  }

  /// Cameras write Motion JPEG whose tables are in the first picture only.
  @Test(arguments: ["avi", "mov", "mkv"], [[0xDB], [0xDB, 0xC4]] as [Set<UInt8>])
  func `a start has the tables of a JPEG picture before it`(container: String, leftOut: Set<UInt8>) throws {
    let pictures = scratch.path("pictures.mjpeg")
    _ = try Tool.ffmpeg(
      Self.picture + ["-pix_fmt", "yuvj420p", "-c:v", "mjpeg", "-q:v", "7", "-huffman", "default", pictures])
    let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: pictures)))
    var (abbreviated, offset, isFirst): (Data, Int, Bool) = (Data(), 0, true)
    while offset + 4 <= bytes.count {
      let (marker, start) = (bytes[offset + 1], offset)
      var isKept = true
      if bytes[offset] == 0xFF, (0xC0...0xFE).contains(marker), !(0xD0...0xD9).contains(marker) {
        offset += 2 + Int(bytes[offset + 2]) << 8 + Int(bytes[offset + 3])
        isKept = isFirst || !leftOut.contains(marker)
        if marker == 0xDA { isFirst = false }
      } else {
        offset += 1
      }
      if isKept { abbreviated += bytes[start..<offset] }
    }
    abbreviated += bytes[offset...]
    let stream = scratch.path("abbreviated.mjpeg")
    let path = scratch.path("movie.\(container)")
    try abbreviated.write(to: URL(fileURLWithPath: stream))
    _ = try Tool.ffmpeg("-r", "25", "-f", "mjpeg", "-i", stream, "-c", "copy", path)
    let video = try compare(path)
    #expect(video.keyframes.count >= 10)
    #expect(video.decoderStates?.isEmpty == false)
  }

  @Test(arguments: ["h263", "h263p"])
  func `an intra picture of H.263 with overlapped motion compensation is no start`(encoder: String) throws {
    for hasOverlap in [false, true] {
      let path = scratch.path("\(hasOverlap).avi")
      _ = try Tool.ffmpeg(Self.picture + ["-c:v", encoder, "-obmc", hasOverlap ? "1" : "0", "-g", "20", path])
      #expect(try compare(path).keyframes.isEmpty == hasOverlap)
    }
  }

  /// A stream of H.264 that does not state that its pictures are reordered, as it is copied from a file of its bare
  /// packets.
  @Test(arguments: ["mp4", "mov"])
  func `decoding times of B slices are no starts' times`(container: String) throws {
    let stream = scratch.path("movie.h264")
    _ = try Tool.ffmpeg(
      Self.picture + [
        "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-bf", "3", "-b_strategy", "0", "-g", "25",
        stream,
      ])
    var data = try Data(contentsOf: URL(fileURLWithPath: stream))
    // The sequence parameter set without its video usability information, as long as it was.
    let header = try #require(data.range(of: Data([0, 0, 0, 1, 0x67])))
    let next = try #require(data[header.upperBound...].range(of: Data([0, 0, 0, 1, 0x68])))
    let old = Data(data[header.lowerBound..<next.lowerBound])
    let stated: [UInt8] = [0, 0, 0, 1, 0x67, 0x64, 0, 0x0B, 0xAC, 0xD9, 0x42, 0xC4, 0xEC]
    try #require(old.starts(with: stated))
    let bare = Data(stated.dropLast() + [0xE4]) + Data(count: old.count - stated.count)
    while let place = data.range(of: old) { data.replaceSubrange(place, with: bare) }
    try data.write(to: URL(fileURLWithPath: stream))
    let path = scratch.path("movie.\(container)")
    _ = try Tool.ffmpeg("-fflags", "+genpts", "-r", "25", "-f", "h264", "-i", stream, "-c", "copy", path)
    let times = try Tool.ffprobe("-select_streams", "v", "-show_entries", "packet=pts,dts", path)
    try #require(times.count > 70 && times.allSatisfy { $0.count >= 2 && $0[0] == $0[1] })
    let video = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video)?.video)
    #expect(video.keyframes.isEmpty)
    #expect(video.startsProvedBy == .headOnly)
  }

  /// Builds of x264 before 151 code lossless pictures and 4:4:4 in another way than the standard, and only the first
  /// packet names the build.
  @Test func `a start has the encoder's version`() throws {
    let path = scratch.path("movie.mkv")
    _ = try Tool.ffmpeg(
      Self.picture + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-qp", "0", "-bf", "0", "-g", "20", path])
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let version = try #require(data.range(of: Data("x264 - core ".utf8)))
    data.replaceSubrange(version.upperBound..<(version.upperBound + 3), with: Data("148".utf8))
    try data.write(to: URL(fileURLWithPath: path))
    let video = try compare(path)
    #expect(video.keyframes.count >= 4)
    #expect(video.decoderStates?.count == 1)
    #expect(video.keyframes.map(\.state) == [-1] + Array(repeating: 0, count: video.keyframes.count - 1))
    let coded = try JSONEncoder().encode(video)
    #expect(try JSONDecoder().decode(VideoFormat.self, from: coded) == video)
  }

  @Test(arguments: [
    ["mpeg2video", "-bf", "2"], ["libx264", "-preset", "veryfast"], ["libx264", "-preset", "veryfast", "-bf", "0"],
  ])
  func `pictures of a damaged stretch are the same at any cut`(encoder: [String]) throws {
    let path = scratch.path("movie.ts")
    _ = try Tool.ffmpeg(
      Self.picture + ["-pix_fmt", "yuv420p", "-c:v"] + encoder + ["-g", "8", "-b:v", "800k", path])
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    // Lose packets of the transport stream here and there.
    for packet in stride(from: 200, to: data.count / 188, by: 97).reversed() {
      data.removeSubrange((packet * 188)..<((packet + 2) * 188))
    }
    try data.write(to: URL(fileURLWithPath: path))
    let video = try compare(path)
    let damaged = try #require(video.damagedFrames)
    #expect(damaged.count > 2 && damaged.count < video.frames.count / 2)
    for (start, next) in zip(video.keyframes, video.keyframes.dropFirst()) where next.pts - start.pts <= 32 * 3600 {
      #expect(damaged.last(atOrBefore: start.pts + 3600).map { $0 < start.pts } ?? true)
    }
  }

  @Test func `pictures that cannot be decoded are described as damaged`() throws {
    let path = scratch.path("movie.mov")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=4", "-pix_fmt", "yuv410p", "-c:v", "svq1", path)
    let packets = try Tool.ffprobe("-select_streams", "v", "-show_entries", "packet=pts,size,pos", path)
    try #require(packets.count == 100)
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    for packet in [packets[30], packets[31], packets[70]] {
      let (size, position) = (try #require(Int(packet[1])), try #require(Int(packet[2])))
      data.resetBytes(in: position..<position + size)
    }
    try data.write(to: URL(fileURLWithPath: path))
    let video = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video)?.video)
    #expect(video.frames.count == 97)
    #expect(video.damagedFrames?.times == [30, 31, 70].compactMap { Int64(packets[$0][0]) })
  }

  /// A demuxer hands a palette or a setup record on beside the packet that follows it, and leaves it out after a seek.
  @Test(arguments: ["avi", "mov"], ["", "=new=1"])
  func `a start has its palette`(container: String, use: String) throws {
    let path = scratch.path("movie.\(container)")
    let palette = use.isEmpty ? "palettegen" : "palettegen=stats_mode=single"
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-filter_complex",
      "split[a][b];[a]\(palette)[p];[b][p]paletteuse\(use)", "-pix_fmt", "pal8", "-c:v", "rawvideo", path)
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video))
    let video = try #require(track.video)
    let decoded = try Tool.ffmpeg("-i", path, "-vsync", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
    let size = 64 * 48 * 3
    try #require(decoded.count == 25 * size && video.frames.count == 25)
    let pal8 = try #require(FrameFormat(name: "pal8"))
    let rgb = try #require(FrameFormat(name: "rgb24"))
    let scaler = try FrameScaler(
      from: .init(size: video.size, format: pal8, colour: video.colour),
      to: .init(size: video.size, format: rgb, colour: video.colour))
    #expect(video.keyframes.count >= 4)
    for start in video.keyframes {
      let first = try #require(video.frames.times.firstIndex(of: start.pts))
      let reader = try VideoReader(
        source: openSource(path), name: path, track: track.index, codec: track.codec, timebase: track.timebase,
        decodeFrom: start, state: video.decoderState(at: start), shownAt: nil)
      for index in first..<25 {
        let frame = try #require(try reader.next())
        let picture = try Frame(size: video.size, format: rgb)
        try scaler.scale(frame, into: picture)
        #expect(picture.pixels == decoded.dropFirst(index * size).prefix(size), "frame \(index) from \(first)")
      }
    }
  }

  @Test func `a start has the setup record of its part of a joined file`() throws {
    var joined = Data()
    for (number, options) in ["ref=1:cabac=1", "ref=4:cabac=0"].enumerated() {
      let path = scratch.path("part\(number).flv")
      _ = try Tool.ffmpeg(
        Self.picture + [
          "-pix_fmt", "yuv420p", "-c:v", "libx264", "-x264-params", options, "-bf", "0", "-g", "20", path,
        ])
      var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
      var offset = 13
      while number == 1, offset + 11 < bytes.count {
        // The second part's tags are three seconds later.
        let time = bytes[(offset + 4)..<(offset + 7)].reduce(0) { $0 << 8 | Int($1) } + 3000
        for index in 0..<3 { bytes[offset + 4 + index] = UInt8(time >> (16 - 8 * index) & 255) }
        offset += 15 + bytes[(offset + 1)..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
      }
      joined += bytes.dropFirst(number == 0 ? 0 : 13)
    }
    let path = scratch.path("joined.flv")
    try joined.write(to: URL(fileURLWithPath: path))
    let video = try compare(path)
    #expect(video.keyframes.count >= 7)
    #expect(video.decoderStates?.contains { $0.record != nil } == true)
  }
}
