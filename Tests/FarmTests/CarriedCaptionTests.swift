import Foundation
import TestPrograms
import Testing

/// Captions that are a track of the output, as `ffprobe` reads them.
@Suite(.ownThreads) struct CarriedCaptionTests {
  /// A film of 25 frames a second.
  private func sea(_ files: Workspace, seconds: Int) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x64:r=25:d=\(seconds)", "-c:v", "ffv1", "-pix_fmt",
      "yuv420p", files.path("sea.mkv"))
  }

  @Test func `each container has the captions at their times, with their language`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await sea(files, seconds: 6)
    _ = try files.write(
      """
      1
      00:00:01,000 --> 00:00:02,500
      <i>first</i>

      2
      00:00:02,000 --> 00:00:03,200
      second

      3
      00:00:05,500 --> 00:00:09,000
      beyond the end

      """, to: "talk.srt")
    // Where QuickTime's text shows one at a time, what overlaps is joined.
    let separate = ["1.500 1.500 first", "2.500 1.200 second", "6.000 0.480 beyond the end"]
    let joined = [
      "1.500 1.000 first", "2.500 0.500 first second", "3.000 0.700 second", "6.000 0.480 beyond the end",
    ]
    let kinds = [
      ("mkv", "h264", "subrip", separate), ("webm", "vp9", "webvtt", separate), ("mp4", "h264", "mov_text", joined),
      ("mov", "h264", "mov_text", joined),
    ]
    for (container, video, codec, expected) in kinds.spread(3) {
      let edit = try files.write(
        """
        { "sheaf": 1, "assets": { "a": "sea.mkv", "c": "talk.srt" },
          "tracks": [ { "clips": [ { "asset": "a" }, { "asset": "a", "use": "0..12f" } ] } ],
          "videoComposition": { "frameDuration": "1/25" },
          "captions": [ { "asset": "c", "as": "track", "at": 0.5, "language": "ger", "title": "Deutsch", "default": true },
                        { "asset": "c", "as": "track", "use": "2..3", "language": "eng" },
                        { "asset": "c", "as": "track", "use": "2..3", "language": "zho" } ],
          "export": { "to": "film.\(container)", "optimizeForNetworkUse": true, "video": { "codec": "\(video)" } } }
        """, to: "\(container).json")
      let film = files.path("film.\(container)")
      let render = try await TestFilm.render(edit, film)
      try #require(render.status == 0, "\(container): \(render.errors)")
      let streams = try await Command.output(
        "ffprobe", "-v", "error", "-select_streams", "s", "-show_entries",
        "stream=codec_name:stream_tags=language:stream_disposition=default", "-of", "compact=p=0:nk=1", film)
      #expect(
        streams.split(separator: "\n").map(String.init)
          == ["\(codec)|1|ger", "\(codec)|0|eng", "\(codec)|0|zho"], "\(container)")
      // As ffmpeg decodes them.
      let text = try await Command.output("ffmpeg", "-v", "warning", "-i", film, "-map", "0:s:0", "-f", "srt", "-")
      var found: [String] = []
      for block in text.replacingOccurrences(of: "\r", with: "").components(separatedBy: "\n\n") {
        let lines = block.split(separator: "\n")
        guard lines.count >= 3 else { continue }
        let times = lines[1].components(separatedBy: " --> ").map { time in
          time.split { $0 == ":" || $0 == "," }.compactMap { Int($0) }.reduce(into: (0, 0)) { sum, part in
            sum = (sum.1 < 3 ? sum.0 * 60 + part : sum.0 * 1000 + part, sum.1 + 1)
          }.0
        }
        let words = lines.dropFirst(2).joined(separator: " ").replacing(/<[^>]*>/, with: "")
        found.append(
          "\(String(format: "%.3f", Double(times[0]) / 1000)) "
            + "\(String(format: "%.3f", Double(times[1] - times[0]) / 1000)) \(words)")
      }
      #expect(found == expected, "\(container): \(text)")
      let frames = try await Command.output(
        "ffprobe", "-v", "error", "-select_streams", "v", "-count_packets", "-show_entries", "stream=nb_read_packets",
        "-of", "csv=p=0", film)
      #expect(frames.hasPrefix("162"), "\(container)")
    }
  }

  @Test func `characters are stored as they are, without the comments and drawings of a script`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await sea(files, seconds: 4)
    _ = try files.write(
      "WEBVTT\n\n00:01.000 --> 00:02.000\na {b} &lt;c&gt; &amp; {\\d}&nbsp;<i>e</i>\n", to: "talk.vtt")
    _ = try files.write(
      """
      [Script Info]
      ScriptType: v4.00+

      [Events]
      Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
      Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{a comment}one{\\p1}m 0 0 l 9 9{\\p0} {\\pos(1,2)}two\\hthree
      Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\p1}m 0 0 l 9 9

      """, to: "signs.ass")
    for (container, video, text) in [
      ("mkv", "h264", "a {b} <c> & {\u{2060}\\d}\u{A0}<i>e</i>"),
      ("webm", "vp9", "a {b} &lt;c&gt; &amp; {\u{2060}\\d}\u{A0}<i>e</i>"),
      ("mp4", "h264", "a {b} <c> & {\u{2060}\\d}\u{A0}e"),
    ] {
      let edit = try files.write(
        """
        { "sheaf": 1, "assets": { "a": "sea.mkv", "v": "talk.vtt", "s": "signs.ass" },
          "tracks": [ { "clips": [ { "asset": "a" } ] },
                      { "type": "subtitle", "clips": [ { "asset": "s" }, { "asset": "v", "use": "1..2" } ] } ],
          "captions": [ { "asset": "v", "as": "track" } ],
          "export": { "to": "film.\(container)", "video": { "codec": "\(video)" } } }
        """, to: "\(container).json")
      let film = files.path("film.\(container)")
      let render = try await TestFilm.render(edit, film)
      try #require(render.status == 0, "\(container): \(render.errors)")
      func stored(_ track: Int) async throws -> String {
        try await Command.output(
          "ffmpeg", "-v", "error", "-i", film, "-map", "0:s:\(track)", "-c", "copy", "-f", "data", "-")
      }
      #expect(try await stored(0).contains(text), "\(container)")
      let script = try await stored(1)
      #expect(script.contains("one two\u{A0}three") && script.contains("a {b} "), "\(container): \(script)")
      #expect(!script.contains("comment") && !script.contains("m 0 0"), "\(container): \(script)")
    }
  }

  /// libavcodec's encoder writes black letters of no size where the script has no style.
  @Test func `captions of a list are as those of a file without styles`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await sea(files, seconds: 4)
    _ = try files.write("1\n00:00:01,000 --> 00:00:02,500\nHello\nthere\n", to: "talk.srt")
    var stored: [String] = []
    for (name, captions) in [
      ("list", "\"cues\": [ { \"over\": \"1..2.5\", \"text\": \"Hello\\nthere\" } ]"), ("file", "\"asset\": \"v\""),
    ] {
      let edit = try files.write(
        """
        { "sheaf": 1, "assets": { "a": "sea.mkv", "v": "talk.srt" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
          "captions": [ { \(captions), "as": "track" } ], "export": { "to": "\(name).mp4" } }
        """, to: "\(name).json")
      let film = files.path("\(name).mp4")
      let render = try await TestFilm.render(edit, film)
      try #require(render.status == 0, "\(render.errors)")
      let text = try await Command.output("ffmpeg", "-v", "error", "-i", film, "-map", "0:s:0", "-f", "srt", "-")
      #expect(
        text.replacingOccurrences(of: "\r", with: "") == "1\n00:00:01,000 --> 00:00:02,500\nHello\nthere\n\n")
      // The track's style, too.
      stored.append(
        try await Command.output(
          "ffprobe", "-v", "error", "-select_streams", "s", "-show_data", "-show_entries", "stream=extradata", film))
    }
    #expect(stored[0] == stored[1])
  }

  /// libavcodec's encoder drops a colour without the number of its part, and gives size 0 to what follows a sized word
  /// and to a style that the script does not have.
  @Test func `captions of QuickTime have the colours and sizes of their files`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await sea(files, seconds: 4)
    _ = try files.write(
      "1\n00:00:01,000 --> 00:00:02,000\n<font color=\"#ff8000\">red</font> plain <font size=\"30\">big</font> normal\n",
      to: "talk.srt")
    _ = try files.write(
      """
      [Script Info]
      ScriptType: v4.00+

      [V4+ Styles]
      Format: Name, Fontname, Fontsize, PrimaryColour
      Style: Sign,Arial,20,&H0000FF00

      [Events]
      Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
      Dialogue: 0,0:00:01.00,0:00:02.00,Nobody,,0,0,0,,one {\\c&HFF&}two{\\c} three {\\fs40}four{\\fs} five

      """, to: "signs.ass")
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "sea.mkv", "c": "talk.srt", "s": "signs.ass" },
        "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "captions": [ { "asset": "c", "as": "track" }, { "asset": "s", "as": "track" } ],
        "export": { "to": "film.mp4" } }
      """, to: "edit.json")
    let film = files.path("film.mp4")
    let render = try await TestFilm.render(edit, film)
    try #require(render.status == 0, "\(render.errors)")
    func text(_ track: Int) async throws -> String? {
      try await Command.output("ffmpeg", "-v", "error", "-i", film, "-map", "0:s:\(track)", "-f", "srt", "-")
        .split(separator: "\n").map(String.init).last { $0.contains("o") }
    }
    // As ffmpeg decodes them: what a style does not change is not marked.
    #expect(
      try await text(0) == ##"<font color="#ff8000">red</font> plain <font size="30">big</font> normal"##)
    let signs = try await text(1) ?? ""
    #expect(!signs.contains(#"size="0""#) && !signs.contains("#000000"), "\(signs)")
    let plain = ##"<font size="20" color="#00ff00"> five"##
    #expect(signs.contains(##"<font color="#ff0000">two"##) && signs.contains(plain), "\(signs)")
    #expect(signs.contains(#"size="40""#), "\(signs)")
  }
}
