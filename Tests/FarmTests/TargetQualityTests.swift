import Foundation
import TestPrograms
import Testing

/// Films of a target quality. ffmpeg's own filter is the oracle, against the same film without loss.
@Suite(.ownThreads) struct TargetQualityTests {
  private let files: Workspace

  init() throws {
    files = try Workspace()
  }

  /// Three parts, each of its own kind: drawn and still, drawn and moving with noise, and noise that moves slowly.
  private func makeSource() throws -> String {
    let path = files.path("source.mkv")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc=size=192x108:rate=25:duration=1", "-f", "lavfi", "-i",
      "testsrc2=size=192x108:rate=25:duration=1", "-f", "lavfi", "-i",
      "life=size=192x108:mold=10:rate=25:ratio=0.2:death_color=#202060:life_color=#c0b0a0:seed=5", "-filter_complex",
      "[1]noise=alls=18:allf=t:all_seed=3[b];[2]trim=duration=1,gblur=1.4[c];"
        + "[0]format=yuv420p[x];[b]format=yuv420p[y];[c]format=yuv420p[z];[x][y][z]concat=n=3:v=1:a=0",
      "-c:v", "ffv1", "-g", "25", path)
    return path
  }

  private func edit(_ source: String, to film: String, _ video: String, more: String = "") throws -> String {
    try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" },
        "tracks": [ { "clips": [ { "asset": "a", "use": "0..1" }, { "asset": "a", "use": "1..2" },
          { "asset": "a", "use": "2..3" } ] } ],
        "export": { "to": "\(film)"\(more), "video": \(video) } }
      """, to: "edit-\(UUID().uuidString).json")
  }

  private func render(_ edit: String) async throws {
    let made = try await TestFilm.render(edit, segmentDuration: "1")
    try #require(made.status == 0, "\(made.errors)")
  }

  /// The similarity of each frame, as ffmpeg's filter `ssim` writes it.
  private func similarity(_ film: String, _ reference: String) throws -> [Double] {
    let stats = files.path("ssim-\(UUID().uuidString)")
    try Tool.ffmpeg(
      "-i", film, "-i", reference, "-lavfi",
      "[0:v]settb=1/25,setpts=N[f];[1:v]settb=1/25,setpts=N[r];[f][r]ssim=stats_file=\(stats)", "-an", "-f", "null",
      "-")
    return try String(contentsOfFile: stats, encoding: .utf8).split(separator: "\n").compactMap { line in
      line.split(separator: " ").first { $0.hasPrefix("All:") }.flatMap { Double($0.dropFirst(4)) }
    }
  }

  private func means(_ values: [Double]) -> [Double] {
    stride(from: 0, to: values.count, by: 25).map { start in
      let part = values[start..<min(start + 25, values.count)]
      return part.reduce(0, +) / Double(part.count)
    }
  }

  private static let targets: [(String, Double)] = [
    (#"{ "preset": "veryfast", "targetQuality": { "value": 0.962 } }"#, 0.962),
    (#"{ "codec": "hevc", "preset": "ultrafast", "targetQuality": { "metric": "ssim", "value": 0.981 } }"#, 0.981),
    (#"{ "pixelFormat": "yuv420p10", "preset": "veryfast", "targetQuality": { "value": 0.93 } }"#, 0.93),
  ]

  /// H.264 of 8 bits has the ladder below.
  @Test(arguments: TestExtent.of(Array(targets.dropFirst()), whole: targets))
  func `every segment has the likeness that is asked for`(video: String, value: Double) async throws {
    defer { files.remove() }
    let source = try makeSource()
    let (film, exact) = (files.path("film.mkv"), files.path("exact.mkv"))
    try await render(try edit(source, to: film, video))
    let format = video.contains("p10") ? #", "pixelFormat": "yuv420p10""# : ""
    try await render(try edit(source, to: exact, #"{ "codec": "ffv1"\#(format) }"#))
    let found = means(try similarity(film, exact))
    #expect(found.count == 3 && found.allSatisfy { abs($0 - value) < 0.002 }, "\(found)")
  }

  /// VP9 has whole numbers of quality, so its steps are coarser.
  @Test func `a codec with whole qualities comes as near as they are`() async throws {
    defer { files.remove() }
    let source = try makeSource()
    let (film, exact) = (files.path("film.webm"), files.path("exact.mkv"))
    try await render(
      try edit(source, to: film, #"{ "codec": "vp9", "preset": "5", "targetQuality": { "value": 0.958 } }"#))
    try await render(try edit(source, to: exact, #"{ "codec": "ffv1" }"#))
    let found = means(try similarity(film, exact))
    #expect(found.count == 3 && found.allSatisfy { abs($0 - 0.958) < 0.006 }, "\(found)")
  }

  @Test func `each output of a ladder has its own, and a farm makes the bytes of one machine`() async throws {
    defer { files.remove() }
    let source = try makeSource()
    let outputs = #"""
      , "outputs": [ { "name": "large", "container": "mp4" },
        { "name": "small", "container": "mp4", "height": 54, "video": { "targetQuality": { "value": 0.95 } } } ]
      """#
    let video = #"{ "preset": "veryfast", "targetQuality": { "value": 0.968 } }"#
    let folder = files.path("out")
    try await render(try edit(source, to: folder, video, more: outputs))
    let (exact, small) = (files.path("exact.mkv"), files.path("small.mkv"))
    try await render(try edit(source, to: exact, #"{ "codec": "ffv1" }"#))
    let found = means(try similarity(folder + "/large.mp4", exact))
    #expect(found.allSatisfy { abs($0 - 0.968) < 0.002 }, "\(found)")
    // The scaled film without loss.
    let lossless = #", "outputs": [ { "name": "small", "container": "mkv", "height": 54 } ]"#
    try await render(try edit(source, to: small, #"{ "codec": "ffv1" }"#, more: lossless))
    let reduced = means(try similarity(folder + "/small.mp4", small + "/small.mkv"))
    #expect(reduced.count == 3 && reduced.allSatisfy { abs($0 - 0.95) < 0.002 }, "\(reduced)")

    let farm = try await Farm(workers: 2, slots: 1)
    defer { farm.stop() }
    let again = files.path("farm")
    let made = try await farm.sheaf(
      "submit", try edit(source, to: folder, video, more: outputs), "--segment-duration", "1", "--wait", "-o", again
    ).run()
    try #require(made.status == 0, "\(made.errors)")
    for name in ["large.mp4", "small.mp4"] {
      #expect(
        try Data(contentsOf: URL(fileURLWithPath: "\(again)/\(name)"))
          == Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
    }
  }

  /// A limit of bits comes before the target.
  @Test func `a limit of bits is kept`() async throws {
    defer { files.remove() }
    let source = try makeSource()
    let film = files.path("film.mp4")
    try await render(
      try edit(
        source, to: film,
        #"{ "preset": "veryfast", "targetQuality": { "value": 0.999 }, "maxBitRate": 300000, "bufferDuration": 1 }"#))
    let sizes = try Tool.ffprobe("-select_streams", "v", "-show_entries", "packet=size", film).compactMap {
      Int($0[0])
    }
    #expect(sizes.count == 75 && sizes.reduce(0, +) * 8 < 3 * 300_000 + 300_000, "\(sizes.reduce(0, +))")
  }
}
