import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Two films are compared. ffmpeg makes them, and is the reference for digests and differences.
@Suite struct FilmComparerTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func film(_ name: String, _ arguments: String...) throws -> String {
    try Tool.ffmpeg(arguments + [folder.path(name)])
    return folder.path(name)
  }

  private func compare(
    _ film: String, _ other: String?, share: ComparisonRequest.Share? = nil
  ) throws -> FilmComparison {
    let container = try Container(path: film)
    return try FilmComparer.compare(
      openSource(film), with: other.map(openSource), ComparisonRequest(container: container, share: share))
  }

  private func digest(_ bytes: Data) throws -> String {
    try bytes.write(to: folder.url.appending(path: "bytes"))
    return String(decoding: try Tool.run("sha256sum", [folder.path("bytes")]).output.prefix(64), as: UTF8.self)
  }

  private static let pictures = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=2"]

  // MARK: Pictures

  @Test(arguments: [
    ("ffv1", "yuv420p"), ("ffv1", "yuv422p10le"), ("ffv1", "bgr0"), ("ffv1", "gray16le"), ("libx264", "yuv420p"),
    ("libx264", "yuv444p10le"), ("gif", "pal8"), ("prores_ks", "yuv422p10le"),
  ])
  func `the digest of pictures is that of ffmpeg's raw video`(codec: String, format: String) throws {
    let name = codec == "gif" ? "a.gif" : "a.mkv"
    try Tool.ffmpeg(Self.pictures + ["-pix_fmt", format, "-c:v", codec, folder.path(name)])
    let found = try compare(folder.path(name), nil)
    let raw = try Tool.ffmpeg("-i", folder.path(name), "-fps_mode", "passthrough", "-f", "rawvideo", "-")
    let expected = try digest(raw)
    #expect(found.tracks.count == 1 && found.tracks[0].digest == expected, "\(found)")
    #expect(found.tracks[0].count == 50 && found.isEqual)
  }

  @Test(arguments: [("yuv420p", 8), ("yuv422p10le", 10), ("yuv444p12le", 12)])
  func `how much pictures differ is what ffmpeg measures`(format: String, depth: Int) throws {
    let first = try film(
      "a.mkv", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-pix_fmt", format, "-c:v", "ffv1")
    let second = try film(
      "b.mkv", "-i", first, "-vf", "lutyuv=y=val*0.95:enable='between(n,7,9)'", "-c:v", "ffv1")
    let found = try #require(try compare(second, first).tracks.first)
    let difference = try #require(found.difference)
    #expect(difference.count == 3 && difference.first == 7 && difference.seconds == 0.28)
    let statistics = folder.path("statistics")
    try Tool.ffmpeg("-i", second, "-i", first, "-lavfi", "psnr=stats_file=\(statistics)", "-f", "null", "-")
    let averages = try String(contentsOfFile: statistics, encoding: .utf8).split(separator: "\n").map { line in
      line.split(separator: " ").first { $0.hasPrefix("psnr_avg:") }.flatMap { Double($0.dropFirst(9)) } ?? 0
    }
    let worst = try #require(averages.min())
    let measured = try #require(difference.psnr)
    let index = Int(try #require(difference.worst))
    // ffmpeg rounds to hundredths.
    #expect(abs(measured - worst) < 0.006 && abs(averages[index] - worst) < 0.011, "\(measured)")
    let largest = try #require(difference.largest)
    #expect(largest > 0 && largest * Double((1 << depth) - 1) == (largest * Double((1 << depth) - 1)).rounded())
  }

  @Test func `other sizes, formats, colours, numbers and times of pictures are each said`() throws {
    let first = try film(
      "a.mkv", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-pix_fmt", "yuv420p", "-c:v", "ffv1")
    for (arguments, fault) in [
      (["-vf", "scale=32:24"], "has pictures of yuv420p 32x24, and not of yuv420p 64x48"),
      (["-pix_fmt", "yuv422p"], "has pictures of yuv422p 64x48, and not of yuv420p 64x48"),
      (["-colorspace", "bt709", "-color_range", "tv"], "matrix bt709"),
      (["-vf", "setsar=4/3"], "shape of the pixels: 4:3, and not 1:1"),
      (["-vf", "select='lt(n,20)'"], "has 20 pictures, and not 25"),
      (["-vf", "setpts=PTS+if(gte(N\\,10)\\,2/TB/25\\,0)"], "shows picture 10 at 0.48 s, and not at 0.4 s"),
    ] {
      let second = folder.path("b.mkv")
      try Tool.ffmpeg(["-i", first] + arguments + ["-fps_mode", "passthrough", "-c:v", "ffv1", second])
      let found = try compare(second, first)
      #expect(!found.isEqual)
      #expect(found.tracks[0].faults.contains { $0.contains(fault) }, "\(fault): \(found.tracks[0].faults)")
    }
  }

  // MARK: Samples

  @Test(arguments: [
    ("pcm_s16le", "s16le", "wav"), ("pcm_s24le", "s32le", "wav"), ("pcm_f32le", "f32le", "wav"),
    ("flac", "s16le", "flac"),
    ("aac", "f32le", "m4a"), ("libmp3lame", "f32le", "mp3"), ("libopus", "f32le", "mkv"),
  ])
  func `the digest of samples is that of ffmpeg's samples`(codec: String, raw: String, container: String) throws {
    let path = try film(
      "a.\(container)", "-f", "lavfi", "-i", "sine=frequency=300:sample_rate=48000:duration=1.3", "-af",
      "pan=stereo|c0=c0|c1=-0.5*c0", "-c:a", codec)
    let track = try #require(try compare(path, nil).tracks.first)
    let samples = try Tool.ffmpeg("-i", path, "-c:a", "pcm_\(raw)", "-f", raw, "-")
    let expected = try digest(samples)
    #expect(track.digest == expected, "\(track)")
    #expect(track.count == Int64(samples.count / (raw == "s16le" ? 4 : 8)) && track.format.contains(" 48000 Hz "))
  }

  @Test func `samples in other packets are the same, and one that is late is found`() throws {
    let sine = ["-f", "lavfi", "-i", "sine=frequency=300:sample_rate=48000:duration=1"]
    try Tool.ffmpeg(sine + ["-c:a", "flac", "-frame_size", "1000", folder.path("a.mkv")])
    try Tool.ffmpeg(sine + ["-c:a", "flac", "-frame_size", "4096", folder.path("b.mkv")])
    #expect(try compare(folder.path("a.mkv"), folder.path("b.mkv")).isEqual)
    try Tool.ffmpeg(
      "-i", folder.path("a.mkv"), "-c", "copy", "-bsf:a", "setts=ts=if(gte(N\\,24)\\,TS+50\\,TS)", folder.path("c.mkv"))
    let late = try compare(folder.path("c.mkv"), folder.path("a.mkv"))
    #expect(late.tracks[0].difference == nil && !late.isEqual)
    #expect(late.tracks[0].faults == ["has sample 24000 at 0.55 s, and not at 0.5 s"], "\(late.tracks[0].faults)")
    try Tool.ffmpeg("-i", folder.path("a.mkv"), "-ac", "2", "-c:a", "flac", folder.path("d.mkv"))
    let wide = try compare(folder.path("d.mkv"), folder.path("a.mkv"))
    #expect(wide.tracks[0].faults.contains("has samples of s16 48000 Hz stereo, and not of s16 48000 Hz mono"))
    try Tool.ffmpeg("-i", folder.path("a.mkv"), "-af", "atrim=end_sample=47000", "-c:a", "flac", folder.path("e.mkv"))
    let short = try compare(folder.path("e.mkv"), folder.path("a.mkv"))
    #expect(short.tracks[0].difference?.count == 1000 && short.tracks[0].difference?.first == 47000)
    #expect(short.tracks[0].faults == ["has 47000 samples, and not 48000"])
  }

  // MARK: The rest

  @Test func `captions, chapters, metadata and attached pictures are compared`() throws {
    try Data("1\n00:00:00,100 --> 00:00:00,900\nHello\n".utf8).write(to: folder.url.appending(path: "a.srt"))
    try Data("1\n00:00:00,100 --> 00:00:00,900\nHullo\n".utf8).write(to: folder.url.appending(path: "b.srt"))
    for (name, captions, title, chapter) in [
      ("a", "a", "One", "First"), ("b", "b", "One", "First"), ("c", "a", "Two", "First"), ("d", "a", "One", "Second"),
    ] {
      let chapters = ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=\(chapter)\n"
      try Data(chapters.utf8).write(to: folder.url.appending(path: "chapters-\(name)"))
      try Tool.ffmpeg(
        "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-i", folder.path("\(captions).srt"), "-f",
        "ffmetadata", "-i", folder.path("chapters-\(name)"), "-map", "0", "-map", "1", "-map_chapters", "2",
        "-metadata", "title=\(title)", "-c:v", "ffv1", "-c:s", "srt", folder.path("\(name).mkv"))
    }
    let first = folder.path("a.mkv")
    let itself = try compare(first, first)
    #expect(itself.isEqual && itself.remarks.isEmpty)
    let captions = try compare(folder.path("b.mkv"), first)
    #expect(!captions.isEqual && captions.tracks[1].difference?.count == 1)
    #expect(captions.tracks[0].isEqual)
    let title = try compare(folder.path("c.mkv"), first)
    #expect(title.isEqual && title.remarks == ["metadata title: Two, and not One"])
    let chapter = try compare(folder.path("d.mkv"), first)
    #expect(chapter.isEqual)
    #expect(chapter.remarks == ["chapter 1: 0.0 s to 1.0 s, Second, and not 0.0 s to 1.0 s, First"])
    let sound = try film("sound.wav", "-f", "lavfi", "-i", "sine=duration=1")
    let other = try compare(sound, first)
    #expect(other.problem == "it has the tracks pcm_s16le, and not ffv1, subrip")
  }

  @Test func `a film that is no film is a result, and another one that is none is an error`() throws {
    let path = try film("a.mkv", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-c:v", "ffv1")
    let text = folder.path("text.mkv")
    try Data("this is no film".utf8).write(to: URL(filePath: text))
    let found = try compare(text, path)
    #expect(found.problem != nil && !found.isEqual)
    #expect(throws: MediaError.self) { try compare(path, text) }
  }

  // MARK: Shares

  @Test func `a share is compared by its packets, and then by its pictures`() throws {
    let film = try film(
      "a.mkv", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=4", "-f", "lavfi", "-i", "sine=duration=4",
      "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "25", "-keyint_min", "25", "-sc_threshold", "0", "-flags",
      "+cgop",
      "-c:a", "flac")
    let share = ComparisonRequest.Share(
      segments: [0..<25, 75..<100], frameCount: 100, frameDuration: MediaTime(value: 1, timescale: 25), hasSound: true)
    // The packets of the first and the last second, and all of the sound.
    try Tool.ffmpeg(
      "-i", film, "-map", "0:v", "-c", "copy", "-bsf:v", "noise=drop='between(n,25,74)'", folder.path("pictures.mkv"))
    let other = try self.film(
      "b.mkv", "-i", folder.path("pictures.mkv"), "-i", film, "-map", "0:v", "-map", "1:a", "-c", "copy")
    let equal = try compare(film, other, share: share)
    #expect(equal.isEqual && equal.problem == nil, "\(equal)")
    #expect(equal.tracks[0].segments == share.segments.map { .init(frames: $0, hasEqualPackets: true) })
    #expect(equal.tracks[0].count == 100 && equal.tracks[1].count == 176_400)

    // The same pictures by another encoder, with its keyframes elsewhere.
    let again = try self.film(
      "c.mkv", "-i", film, "-map", "0", "-c:a", "copy", "-c:v", "libx264", "-qp", "0", "-g", "40")
    let recoded = try compare(again, other, share: share)
    #expect(recoded.isEqual, "\(recoded)")
    #expect(recoded.tracks[0].segments?.map(\.hasEqualPackets) == [false, false])

    // One picture of the last segment, and one of a segment that is not compared.
    for (picture, differs) in [(80, true), (50, false)] {
      let wrong = try self.film(
        "d\(picture).mkv", "-i", film, "-map", "0", "-c:a", "copy", "-c:v", "libx264", "-qp", "0", "-vf",
        "drawbox=x=8:y=8:w=16:h=16:c=black:t=fill:enable='eq(n,\(picture))'")
      let found = try compare(wrong, other, share: share)
      #expect(found.isEqual == !differs)
      let last = try #require(found.tracks[0].segments?.last)
      #expect(last.difference?.first == (differs ? 80 : nil) && last.difference?.count == (differs ? 1 : nil))
    }

    // The numbers and the times of all pictures count.
    let short = try self.film("e.mkv", "-i", film, "-map", "0", "-c", "copy", "-t", "3.5")
    #expect(try compare(short, other, share: share).tracks[0].faults.contains { $0.hasSuffix("and not 100") })
    let slow = try self.film(
      "f.mkv", "-i", film, "-map", "0", "-c", "copy", "-bsf:v", "setts=ts=TS+if(gte(N\\,50)\\,100\\,0)")
    #expect(try compare(slow, other, share: share).tracks[0].faults.contains { $0.hasPrefix("shows picture ") })
  }
}
