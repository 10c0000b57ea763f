import Foundation
import Sheaf
import TestPrograms
import Testing

import enum CompositionModel.Filter
import struct CompositionModel.FilterExtra
import enum CompositionModel.FilterKind
import struct CompositionModel.ToneCurves
import enum CompositionModel.TransitionKind

@Suite(.ownThreads) struct EditDocumentTests {
  @Test(arguments: (UInt64(0)..<40).spread(8))
  func `an edit becomes a document and back unchanged`(seed: UInt64) throws {
    var edits = RandomEdits(random: SeededRandom(seed: seed))
    for _ in 0..<3 {
      let edit = try edits.edit()
      let document = try edit.document()
      let back = try Edit(document: document, assets: DescribedMedia.all)
      let isSame = back == edit
      #expect(isSame, "\(String(decoding: document, as: UTF8.self))")
      #expect(edit.validate(against: DescribedMedia.all) == [])
    }
  }

  @Test func `the manifests of a film in segments are kept`() throws {
    var edit = Edit(assets: ["shot": "shot.mov"])
    edit.export = ExportSettings(path: "film.mpd")
    for manifests in [nil, [.mpd], [.m3u8, .mpd]] as [Set<Manifest>?] {
      edit.export.manifests = manifests
      let back = try Edit(document: try edit.document(), assets: DescribedMedia.all)
      #expect(back.export.manifests == manifests && back == edit)
    }
  }

