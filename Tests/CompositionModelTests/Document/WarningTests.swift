import CompositionModel
import Testing

/// What `check` warns of although it can be rendered.
@Suite struct WarningTests {
  private func warnings(_ text: String) throws -> [String] {
    try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: standardAssets(), output: nil).warnings
      .filter { !$0.message.contains("nothing uses") }.map(\.description)
  }

  private func film(_ tracks: String..., composition: String = "{}", mix: String = "{}") -> String {
    documentText(
      tracks: "[\(tracks.joined(separator: ", "))]", #""videoComposition": \#(composition), "audioMix": \#(mix)"#)
  }

  private let picture = #"{"id": "A", "clips": [{"asset": "v", "use": "0..10"}]}"#

  @Test func anOrdinaryFilmHasNone() throws {
    #expect(try warnings(film(picture)) == [])
    let bed = #"{"type": "audio", "clips": [{"asset": "s", "use": "0..11"}]}"#
    #expect(try warnings(film(picture, bed)) == [])
  }

  @Test func anAssetThatNothingUses() throws {
    let document = try Document.parse(Array(film(picture).utf8))
    let warnings = try document.lowerWithWarnings(assets: standardAssets(), output: nil).warnings
    #expect(warnings.contains(Problem(pointer: "/assets/w", message: "nothing uses 'w'")))
    #expect(!warnings.contains { $0.pointer == "/assets/v" })
  }

  @Test func mediaThatMayNotBeAsItsMakerMeantIt() throws {
    var assets = try standardAssets()
    assets["v"]?.tracks[0].misplayedEdits = [
      MisplayedEdit(range: try MediaTimeRange(start: MediaTime(seconds: 1), duration: MediaTime(seconds: 2)), rate: nil)
    ]
    assets["w"] = assets["v"]
    let document = try Document.parse(Array(film(picture).utf8))
    let found = try document.lowerWithWarnings(assets: assets, output: nil).warnings.map(\.description)
    #expect(
      found.filter { $0.contains("edit list") } == [
        "/assets/v: the edit list of track 0 has nothing at 1 s for 2 s; the beginning of the track is played there "
          + "instead"
      ])
  }

  @Test func musicThatSetsTheFilmsLength() throws {
    let found = try warnings(film(picture, #"{"type": "audio", "clips": [{"asset": "s"}]}"#))
    #expect(found.count == 1 && found[0].hasPrefix("/tracks/1/clips/0: 's' plays for 50 s after the last picture"))
    #expect(try warnings(film(picture, #"{"type": "audio", "clips": [{"asset": "s", "until": "end"}]}"#)) == [])
  }

  @Test func aFirstChapterThatAMovieShowsFromItsStart() throws {
    func found(_ export: String) throws -> [String] {
      try Document.parse(Array(documentText(tracks: "[\(picture)]", export: export).utf8))
        .lowerWithWarnings(assets: standardAssets(), output: nil).warnings.map(\.description)
        .filter { $0.contains("chapter") }
    }
    let late = #""chapters": [{"at": 0.5, "title": "A"}, {"at": 2, "title": "B"}]"#
    #expect(
      try found(#"{"to": "a.mp4", \#(late)}"#) == [
        "/export/chapters: in mp4 the first chapter is shown from the start of the film, not from 1/2 s; add one at 0"
      ])
    #expect(try found(#"{"to": "a.mkv", \#(late)}"#) == [])
    #expect(try found(#"{"to": "a.mov", "timeRange": "1..3", \#(late)}"#) == [])
    #expect(try found(#"{"to": "a.m4v", "chapters": [{"at": 0, "title": "A"}]}"#) == [])
  }

  @Test func aFilmOfHighDynamicRange() throws {
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(
      pixelFormat: "yuv420p10le", bitDepth: 10,
      colour: ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc"))
    func lowered(_ video: String) throws -> (format: PixelFormat?, warnings: [Problem]) {
      let text = documentText(
        tracks: "[\(picture)]", #""videoComposition": {"color": "hdr10"}"#,
        export: "{\"to\": \"a.mkv\", \"video\": \(video)}")
      let (edit, warnings) = try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil)
      return (edit.export.video?.pixelFormat, warnings.filter { $0.pointer == "/export/video" })
    }
    let standard = try lowered("{}")
    #expect(standard.format == .yuv420p10)
    #expect(standard.warnings.count == 1 && standard.warnings[0].message.contains("HDR (PQ)"))
    let fixed = try lowered(#"{"pixelFormat": "yuv420p10"}"#)
    #expect(fixed.format == .yuv420p10 && fixed.warnings.isEmpty)
    let eight = try lowered(#"{"pixelFormat": "yuv420p"}"#)
    #expect(eight.format == .yuv420p)
    #expect(eight.warnings.count == 1 && eight.warnings[0].message.contains("8 bits"))
    #expect(try lowered(#"{"profile": "high"}"#).format == .yuv420p)
  }

  @Test func aFrameOfThirtySeconds() throws {
    let found = try warnings(film(picture, composition: #"{"frameDuration": 30}"#))
    #expect(
      found == [
        #"/videoComposition/frameDuration: each frame is shown for 30 s; for 30 frames a second write "1/30""#
      ])
    #expect(try warnings(film(picture, composition: #"{"frameDuration": 1}"#)) == [])
  }

  @Test(arguments: [
    ("contain", "[2560, 1440]", nil), ("contain", "[3840, 2160]", "3"), ("contain", "[1280, 9000]", nil),
    ("cover", "[1280, 9000]", "12.5"), ("fill", "[4000, 720]", "3.1"), ("none", "[8000, 8000]", nil),
  ])
  func aPictureThatIsEnlarged(_ fit: String, _ size: String, _ times: String?) throws {
    let tracks = #"{"clips": [{"asset": "v", "use": "0..1", "fit": "\#(fit)"}, {"asset": "v", "fit": "\#(fit)"}]}"#
    let found = try warnings(film(tracks, composition: #"{"renderSize": \#(size)}"#))
    #expect(found.count == (times == nil ? 0 : 1), "\(found)")
    if let times {
      #expect(found[0].hasPrefix("/tracks/0/clips/0: 'v' is 1280x720 and is enlarged \(times) times"), "\(found)")
    }
  }

  @Test(arguments: [
    (#"{"asset": "v", "use": "0..10"}"#, #"{"asset": "w", "use": "2..4"}"#, true),
    (#"{"asset": "v", "use": "0..10"}"#, #"{"asset": "w", "use": "0..20"}"#, false),
    (#"{"asset": "v", "use": "0..10", "opacity": 0.9}"#, #"{"asset": "w", "use": "2..4"}"#, false),
    (#"{"asset": "v", "use": "0..10", "fit": "none"}"#, #"{"asset": "w", "use": "2..4"}"#, true),
    (#"{"asset": "logo", "duration": 10}"#, #"{"asset": "w", "use": "2..4"}"#, false),
  ])
  func aClipBehindOthers(_ upper: String, _ lower: String, _ isHidden: Bool) throws {
    let found = try warnings(film(#"{"clips": [\#(upper)]}"#, #"{"clips": [\#(lower)]}"#))
    #expect(
      found.map { $0.hasPrefix("/tracks/1/clips/0: the clip of 'w' at 0..2 is never visible") }
        == (isHidden ? [true] : []))
  }

  @Test(arguments: [
    (#""opacity": 0"#, true), (#""ramps": [{"at": 0, "opacity": 0}]"#, true),
    (#""ramps": [{"at": 0, "opacity": 0}, {"at": 9, "opacity": 1}]"#, false),
    (#""ramps": [{"over": "0..1", "opacity": [0, 1]}]"#, false),
  ])
  func aTransparentClip(_ opacity: String, _ isWarned: Bool) throws {
    let found = try warnings(film(#"{"clips": [{"asset": "v", "use": "0..10", \#(opacity)}]}"#))
    #expect(found.count == (isWarned ? 1 : 0) && found.allSatisfy { $0.contains("transparent") }, "\(found)")
  }

  @Test func aTrackWithoutVolume() throws {
    let tracks = #"{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..10"}]}"#
    #expect(
      try warnings(film(tracks, mix: #"{"A.sound": 0}"#)) == [
        "/audioMix/A.sound: the track 'A.sound' is silent: its volume is 0 throughout"
      ])
    #expect(try warnings(film(tracks, mix: #"{"A.sound": [{"volume": 0}, {"over": "5..6", "volume": [0, 1]}]}"#)) == [])
  }
}
