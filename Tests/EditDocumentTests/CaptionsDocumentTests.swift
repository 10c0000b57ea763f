import CompositionModel
import EditDocument
import TestEdits
import Testing

/// `captions` of a document: what they mean and what is refused.
@Suite struct CaptionsDocumentTests {
  private static func assets() throws -> [AssetID: AssetDescription] {
    var assets = try standardAssets()
    assets["w"] = try SyntheticAssets.captions(hasStyles: false)
    assets["mute"] = try SyntheticAssets.captions(hasStyles: true)
    assets["logo"] = try SyntheticAssets.captions(hasStyles: false)
    assets["logo"]?.tracks[0].codec = "hdmv_pgs_subtitle"
    assets["logo"]?.tracks[0].captions = nil
    return assets
  }

  private func text(_ captions: String, to output: String = "out.mkv") -> String {
    documentText(
      tracks: #"[{"clips": [{"asset": "v", "use": "0..8"}]}]"#, #""captions": [\#(captions)]"#,
      export: #"{"to": "\#(output)"}"#)
  }

  @Test func `captions are drawn with their style or carried`() throws {
    let edit = try lowered(
      text(
        ##"""
        {"asset": "w", "use": "2..6", "at": 1, "size": 40, "color": "#ff0000", "anchor": "top"}, {"asset": "mute"},
        {"asset": "w", "as": "track", "at": -1.5, "language": "ger", "title": "Deutsch", "default": true}
        """##), assets: try Self.assets())
    let captions = try #require(edit.captions)
    #expect(captions.map { "\($0.start)" } == ["-1", "0", "-3/2"])
    #expect(captions[0].source.map { "\($0)" } == "2..6")
    guard case .drawn(let style?) = captions[0].use else {
      Issue.record("\(captions[0])")
      return
    }
    #expect(style.size == 40 && style.anchor == .top && style.outline == 2 && style.margin == 27)
    #expect(style.color == Color(red: 255, green: 0, blue: 0) && style.sideMargin == nil)
    let wide = try lowered(
      text(#"{"asset": "w", "margin": 30, "sideMargin": 200}"#).replacing(
        #""captions""#, with: #""videoComposition": {"scale": 0.5}, "captions""#), assets: try Self.assets())
    guard case .drawn(let wideStyle?) = wide.captions?[0].use else {
      Issue.record("\(String(describing: wide.captions))")
      return
    }
    #expect(wideStyle.margin == 15 && wideStyle.sideMargin == 100)
    #expect(captions[1].use == .drawn(nil))
    let written = ##"""
      {"asset": "w", "leftMargin": 10, "topMargin": 40, "highlightColor": "#ffff00", "spokenColor": "#00ff00",
        "box": {"color": "#102030a0", "padding": 12, "radius": 6}}
      """##
    let karaoke = try lowered(
      text(written).replacing(#""captions""#, with: #""videoComposition": {"scale": 0.5}, "captions""#),
      assets: try Self.assets())
    guard case .drawn(let karaokeStyle?) = karaoke.captions?[0].use else {
      Issue.record("\(String(describing: karaoke.captions))")
      return
    }
    #expect(karaokeStyle.edges == CaptionMargins(left: 5, top: 20))
    #expect(
      karaokeStyle.box == TextBox(color: Color(red: 16, green: 32, blue: 48, alpha: 160), padding: 6, radius: 3))
    #expect(karaokeStyle.highlightColor == Color(red: 255, green: 255, blue: 0))
    #expect(karaokeStyle.spokenColor == Color(red: 0, green: 255, blue: 0))
    #expect(
      captions[2].use == .track(CaptionTrack(label: TrackLabel(language: "ger", title: "Deutsch"), isDefault: true)))
    #expect(try lowered(text("")).captions == nil)
  }

  @Test func `the length of lines is of what is drawn, and of a track`() throws {
    let captions = try lowered(
      text(#"{"asset": "w", "lineLength": 32}, {"asset": "w", "as": "track", "lineLength": 9}, {"asset": "w"}"#),
      assets: try Self.assets()
    ).captions
    #expect(captions?.map(\.use.wording?.lineLength) == [32, 9, nil])
  }

  @Test func `vertical captions are at the right unless an anchor is written`() throws {
    let captions = try lowered(
      text(#"{"asset": "w", "vertical": true}, {"asset": "w", "vertical": true, "anchor": "left"}, {"asset": "w"}"#),
      assets: try Self.assets()
    ).captions
    let styles = (captions ?? []).map { if case .drawn(let style) = $0.use { style } else { nil as CaptionStyle? } }
    #expect(styles.map { $0?.anchor } == [.topRight, .left, .bottom])
    #expect(styles.map { $0?.isVertical } == [true, true, nil])
  }

  @Test func `a subtitle track is put together from clips`() throws {
    func text(_ tracks: String, to output: String = "out.mp4") -> String {
      documentText(tracks: "[\(tracks)]", export: #"{"to": "\#(output)"}"#)
    }
    let picture = #"{"sound": false, "clips": [{"asset": "v", "use": "0..8"}]}"#
    let clips = #"[{"asset": "w", "use": "1..3", "at": 2}, {"asset": "mute", "use": "4..5"}, {"asset": "w"}]"#
    let edit = try lowered(
      text(#"\#(picture), {"type": "subtitle", "language": "fre", "clips": \#(clips)}"#), assets: try Self.assets())
    let captions = try #require(edit.captions)
    #expect(captions.map { "\($0.start) \($0.source.map { "\($0)" } ?? "")" } == ["1 1..3", "0 4..5", "5 0..9"])
    #expect(Set(captions.map(\.use)).count == 1 && edit.composition.tracks.count == 1)
    #expect(edit.composition.duration == MediaTime(seconds: 8))
    let wrong = try problems(
      text(
        #"\#(picture), {"type": "subtitle", "id": "video1", "clips": [{"asset": "v"}, {"asset": "w", "speed": 2}]}"#),
      assets: try Self.assets()
    ).map { "\($0)" }
    #expect(wrong.contains { $0.contains("/tracks/1/id") && $0.contains("another track 'video1'") })
    #expect(wrong.contains { $0.contains("/tracks/1/clips/0/asset") && $0.contains("'v' has no captions") })
    #expect(wrong.contains { $0.contains("/tracks/1/clips/1/speed") && $0.contains("asset, use, at") })
    let overlapping = try problems(
      text(
        #"\#(picture), {"type": "subtitle", "clips": [{"asset": "w", "use": "0..4", "at": 3}, {"asset": "w", "use": "0..31/10", "at": 0}, {"asset": "mute", "at": 7}]}"#
      ),
      assets: try Self.assets()
    ).map { "\($0)" }
    #expect(overlapping.count == 1 && overlapping[0].contains("/tracks/1/clips/0"), "\(overlapping)")
    #expect(overlapping[0].contains("3..7 and overlap those of /tracks/1/clips/1"), "\(overlapping)")
    let wave = try problems(
      text(
        #"{"type": "audio", "clips": [{"asset": "s"}]}, {"type": "subtitle", "clips": [{"asset": "w"}]}"#, to: "a.wav"),
      assets: try Self.assets()
    ).map { "\($0)" }
    #expect(wave.count == 1 && wave[0].contains("mp4, mov, m4v, mkv, webm, m3u8, mpd can"))
  }

  @Test func `what is wrong is refused with its place`() throws {
    let cases: [(captions: String, output: String, words: [String])] = [
      (#"{"asset": "v"}"#, "a.mkv", ["/captions/0/asset", "'v' has no captions", "SRT"]),
      (#"{"asset": "logo"}"#, "a.mkv", ["/captions/0/asset", "pictures", "hdmv_pgs_subtitle"]),
      (#"{"asset": "w", "as": "burn"}"#, "a.mkv", ["/captions/0/as", "picture, track"]),
      (#"{"asset": "w", "language": "eng"}"#, "a.mkv", ["/captions/0/language", #""as": "track""#]),
      (#"{"asset": "w", "as": "track", "size": 9}"#, "a.mkv", ["/captions/0/size", "drawn"]),
      (#"{"asset": "w", "as": "track", "language": "English"}"#, "a.mkv", ["/captions/0/language", "eng"]),
      (##"{"asset": "mute", "color": "#ffffff"}"##, "a.mkv", ["/captions/0/color", "styles of its own"]),
      (#"{"asset": "w", "size": 0}"#, "a.mkv", ["/captions/0/size", "1 to 4096"]),
      (#"{"asset": "w", "marginLeft": 3}"#, "a.mkv", ["/captions/0/marginLeft", "did you mean 'leftMargin'"]),
      (#"{"asset": "w", "as": "track", "box": {}}"#, "a.mkv", ["/captions/0/box", "drawn"]),
      (#"{"asset": "w", "box": {"margin": 3}}"#, "a.mkv", ["/captions/0/box/margin", "padding"]),
      (
        ##"{"asset": "mute", "highlightColor": "#ffffff"}"##, "a.mkv",
        ["/captions/0/highlightColor", "styles of its own"]
      ),
      (#"{"asset": "mute", "lineLength": 30}"#, "a.mkv", ["/captions/0/lineLength", "styles of its own"]),
      (#"{"asset": "mute", "as": "track", "lineLength": 30}"#, "a.mkv", ["/lineLength", "styles of its own"]),
      (#"{"asset": "w", "lineLength": 7}"#, "a.mkv", ["/captions/0/lineLength", "8 to 200"]),
      (#"{"asset": "w", "maxChars": 7}"#, "a.mkv", ["/captions/0/maxChars", "did you mean 'lineLength'"]),
      (#"{"asset": "mute", "speakers": {"A": {}}}"#, "a.mkv", ["/captions/0/speakers", "styles of its own"]),
      (#"{"asset": "mute", "as": "track", "speakerNames": true}"#, "a.mkv", ["/speakerNames", "styles of its own"]),
      (#"{"asset": "w", "speakers": {"A": {"colour": "red"}}}"#, "a.mkv", ["/speakers/A/colour", "color"]),
      (
        #"{"asset": "w", "speakers": {"A B": {}, "C": {}, " A  B": {}}}"#, "a.mkv",
        ["/captions/0/speakers/ A  B", "do not tell apart"]
      ),
      (#"{"asset": "w", "speakers": {"{ }": {}}}"#, "a.mkv", ["/captions/0/speakers/{ }", "only spaces, braces"]),
      (#"{"asset": "w", "speakers": {"": {}}}"#, "a.mkv", ["/speakers/", "must not be empty"]),
      (#"{"asset": "w", "speakers": ["A"]}"#, "a.mkv", ["/captions/0/speakers", "object of speakers by name"]),
      (
        ##"{"asset": "w", "as": "track", "speakers": {"A": {"color": "#ffffff"}}}"##, "a.mkv",
        ["/captions/0/speakers/A/color", "drawn"]
      ),
      (#"{"asset": "w", "voices": {}}"#, "a.mkv", ["/captions/0/voices", "did you mean 'speakers'"]),
      (#"{"asset": "w", "vertical": true, "box": {}}"#, "a.mkv", ["/captions/0/box", "leave out 'box'"]),
      (#"{"asset": "w", "as": "track", "vertical": true}"#, "a.mkv", ["/captions/0/vertical", "drawn"]),
      (#"{"asset": "mute", "vertical": true}"#, "a.mkv", ["/captions/0/vertical", "styles of its own"]),
      (#"{"asset": "w", "file": "x"}"#, "a.mkv", ["/captions/0/file", "did you mean 'asset'"]),
    ]
    for (captions, output, words) in cases {
      let found = try problems(text(captions, to: output), assets: try Self.assets()).map { "\($0)" }
      #expect(found.count == 1 && words.allSatisfy { found[0].contains($0) }, "\(captions): \(found)")
    }
    let many = Array(repeating: #"{"asset": "w"}"#, count: 33).joined(separator: ",")
    #expect(try problems(text(many), assets: try Self.assets()).map { "\($0)" }.first?.contains("at most 32") == true)
  }
}
