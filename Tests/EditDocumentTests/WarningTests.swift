import CompositionModel
import EditDocument
import TestEdits
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

  @Test func `an ordinary film has none`() throws {
    #expect(try warnings(film(picture)) == [])
    let bed = #"{"type": "audio", "clips": [{"asset": "s", "use": "0..11"}]}"#
    #expect(try warnings(film(picture, bed)) == [])
  }

  @Test func `an asset that nothing uses`() throws {
    let document = try Document.parse(Array(film(picture).utf8))
    let warnings = try document.lowerWithWarnings(assets: standardAssets(), output: nil).warnings
    #expect(warnings.contains(Problem(pointer: "/assets/w", message: "nothing uses 'w'")))
    #expect(!warnings.contains { $0.pointer == "/assets/v" })
  }

  @Test func `media that may not be as its maker meant it`() throws {
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

  @Test func `sound that cannot be decoded is a warning where it would be heard`() throws {
    var assets = try standardAssets()
    let reason = "audio track 1 has no samples that can be decoded: it has no packets"
    assets["v"]?.failures = [TrackFailure(index: 1, type: .audio, codec: "aac", message: reason)]
    func found(_ track: String) throws -> [String] {
      try Document.parse(Array(film(track).utf8)).lowerWithWarnings(assets: assets, output: nil).warnings
        .map(\.description).filter { $0.contains("sound of 'v'") }
    }
    let clip = #"{"asset": "v", "use": "0..5"}"#
    #expect(
      try found(#"{"clips": [\#(clip), \#(clip)]}"#) == [
        "/tracks/0/clips/0: the sound of 'v' is not whole: track 1 (aac) cannot be played: \(reason)"
      ])
    #expect(try found(#"{"sound": false, "clips": [\#(clip)]}"#) == [])
  }

  @Test func `music that sets the film's length`() throws {
    let found = try warnings(film(picture, #"{"type": "audio", "clips": [{"asset": "s"}]}"#))
    #expect(found.count == 1 && found[0].hasPrefix("/tracks/1/clips/0: 's' plays for 50 s after the last picture"))
    #expect(try warnings(film(picture, #"{"type": "audio", "clips": [{"asset": "s", "until": "end"}]}"#)) == [])
  }

  @Test func `a first chapter that a movie shows from its start`() throws {
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

  @Test func `a film of high dynamic range`() throws {
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(
      pixelFormat: "yuv420p10le", bitDepth: 10,
      colour: ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc"))
    func lowered(
      _ video: String, _ composition: String = #"{"color": "hdr10"}"#
    ) throws -> (format: PixelFormat?, warnings: [Problem]) {
      let text = documentText(
        tracks: "[\(picture)]", "\"videoComposition\": \(composition)",
        export: "{\"to\": \"a.mkv\", \"video\": \(video)}")
      let (edit, warnings) = try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil)
      return (edit.export.video?.pixelFormat, warnings.filter { $0.pointer == "/export/video" })
    }
    let standard = try lowered(#"{"codec": "hevc"}"#, "{}")
    #expect(standard.format == .yuv420p10)
    #expect(standard.warnings.count == 1 && standard.warnings[0].message.contains("HDR (PQ), as its first clip"))
    // What the document asks for is no warning.
    let asked = try lowered("{}")
    #expect(asked.format == .yuv420p10 && asked.warnings.isEmpty, "\(asked.warnings)")
    let fixed = try lowered(#"{"pixelFormat": "yuv420p10"}"#)
    #expect(fixed.format == .yuv420p10 && fixed.warnings.isEmpty)
    let eight = try lowered(#"{"pixelFormat": "yuv420p"}"#)
    #expect(eight.format == .yuv420p)
    #expect(eight.warnings.count == 1 && eight.warnings[0].message.contains("8 bits"))
    #expect(try lowered(#"{"profile": "high"}"#).format == .yuv420p)
  }

  @Test func `a frame of thirty seconds`() throws {
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
  func `a picture that is enlarged`(_ fit: String, _ size: String, _ times: String?) throws {
    let tracks = #"{"clips": [{"asset": "v", "use": "0..1", "fit": "\#(fit)"}, {"asset": "v", "fit": "\#(fit)"}]}"#
    let found = try warnings(film(tracks, composition: #"{"renderSize": \#(size)}"#))
    #expect(found.count == (times == nil ? 0 : 1), "\(found)")
    if let times {
      #expect(found[0].hasPrefix("/tracks/0/clips/0: 'v' is 1280x720 and is enlarged \(times) times"), "\(found)")
    }
  }

  @Test func `a small picture among large ones is what its author has`() throws {
    var assets = try standardAssets()
    assets["w"] = try SyntheticAssets.video(
      size: PixelSize(width: 480, height: 360),
      colour: ColourTags(primaries: "smpte170m", transfer: "smpte170m", matrix: "smpte170m"))
    func found(_ size: String, _ fit: String) throws -> [String] {
      let tracks = #"[{"clips": [{"asset": "v", "use": "0..1"}, {"asset": "w", "use": "0..1", "fit": "\#(fit)"}]}]"#
      let text = documentText(tracks: tracks, #""videoComposition": {"renderSize": \#(size)}"#)
      return try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil).warnings
        .map(\.description).filter { !$0.contains("nothing uses") }
    }
    #expect(try found("[1280, 720]", "cover") == [])
    #expect(try found("[1920, 1080]", "cover") == [])
    // A thumbnail in place of the film.
    #expect(try found("[2400, 1350]", "cover").map { $0.contains("'w' is 480x360 and is enlarged 5 times") } == [true])
  }

  @Test(arguments: [
    (#"{"color": "bt709"}"#, 0), (#"{"toneMapping": "clip"}"#, 0), ("{}", 1), (#"{"color": "hlg"}"#, 0),
  ])
  func `colours that the document asks for are no warning`(_ composition: String, _ count: Int) throws {
    var assets = try standardAssets()
    assets["w"] = try SyntheticAssets.video(
      pixelFormat: "yuv420p10le", bitDepth: 10,
      colour: ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc"))
    let tracks = #"[{"clips": [{"asset": "v", "use": "0..1"}, {"asset": "w", "use": "0..1"}]}]"#
    let text = documentText(tracks: tracks, #""videoComposition": \#(composition)"#, export: #"{"to": "a.mkv"}"#)
    let found = try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil).warnings
      .filter { !$0.message.contains("nothing uses") }
    #expect(found.count == count, "\(found)")
  }

  @Test(arguments: [
    (#"[{"over": "10..11", "volume": [1, 0]}]"#, "begins at 10, not before the end of the film"),
    (#"[{"over": "12..13", "pan": [0, 1]}]"#, "begins at 12, not before the end of the film"),
    (#"[{"over": "6..7", "volume": [1, 0]}]"#, "begins at 6, not before the end of the last clip of 'music'"),
    (#"[{"at": 7, "volume": 0.5}]"#, "is set at 7, not before the end of the last clip of 'music'"),
    (#"[{"at": 6, "volume": 0.5}]"#, nil), (#"[{"over": "5..8", "volume": [1, 0]}]"#, nil),
  ])
  func `a ramp that begins when there is nothing left to change`(_ ramps: String, _ words: String?) throws {
    let music = #"{"id": "music", "type": "audio", "clips": [{"asset": "s", "use": "0..6"}]}"#
    let found = try warnings(film(picture, music, mix: #"{"music": \#(ramps)}"#))
    #expect(found.count == (words == nil ? 0 : 1), "\(found)")
    if let words { #expect(found[0].hasPrefix("/audioMix/music/0: ") && found[0].contains(words), "\(found)") }
  }

  @Test func `ramps on the film's time that begin after it, or after their instruction`() throws {
    let filters = #"[{"kind": "blur", "radius": [{"over": "11..12", "value": [0, 4]}]}]"#
    #expect(try warnings(film(picture, composition: #"{"filters": \#(filters)}"#)).count == 1)
    let instructions = #"""
      [{"over": "0..4", "layers": [{"track": "A", "ramps": [{"over": "5..6", "opacity": [1, 0]}]}]},
       {"over": "4..10", "layers": [{"track": "A", "ramps": [{"over": "8..12", "opacity": [1, 0]}]}]}]
      """#
    let found = try warnings(film(picture, composition: #"{"instructions": \#(instructions)}"#))
    #expect(
      found == [
        "/videoComposition/instructions/0/layers/0/ramps/0: this ramp begins at 5, not before the end of its "
          + "instruction, which ends at 4"
      ])
  }

  @Test(arguments: [
    (#"{"image": "logo", "x": 1280, "y": 0}"#, "never seen: 640x480 at (1280, 0) is outside the frame of 1280x720"),
    (#"{"image": "logo", "x": -640, "y": 5}"#, "outside the frame"), (#"{"image": "logo", "x": -639, "y": 5}"#, nil),
    (#"{"image": "logo", "width": 1400}"#, "larger than the frame of 1280x720"),
    (#"{"image": "logo", "height": 721}"#, "larger than the frame"), (#"{"image": "logo", "height": 720}"#, nil),
    (#"{"image": "logo", "opacity": 0}"#, "its opacity is 0 throughout"),
    (#"{"text": "Hi", "opacity": 0}"#, "its opacity is 0 throughout"),
    (#"{"text": "Hi", "over": "1..3", "ramps": [{"at": 0, "opacity": 0}]}"#, "its opacity is 0 throughout"),
    (#"{"text": "Hi", "over": "1..3", "ramps": [{"over": "0..1", "opacity": [0, 1]}]}"#, nil),
    (#"{"image": "logo", "x": 1280, "transform": {"translate": [-700, 0]}}"#, nil),
    (
      #"{"image": "logo", "x": 1280, "ramps": [{"over": "0..1", "transform": [{"translate": [0, 0]}, {"translate": [-900, 0]}]}]}"#,
      nil
    ),
    (
      #"{"image": "logo", "x": 1280, "ramps": [{"over": "0..1", "transform": [{"translate": [0, 7]}, {"translate": [900, 70]}]}]}"#,
      "from its start to its end it is outside"
    ),
    // Into the frame, and at once out of it again; and by an easing that goes further than its end.
    (
      #"{"image": "logo", "x": -640, "ramps": [{"over": "0..1", "transform": [{"translate": [-9, 0]}, {"translate": [300, 0]}]}, {"over": "1..2", "transform": [{"translate": [-9, 0]}, {"translate": [-10, 0]}]}]}"#,
      nil
    ),
    (
      #"{"image": "logo", "x": -640, "ramps": [{"over": "0..1", "easing": [0.5, 3, 0.5, 3], "transform": [{"translate": [-100, 0]}, {"translate": [-1, 0]}]}]}"#,
      nil
    ),
    // It comes when its ramp begins.
    (
      #"{"image": "logo", "x": 100, "ramps": [{"over": "1..2", "transform": [{"translate": [-900, 0]}, {"translate": [-901, 0]}]}]}"#,
      nil
    ),
    // From the left of the frame to its right, through it; and turned into it.
    (
      #"{"image": "logo", "x": -640, "ramps": [{"over": "0..1", "transform": [{"translate": [0, 7]}, {"translate": [1920, 7]}]}]}"#,
      nil
    ),
    (
      #"{"image": "logo", "x": 1290, "ramps": [{"over": "0..1", "transform": [{"rotate": 0}, {"rotate": 90}]}]}"#, nil
    ),
    (#"{"image": "logo", "transform": {"scale": 2.1}}"#, "a smaller scale"),
    (#"{"image": "logo", "transform": {"scale": 1.5}}"#, nil),
    (#"{"image": "logo", "transform": {"scale": 1.45, "rotate": 30}}"#, nil),
    (##"{"text": "Hi", "color": "#ffffff00"}"##, "its colour is transparent"),
    (##"{"text": "Hi", "color": "#ffffff01"}"##, nil), (##"{"text": "Hi", "color": "#ffffff00", "box": {}}"##, nil),
  ])
  func `an overlay that is not seen, or not all of it`(_ overlay: String, _ words: String?) throws {
    let found = try warnings(
      film(picture, composition: #"{"renderSize": [1280, 720], "overlays": [\#(overlay)]}"#))
    #expect(found.count == (words == nil ? 0 : 1), "\(found)")
    if let words {
      #expect(found[0].hasPrefix("/videoComposition/overlays/0") && found[0].contains(words), "\(found)")
    }
  }

  @Test(arguments: [
    (#""x": 100, "y": 100, "size": 100"#, nil), (#""x": 1000, "y": 680, "size": 100"#, "bottom"),
    (#""x": -60, "y": 10, "size": 100"#, "left"), (#""x": 0, "y": 0, "size": 700, "width": 4000"#, "right"),
    (#""anchor": "center", "size": 72"#, nil), (#""anchor": "top", "inset": 8, "size": 800"#, "bottom"),
    (#""x": 1290, "y": 0, "size": 100"#, "never seen"), (#""x": 1270, "y": 0, "size": 100"#, "right"),
  ])
  func `a text that is cut off`(_ style: String, _ words: String?) throws {
    let text = film(
      picture, composition: #"{"renderSize": [1280, 720], "overlays": [{"text": "Hello", \#(style)}]}"#)
    let document = try Document.parse(Array(text.utf8))
    let edit = try document.lower(assets: standardAssets(), output: nil)
    var findings = FontFindings(substitute: nil, missing: [])
    findings.measure = TextMeasure(lines: [2.5], lineHeight: 1.2)
    let found = document.textWarnings(edit, [try #require(document.fontRequests.first): findings])
    #expect(found.count == (words == nil ? 0 : 1), "\(found)")
    if let words { #expect(found[0].message.contains(words), "\(found)") }
  }

  /// Four words of 400 pixels each with spaces of 30: two are in a line of 1000 pixels, and none in one of 430.
  @Test(arguments: [
    (1000, 500, nil), (1000, 560, "bottom"), (860, 560, "bottom"), (820, 310, "bottom"), (820, 200, nil),
  ])
  func `a text whose words take more lines than there is room for`(_ width: Int, _ top: Int, _ edge: String?) throws {
    let text = film(
      picture,
      composition: #"{"renderSize": [1280, 720], "overlays": [{"text": "a b c d", "x": 0, "y": \#(top), "size": 100, "#
        + #""width": \#(width)}]}"#)
    let document = try Document.parse(Array(text.utf8))
    let edit = try document.lower(assets: standardAssets(), output: nil)
    let words = (0..<4).map { index in
      TextMeasure.Word(start: 4.3 * Double(index), end: 4.3 * Double(index) + 4, first: 2 * index, last: 2 * index + 1)
    }
    let measure = TextMeasure(lines: [16.9], lineHeight: 1.2, words: [words])
    let findings = FontFindings(substitute: nil, missing: [], measure: measure)
    let found = document.textWarnings(edit, [try #require(document.fontRequests.first): findings])
    #expect(found.count == (edge == nil ? 0 : 1), "\(found)")
    if let edge { #expect(found[0].message.contains("cut off at the \(edge)"), "\(found)") }
  }

  @Test func `a placeholder of a template that was not filled in`() throws {
    let text = documentText(
      tracks: "[\(picture)]",
      #""videoComposition": {"overlays": [{"text": "Hello {{ first_name }}!"}, {"text": "{{}} {a}"}]}"#,
      export: #"{"to": "a.mp4", "metadata": {"title": "${title}"}}"#)
    let found = try warnings(text)
    #expect(
      found == [
        "/videoComposition/overlays/0/text: '{{ first_name }}' looks like a placeholder that was not filled in",
        "/export/metadata/title: '${title}' looks like a placeholder that was not filled in",
      ])
  }

  @Test func `outputs whose keyframes do not align`() throws {
    func found(_ video: String, _ second: String = #""container": "mp4", "height": 360"#) throws -> [String] {
      let outputs = #"[{"name": "a", "container": "mp4"}, {"name": "b", \#(second)}]"#
      let track = #"{"sound": true, "clips": [{"asset": "v", "use": "0..10"}]}"#
      return try warnings(
        documentText(tracks: "[\(track)]", export: #"{"to": "x", "video": \#(video), "outputs": \#(outputs)}"#))
    }
    #expect(try found("{}") == [])
    #expect(try found(#"{"sceneCuts": false}"#) == [])
    let warned = try found(#"{"sceneCuts": true}"#)
    #expect(warned.count == 1, "\(warned)")
    #expect(warned.first?.hasPrefix("/export/video/sceneCuts: the keyframes of the outputs") == true)
    #expect(try found(#"{"sceneCuts": true}"#, #""container": "m4a", "video": false"#) == [])
  }

  @Test func `captions of which none is within the film`() throws {
    var assets = try standardAssets()
    assets["en"] = try SyntheticAssets.captions(hasStyles: false)
    func found(_ keys: String) throws -> [String] {
      let text = documentText(tracks: "[\(picture)]", #""captions": [{"asset": "en"\#(keys)}]"#)
        .replacing(#""assets": {"#, with: #""assets": {"en": "en.srt", "#)
      return try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil).warnings
        .map(\.description).filter { $0.contains("caption") }
    }
    #expect(try found("") == [])
    #expect(try found(#", "at": 8.5"#) == [])
    #expect(try found(#", "at": 9"#) == ["/captions/0: none of the captions of 'en' is shown within the film"])
    #expect(try found(#", "use": "3..9""#).count == 1)
  }

  @Test func `speakers who say nothing`() throws {
    func found(_ keys: String, _ speaker: String = #", "speaker": "Fred""#) throws -> [String] {
      let cues = #"{"over": "0..1", "text": "Hi"\#(speaker)}, {"over": "2..3", "text": "Oh"\#(speaker)}"#
      let text = documentText(tracks: "[\(picture)]", #""captions": [{"cues": [\#(cues)]\#(keys)}]"#)
      return try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: standardAssets(), output: nil).warnings
        .map(\.description).filter { $0.contains("speak") }
    }
    #expect(try found(#", "speakerNames": true"#) == [] && found(#", "speakers": {"Fred": {}}"#) == [])
    #expect(
      try found(#", "speakers": {"Fred": {}, "Frd": {"name": "F"}, "Mary": {}}"#) == [
        "/captions/0/speakers/Frd: 'Frd' says nothing in the captions of the list (did you mean 'Fred'?)",
        "/captions/0/speakers/Mary: 'Mary' says nothing in the captions of the list",
      ])
    #expect(
      try found(#", "speakerNames": true"#, "") == [
        "/captions/0/speakerNames: the captions of the list do not say who speaks"
      ])
    #expect(try found(#", "speakers": {"Fred": {}}"#, "").count == 1 && found("", "") == [])
  }

  @Test func `captions with many lines when they are broken`() throws {
    func found(_ keys: String) throws -> [String] {
      let cues = ["A line of words", "One that is long, in which there are many words", "Another of many words, it is"]
        .enumerated().map { #"{"over": "\#($0).5..\#($0 + 1)", "text": "\#($1)"}"# }.joined(separator: ", ")
      let text = documentText(tracks: "[\(picture)]", #""captions": [{"cues": [\#(cues)]\#(keys)}]"#)
      return try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: standardAssets(), output: nil).warnings
        .map(\.description).filter { $0.contains("lines") }
    }
    #expect(try found("") == [] && found(#", "lineLength": 40"#) == [])
    let place = "/captions/0/lineLength: the caption at"
    #expect(
      try found(#", "lineLength": 20"#)
        == ["\(place) 3/2 s has 3 lines of at most 20 characters; more than 2 are hard to read"])
    #expect(
      try found(#", "lineLength": 13"#)
        == [
          "\(place) 3/2 s, the first of 2 such captions, has 5 lines of at most 13 characters; more than 2 are hard to "
            + "read"
        ])
    #expect(try found(#", "lineLength": 20, "as": "track""#).count == 1)
    #expect(try found(#", "lineLength": 20, "use": "2..9""#) == [])
  }

  @Test(arguments: [
    (#"{"asset": "v", "use": "0..10"}"#, #"{"asset": "w", "use": "2..4"}"#, true),
    (#"{"asset": "v", "use": "0..10"}"#, #"{"asset": "w", "use": "0..20"}"#, false),
    (#"{"asset": "v", "use": "0..10", "opacity": 0.9}"#, #"{"asset": "w", "use": "2..4"}"#, false),
    (#"{"asset": "v", "use": "0..10", "fit": "none"}"#, #"{"asset": "w", "use": "2..4"}"#, true),
    (#"{"asset": "logo", "duration": 10}"#, #"{"asset": "w", "use": "2..4"}"#, false),
  ])
  func `a clip behind others`(_ upper: String, _ lower: String, _ isHidden: Bool) throws {
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
  func `a transparent clip`(_ opacity: String, _ isWarned: Bool) throws {
    let found = try warnings(film(#"{"clips": [{"asset": "v", "use": "0..10", \#(opacity)}]}"#))
    #expect(found.count == (isWarned ? 1 : 0) && found.allSatisfy { $0.contains("transparent") }, "\(found)")
  }

  @Test func `a track without volume`() throws {
    let tracks = #"{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..10"}]}"#
    #expect(
      try warnings(film(tracks, mix: #"{"A.sound": 0}"#)) == [
        "/audioMix/A.sound: the track 'A.sound' is silent: its volume is 0 throughout"
      ])
    #expect(try warnings(film(tracks, mix: #"{"A.sound": [{"volume": 0}, {"over": "5..6", "volume": [0, 1]}]}"#)) == [])
  }
}
