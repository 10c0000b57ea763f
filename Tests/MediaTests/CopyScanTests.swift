import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// What a probe finds out of a track for smart rendering; ffprobe and ffmpeg are the oracles.
@Suite struct CopyScanTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func made(_ name: String, _ options: String...) throws -> String {
    let path = scratch.path(name)
    try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=3", "-pix_fmt", "yuv420p", "-threads", "1"]
        + options.flatMap { $0.split(separator: " ").map(String.init) } + [path])
    return path
  }

  private func video(_ path: String) throws -> VideoFormat {
    let description = try AssetProbe.probe(openSource(path), name: "a file")
    return try #require(description.defaultTrack(.video)?.video)
  }

  @Test(arguments: ["x.mp4", "x.mkv"], ["-g 25", "-g 30 -bf 4 -x264-params b-pyramid=2", "-g 20 -bf 0"])
  func `a run can end where as many pictures are decoded as are shown`(name: String, options: String) throws {
    let path = try made(name, "-c:v libx264 \(options)")
    let format = try video(path)
    let copyable = try #require(format.copyable)
    #expect(copyable.obstacle == nil && copyable.parameterSets.first == 1)
    let packets = try Tool.ffprobe("-select_streams", "v", "-show_entries", "packet=pts,flags", path).map { fields in
      (pts: try #require(Int64(fields[0])), isKey: fields[1].hasPrefix("K"))
    }
    let times = packets.map(\.pts).sorted()
    #expect(format.frames.times == times)
    var depth = 0
    var start = 0
    for (index, packet) in packets.enumerated() {
      if packet.isKey { start = index }
      let place = try #require(times.firstIndex(of: packet.pts))
      depth = max(depth, index - place)
      let end = try #require(times.firstIndex(of: packets[start...index].map(\.pts).max() ?? 0))
      let isWhole = Set(packets[start...index].map(\.pts)) == Set(times[start...end])
      if isWhole { #expect(copyable.canEnd(with: end), "frame \(end)") }
    }
    #expect(copyable.reorderDepth == depth)
    let ends = (0..<times.count).count(where: copyable.canEnd)
    let expected = packets.indices.count { index in
      let key = packets[...index].lastIndex(where: \.isKey) ?? 0
      let latest = packets[key...index].map(\.pts).max() ?? 0
      return Set(packets[key...index].map(\.pts)) == Set(times.filter { packets[key].pts <= $0 && $0 <= latest })
    }
    #expect(ends == expected && ends > 3)
  }

  @Test(arguments: [
    ("x.mp4", "-c:v libx264 -flags +ildct+ilme -x264opts tff=1", "it may have fields"),
    ("x.mp4", "-c:v libx264 -x264-params cqm=jvt", "it has scaling matrices"),
    ("x.mp4", "-c:v libx264 -qp 0", "its profile allows pictures without loss"),
    ("x.ts", "-c:v libx264", "its units follow start codes"),
    ("x.mp4", "-c:v libx264 -x264-params chroma-qp-offset=12", "the quantiser of its chroma is higher by"),
  ]) func `what cannot be copied has its reason`(name: String, options: String, reason: String) throws {
    let copyable = try #require(try video(try made(name, options)).copyable)
    #expect(copyable.obstacle?.hasPrefix(reason) == true, "\(copyable.obstacle ?? "none")")
    #expect(copyable.ends.isEmpty && copyable.parameterSets.isEmpty)
  }

  @Test func `parameter sets that change are found, and so are sizes of VP9 that do`() throws {
    let (first, second) = (try made("a.h264", "-c:v libx264 -bf 0"), try made("b.h264", "-c:v libx264 -bf 0 -refs 5"))
    let joined = try Data(contentsOf: URL(fileURLWithPath: first)) + Data(contentsOf: URL(fileURLWithPath: second))
    let file = try scratch.write(joined, "joined.h264")
    let path = scratch.path("joined.mp4")
    try Tool.ffmpeg("-r", "25", "-i", file, "-c", "copy", path)
    #expect(try video(path).copyable?.obstacle == "its parameter sets change")
    let vp9 = try video(try made("x.webm", "-c:v libvpx-vp9 -cpu-used 8 -deadline realtime -g 25")).copyable
    #expect(vp9?.obstacle == nil && vp9?.reorderDepth == 0)
    #expect((0..<75).allSatisfy { vp9?.canEnd(with: $0) == true })
  }

  @Test func `a description keeps it, and other codecs have none`() throws {
    let stream = CopyableStream(parameterSets: [1, 2], reorderDepth: 2, ends: (0..<19).map { $0 % 3 == 0 })
    let read = try JSONDecoder().decode(CopyableStream.self, from: JSONEncoder().encode(stream))
    #expect(read == stream && (0..<24).allSatisfy { read.canEnd(with: $0) == ($0 < 19 && $0 % 3 == 0) })
    #expect(!read.canEnd(with: -1) && !read.canEnd(with: 1000))
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(CopyableStream.self, from: Data(#"{"reorderDepth": 17}"#.utf8))
    }
    #expect(try video(try made("x.mov", "-c:v mpeg4")).copyable == nil)
  }
}
