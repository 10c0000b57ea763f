import CompositionModel
import EditDocument
import TestEdits
import Testing

/// What a lowered edit shows, in short: each instruction's range and its stack.
func stacks(_ edit: Edit) -> [String] {
  edit.videoComposition.instructions.map { instruction in
    let layers = instruction.layers.map { layer in
      switch layer {
      case .track(let layer): layer.track
      case .transition(let layer): "\(layer.from.track)>\(layer.to.track) \(layer.progress.over)"
      case .compositor(let layer): "\(layer.compositor.name)(\(layer.sources.map(\.track)))"
      }
    }
    return "\(instruction.over): \(layers.joined(separator: ", "))"
  }
}

@Suite struct LoweringTests {
  private func videoTracks(_ clips: String...) -> String {
    let tracks = clips.enumerated().map { "{\"id\": \"\(["A", "B", "C"][$0])\", \"clips\": [\($1)]}" }
    return "[\(tracks.joined(separator: ", "))]"
  }

  private func targets(_ edit: Edit, _ track: TrackID) -> [String] {
    edit.composition.track(track)?.clips.map { "\($0.target)" } ?? []
  }

  @Test func `clips follow each other unless they have a time`() throws {
    let edit = try lowered(
      documentText(
        tracks: videoTracks(
          #"{"asset": "v", "use": "2..5"}, {"asset": "w", "use": "1+1/2"}, {"asset": "v", "use": "0..2", "at": 10}, {"asset": "w"}"#
        )))
    #expect(targets(edit, "A") == ["0..3", "3..7/2", "10..12", "12..72"])
    let clips = try #require(edit.composition.track("A")?.clips)
    #expect(clips.map { "\($0.source)" } == ["2..5", "1..3/2", "0..2", "0..60"])
    #expect(edit.composition.duration == MediaTime(seconds: 72))
  }

