import Foundation
import TestPrograms
import Testing

/// Films whose keyframes are at the multiples of an interval, as `ffprobe` reads them.
@Suite(.ownThreads) struct FixedKeyframeTests {
  /// Pictures with scene changes and keyframes that are not at the multiples of anything.
  private static func source(_ path: String) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=30000/1001:d=4", "-f", "lavfi", "-i",
      "mandelbrot=s=96x64:r=30000/1001:end_pts=400", "-filter_complex",
      "[1:v]trim=duration=3[b];[0:v][b]concat,format=yuv420p[v]", "-map", "[v]", "-c:v", "libx264", "-preset",
      "ultrafast", "-g", "47", "-keyint_min", "11", path)
  }

  /// Cuts at other frames than keyframes of the source or the film.
  private static func document(_ export: String) -> String {
    """
    { "sheaf": 1, "assets": { "a": "source.mp4" },
      "tracks": [ { "clips": [ { "asset": "a", "use": "0.7..3.13" }, { "asset": "a", "use": "2.2..6.9" },
        { "asset": "a", "use": "1..1.4" } ] } ],
      "videoComposition": { "frameDuration": "1001/30000" }, "export": \(export) }
    """
  }

  /// The numbers of the frames that are keyframes, and of all frames.
  private func frames(_ film: String) async throws -> (keyframes: [Int], count: Int) {
    let text = try await Command.output(
      "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time,flags", "-of", "csv=p=0",
      film)
    let packets = text.split(separator: "\n").map { $0.split(separator: ",") }
    let times = packets.compactMap { Double($0[0]) }.sorted()
    let keys = packets.filter { $0[1].contains("K") }.compactMap { Double($0[0]) }.sorted()
    return (keys.compactMap { times.firstIndex(of: $0) }, times.count)
  }

  private func expected(_ seconds: Double, in count: Int) -> [Int] {
    var (multiple, found) = (0, [Int]())
    for frame in 0..<count where Double(frame) * 1001 / 30000 >= Double(multiple) * seconds - 1e-9 {
      found.append(frame)
      multiple += 1
    }
    return found
  }

  private static let intervals: [(String, Double, String)] = TestExtent.of(
    [("\"3/4\"", 0.75, "5/2"), ("20", 20 * 1001 / 30000.0, "1")],
    whole: [("\"3/4\"", 0.75, "1"), ("\"3/4\"", 0.75, "5/2"), ("20", 20 * 1001 / 30000.0, "1")])

  @Test(arguments: intervals)
  func `all renditions have their keyframes at the multiples of the interval`(
    interval: String, seconds: Double, segments: String
  ) async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mp4"))
    let edit = try files.write(
      Self.document(
        """
        { "video": { "codec": "h264", "preset": "veryfast", "keyframeInterval": \(interval) }, "audio": false,
          "outputs": [ { "name": "h264", "container": "mp4" },
            { "name": "rate", "container": "mp4", "video": { "bitRate": 300000 } },
            { "name": "hevc", "container": "mov", "video": { "codec": "hevc", "preset": "ultrafast" } },
            { "name": "vp9", "container": "webm", "video": { "codec": "vp9", "preset": "5" } },
            { "name": "av1", "container": "mp4", "video": { "codec": "av1", "preset": "12" } },
            { "name": "ffv1", "container": "mkv", "video": { "codec": "ffv1" } } ] }
        """), to: "edit.json")
    let made = try await TestFilm.render(edit, files.path("films"), segmentDuration: segments)
    try #require(made.status == 0, "\(made.errors)")
    for name in ["h264.mp4", "rate.mp4", "hevc.mov", "vp9.webm", "av1.mp4"] {
      let found = try await frames(files.path("films/\(name)"))
      #expect(found.count > 220)
      #expect(found.keyframes == expected(seconds, in: found.count), "\(name)")
    }
    let lossless = try await frames(files.path("films/ffv1.mkv"))
    #expect(lossless.keyframes.count == lossless.count)
  }

  @Test(arguments: ["h264", "hevc"])
  func `where the picture changes there are more if the document asks for them`(codec: String) async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mp4"))
    let edit = try files.write(
      Self.document(
        """
        { "audio": false, "video": { "codec": "\(codec)", "preset": "veryfast",
          "keyframeInterval": "3/2", "sceneCuts": true } }
        """), to: "edit.json")
    let film = files.path("film.mp4")
    let made = try await TestFilm.render(edit, film)
    try #require(made.status == 0, "\(made.errors)")
    let found = try await frames(film)
    let grid = expected(1.5, in: found.count)
    #expect(Set(grid).isSubset(of: found.keyframes), "\(found.keyframes)")
    #expect(found.keyframes.count > grid.count, "\(found.keyframes)")
  }
}
