import CompositionModel
import Foundation
import TestMedia
import TestPrograms
import Testing

@testable import Media

/// What a probe finds of captions, and of files that are none.
@Suite struct CaptionProbeTests {
  private func probe(_ text: String, as name: String) throws -> AssetDescription {
    let folder = try TemporaryFolder()
    let path = folder.path(name)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return try AssetProbe.probe(openSource(path), name: name)
  }

  private func events(_ asset: AssetDescription) -> [String] {
    asset.defaultTrack(.subtitle)?.captions?.events.map { event in
      let text = event.fields.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false).last ?? ""
      return "\(event.start)-\(event.end) \(text)"
    } ?? []
  }

  private static let srt = """
    1
    00:00:01,000 --> 00:00:02,500
    <b>Bold</b> and
    second line

    2
    00:00:02,000 --> 00:01:03,004
    -- not an arrow, überall

    """

  @Test func eachFormatHasItsEvents() throws {
    let subRip = try probe(Self.srt, as: "a.srt")
    #expect(subRip.container == "srt" && "\(subRip.duration)" == "15751/250")
    #expect(
      events(subRip) == ["1000-2500 {\\b1}Bold{\\b0} and\\Nsecond line", "2000-63004 -- not an arrow, überall"])
    #expect(subRip.tracks[0].captions?.hasStyles == false)
    let web = try probe("WEBVTT\n\n00:01.000 --> 00:02.500 align:start\n<i>Hi</i> &amp; bye\n", as: "a.vtt")
    #expect(events(web) == ["1000-2500 {\\i1}Hi{\\i0} & bye"])
    let script = try probe(
      "[Script Info]\nScriptType: v4.00+\n\n[V4+ Styles]\nFormat: Name, Fontname, Fontsize\nStyle: Default,Serif,20\n\n"
        + "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
        + "Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,Later\nDialogue: 0,0:00:01.00,0:00:05.50,Default,,0,0,0,,Hi\n",
      as: "a.ass")
    #expect(events(script) == ["1000-5500 Hi", "3000-4000 Later"])
    #expect(script.tracks[0].captions?.hasStyles == true)
    #expect(script.tracks[0].captions?.header.contains("Style: Default,Serif,20") == true)
  }

  @Test func theTextTrackOfAMovieIsFoundAndDoesNotMakeItLonger() throws {
    let folder = try TemporaryFolder()
    try Data(Self.srt.utf8).write(to: URL(fileURLWithPath: folder.path("a.srt")))
    for (name, codec) in [("a.mp4", "mov_text"), ("a.mkv", "srt"), ("b.mkv", "ass")] {
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "color=s=64x64:r=25:d=3", "-i", folder.path("a.srt"), "-c:v", "libx264", "-c:s", codec,
        "-metadata:s:s:0", "language=ger", folder.path(name),
      ])
      let asset = try AssetProbe.probe(openSource(folder.path(name)), name: name)
      #expect(asset.duration == MediaTime(seconds: 3), "\(name)")
      #expect(asset.defaultTrack(.subtitle)?.language == "ger")
      let text = name == "a.mp4" ? "1000-2000 {\\b1}Bold{\\r}" : "1000-2500 {\\b1}Bold{\\b0}"
      #expect(events(asset).first == "\(text) and\\Nsecond line", "\(name)")
    }
  }

  @Test func aMovieWithACaptionThatIsDamagedKeepsItsOtherTracks() throws {
    let folder = try TemporaryFolder()
    try Data(Self.srt.utf8).write(to: URL(fileURLWithPath: folder.path("a.srt")))
    for (name, codec) in [("a.mkv", "srt"), ("a.mov", "mov_text")] {
      let path = folder.path(name)
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "color=s=64x64:r=25:d=3", "-i", folder.path("a.srt"), "-c:v", "libx264", "-c:s", codec,
        path,
      ])
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      let place = try #require(bytes.range(of: Data("not an arrow".utf8)))
      bytes[place.lowerBound] = 0xFC
      try bytes.write(to: URL(fileURLWithPath: path))
      let asset = try AssetProbe.probe(openSource(path), name: name)
      #expect(asset.tracks.map(\.type) == [.video] && asset.duration == MediaTime(seconds: 3))
      #expect(asset.failures?.map(\.type) == [.subtitle])
      #expect(asset.failures?.first?.message == "the caption at 2.0 s is not text in UTF-8")
    }
  }

  @Test func aCaptionWithoutAnEndIsShownUntilTheNextThatStartsLater() throws {
    let lines = [1, 1, 3, 2, 4].enumerated().map { "Dialogue: 0,0:00:0\($1).00,0:00:0\($1).00,Default,,0,0,0,,\($0)" }
    let asset = try probe(
      "[Script Info]\nScriptType: v4.00+\n\n[Events]\n"
        + "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
        + lines.joined(separator: "\n") + "\n", as: "a.ass")
    #expect(events(asset) == ["1000-2000 0", "1000-2000 1", "2000-3000 3", "3000-4000 2", "4000-7000 4"])
  }

  @Test func whatIsNoSubRipIsRefusedWithItsLine() throws {
    let cases: [(text: String, words: [String])] = [
      ("1\n00:00:01,000 -> 00:00:02,000\nHi\n\n2\n00:00:03,000 --> 00:00:04,000\nHo\n", ["line 2", "->"]),
      ("1\n00:00:01,000 --> 00:00:02,000\nHi\n\n2\n00:00:03,000 --> 00:00:4,0000\nHo\n", ["line 6", "00:00:4,0000"]),
      ("1\n00:00:01,000 --> 00:00:02,000\nHi\n\n2\n00:00:05,000 --> 00:00:04,000\nHo\n", ["line 6", "ends before"]),
      ("Dear friend,\nthis --> is no caption\n", ["line 1", "Dear friend", "00:00:01,000 --> 00:00:02,500"]),
      ("1\n00:00:01,000 --> 00:61:02,000\nHi\n", ["line 2", "is not a caption's time"]),
      ("1\n00:00:01.000 -->\nHi\n", ["line 2"]),
    ]
    for (text, words) in cases {
      do {
        _ = try probe(text, as: "a.srt")
        Issue.record("\(text) was taken")
      } catch let error as MediaError {
        #expect(words.allSatisfy { error.description.contains($0) }, "\(error)")
      }
    }
    let latin = Array("1\n00:00:01,000 --> 00:00:02,000\nHi\n\n2\n00:00:03,000 --> 00:00:04,000\n".utf8) + [0xFC, 10]
    #expect(SubRipCheck.problem(latin)?.contains("line 7") == true)
    #expect(SubRipCheck.problem(Array(Self.srt.utf8)) == nil)
    #expect(SubRipCheck.problem(Array("\u{FEFF}\r\n00:00:01.5 --> 00:00:02,50 X1:0\r\nno number\r\n".utf8)) == nil)
  }
}