  @Test func `a cut at a stored time starts with its frame, and the sound stays`() throws {
    var assets = try standardAssets()
    var asset = try #require(assets["v"])
    asset.tracks[0].timebase = MediaTime(value: 1, timescale: 1000)
    asset.tracks[0].hasRoundedTimes = true
    asset.tracks[0].video?.frames = FrameTimes((0..<1800).map { ($0 * 1000 + 15) / 30 })
    asset.tracks[0].video?.cadence = StoredTime.Cadence(first: 0, rate: MediaTime(seconds: 30))
    assets["v"] = asset
    let edit = try lowered(
      documentText(tracks: #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0.033..1"}]}]"#),
      assets: assets)
    let sources = edit.composition.tracks.flatMap(\.clips).map { "\($0.source)" }
    #expect(sources == ["1/30..3001/3000", "33/1000..1"])
    #expect(targets(edit, "A") == ["0..967/1000"])
  }

  @Test func `clips are in order of time, whatever the document's`() throws {
    let edit = try lowered(
      documentText(
        tracks: videoTracks(#"{"asset": "v", "use": "0..2", "at": 5}, {"asset": "w", "use": "0..5", "at": 0}"#)))
    #expect(targets(edit, "A") == ["0..5", "5..7"])
  }

  @Test func `a duration that differs from the used length is a change of speed`() throws {
    let edit = try lowered(documentText(tracks: videoTracks(#"{"asset": "v", "use": "3..5", "duration": 4}"#)))
    let clip = try #require(edit.composition.track("A")?.clips.first)
    #expect(try "\(clip.source) \(clip.target) \(clip.sourceTime(at: at("1")))" == "3..5 0..4 7/2")
  }

  @Test(arguments: [
    ("0.5", "0..4"), ("2", "0..1"), (#""1/3""#, "0..6"), ("1.1", "0..20/11"), ("1", "0..2"), ("100", "0..1/50"),
  ])
  func `a speed gives the duration`(_ speed: String, _ target: String) throws {
    let edit = try lowered(documentText(tracks: videoTracks(#"{"asset": "v", "use": "3..5", "speed": \#(speed)}"#)))
    #expect(targets(edit, "A") == [target])
    #expect(edit.composition.track("A")?.clips.map { "\($0.source)" } == ["3..5"])
  }

  @Test func `a bed ends with the film`() throws {
    func bed(_ clip: String) throws -> [String] {
      let tracks =
        #"[{"id": "A", "clips": [{"asset": "v", "use": "0..10", "at": 2}]}, {"id": "B", "type": "audio", "clips": [\#(clip)]}]"#
      let edit = try lowered(documentText(tracks: tracks))
      #expect(edit.composition.duration == MediaTime(seconds: 12))
      return edit.composition.track("B")?.clips.map { "\($0.source) \($0.target)" } ?? []
    }
    #expect(try bed(#"{"asset": "s", "until": "end"}"#) == ["0..12 0..12"])
    #expect(try bed(#"{"asset": "s", "use": "3..60", "at": 4, "until": "end"}"#) == ["3..11 4..12"])
    #expect(try bed(#"{"asset": "s", "use": "3..5", "until": "end"}"#) == ["3..5 0..2"])
    #expect(try bed(#"{"asset": "s", "until": "0:07.5"}"#) == ["0..15/2 0..15/2"])
    #expect(try bed(#"{"asset": "s", "until": 7, "speed": 0.5}"#) == ["0..7/2 0..7"])
    #expect(try bed(#"{"asset": "s", "use": "1..6", "loop": true}"#) == ["1..6 0..5", "1..6 5..10", "1..3 10..12"])
    #expect(
      try bed(#"{"asset": "s", "use": "1..6", "speed": 2, "loop": true, "duration": 6}"#) == [
        "1..6 0..5/2", "1..6 5/2..5", "1..3 5..6",
      ])
    #expect(try bed(#"{"asset": "s", "use": "0..3"}, {"asset": "s", "use": "0..6", "loop": true}"#).count == 3)
  }

  @Test func `a picture is repeated as one clip`() throws {
    let clip =
      #"{"asset": "v", "use": "0..4", "loop": true, "until": 10, "ramps": [{"over": "0..10", "opacity": [0, 1]}]}"#
    let edit = try lowered(
      documentText(
        tracks: #"[{"id": "A", "sound": true, "clips": [\#(clip)]}, {"clips": [{"asset": "logo", "until": "end"}]}]"#))
    #expect(targets(edit, "A") == ["0..4", "4..8", "8..10"])
    #expect(targets(edit, "A.sound") == ["0..4", "4..8", "8..10"])
    #expect(targets(edit, "video2") == ["0..10"])
    let opacities = edit.videoComposition.instructions.compactMap { instruction -> RampList? in
      if case .track(let layer)? = instruction.layers.first { layer.opacity } else { nil }
    }
    #expect(try opacities.count == 3 && opacities.allSatisfy { try $0.value(at: at("5")) == 0.5 })
  }

  @Test func `a film shorter than half a sample has no sound`() throws {
    func edit(_ length: String, video: Bool = true) throws -> Edit {
      try lowered(
        documentText(
          tracks: #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0+\#(length)"}]}]"#,
          export: #"{"to": "a.mov", "video": \#(video)}"#))
    }
    #expect(try edit("1/90000").export.audio == nil)
    #expect(try edit("1/88000").export.audio != nil)
    let error = #expect(throws: DocumentError.self) { try edit("1/90000", video: false) }
    #expect(error?.problems.map(\.message) == ["the film is shorter than a sample"])
  }

  @Test func `still pictures last as long as their duration`() throws {
    let edit = try lowered(
      documentText(tracks: videoTracks(#"{"asset": "logo", "duration": "90f"}, {"asset": "logo", "use": "0..2"}"#)))
    let clips = try #require(edit.composition.track("A")?.clips)
    #expect(clips.allSatisfy { $0.source.isEmpty })
    #expect(targets(edit, "A") == ["0..3", "3..5"])
  }

  @Test func `frames are those of the output`() throws {
    let text = documentText(
      tracks: videoTracks(#"{"asset": "v", "use": "30f..60f", "at": "10f"}"#),
      #""videoComposition": {"frameDuration": "1001/30000"}"#)
    let edit = try lowered(text)
    #expect(targets(edit, "A") == ["1001/3000..1001/750"])
    #expect(edit.videoComposition.frameDuration == MediaTime(value: 1001, timescale: 30000))
    #expect(try edit.frameCount == 40)
  }

  @Test func `a video track's sound is a track of its own`() throws {
    let edit = try lowered(
      documentText(
        tracks:
          #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..5"}, {"asset": "mute", "use": "0..5"}, {"asset": "logo", "duration": 1}, {"asset": "w", "use": "2..4", "duration": 4}]}]"#,
        #""audioMix": {"A.sound": [{"volume": 0.25}, {"over": "1..2", "volume": [0.25, 1]}]}"#))
    #expect(edit.composition.tracks.map(\.id) == ["A", "A.sound"])
    let sound = try #require(edit.composition.track("A.sound"))
    #expect(
      sound.type == .audio && sound.clips.map(\.asset) == ["v", "w"] && sound.clips.map(\.sourceTrack) == [1, 1])
    #expect(sound.clips.map { "\($0.source) \($0.target)" } == ["0..5 0..5", "2..4 11..15"])
    let volume = try #require(edit.audioMix.volumes["A.sound"])
    #expect(try ["0", "1", "3/2", "9"].map { try volume.value(at: at($0)) } == [0.25, 0.25, 0.625, 1])
    #expect(edit.export.audio == AudioSettings(codec: .aac, bitRate: 128000, sampleRate: 44100, channels: 2))
  }

  @Test func `a number is the volume of the whole track`() throws {
    func volume(_ written: String) throws -> RampList? {
      let tracks = #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..5"}]}]"#
      return try lowered(documentText(tracks: tracks, #""audioMix": {"A.sound": \#(written)}"#)).audioMix.volumes[
        "A.sound"]
    }
    #expect(try volume("0.25") == volume(#"[{"volume": 0.25}]"#))
    #expect(try volume("0.25")?.value(at: at("4")) == 0.25)
    let error = #expect(throws: DocumentError.self) { try volume("11") }
    #expect(error?.problems.map(\.pointer) == ["/audioMix/A.sound"])
  }

  @Test func `a track whose assets are silent makes no sound`() throws {
    let edit = try lowered(
      documentText(
        tracks: #"[{"id": "A", "sound": true, "clips": [{"asset": "mute"}]}]"#,
        #""audioMix": {"A.sound": [{"volume": 0.2}]}"#))
    #expect(edit.export.audio == nil && edit.composition.track("A.sound")?.clips.isEmpty == true)
  }

  // MARK: Instructions

  @Test func `instructions are cut where the stack changes`() throws {
    let edit = try lowered(
      documentText(
        tracks: videoTracks(
          #"{"asset": "v", "use": "0..2", "at": 1}, {"asset": "v", "use": "0..2"}"#,
          #"{"asset": "w", "use": "0..4", "at": 4}"#)))
    #expect(stacks(edit) == ["0..1: ", "1..3: A", "3..4: A", "4..5: A, B", "5..8: B"])
  }

  @Test func `the film ends with its last sound`() throws {
    let edit = try lowered(
      documentText(
        tracks:
          #"[{"id": "A", "clips": [{"asset": "v", "use": "0..2"}]}, {"id": "m", "type": "audio", "clips": [{"asset": "s", "use": "0..5"}]}]"#
      ))
    #expect(stacks(edit) == ["0..2: A", "2..5: "])
  }

  @Test func `a dissolve is in the place of the upper of its tracks`() throws {
    let clips = [
      #"{"asset": "v", "use": "0..6"}"#, #"{"asset": "w", "use": "0..10"}"#, #"{"asset": "v", "use": "0..8", "at": 4}"#,
    ]
    let text = documentText(
      tracks: videoTracks(clips[0], clips[1], clips[2]),
      #""videoComposition": {"transitions": [{"from": "A", "to": "C", "over": "5..6"}]}"#)
    #expect(
      stacks(try lowered(text)) == [
        "0..4: A, B", "4..5: A, B, C", "5..6: A>C 5..6, B", "6..10: B, C", "10..12: C",
      ])
    let back = text.replacing(#""from": "A", "to": "C""#, with: #""from": "C", "to": "A""#)
    #expect(stacks(try lowered(back))[2] == "5..6: C>A 5..6, B")
    guard case .transition(let layer) = try lowered(back).videoComposition.instructions[2].layers[0] else {
      Issue.record("no dissolve")
      return
    }
    #expect(layer.progress == Ramp(over: try spanning("5", "6"), from: 0, to: 1))
    #expect(layer.style == .dissolve && layer.matte == nil)
  }

  @Test func `a dissolve goes on across a cut`() throws {
    let text = documentText(
      tracks: videoTracks(
        #"{"asset": "v", "use": "0..5"}, {"asset": "w", "use": "0..1"}"#, #"{"asset": "w", "use": "0..6", "at": 4}"#),
      #""videoComposition": {"transitions": [{"from": "A", "to": "B", "over": "4..6"}]}"#)
    #expect(stacks(try lowered(text)) == ["0..4: A", "4..5: A>B 4..6", "5..6: A>B 4..6", "6..10: B"])
  }

  @Test func `explicit instructions are cut at clips and at the film`() throws {
    let text = documentText(
      tracks: videoTracks(
        #"{"asset": "v", "use": "0..3"}, {"asset": "w", "use": "0..3"}"#,
        #"{"asset": "w", "use": "0..2", "at": 4, "fit": "cover"}"#),
      ##"""
      "videoComposition": { "background": "#102030", "instructions": [
        { "over": "-1..2", "layers": [ { "track": "B" }, { "track": "A", "opacity": 0.5, "ramps": [ { "over": "0..1", "opacity": [0, 1] } ] } ] },
        { "over": "2..4", "passthrough": "A", "background": "#ffffff", "wantsOverlays": false },
        { "over": "4..20", "layers": [ { "track": "B" }, { "track": "A", "fit": "fill" } ] } ] }
      """##)
    let edit = try lowered(text)
    #expect(stacks(edit) == ["0..2: A", "2..3: A", "3..4: A", "4..6: B, A"])
    let instructions = edit.videoComposition.instructions
    #expect(instructions.map(\.background.red) == [0x10, 0xFF, 0xFF, 0x10])
    #expect(instructions.map(\.wantsOverlays) == [true, false, false, true])
    guard case .track(let faded) = instructions[0].layers[0], case .track(let cover) = instructions[3].layers[0],
      case .track(let fill) = instructions[3].layers[1]
    else {
      Issue.record("no layers")
      return
    }
    #expect(cover.fit == .cover && fill.fit == .fill)
    #expect(try ["-1/2", "1/2", "1", "2"].map { try faded.opacity.value(at: at($0)) } == [0.5, 0.25, 0.5, 0.5])
  }

  @Test func `a clip's ramps are on its own time, and times its opacity`() throws {
    let edit = try lowered(
      documentText(
        tracks: videoTracks(
          #"{"asset": "v", "use": "0..4", "at": 10, "opacity": 0.5, "ramps": [{"over": "3..4", "opacity": [1, 0]}, {"over": "1..2", "opacity": [0.5, 1]}]}"#
        )))
    guard case .track(let layer) = try #require(edit.videoComposition.instructions.last).layers[0] else {
      Issue.record("no layer")
      return
    }
    let times = ["10", "21/2", "11", "23/2", "12", "13", "27/2", "14"]
    #expect(try times.map { try layer.opacity.value(at: at($0)) } == [0.5, 0.5, 0.25, 0.375, 0.5, 0.5, 0.25, 0])
  }

  // MARK: Defaults

  @Test(arguments: [
    ("30", 1, 30), ("29.97", 1001, 30000), ("23.976", 1001, 24000), ("23.98", 1001, 24000), ("59.94", 1001, 60000),
    ("47.952", 1001, 48000), (#""2997/100""#, 100, 2997), ("12.5", 2, 25), (#""1/2""#, 2, 1), ("30.01", 100, 3001),
  ])
  func `a frame rate gives the frame duration`(_ rate: String, _ value: Int64, _ timescale: Int32) throws {
    let edit = try lowered(
      documentText(tracks: videoTracks(#"{"asset": "v"}"#), #""videoComposition": {"frameRate": \#(rate)}"#))
    #expect(edit.videoComposition.frameDuration == MediaTime(value: value, timescale: timescale))
  }

  /// Rates as phones and screen recorders leave them in their files, and some that are meant as they are.
  @Test(
    arguments: [
      ((3001, 100), (1, 30)), ((29_960, 1000), (1001, 30000)), ((30_140, 1000), (1, 30)),
      ((24_000, 1001), (1001, 24000)),
      ((5994, 100), (1001, 60000)), ((23_990, 1000), (1, 24)), ((15, 1), (1, 15)), ((2950, 100), (2, 59)),
      ((10, 1), (1, 10)),
    ] as [((Int64, Int32), (Int64, Int32))])
  func `the default rate is the standard rate next to the clips'`(_ rate: (Int64, Int32), _ expected: (Int64, Int32))
    throws
  {
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(rate: MediaTime(value: rate.0, timescale: rate.1))
    let edit = try lowered(documentText(tracks: videoTracks(#"{"asset": "v"}"#)), assets: assets)
    #expect(edit.videoComposition.frameDuration == MediaTime(value: expected.0, timescale: expected.1))
  }

  @Test func `the largest upright clip gives the size, and the fastest the rate`() throws {
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(
      size: PixelSize(width: 1921, height: 1081), rate: MediaTime(value: 24000, timescale: 1001),
      orientation: Orientation(clockwise: 90))
    assets["w"] = try SyntheticAssets.video(rate: MediaTime(value: 60000, timescale: 1001))
    assets["logo"] = try SyntheticAssets.still(size: PixelSize(width: 100, height: 100))
    let tracks = videoTracks(#"{"asset": "logo", "duration": 1}, {"asset": "w"}, {"asset": "v"}"#)
    let edit = try lowered(documentText(tracks: tracks), assets: assets)
    #expect(edit.videoComposition.renderSize == PixelSize(width: 1080, height: 1920))
    #expect(edit.videoComposition.frameDuration == MediaTime(value: 1001, timescale: 60000))
    #expect(edit.export.video?.keyframeInterval == 120)
    let half = try lowered(documentText(tracks: tracks, #""videoComposition": {"scale": 0.5}"#), assets: assets)
    #expect(half.videoComposition.renderSize == PixelSize(width: 540, height: 960))
    let exact = try lowered(
      documentText(tracks: tracks, export: #"{"to": "a.mkv", "video": {"pixelFormat": "yuv444p"}}"#), assets: assets)
    #expect(exact.videoComposition.renderSize == PixelSize(width: 1081, height: 1921))
    let stills = try lowered(documentText(tracks: videoTracks(#"{"asset": "logo", "duration": 1}"#)))
    #expect(stills.videoComposition.frameDuration == MediaTime(value: 1, timescale: 30))
  }

  @Test(arguments: [
    ("yuv420p", 8, PixelFormat.yuv420p), ("yuvj420p", 8, .yuv420p), ("nv12", 8, .yuv420p), ("gray", 8, .yuv420p),
    ("yuv420p10le", 10, .yuv420p10), ("gray12le", 12, .yuv420p10), ("yuvj422p", 8, .yuv422p), ("uyvy422", 8, .yuv422p),
    ("yuv422p10le", 10, .yuv422p10), ("yuv411p", 8, .yuv422p), ("yuv444p12le", 12, .yuv444p10), ("gbrp", 8, .yuv444p),
    ("rgb24", 8, .yuv444p), ("gbrp10le", 10, .yuv444p10), ("pal8", 8, .yuv444p), ("yuva444p10le", 10, .yuv444p10),
  ])
  func `FFV1 keeps the first shot's pixel format`(_ name: String, _ depth: Int, _ expected: PixelFormat) throws {
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(pixelFormat: name, bitDepth: depth)
    let edit = try lowered(
      documentText(
        tracks: videoTracks(#"{"asset": "logo", "duration": 1}, {"asset": "v"}"#),
        export: #"{"to": "a.mkv", "video": {"codec": "ffv1"}}"#),
      assets: assets)
    let video = try #require(edit.export.video)
    #expect(video.pixelFormat == expected && video.rateControl == .lossless && video.preset == nil)
    #expect(video.colour.isFullRange == name.hasPrefix("yuvj"))
    #expect(video.colour.matrix == (expected.chromaShift == (0, 0) && !name.hasPrefix("yuv") ? nil : "bt709"))
  }

  @Test func `export defaults are filled in, and the document's own are kept`() throws {
    let tracks = videoTracks(#"{"asset": "mute", "use": "0..2"}"#)
    let plain = try lowered(documentText(tracks: tracks, export: #"{"to": "out/Film.MP4"}"#)).export
    #expect(
      plain.container == .mp4 && plain.path == "out/Film.MP4" && plain.optimizeForNetworkUse && plain.audio == nil)
    #expect(
      plain.video
        == VideoSettings(
          codec: .h264, rateControl: .quality(23), preset: "medium", profile: nil, keyframeInterval: 60,
          pixelFormat: .yuv420p, colour: ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709")))
    let text = documentText(
      tracks: tracks,
      export: """
        { "to": "a.mkv", "optimizeForNetworkUse": false, "metadata": { "title": "T" },
          "video": { "bitRate": 4000000, "preset": "fast", "profile": "main", "keyframeInterval": "1/2" },
          "audio": { "codec": "flac", "sampleRate": 96000, "channels": 6, "bitDepth": 24 } }
        """)
    let given = try lowered(text).export
    #expect(given.video?.rateControl == .averageBitRate(4_000_000) && given.video?.keyframeInterval == 15)
    #expect(given.video?.keyframeGrid == KeyframeGrid(interval: Rational(15)) && given.video?.sceneCuts == false)
    #expect(plain.video?.keyframeGrid == nil && plain.video?.sceneCuts == nil)
    #expect(given.video?.preset == "fast" && given.video?.profile == "main" && given.metadata == ["title": "T"])
    // It is given explicitly, so it is there although the film is silent.
    #expect(given.audio == AudioSettings(codec: .flac, bitRate: nil, sampleRate: 96000, channels: 6, bitDepth: 24))
    #expect(!given.optimizeForNetworkUse)
    let overridden = try lowered(text, output: "/elsewhere/b.mov".replacing("mov", with: "mp4")).export
    #expect(overridden.container == .mp4)
  }

  @Test(arguments: [
    (#""2""#, 60, "60000/1001"), (#""119/60""#, 60, "8500/143"), ("48", 48, "48"), (#""1/40""#, 1, nil),
    ("1", 1, nil),
  ])
  func `an interval of keyframes that is given fixes them, unless every frame is one`(
    interval: String, longest: Int, frames: String?
  ) throws {
    let tracks = videoTracks(#"{"asset": "mute", "use": "0..2"}"#)
    for (cuts, expected) in [("", frames == nil ? nil : false), (#", "sceneCuts": true"#, nil)] as [(String, Bool?)] {
      let video = try lowered(
        documentText(
          tracks: tracks, #""videoComposition": {"frameDuration": "1001/30000"}"#,
          export: "{ \"to\": \"a.mp4\", \"video\": { \"keyframeInterval\": \(interval)\(cuts) } }")
      ).export.video
      #expect(video?.keyframeInterval == longest && video?.sceneCuts == expected)
      let grid = video?.keyframeGrid
      #expect(grid.map { $0.denominator == 1 ? "\($0.numerator)" : "\($0.numerator)/\($0.denominator)" } == frames)
    }
  }

  @Test func `video and audio are left out if there are none or they are false`() throws {
    let both = #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..2"}]}]"#
    #expect(try lowered(documentText(tracks: both, export: #"{"to": "a.mp4", "audio": false}"#)).export.audio == nil)
    #expect(try lowered(documentText(tracks: both, export: #"{"to": "a.mp4", "video": false}"#)).export.video == nil)
    let sound = #"[{"type": "audio", "clips": [{"asset": "s", "use": "0..2"}]}]"#
    let edit = try lowered(documentText(tracks: sound))
    #expect(edit.export.video == nil && edit.export.audio != nil && edit.composition.tracks[0].id == "audio1")
    let lyrics = try lowered(
      documentText(tracks: sound, #""videoComposition": {"renderSize": [640, 360], "overlays": [{"text": "la"}]}"#))
    #expect(try lyrics.export.video != nil && lyrics.videoComposition.overlays[0].over == spanning("0", "2"))
  }

  // MARK: Overlays

  @Test func `overlays have their place and time`() throws {
    let text = documentText(
      tracks: videoTracks(#"{"asset": "v", "use": "0..10"}"#),
      ##"""
      "videoComposition": { "overlays": [
        { "image": "logo", "anchor": "top-right", "inset": 48, "width": 220, "opacity": 0.8 },
        { "text": "Hi", "over": "1..4", "size": 72, "color": "#ff000080", "align": "left", "font": "Noto Sans", "bold": true,
          "x": 10, "y": -20, "ramps": [ { "over": "0..1/2", "opacity": [0, 1] }, { "over": "5/2..3", "opacity": [1, 0] } ] },
        { "text": "default" } ] }
      """##)
    let overlays = try lowered(text).videoComposition.overlays
    #expect(overlays[0].content == .image(asset: "logo", width: 220, height: nil))
    #expect(overlays[0].placement == .anchor(.topRight, inset: 48) && overlays[0].opacity == 0.8)
    #expect(try overlays[0].over == spanning("0", "10"))
    #expect(overlays[1].placement == .point(x: 10, y: -20))
    guard case .text(let styled) = overlays[1].content, case .text(let plain) = overlays[2].content else {
      Issue.record("no text")
      return
    }
    #expect(styled.color == Color(red: 255, green: 0, blue: 0, alpha: 128) && styled.alignment == .left)
    #expect(styled.font == "Noto Sans" && styled.isBold && !styled.isItalic && styled.size == 72)
    #expect(plain.size == 40 && plain.color == .white && overlays[2].placement == .anchor(.center, inset: 0))
    let values = try ["1", "5/4", "2", "15/4", "4"].map { try overlays[1].ramps.value(at: at($0)) }
    #expect(values == [0, 0.5, 1, 0.5, 0])
  }

  @Test func `a scale makes overlays smaller with the frame`() throws {
    let text = documentText(
      tracks: videoTracks(#"{"asset": "v", "use": "0..10"}"#),
      #""videoComposition": {"scale": 0.25, "overlays": [{"image": "logo", "inset": 40}, {"text": "x", "size": 40, "width": 400, "x": 21}, {"text": "y"}]}"#
    )
    let edit = try lowered(text)
    #expect(edit.videoComposition.renderSize == PixelSize(width: 320, height: 180))
    let overlays = edit.videoComposition.overlays
    #expect(overlays[0].content == .image(asset: "logo", width: 160, height: nil))
    #expect(overlays[0].placement == .anchor(.center, inset: 10) && overlays[1].placement == .point(x: 5, y: 0))
    guard case .text(let given) = overlays[1].content, case .text(let plain) = overlays[2].content else { return }
    #expect(given.size == 10 && given.width == 100 && plain.size == 10)
  }

  @Test func `the same text is the same edit`() throws {
    let text = documentText(
      tracks: videoTracks(#"{"asset": "v"}"#, #"{"asset": "w"}"#),
      #""videoComposition": {"transitions": [{"from": "A", "to": "B", "over": "5..6"}]}"#)
    #expect(try lowered(text) == lowered(text))
  }
}
