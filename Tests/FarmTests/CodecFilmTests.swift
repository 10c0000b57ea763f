import Foundation
import TestPrograms
import Testing

/// Films of every codec, from one machine and from a farm: the same bytes, with picture and sound where the edit has
/// them.
@Suite(.ownThreads, .serialized)
struct CodecFilmTests {
  /// Black frames of 25 a second, of which the one at 1 s is white, and silence but for a pulse whose top is at 1 s.
  private static func source(_ files: Workspace) async throws -> String {
    let pulse = "if(lt(abs(n-48000),48),0.35*(1+cos(PI*(n-48000)/48)),0)"
    let path = files.path("flash.mkv")
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=black:s=96x64:r=25:d=3", "-f", "lavfi", "-i",
      "aevalsrc=exprs='\(pulse)|\(pulse)':s=48000:d=3", "-vf", "drawbox=c=white:t=fill:enable='eq(n,25)'", "-c:v",
      "ffv1",
      "-g", "1", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", path)
    return path
  }

  private static func edit(_ name: String, _ video: String, _ audio: String) -> String {
    """
    { "sheaf": 1, "assets": { "a": "flash.mkv" },
      "tracks": [ { "sound": true, "clips": [ { "asset": "a", "use": "0..3" } ] } ],
      "export": { "to": "\(name)", "video": \(video), "audio": \(audio) } }
    """
  }

