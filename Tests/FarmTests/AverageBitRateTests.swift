import Foundation
import TestPrograms
import Testing

/// A film of an average bit rate: its bits are where its pictures need them, and it is the same on any farm. The oracle
/// is two passes of `ffmpeg` over the same pictures.
@Suite(.ownThreads) struct AverageBitRateTests {
  private struct Size {
    var width: Int
    var height: Int
    /// Of a film, in bits a second.
    var rate: Int
  }

  private static let size = Size(width: 256, height: 144, rate: 320_000)
  /// x265 takes ten times as long for a picture.
  private static let smallSize = Size(width: 128, height: 72, rate: 100_000)
  private static let seconds = 8

  /// Four quiet seconds, and four busy ones.
  private static func source(_ path: String, _ size: Size) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i",
      "mandelbrot=s=\(size.width)x\(size.height):r=25:end_scale=0.3:end_pts=1500", "-f",
      "lavfi",
      "-i", "testsrc2=s=\(size.width)x\(size.height):r=25", "-filter_complex",
      "[0:v]trim=duration=4,format=yuv420p[a];[1:v]trim=duration=4,format=yuv420p,"
        + "noise=alls=12:allf=t+u:all_seed=3,rotate=t/9[b];[a][b]concat[v]",
      "-map", "[v]", "-c:v", "ffv1", "-g", "1", path)
  }

  private static func document(_ source: String, _ size: Size, _ video: String) -> String {
    """
    { "sheaf": 1, "assets": { "a": "\(source)" },
      "tracks": [ { "id": "A", "type": "video", "sound": false, "clips": [ { "asset": "a" } ] } ],
      "videoComposition": { "renderSize": [\(size.width), \(size.height)], "frameDuration": "1/25" },
      "export": { "to": "film.mkv", "video": \(video), "audio": false } }
    """
  }

  private static func h264(_ rate: Int) -> String {
    "{ \"bitRate\": \(rate), \"preset\": \"veryfast\", \"keyframeInterval\": 50 }"
  }

  /// The bits of the frames in each half of the film.
  private func bits(_ film: String) async throws -> (first: Int, second: Int) {
    let text = try await Command.output(
      "ffprobe", "-v", "error", "-show_entries", "packet=pts_time,size", "-of", "csv=p=0", film)
    let half = Double(Self.seconds) / 2
    var bits = (first: 0, second: 0)
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ",")
      let (time, size) = (try #require(Double(fields[0])), try #require(Int(fields[1])))
      if time < half - 0.001 { bits.first += 8 * size } else { bits.second += 8 * size }
    }
    return bits
  }

  /// The mean of the frames' PSNR, in dB.
  private func quality(_ film: String, _ reference: String, _ log: String) async throws -> Double {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-i", film, "-i", reference, "-lavfi",
      "[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]psnr=stats_file=\(log)", "-f", "null", "-")
    let text = try String(contentsOfFile: log, encoding: .utf8)
    let values = text.split(whereSeparator: \.isWhitespace).filter { $0.hasPrefix("psnr_avg:") }
      .compactMap { Double($0.dropFirst("psnr_avg:".count)) }
    #expect(values.count == 25 * Self.seconds)
    return values.reduce(0, +) / Double(values.count)
  }

  /// x265 is held to a segment's share by encoding it again.
  @Test
  func `a film of HEVC has its bit rate, and the quality of two passes`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let source = files.path("source.mkv")
    let size = Self.smallSize
    try await Self.source(source, size)
    let edit = try files.write(
      Self.document(
        source, size,
        "{ \"codec\": \"hevc\", \"bitRate\": \(size.rate), \"preset\": \"superfast\", \"keyframeInterval\": 50 }"),
      to: "edit.json")
    var films: [String] = []
    for workers in TestExtent.of([3], whole: [1, 3]) {
      films.append(files.path("film\(workers).mkv"))
      let render = try await Command.sheaf(
        "render", edit, "-o", films.last ?? "", "--store", files.path("store\(workers)"), "--segment-duration", "2",
        "--workers", "\(workers)"
      ).run()
      try #require(render.status == 0, "\(render.errors)")
    }
    for film in films.dropFirst() { #expect(FileManager.default.contentsEqual(atPath: films[0], andPath: film)) }
    let found = try await bits(films[0])
    #expect(abs(Double(found.first + found.second) / Double(size.rate * Self.seconds) - 1) < 0.02, "\(found)")

    let passes = files.path("passes.mkv")
    for pass in [["pass=1", "null", "-"], ["pass=2", "matroska", passes]] {
      let encoder = ["-c:v", "libx265", "-preset", "superfast", "-g", "50", "-b:v", "\(size.rate)"]
      let parameters = ["-x265-params", "log-level=error:stats=\(files.path("stats")):\(pass[0])", "-f"]
      let arguments = ["-v", "error", "-i", source] + encoder + parameters + pass.dropFirst()
      _ = try await Command(executable: "ffmpeg", arguments: arguments).run()
    }
    let ours = try await quality(films[0], source, files.path("ours"))
    let theirs = try await quality(passes, source, files.path("theirs"))
    #expect(ours > theirs - 0.3, "\(ours) dB, where two passes have \(theirs)")
  }

  @Test
  func `a film has its bit rate, its bits where they are needed, and the quality of two passes`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let source = files.path("source.mkv")
    let size = Self.size
    try await Self.source(source, size)
    let edit = try files.write(Self.document(source, size, Self.h264(size.rate)), to: "edit.json")
    let film = files.path("film.mkv")
    let one = try await Command.sheaf(
      "render", edit, "-o", film, "--store", files.path("one"), "--segment-duration", "2", "--workers", "1"
    ).run()
    try #require(one.status == 0, "\(one.errors)")

    let found = try await bits(film)
    #expect(abs(Double(found.first + found.second) / Double(size.rate * Self.seconds) - 1) < 0.02)
    // Two passes of ffmpeg give it about twice the bits of the quiet half.
    #expect(Double(found.second) > 1.4 * Double(found.first))

    let log = files.path("passes")
    let passes = files.path("passes.mkv")
    for pass in [["-pass", "1", "-f", "null", "-"], ["-pass", "2", passes]] {
      let encoder = ["-c:v", "libx264", "-preset", "veryfast", "-g", "50", "-b:v", "\(size.rate)"]
      let arguments = ["-v", "error", "-i", source] + encoder + ["-passlogfile", log] + pass
      _ = try await Command(executable: "ffmpeg", arguments: arguments).run()
    }
    let ours = try await quality(film, source, files.path("ours"))
    let theirs = try await quality(passes, source, files.path("theirs"))
    #expect(ours > theirs - 0.3, "\(ours) dB, where two passes have \(theirs)")

    // Tasks at the same time, in another order, give the same bytes.
    let again = files.path("again.mkv")
    let three = try await TestFilm.render(edit, again, segmentDuration: "2")
    try #require(three.status == 0, "\(three.errors)")
    #expect(FileManager.default.contentsEqual(atPath: film, andPath: again))

    // Nothing is measured again for another bit rate.
    let other = try files.write(Self.document(source, size, Self.h264(2 * size.rate)), to: "other.json")
    let second = try await Command.sheaf(
      "render", other, "-o", files.path("other.mkv"), "--store", files.path("one"), "--segment-duration", "2"
    ).run()
    try #require(second.status == 0, "\(second.errors)")
    #expect(one.errors.contains("measuring: measured") && !second.errors.contains("measuring"), "\(second.errors)")
  }
}