  @Test func `every style of a transition and every filter is kept`() throws {
    var edit = Edit(assets: ["shot": "shot.mov", "title": "Title.ttf"])
    let color = VideoComposition.Color(red: 1, green: 2, blue: 254)
    let own = VideoComposition.Compositor(name: "blinds", parameters: #"{"a":1.50,"b":[true,null,"x"]}"#)
    let kinds: [TransitionKind] = [
      .dissolve, .fade(through: color), .wipe(.upLeft, softness: 0.25), .slide(.down), .push(.right),
      .circle(x: 0.1, y: 0.9, softness: 1), .clock(x: 0.3, y: 0, softness: 0.5),
      .iris(.diamond, x: 1, y: 0.25, softness: 0), .iris(.rectangle, x: 0.5, y: 0.5, softness: 0.125), .zoom, .spin,
      .blur(amount: 0.0625), .pixelate(amount: 0.5), .luma(softness: 0.5, isInverted: true), .custom(own),
    ]
    #expect(Set(kinds.map(\.name)) == Set(TransitionKind.Name.allCases))
    for (index, kind) in kinds.enumerated() {
      let range = try MediaTimeRange(
        start: MediaTime(seconds: Int64(index)), duration: MediaTime(value: 1, timescale: 3))
      let easing: Easing = index % 2 == 0 ? .linear : .cubicBezier(x1: 0.1, y1: -2, x2: 1, y2: 1e-3)
      edit.videoComposition.transitions.append(
        .init(from: "A", to: "B", timeRange: range, style: TransitionStyle(kind, easing: easing), matte: "shot"))
    }
    let curves = ToneCurves(
      all: [.init(x: 0, y: 1), .init(x: 1, y: 0)], blue: [.init(x: 0.125, y: 0), .init(x: 0.3, y: 0.7)])
    var filters: [VideoComposition.Filter] = []
    for kind in FilterKind.allCases {
      let values = try kind.parameters.enumerated().map { index, parameter in
        let range = parameter.range
        let value = min(range.upperBound, max(range.lowerBound, 0.75))
        guard index == 0 else { return try RampList.constant(value) }
        var moving = RampList()
        let second = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
        moving.addRamp(from: range.lowerBound, to: value, over: second, easing: .easeInOut)
        return moving
      }
      filters.append(Filter(kind, values, FilterExtra(color: color, table: "shot", curves: curves)))
    }
    // A list has 16 filters at most, and that of a film no chroma key.
    edit.videoComposition.filters = Array(filters.prefix(12))
    edit.videoComposition.overlays = [
      .init(.text(StyledText(text: "x", fontFile: "title", size: 12)), place: .point(x: .percent(1), y: .pixels(-2)))
    ]
    edit.videoComposition.overlays[0].filters = Array(filters.dropFirst(12))
    let back = try Edit(document: edit.document(), assets: [:])
    #expect(back.videoComposition.transitions == edit.videoComposition.transitions)
    #expect(back.videoComposition.filters == edit.videoComposition.filters)
    #expect(back == edit)
    // With a compositor in an instruction.
    edit.videoComposition.transitions = []
    edit.videoComposition.instructions = [
      .init(
        timeRange: try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1)), layers: [.init(track: "A")],
        compositor: own)
    ]
    #expect(try Edit(document: edit.document(), assets: [:]) == edit)
  }

  @Test func `a clip's speed and sound are kept`() throws {
    var edit = Edit(assets: ["shot": "shot.mov"])
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    try edit.composition.insert(shot.range(from: .zero, to: MediaTime(seconds: 4)))
    let curve = SpeedCurve(points: [
      .init(at: .zero, speed: .one), .init(at: MediaTime(seconds: 1), speed: try Rational(1, 2)),
    ])
    for index in edit.composition.tracks.indices {
      if edit.composition.tracks[index].type == .video {
        edit.composition.tracks[index].clips[0].retiming = Retiming(isReversed: true, speed: curve)
      } else {
        edit.composition.tracks[index].clips[0].pitch = .varispeed
        edit.composition.tracks[index].clips[0].layout = .stereo
      }
    }
    edit.export.path = "film.mkv"
    let described = ["shot": shot.contents]
    #expect(try Edit(document: edit.document(), assets: described) == edit)
    #expect(edit.validate(against: described) == [])
    // A pan outside of the clip is reported where it is written.
    edit.composition.tracks[1].clips[0].pan = RampList()
    try edit.composition.tracks[1].clips[0].pan?.set(-1, at: MediaTime(seconds: 9))
    #expect(edit.validate(against: described).map(\.pointer) == ["/tracks/1/clips/0/pan/0"])
    edit.composition.tracks[1].clips[0].pan = nil
    edit.export.video = .settings(.init(codec: .h264, rotation: 90))
    edit.export.path = "film.mp4"
    #expect(try Edit(document: edit.document(), assets: described) == edit)
    #expect(edit.validate(against: described) == [])
    #expect(edit.validate(against: described, output: "film.mkv").map(\.pointer) == ["/export/video/rotation"])
    let aperture = PixelRect(x: 3, y: 5, size: PixelSize(width: 16, height: 12))
    edit.export.video = .settings(
      .init(pixelAspect: AspectRatio(horizontal: 12, vertical: 11), cleanAperture: aperture))
    #expect(try Edit(document: edit.document(), assets: described) == edit)
    #expect(edit.validate(against: described) == [])
    #expect(edit.validate(against: described, output: "film.mkv").map(\.pointer) == ["/export/video/cleanAperture"])
  }

  @Test func `an animated picture keeps its settings`() throws {
    var edit = Edit(assets: ["shot": "shot.mov"])
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    try edit.composition.insert(shot.range(from: .zero, to: MediaTime(seconds: 4)))
    let described = ["shot": shot.contents]
    for dither in Dithering.allCases {
      edit.export = ExportSettings(
        path: "film.gif", video: .settings(.init(codec: .gif, dither: dither, plays: 3)), audio: .none)
      edit.videoComposition.frameDuration = MediaTime(value: 1, timescale: 20)
      #expect(try Edit(document: edit.document(), assets: described) == edit)
      #expect(edit.validate(against: described) == [])
    }
    #expect(edit.validate(against: described, output: "film.mp4").map(\.pointer).contains("/export/video/plays"))
  }

  @Test func `a target quality is kept`() throws {
    var edit = Edit(assets: ["shot": "shot.mov"])
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    try edit.composition.insert(shot.range(from: .zero, to: MediaTime(seconds: 4)))
    edit.export = ExportSettings(
      path: "film.mp4", video: .settings(.init(preset: "fast", targetQuality: QualityTarget(.ssim, 0.977))))
    let described = ["shot": shot.contents]
    #expect(try Edit(document: edit.document(), assets: described) == edit)
    #expect(edit.validate(against: described) == [])
    edit.export.video = .settings(.init(quality: 20, targetQuality: QualityTarget(.ssim, 0.977)))
    #expect(edit.validate(against: described).map(\.pointer) == ["/export/video/targetQuality"])
  }

  @Test func `the outputs of a render are kept`() throws {
    var edit = Edit(assets: ["shot": "shot.mov"])
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    try edit.composition.insert(shot.range(from: .zero, to: MediaTime(seconds: 4)))
    edit.export = ExportSettings(path: "films", video: .settings(.init(quality: 21, keyframeInterval: 48)))
    edit.export.outputs = [
      .init(name: "whole", container: .mp4, size: .exactly(PixelSize(width: 640, height: 360))),
      .init(
        name: "low", container: .mp4, size: .height(180), video: .settings(.init(quality: 28)),
        audio: .settings(.init(bitRate: 96000)), optimizeForNetworkUse: false),
      .init(
        name: "web", container: .webm, video: .settings(.init(codec: .vp9)), audio: .settings(.init(codec: .opus))),
      .init(name: "plain", container: .mov, video: .automatic, audio: .automatic),
      .init(name: "sound", container: .m4a, video: .none),
    ]
    // Not that of the export, so another interval and other cuts.
    let described = ["shot": shot.contents]
    #expect(edit.validate(against: described).map(\.pointer) == ["/export/outputs/3/video/keyframeInterval"])
    edit.export.outputs.remove(at: 3)
    #expect(edit.validate(against: described) == [])
    #expect(edit.validate(against: described, output: "any.folder") == [])
    let document = try edit.document()
    #expect(try Edit(document: document, assets: described) == edit)
    let outputs = try #require(try Document.parse(document).lower(assets: described, output: nil).outputs)
    #expect(outputs.map(\.fileName) == edit.export.outputs.map(\.fileName))
    #expect(outputs[1].export.size == PixelSize(width: 320, height: 180))
    #expect(outputs[1].export.optimizeForNetworkUse == false)
    #expect(outputs.map { $0.export.video == nil } == [false, false, false, true])

    edit.export.outputs[1].name = "Whole"
    edit.export.outputs[2].size = .height(181)
    edit.export.outputs[3].audio = .none
    #expect(
      Set(edit.validate(against: described).map(\.pointer)) == [
        "/export/outputs/1/name", "/export/outputs/2/height", "/export/outputs/3",
      ])
    edit.export.outputs[1].video = .settings(.init(quality: .nan))
    #expect(
      problems(writing: edit) == ["/export/outputs/1/video/quality: nan cannot be written; numbers must be finite"])
  }

  /// What the planner gets is what the edit has.
  @Test func `a document of an edit is lowered to the same clips`() throws {
    var edits = RandomEdits(random: SeededRandom(seed: 1000))
    for _ in 0..<20 {
      let edit = try edits.edit()
      let lowered = try Document.parse(try edit.document()).lower(assets: DescribedMedia.all, output: nil)
      #expect(lowered.composition.tracks.map(\.id) == edit.composition.tracks.map(\.id))
      for (track, planned) in zip(edit.composition.tracks, lowered.composition.tracks) {
        #expect(planned.clips.map(\.target) == track.clips.map(\.target))
        #expect(planned.clips.map(\.asset) == track.clips.map(\.asset))
        #expect(planned.clips.map(\.sourceTrack) == track.clips.map(\.sourceTrack))
        #expect(planned.clips.map(\.audioFilters) == track.clips.map(\.audioFilters))
        for (clip, planned) in zip(track.clips, planned.clips) {
          for time in [clip.target.start, clip.target.end] {
            #expect(try planned.pan?.value(at: time) == clip.pan?.value(at: time))
          }
        }
        let mixed = edit.audioMix.inputParameters[track.id]
        #expect(lowered.audioMix.filters[track.id] ?? [] == mixed?.filters ?? [])
        #expect(lowered.audioMix.ducking[track.id] == mixed?.ducking)
      }
      #expect(lowered.audioMix.loudness == edit.audioMix.loudness)
      let carried = (lowered.captions ?? []).filter { if case .track = $0.use { true } else { false } }
      let written = edit.captions.filter { if case .track = $0.use { true } else { false } }
      #expect(carried.count == written.count + edit.subtitleTracks.flatMap(\.clips).count)
      #expect(lowered.export.chapters?.count ?? 0 == edit.export.chapters.count)
    }
  }

  @Test func `every problem is reported with its place`() throws {
    var edit = Edit(assets: ["shot": "shot.mov"])
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    try edit.composition.insert(shot.range(from: .zero, to: MediaTime(seconds: 4)))
    edit.audioMix.setVolumeRamp(
      of: "audio1", from: 1, to: 99, over: try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1)))
    edit.videoComposition.instructions = [
      .init(
        timeRange: try MediaTimeRange(start: .zero, end: MediaTime(seconds: 3)),
        layers: [.init(track: "nowhere")])
    ]
    edit.export.path = "film.mkv"
    let problems = edit.validate(against: ["shot": DescribedMedia.video(seconds: 60)])
    #expect(
      Set(problems.map(\.pointer)) == [
        "/audioMix/audio1/0/volume/1", "/videoComposition/instructions/0/layers/0/track",
        "/videoComposition/instructions/0/over",
      ])
    edit.videoComposition.instructions?[0].layers[0].track = "video1"
    let uncovered = edit.validate(against: ["shot": DescribedMedia.video(seconds: 60)])
    #expect(uncovered.map(\.pointer).contains("/videoComposition/instructions/0/over"))
    // With another description of the file its clips are beyond it.
    #expect(
      edit.validate(against: ["shot": DescribedMedia.video(seconds: 2)]).contains {
        $0.pointer == "/tracks/0/clips/0/use"
      })
  }

  /// What is wrong in a document is reported as `sheaf check` reports it.
  @Test func `what is wrong in a document is an error and not left out`() throws {
    func problem(_ document: String) throws -> String {
      do {
        _ = try Edit(document: Array(document.utf8), assets: DescribedMedia.all)
        return "none"
      } catch {
        return "\(error)"
      }
    }
    #expect(
      try problem(#"{"sheaf": 1, "tracks": [{"id": "A", "clips": [{"asset": "shot", "lop": true}]}]}"#)
        .hasPrefix("/tracks/0/clips/0/lop: unknown key 'lop' (did you mean 'loop'?)"))
    #expect(
      try problem(#"{"sheaf": 1, "tracks": [], "captions": [{"asset": "words", "size": 9, "language": "eng"}]}"#)
        .hasPrefix("/captions/0/language: 'language' is for captions that are a track of the output"))
    #expect(
      try problem(#"{"sheaf": 1, "tracks": [], "audioMix": {"A": {"filters": [{"kind": "delay"}]}}}"#)
        == "/audioMix/A/filters/0: a filter 'delay' needs 'time'")
    func outputs(_ text: String) throws -> String {
      try problem(#"{"sheaf": 1, "tracks": [], "export": {"outputs": "# + text + "}}")
    }
    #expect(try outputs("[]") == "/export/outputs: there are 0 outputs; there should be 1 to 8")
    #expect(
      try outputs(#"[{"name": "a", "container": "mp4", "size": [64, 36], "height": 36}]"#)
        == "/export/outputs/0/size: 'size' is the width and the height: write 'size' or 'height', not both")
    #expect(
      try outputs(#"[{"name": "a", "container": "avi"}]"#).contains(
        "/export/outputs/0/container: unknown container 'avi'"))
    #expect(try problem(#"{"sheaf": 1"#).hasPrefix("not JSON at line 1"))
    #expect(try problem(#"{"sheaf": 1, "tracks": [], "tracks": []}"#) == "/tracks: this key occurs twice in its object")
  }

  @Test func `what an edit's own types cannot hold is kept as it is written`() throws {
    let text = #"""
      { "sheaf": 1, "assets": { "shot": "shot.mov", "sound": "sound.m4a" },
        "tracks": [
          { "clips": [ { "asset": "shot", "use": "0..2" }, { "asset": "shot", "loop": true, "duration": 3 } ] },
          { "type": "metadata", "id": "speed", "values": [ { "over": "0..1", "value": 3 } ] } ],
        "videoComposition": { "frameRate": 25 }, "export": { "to": "film.mkv", "timeRange": "0..25f" } }
      """#
    let edit = try Edit(document: Array(text.utf8), assets: DescribedMedia.all)
    #expect(edit.unconverted.tracks.count == 1)
    #expect(edit.composition.tracks == [])
    #expect(edit.metadataTracks.map(\.id) == ["speed"])
    #expect(edit.videoComposition.frameDuration == MediaTime(value: 1, timescale: 25))
    #expect(edit.unconverted.export.timeRange == Document.TimeRange("0..25f"))
    #expect(edit.export == ExportSettings())
    let written = try Document(json: edit.document())
    #expect(written.tracks.first == (try Document(json: text)).tracks.first)
    #expect(try Edit(document: edit.document(), assets: DescribedMedia.all) == edit)
  }

  /// The documents of the examples and of the document's pages.
  private func published() throws -> [String] {
    let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    var texts: [String] = []
    for name in ["first-film", "everyday-edit", "custom-transition/edit"] {
      texts.append(try String(contentsOf: repository.appending(path: "Examples/\(name).json"), encoding: .utf8))
    }
    texts += try PublishedPage.ofDocument().flatMap { $0.blocks() }
    return texts.filter { (try? Document(json: $0)) != nil }  // The pages have parts of documents too.
  }

  @Test func `every document of the examples and the page loads, and means the same film when it is written`() throws {
    let texts = try published()
    #expect(texts.count >= 8)
    for text in texts {
      let document = try Document.parse(Array(text.utf8))
      // Media of every kind, an hour long: of a name it is what it is used for.
      var descriptions: [AssetID: AssetDescription] = [:]
      for (id, path, _) in document.assetPaths { descriptions[id] = DescribedMedia.file(path) }
      let lowered = try document.lower(assets: descriptions, output: nil)
      let edit = try Edit(document: Array(text.utf8), assets: descriptions)
      let again = try Document.parse(try edit.document()).lower(assets: descriptions, output: nil)
      #expect(again == lowered, "\(text)")
      #expect(try Edit(document: edit.document(), assets: descriptions) == edit)
    }
  }

  @Test func `volumes in decibels are read as numbers`() throws {
    func volume(_ mix: String) throws -> Edit {
      let tracks = #"[{"id": "A", "type": "audio", "clips": []}]"#
      return try Edit(
        document: Array(#"{"sheaf": 1, "tracks": \#(tracks), "audioMix": \#(mix)}"#.utf8), assets: [:])
    }
    let read = try volume(#"{"A": "-20dB"}"#)
    #expect(try read == volume(#"{"A": 0.1}"#) && AudioMix.volume(decibels: -20) == 0.1)
    #expect(
      try volume(#"{"A": [{"over": "0..1", "volume": ["20 dB", 0.5]}]}"#)
        == volume(#"{"A": [{"over": "0..1", "volume": [10, 0.5]}]}"#))
    #expect(
      try volume(#"{"A": {"filters": [{"kind": "limiter", "limit": "-2dB"}]}}"#)
        == volume(#"{"A": {"filters": [{"kind": "limiter", "limit": -2}]}}"#))
    let written = try read.document()
    #expect(try Edit(document: written, assets: [:]) == read)
  }

  /// The places and messages of what cannot be written.
  private func problems(writing edit: Edit) -> [String] {
    do {
      _ = try edit.document()
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  @Test func `what cannot be written is an error with its place`() throws {
    var edit = Edit()
    edit.audioMix.inputParameters["music"] = .init(volume: RampList([]), filters: [.delay(time: .infinity)])
    edit.videoComposition.renderScale = .nan
    #expect(
      Set(problems(writing: edit)) == [
        "/audioMix/music/filters/0/time: inf cannot be written; numbers must be finite",
        "/videoComposition/scale: nan cannot be written; numbers must be finite",
      ])
    edit = Edit()
    edit.videoComposition.instructions = [
      .init(
        timeRange: try MediaTimeRange(start: .zero, duration: .zero), layers: [],
        compositor: .init(name: "own", parameters: "{"))
    ]
    #expect(
      problems(writing: edit).map { String($0.prefix(while: { $0 != ":" })) } == [
        "/videoComposition/instructions/0/compositor"
      ])
    edit = Edit()
    edit.videoComposition.overlays = [.init(.image("logo"), opacity: 0.5)]
    edit.videoComposition.overlays[0].opacityTrack = "level"
    #expect(
      problems(writing: edit) == [
        "/videoComposition/overlays/0/opacity: an overlay has the opacity 0.5 or that of the track 'level', not both"
      ])
    edit.videoComposition.overlays = [
      .init(.image("logo")), .init(.metadata("speed", StyledText(text: "mine", size: 9))),
    ]
    #expect(
      problems(writing: edit) == [
        "/videoComposition/overlays/1: the style of a metadata track's overlay has the text \"mine\"; it must be empty"
      ])
  }

  @Test func `what is most likely not meant is a warning`() throws {
    var edit = Edit(assets: ["shot": "shot.mov", "logo": "logo.png"], metadataTracks: [.init(id: "speed")])
    edit.export.path = "film.mkv"
    #expect(throws: DocumentError.self) { try edit.warnings(for: DescribedMedia.all) }
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    try edit.composition.insert(shot.range(from: .zero, to: MediaTime(seconds: 4)))
    let warnings = try edit.warnings(for: DescribedMedia.all).map(\.pointer)
    #expect(warnings == ["/assets/logo", "/tracks/2"])
  }

  @Test func `the loudness of the film and a track of that name are kept apart`() throws {
    var edit = Edit()
    try edit.composition.addTrack(.audio, id: "loudness")
    try edit.audioMix.setVolume(0.5, of: "loudness")
    #expect(try Edit(document: edit.document(), assets: [:]) == edit)
    edit.audioMix.loudness = .init(target: -16)
    #expect(problems(writing: edit).first?.hasPrefix("/audioMix/loudness: the film has a loudness") == true)
    edit.composition = Composition()
    #expect(problems(writing: edit) == ["/audioMix/loudness: there is no audio track 'loudness'"])
    edit.audioMix.inputParameters = [:]
    #expect(try Edit(document: edit.document(), assets: [:]) == edit)
  }

  /// A multiple insert puts the second sound of a file on the second audio track: the document has to say so.
  @Test func `the tracks of a file that are not its default ones are kept`() throws {
    var edit = Edit(assets: ["dubbed": "dubbed.mov"])
    var description = DescribedMedia.dubbed(seconds: 50)
    #expect(description.playedTracks(.audio).map(\.index) == [2])
    for index in description.tracks.indices { description.tracks[index].isEnabled = true }
    let dubbed = AssetSource(id: "dubbed", contents: description)
    try edit.composition.insert(dubbed.range(from: .zero, to: MediaTime(seconds: 4)))
    edit.export.path = "film.mkv"
    let described = ["dubbed": dubbed.contents]
    let sounds = edit.composition.tracks.filter { $0.type == .audio }.flatMap(\.clips)
    #expect(sounds.map(\.sourceTrack) == [1, 2, 3])
    let document = try Document.parse(edit.document())
    let lowered = try document.lower(assets: described, output: "film.mkv").composition
    #expect(lowered.tracks.filter { $0.type == .audio }.flatMap(\.clips).map(\.sourceTrack) == [1, 2, 3])
    #expect(try Edit(document: edit.document(), assets: described) == edit)
    #expect(edit.validate(against: described) == [])
    edit.composition.tracks[1].clips[0].trackNumber = 2
    #expect(edit.validate(against: described).map(\.pointer) == ["/tracks/1/clips/0"])
    edit.composition.tracks[0].clips[0].trackNumber = 1
    #expect(
      problems(writing: edit) == [
        "/tracks/0/clips/0: a document plays the default video track of 'dubbed', and not track 0"
      ])
  }

  /// Without a time of its own a document would play the whole of the video in the clip's time.
  @Test func `a picture frozen at the start of a video stays one`() throws {
    var edit = Edit(assets: ["shot": "shot.mov", "logo": "logo.png"])
    let track = try edit.composition.addTrack(.video, id: "A")
    try edit.composition.editTrack(track) { track in
      for name in ["shot", "logo", "shot"] {
        guard let description = DescribedMedia.all[name] else { return }
        try track.insert(AssetSource(id: name, contents: description).range(from: .zero, to: MediaTime(seconds: 2)))
      }
    }
    let still = edit.composition.tracks[0].clips[1].source
    edit.composition.tracks[0].clips[0].source = still
    edit.composition.tracks[0].clips[2].source = try MediaTimeRange(start: MediaTime(seconds: 7), duration: .zero)
    edit.export.path = "film.mkv"
    #expect(edit.validate(against: DescribedMedia.all) == [])
    let lowered = try Document.parse(edit.document()).lower(assets: DescribedMedia.all, output: nil)
    let clips = lowered.composition.tracks.flatMap(\.clips)
    #expect(clips.map(\.source) == edit.composition.tracks[0].clips.map(\.source))
    #expect(try Edit(document: edit.document(), assets: DescribedMedia.all) == edit)
  }

  @Test func `assets of the same name get names of their own`() {
    var edit = Edit()
    let description = DescribedMedia.video(seconds: 1)
    #expect(edit.add(LoadedAsset(path: "a/shot.mov", contents: description)).id == "shot")
    #expect(edit.add(LoadedAsset(path: "b/shot.mov", contents: description)).id == "shot-2")
    #expect(edit.add(LoadedAsset(path: "a/shot.mov", contents: description)).id == "shot")
    #expect(edit.add(LoadedAsset(path: "c/shot.mov", contents: description), as: "third").id == "third")
    #expect(edit.assets == ["shot": "a/shot.mov", "shot-2": "b/shot.mov", "third": "c/shot.mov"])
  }
}