  /// The sample of the greatest amplitude, of the first channel at 48 kHz.
  private func peak(_ film: String) async throws -> (sample: Int, count: Int) {
    let raw = film + ".raw"
    _ = try await Command.output(
      "ffmpeg", "-v", "warning", "-y", "-i", film, "-map", "0:a", "-f", "s16le", "-c:a", "pcm_s16le", raw)
    let samples = try Data(contentsOf: URL(fileURLWithPath: raw)).withUnsafeBytes { bytes in
      (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Int16.self) }
    }
    let top = samples.map { abs(Int($0)) }.max() ?? 0
    return (samples.firstIndex { abs(Int($0)) == top } ?? -1, samples.count)
  }

  /// The mean luma of each frame.
  private func brightness(_ film: String) async throws -> [Double] {
    try await Command.output(
      "ffprobe", "-v", "error", "-f", "lavfi", "-i", "movie=\(film),signalstats", "-show_entries",
      "frame_tags=lavfi.signalstats.YAVG", "-of", "csv=p=0"
    ).split(separator: "\n").compactMap { Double($0.trimmingCharacters(in: ["\r", ","])) }
  }

  @Test func `every video codec makes the same film on a farm as on one machine`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    _ = try await Self.source(files)
    let farm = try await Farm(workers: 3, slots: 1)
    defer { farm.stop() }
    // Other tests have films of the others.
    let short = [
      ("hevc", "mov", "alac"), ("prores4444", "mkv", "flac"), ("av1", "mp4", "opus"), ("prores422", "mxf", "pcm"),
    ]
    let whole = [
      ("h264", "mp4", "aac"), ("hevc", "mov", "alac"), ("prores422", "mov", "pcm"), ("prores4444", "mkv", "flac"),
      ("vp9", "webm", "opus"), ("av1", "mp4", "opus"), ("ffv1", "mkv", "pcm"), ("prores422", "mxf", "pcm"),
    ]
    for (codec, container, audio) in TestExtent.of(short, whole: whole) {
      let name = "\(codec).\(container)"
      let interval = ["prores422", "prores4444", "ffv1"].contains(codec) ? 1 : 10
      let edit = try files.write(
        Self.edit(
          name, #"{"codec": "\#(codec)", "keyframeInterval": \#(interval)}"#,
          #"{"codec": "\#(audio)", "sampleRate": 48000}"#),
        to: "\(codec).json")
      let (alone, together) = (files.path("alone-\(name)"), files.path("farm-\(name)"))
      let render = try await TestFilm.render(edit, alone, segmentDuration: "4/5")
      try #require(render.status == 0, "\(codec): \(render.errors)")
      let submit = try await farm.sheaf("submit", edit, "--segment-duration", "4/5", "--wait", "-o", together).run()
      try #require(submit.status == 0, "\(codec): \(submit.errors)")
      #expect(
        try Data(contentsOf: URL(fileURLWithPath: alone)) == Data(contentsOf: URL(fileURLWithPath: together)),
        "\(codec)")

      let decode = try await Command(
        executable: "ffmpeg", arguments: ["-v", "warning", "-i", alone, "-f", "null", "-"]
      ).run()
      let complaints = decode.errors.split(separator: "\n").filter { !$0.contains("Guessed Channel Layout") }
      #expect(decode.status == 0 && complaints.isEmpty, "\(codec): \(decode.errors)")
      let lumas = try await brightness(alone)
      #expect(lumas.count == 75, "\(codec)")
      let brightest = lumas.indices.max { lumas[$0] < lumas[$1] }
      #expect(brightest == 25, "\(codec): \(lumas)")
      let sound = try await peak(alone)
      #expect(abs(sound.sample - 48_000) <= 1, "\(codec) with \(audio): the pulse is at \(sound.sample)")
    }
  }

  @Test func `HDR10's metadata are in the stream of HEVC, the same from one worker and from three`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=3", "-pix_fmt", "yuv420p10le",
      "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace", "bt2020nc", "-c:v", "libx265", "-preset",
      "ultrafast", "-x265-params",
      "log-level=none:max-cll=1200,300:master-display="
        + "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)", files.path("hdr10.mp4"))
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "hdr10.mp4" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "film.mp4", "video": { "codec": "hevc", "preset": "ultrafast", "keyframeInterval": 10 } } }
      """, to: "edit.json")
    var films: [Data] = []
    for workers in ["1", "3"] {
      let film = files.path("film-\(workers).mp4")
      let render = try await Command.sheaf(
        "render", edit, "-o", film, "--segment-duration", "4/5", "--workers", workers, "--store",
        files.path("store-\(workers)")
      ).run()
      try #require(render.status == 0, "\(render.errors)")
      films.append(try Data(contentsOf: URL(fileURLWithPath: film)))
      let stream = files.path("stream-\(workers).hevc")
      _ = try await Command.output(
        "ffmpeg", "-v", "error", "-i", film, "-c", "copy", "-bsf:v", "hevc_mp4toannexb", "-f", "hevc", stream)
      let frames = try await Command.output("ffprobe", "-v", "error", "-of", "json", "-show_frames", stream)
      for field in [#""max_content": 1200"#, #""max_average": 300"#, #""max_luminance": "10000000/10000""#] {
        #expect(frames.components(separatedBy: field).count == 75 + 1, "\(field) of 75 frames")
      }
    }
    #expect(films[0] == films[1])
  }

  @Test func `a container of sound alone has the film's sound, and nothing before its first sample`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    _ = try await Self.source(files)
    for (container, count) in [
      ("m4a", 144_000..<145_024), ("wav", 144_000..<144_001), ("flac", 144_000..<144_001), ("mp3", 144_000..<144_001),
      ("ogg", 144_000..<144_001),
    ] {
      let edit = try files.write(Self.edit("sound.\(container)", "true", #"{"sampleRate": 48000}"#), to: "edit.json")
      let output = files.path("sound.\(container)")
      let render = try await TestFilm.render(edit, output)
      try #require(render.status == 0, "\(container): \(render.errors)")
      let sound = try await peak(output)
      #expect(abs(sound.sample - 48_000) <= 1 && count.contains(sound.count), "\(container): \(sound)")
      let duration = try await Command.output(
        "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", output)
      #expect(
        abs(try #require(Double(duration.trimmingCharacters(in: .whitespacesAndNewlines))) - 3) < 0.05, "\(container)")
    }
  }
}
