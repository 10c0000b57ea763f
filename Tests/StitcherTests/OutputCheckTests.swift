import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

@testable import Stitcher

/// What is written is read again: ffmpeg writes the files, and faults are put into them.
@Suite struct OutputCheckTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func film(_ name: String, _ options: String...) throws -> String {
    let path = folder.path(name)
    _ = try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=2", "-f", "lavfi", "-i", "sine=r=48000:d=2", "-c:v",
        "libx264", "-g", "10", "-bf", "2", "-c:a", "aac",
      ] + options + [path])
    return path
  }

  private static let video = OutputCheck.Track(
    type: .video, codec: "h264", packetCount: 50, end: 2, longestPacket: 0.04)
  /// 94 packets of 1024 samples, and one of priming.
  private static let audio = OutputCheck.Track(
    type: .audio, codec: "aac", packetCount: 95, end: 2, longestPacket: 0.022)

  private func check(
    _ path: String, _ container: Container = .mp4, _ tracks: [OutputCheck.Track] = [video, audio], texts: Int = 0
  ) throws {
    try OutputCheck.check(openSource(path), container: container, tracks: tracks, textCount: texts, liveness: nil)
  }

  private func message(
    _ path: String, _ container: Container = .mp4, _ tracks: [OutputCheck.Track] = [video, audio], texts: Int = 0
  ) -> String {
    do {
      try check(path, container, tracks, texts: texts)
      return "agrees"
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: [Container.mp4, .mov, .mkv, .m4v]) func `a film as it was planned agrees`(container: Container)
    throws
  {
    let path = try film("film.\(container.rawValue)")
    #expect(message(path, container) == "agrees")
  }

  @Test func `every difference from the plan is found`() throws {
    let path = try film("film.mp4")
    func with(_ change: (inout OutputCheck.Track) -> Void) -> String {
      var track = Self.video
      change(&track)
      return message(path, .mp4, [track, Self.audio])
    }
    #expect(with { $0.packetCount = 51 }.hasSuffix("track 0 (h264) has 50 packets, and not 51"))
    #expect(with { ($0.end, $0.latestEnd) = (2.04, 2.04) }.hasSuffix("track 0 (h264) ends at 2.0 s, and not at 2.04 s"))
    #expect(with { $0.codec = "hevc" }.hasSuffix("it has the tracks h264, aac, and not hevc, aac"))
    #expect(message(path, .mp4, [Self.video]).hasSuffix("it has the tracks h264, aac, and not h264"))
    #expect(message(path, texts: 1).hasSuffix("it has 0 tracks of captions, and not 1"))
  }

  @Test func `a film in whose index no picture is shown is refused`() throws {
    // The only picture begins before the edit list.
    let held = folder.path("held.mp4")
    _ = try Tool.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x48:rate=1/60:duration=60", "-c:v", "libx264", held)
    let cut = folder.path("cut.mp4")
    _ = try Tool.ffmpeg("-ss", "10", "-i", held, "-t", "10", "-c", "copy", cut)
    let track = OutputCheck.Track(type: .video, codec: "h264", packetCount: 1, end: 10, longestPacket: 60)
    #expect(message(cut, .mp4, [track]).contains("shows no picture"))
  }

  @Test func `a film whose first pictures cannot be decoded is refused`() throws {
    let path = try film("film.mp4", "-an")
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let places = try Tool.run(
      "ffprobe", ["-v", "error", "-show_entries", "packet=pos,size", "-of", "csv=p=0", path]
    ).output
    for line in String(decoding: places, as: UTF8.self).split(separator: "\n") {
      let fields = line.split(separator: ",").compactMap { Int($0) }
      // No NAL unit is as long as these bytes say.
      for place in fields[1]..<(fields[1] + fields[0]) { data[place] = 0xFF }
    }
    let broken = try folder.write(data, "broken.mp4")
    #expect(message(path, .mp4, [Self.video]) == "agrees")
    #expect(message(broken, .mp4, [Self.video]).contains("cannot be decoded"))
  }

  @Test func `a file that ends early is refused`() throws {
    let path = try film("film.mkv")
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    let cut = try folder.write(data.prefix(data.count / 2), "cut.mkv")
    #expect(message(cut, .mkv).contains("ends at"))
    let empty = try folder.write(Data(), "empty.mkv")
    #expect(message(empty, .mkv).contains("the file is empty"))
  }
}
