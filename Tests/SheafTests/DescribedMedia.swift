import Foundation
import Sheaf
import TestPrograms

import struct CompositionModel.CaptionEvent
import struct CompositionModel.CaptionsFormat
import struct CompositionModel.ColourTableFormat
import struct CompositionModel.FrameTimes

/// Descriptions of media without files.
enum DescribedMedia {
  static let all: [AssetID: AssetDescription] = [
    "shot": video(seconds: 60), "other": video(seconds: 40), "music": sound(seconds: 90), "logo": still(),
    "words": captions(seconds: 30), "dubbed": dubbed(seconds: 50),
  ]

  private static func range(_ seconds: Int64) -> MediaTimeRange {
    guard let range = try? MediaTimeRange(start: .zero, duration: MediaTime(seconds: seconds)) else { fatalError() }
    return range
  }

  private static func sound(index: Int, _ seconds: Int64) -> TrackDescription {
    TrackDescription(
      index: index, type: .audio, codec: "aac", timebase: MediaTime(value: 1, timescale: 48000), range: range(seconds),
      audio: AudioFormat(sampleRate: 48000, channels: 2, layout: "stereo"))
  }

  private static func picture(_ seconds: Int64, still: Bool) -> TrackDescription {
    TrackDescription(
      index: 0, type: .video, codec: still ? "png" : "h264", timebase: MediaTime(value: 1, timescale: 90000),
      range: range(seconds),
      video: VideoFormat(
        size: PixelSize(width: 640, height: 360), pixelFormat: still ? "rgba" : "yuv420p", hasAlpha: still,
        nominalFrameRate: still ? .zero : MediaTime(seconds: 30), frames: FrameTimes(still ? [0] : [0, 3000]),
        keyframes: [], isStill: still))
  }

  static func video(seconds: Int64) -> AssetDescription {
    AssetDescription(
      container: "mov", duration: MediaTime(seconds: seconds),
      tracks: [picture(seconds, still: false), sound(index: 1, seconds)])
  }

  static func sound(seconds: Int64) -> AssetDescription {
    AssetDescription(container: "mov", duration: MediaTime(seconds: seconds), tracks: [sound(index: 0, seconds)])
  }

  /// Pictures with the sound of three languages, of which the second is the default.
  static func dubbed(seconds: Int64) -> AssetDescription {
    var sounds = (1...3).map { sound(index: $0, seconds) }
    for index in [0, 2] { sounds[index].isEnabled = false }
    return AssetDescription(
      container: "mov", duration: MediaTime(seconds: seconds), tracks: [picture(seconds, still: false)] + sounds)
  }

  static func captions(seconds: Int64) -> AssetDescription {
    var track = TrackDescription(
      index: 0, type: .subtitle, codec: "subrip", timebase: MediaTime(value: 1, timescale: 1000), range: range(seconds))
    track.captions = CaptionsFormat(
      header: "[Script Info]\n", hasStyles: false,
      events: [CaptionEvent(start: 0, end: seconds * 1000, fields: "0,0,Default,,0,0,0,,word")])
    return AssetDescription(container: "srt", duration: MediaTime(seconds: seconds), tracks: [track])
  }

  /// A file of the kind that its name says, an hour long.
  static func file(_ path: String) -> AssetDescription {
    switch path.split(separator: ".").last {
    case "png", "jpg":
      var picture = still()
      picture.byteCount = 10_000
      return picture
    case "m4a", "wav", "mp3", "flac": return sound(seconds: 3600)
    case "cube":
      return AssetDescription(
        container: "cube", duration: .zero, tracks: [], colourTable: ColourTableFormat(dimensions: 3, size: 33))
    case "srt", "vtt": return captions(seconds: 3600)
    case "ass":
      var styled = captions(seconds: 3600)
      styled.tracks[0].captions?.hasStyles = true
      return styled
    default:
      var film = video(seconds: 3600)
      for index in film.tracks.indices { film.tracks[index].language = "deu" }
      film.tracks += captions(seconds: 3600).tracks
      return film
    }
  }

  static func still() -> AssetDescription {
    AssetDescription(container: "png_pipe", duration: .zero, tracks: [picture(0, still: true)])
  }
}

/// Makes edits at random that have no problems.
struct RandomEdits {
  var random: SeededRandom

  mutating func edit() throws -> Edit {
    var edit = Edit(assets: [
      "shot": "a/shot.mov", "other": "other.mp4", "music": "music.m4a", "logo": "logo.png", "words": "words.srt",
      "dubbed": "dubbed.mov",
    ])
    edit.composition = try composition()
    let duration = edit.composition.duration
    for track in edit.composition.tracks where track.type == .audio && flip() {
      try edit.audioMix.setVolume(number(0, 2), of: track.id)
      for range in try pieces(of: duration, 3).dropFirst() where flip() {
        edit.audioMix.setVolumeRamp(of: track.id, from: number(0, 2), to: number(0, 2), over: range, easing: easing())
      }
    }
    if flip(), let track = edit.composition.tracks.first(where: { $0.type == .audio }) {
      edit.audioMix.inputParameters[track.id] = .init(volume: try .constant(number(0, 4)))
    }
    let sounds = edit.composition.tracks.filter { $0.type == .audio }.map(\.id)
    for track in sounds where flip() { try mix(track, among: sounds, of: &edit) }
    if flip() { edit.audioMix.loudness = .init(target: number(-30, -10), truePeak: number(-3, 0)) }
    edit.videoComposition = try videoComposition(edit.composition)
    edit.captions = try captions()
    if flip() {
      edit.subtitleTracks = [
        .init(
          id: "subtitles", label: .init(language: "eng", title: "A \"title\"", isDefault: flip()),
          clips: [.init("words", source: try MediaTimeRange(start: .zero, end: MediaTime(seconds: 2))), .init("words")])
      ]
    }
    if flip() { try addMetadata(to: &edit, below: duration) }
    edit.export = export()
    if flip() { edit.export.timeRange = try MediaTimeRange(start: .zero, end: duration) }
    if flip() {
      edit.export.chapters = [.init(at: .zero, title: "One"), .init(at: time(below: duration), title: "Two")]
    }
    if edit.export.chapters.last?.start == .zero { edit.export.chapters.removeLast() }
    return edit
  }

  private mutating func mix(_ track: TrackID, among sounds: [TrackID], of edit: inout Edit) throws {
    try edit.audioMix.setPan(number(-1, 1), of: track)
    if flip() {
      let range = try MediaTimeRange(start: MediaTime(seconds: 1), duration: MediaTime(seconds: 3))
      edit.audioMix.setPanRamp(of: track, from: number(-1, 1), to: number(-1, 1), over: range, easing: easing())
    }
    edit.audioMix.inputParameters[track]?.filters = filters()
    if flip(), track != sounds[0] {
      edit.audioMix.duck(track, under: sounds[0], levels: .init(by: number(-40, 0), hold: number(0, 2)))
    }
    for index in edit.composition.tracks.indices where edit.composition.tracks[index].id == track {
      for clip in edit.composition.tracks[index].clips.indices where flip() {
        let target = edit.composition.tracks[index].clips[clip].target
        var pan = RampList()
        pan.addRamp(from: -1, to: number(-1, 1), over: target, easing: easing())
        edit.composition.tracks[index].clips[clip].pan = flip() ? pan : try .constant(number(-1, 1))
        edit.composition.tracks[index].clips[clip].audioFilters = filters()
      }
    }
  }

  private mutating func addMetadata(to edit: inout Edit, below end: MediaTime) throws {
    let ranges = try pieces(of: end, 4)
    edit.metadataTracks = [
      .init(id: "place", items: ranges.filter { _ in flip() }.map { .init(over: $0, .text("A \"place\"\n")) }),
      .init(
        id: "speed",
        items: ranges.map { range in
          let number = number(-50, 50)
          return .init(over: range, .number(from: number, to: flip() ? number : self.number(-50, 50)))
        }),
    ]
    let style = StyledText(text: "", size: number(10, 40), color: color())
    edit.videoComposition.overlays += [
      .init(.metadata("place", style), place: .anchor(.top)),
      .init(.counting(counts[whole(0...4)], style), place: .anchor(.left)),
      .init(
        .waveform(
          flip() ? .init(asset: "music") : .init(asset: "shot", style: .line), color: flip() ? color() : nil,
          height: flip() ? .percent(20) : nil)),
      .init(
        .metadata(
          "speed", style, decimals: whole(0...1),
          rounding: VideoComposition.Overlay.NumberRounding.allCases[whole(0...2)], prefix: "≈ ",
          suffix: flip() ? " km/h" : "")),
    ]
    edit.metadataTracks.append(
      .init(id: "level", items: ranges.map { .init(over: $0, .number(from: number(0, 1), to: number(0, 1))) }))
    if flip() {
      let last = edit.videoComposition.overlays.count - 1
      edit.videoComposition.overlays[last].opacityTrack = "level"
      edit.videoComposition.overlays[last].rotationTrack = "speed"
    }
    let own = VideoComposition.Compositor(name: "own", metadata: ["speed", "place"])
    for index in edit.videoComposition.instructions?.indices ?? 0..<0 where flip() {
      for layer in edit.videoComposition.instructions?[index].layers.indices ?? 0..<0 {
        edit.videoComposition.instructions?[index].layers[layer].blendMode = nil
      }
      edit.videoComposition.instructions?[index].compositor = own
    }
  }

  private var counts: [Document.CountingText] {
    [
      .init(timecode: "00:00:00:00"), .init(frame: 7), .init(counter: .between(0, 99.5)), .init(countdown: 3),
      .init(date: "2026-11-28T09:30:00"),
    ]
  }

  private mutating func filters() -> [AudioMix.Filter] {
    [
      .equalizer(frequency: number(20, 9000), gain: number(-9, 9), q: 1), .highPass(frequency: 80, q: number(0.5, 2)),
      .compressor(threshold: number(-40, 0), ratio: 4, attack: 0.01, release: 0.5, knee: 3, makeup: number(0, 9)),
      .limiter(limit: -1, attack: 0.005, release: number(0.01, 1)), .delay(time: number(0, 1)),
      .lowShelf(frequency: number(20, 900), gain: number(-9, 9), q: 1), .highShelf(frequency: 4000, gain: -3, q: 0.5),
      .noiseGate(threshold: number(-80, 0), ratio: 3, range: -20, attack: 0.01, release: number(0.1, 2), knee: 3),
      .deEsser(intensity: number(0, 1), maximum: number(0, 1), keep: 0.5),
      .denoise(reduction: number(1, 20), floor: number(-80, -20)),
    ].filter { _ in flip() } + [.lowPass(frequency: number(100, 9000), q: 0.707)]
  }

  private mutating func captions() throws -> [Edit.Captions] {
    let part = try MediaTimeRange(start: MediaTime(seconds: 1), end: MediaTime(seconds: 9))
    var style = Edit.Captions.Style(
      font: "serif", isItalic: flip(), size: number(10, 60), color: color(), outline: number(0, 4), anchor: .top,
      margin: flip() ? whole(0...99) : nil, sideMargin: flip() ? whole(0...99) : nil,
      edges: flip() ? CaptionMargins(left: flip() ? whole(0...99) : nil, bottom: whole(0...99)) : nil,
      box: flip() ? TextBox(padding: whole(0...20), radius: whole(0...9)) : nil,
      highlightColor: flip() ? color() : nil, spokenColor: flip() ? color() : nil, isVertical: flip())
    if style.isVertical { style.box = nil }
    return [
      Edit.Captions("words", source: flip() ? part : nil, at: MediaTime(value: -1, timescale: 3)),
      Edit.Captions(
        "words", use: .drawn(style),
        wording:
          CaptionWording(
            lineLength: whole(8...99), speakers: ["Ann": CaptionSpeaker(color: color(), name: flip() ? "A" : nil)],
            showsSpeakers: flip() ? true : nil)),
      Edit.Captions("words", use: .track(.init(language: "deu", isDefault: flip()))),
    ].filter { _ in flip() }
  }

  // MARK: Values

  mutating func flip() -> Bool { Bool.random(using: &random) }
  mutating func number(_ low: Double, _ high: Double) -> Double { Double.random(in: low...high, using: &random) }
  mutating func whole(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  /// A time below `end`, on one of the usual grids.
  private mutating func time(below end: MediaTime) -> MediaTime {
    let scale: Int32 = [1, 30, 600].randomElement(using: &random) ?? 1
    let last = max(1, Int64(end.approximateSeconds * Double(scale)) - 1)
    return MediaTime(value: Int64.random(in: 0...last, using: &random), timescale: scale)
  }

  private mutating func easing() -> Easing? {
    [nil, .easeIn, .hold, .cubicBezier(x1: number(0, 1), y1: number(-1, 2), x2: 0.5, y2: 1)]
      .randomElement(using: &random) ?? nil
  }

  private mutating func color(opaque: Bool = true) -> VideoComposition.Color {
    VideoComposition.Color(
      red: UInt8(whole(0...255)), green: UInt8(whole(0...255)), blue: UInt8(whole(0...255)),
      alpha: opaque ? 255 : UInt8(whole(0...255)))
  }

  /// [0, duration) cut at random times.
  private mutating func pieces(of duration: MediaTime, _ count: Int) throws -> [MediaTimeRange] {
    var cuts = Set((0..<count).map { _ in time(below: duration) })
    cuts.insert(.zero)
    let ends = cuts.sorted() + [duration]
    return try zip(ends, ends.dropFirst()).map { try MediaTimeRange(start: $0, end: $1) }.filter { !$0.isEmpty }
  }

  // MARK: Parts

  private mutating func composition() throws -> Composition {
    var composition = Composition()
    let (shot, other) = (
      AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60)),
      AssetSource(id: "other", contents: DescribedMedia.video(seconds: 40))
    )
    let music = AssetSource(id: "music", contents: DescribedMedia.sound(seconds: 90))
    let logo = AssetSource(id: "logo", contents: DescribedMedia.still())
    let dubbed = AssetSource(id: "dubbed", contents: DescribedMedia.dubbed(seconds: 50))
    let (low, high) = (try composition.addTrack(.video), try composition.addTrack(.video, id: "top"))
    let bed = try composition.addTrack(.audio, id: "bed")
    try composition.editTrack(low) { track in
      try track.insert(shot.range(from: .zero, to: MediaTime(seconds: 20)))
    }
    for _ in 0..<whole(1...5) {
      let start = time(below: MediaTime(seconds: 30))
      let range = try MediaTimeRange(
        start: start, duration: MediaTime(value: 600 + Int64(whole(0...3000)), timescale: 600))
      let place = time(below: composition.duration)
      let source = [shot, other, music, logo, dubbed].randomElement(using: &random) ?? shot
      // An edit that cannot be exact leaves the composition as it was.
      switch whole(0...5) {
      case 0: try? composition.insert(source.range(range), at: place)
      case 1: try? composition.insertEmpty(try MediaTimeRange(start: place, duration: range.duration))
      case 2: try? composition.remove(try MediaTimeRange(start: place, duration: MediaTime(seconds: 1)))
      case 3:
        try? composition.scale(try MediaTimeRange(start: place, duration: range.duration), to: MediaTime(seconds: 4))
      case 4: try? composition.editTrack(high) { track in try track.insert(logo.range(range)) }
      default: try? composition.editTrack(bed) { track in try track.insert(music.range(range)) }
      }
    }
    return composition
  }

  private mutating func videoComposition(_ composition: Composition) throws -> VideoComposition {
    var video = VideoComposition(background: color())
    if flip() { video.renderSize = PixelSize(width: 2 * whole(100...400), height: 2 * whole(100...300)) }
    if flip() { video.frameDuration = MediaTime(value: 1001, timescale: 30000) }
    if flip() { video.filters = [.saturation(amount: try .constant(number(0, 4)))] }
    if flip() { video.toneMapping = .clip }
    if flip() {
      video.colorProperties = .init(
        primaries: "bt709", transfer: "bt709", matrix: "bt709", isFullRange: flip())
    }
    let duration = composition.duration
    if flip() {
      video.instructions = try pieces(of: duration, whole(0...4)).map { range in
        var instruction = VideoComposition.Instruction(
          timeRange: range, layers: try composition.tracks.filter { $0.type == .video }.map { try layer($0.id, range) },
          background: flip() ? color() : nil, wantsOverlays: flip())
        if flip() { instruction.filters = try filters(in: range) }
        return instruction
      }
    }
    for _ in 0..<whole(0...3) { video.overlays.append(try overlay(below: duration)) }
    return video
  }

  private mutating func filters(in range: MediaTimeRange) throws -> [VideoComposition.Filter] {
    let curves = VideoComposition.ToneCurves(red: [.init(x: 0, y: number(0, 1)), .init(x: number(0.1, 1), y: 1)])
    let all: [VideoComposition.Filter] = [
      .blur(radius: try ramps(0, 40, range)), .pixelate(size: try ramps(1, 40, range)),
      .grain(amount: try ramps(0, 1, range), size: try .constant(number(1, 9)), seed: try .constant(7)),
      .glow(amount: try ramps(0, 2, range), radius: try ramps(0, 40, range), threshold: try .constant(0.5)),
      .posterize(levels: try ramps(2, 256, range)), .denoise(amount: try .constant(number(0, 0.5))),
      .curves(curves, amount: try .constant(number(0, 1))),
    ]
    return all.filter { _ in flip() }
  }

  private mutating func ramps(_ low: Double, _ high: Double, _ range: MediaTimeRange) throws -> RampList {
    var list = RampList()
    try list.set(number(low, high), at: range.start)
    list.addRamp(from: number(low, high), to: number(low, high), over: range, easing: easing())
    return list
  }

  private mutating func rectangle() -> VideoComposition.Rectangle {
    VideoComposition.Rectangle(x: number(0, 100), y: number(0, 100), width: number(1, 400), height: number(1, 200))
  }

  private mutating func turn() -> VideoComposition.Turn {
    VideoComposition.Turn(
      rotation: number(-360, 360), scaleX: number(0.1, 2), scaleY: -number(0.1, 2), x: number(-50, 50), y: 0,
      anchorX: flip() ? .center : .init(fraction: number(0, 100) / 100, pixels: 0),
      anchorY: .init(fraction: 0, pixels: 12.5))
  }

  private mutating func layer(_ track: TrackID, _ range: MediaTimeRange) throws -> VideoComposition.LayerInstruction {
    var layer = VideoComposition.LayerInstruction(track: track)
    if flip() { layer.opacity = try ramps(0, 1, range) }
    if flip() { try layer.setCrop(rectangle()) }
    if flip() { layer.setCropRamp(from: rectangle(), to: rectangle(), over: range, easing: easing()) }
    if flip() { layer.blendMode = .multiply }
    if flip() { layer.mask = .init(image: "logo", channel: .luma, isInverted: flip()) }
    if flip() {
      layer.filters = [
        .chromaKey(
          color: color(), similarity: try .constant(0.2), blend: try ramps(0, 1, range), spill: try .constant(1))
      ]
    }
    switch whole(0...2) {
    case 0:
      try layer.setTransform(AffineMatrix(a: number(0.5, 2), b: 0.1, c: -0.1, d: 1, tx: number(-9, 9), ty: 1e-7))
      layer.setTransformRamp(
        from: .identity, to: AffineMatrix(a: 2, b: 0, c: 0, d: 2, tx: 3, ty: 4),
        over: try MediaTimeRange(start: MediaTime(value: 1, timescale: 7), duration: MediaTime(seconds: 1)))
    case 1:
      layer.fit = .cover
      layer.frame = .constant(rectangle())
      var turns = ValueRampList.constant(turn())
      turns.addRamp(from: turn(), to: turn(), over: range)
      layer.transform = .turn(turns)
    default: break
    }
    return layer
  }

  private mutating func overlay(below end: MediaTime) throws -> VideoComposition.Overlay {
    let range = try MediaTimeRange(start: .zero, end: end)
    var overlay: VideoComposition.Overlay
    switch whole(0...3) {
    case 3:
      let gradient = Edit.Picture.Gradient(
        flip() ? .linear : .radial, stops: [.init(color(opaque: false)), .init(color(), at: 0.75), .init(color())])
      let fill = flip() ? Edit.Picture.Fill.color(color(opaque: false)) : .gradient(gradient)
      overlay = .init(
        .shape(
          .init(flip() ? .ellipse : .rectangle, fill: fill, border: flip() ? .init(width: number(1, 9)) : nil),
          width: flip() ? .percent(number(1, 90)) : nil, height: .pixels(whole(1...90))))
    case 0:
      overlay = .init(.image("logo", width: .percent(number(1, 50)), height: flip() ? .pixels(40) : nil))
      overlay.crop = .constant(rectangle())
    case 1:
      let use = flip() ? try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 2)) : nil
      overlay = .init(.video("other", use: use, width: .pixels(64), loop: flip() ? nil : 3))
    default:
      var text = StyledText(text: "A \"day\"\n/ \\ é", size: number(10, 90), color: color(opaque: false))
      text.outline = TextOutline(width: 2, color: color())
      text.shadow = TextShadow(x: whole(-3...3), y: 1, blur: 2.5)
      if flip() { text.box = TextBox(color: color(opaque: false), padding: 3, radius: 2) }
      if flip() { (text.isBold, text.alignment, text.lineSpacing) = (true, .justify, 1.25) }
      overlay = .init(.text(text))
    }
    if whole(0...4) == 0 {
      overlay.area = .init(
        x: .pixels(whole(-9...9)), y: .percent(3), width: .pixels(200), height: .percent(number(20, 90)))
      overlay.place = .anchor(.bottom, inset: .pixels(3))
      return overlay
    }
    overlay.place =
      flip()
      ? flip()
        ? .anchor(.bottomRight, inset: .percent(number(0, 5)))
        : .anchorInsets(.topLeft, x: .percent(number(0, 5)), y: .pixels(whole(0...9)))
      : .point(x: .pixels(whole(-9...9)), y: .percent(3))
    overlay.opacity = flip() ? 1 : number(0, 1)
    overlay.timeRange = range
    if flip() { overlay.opacityRamps = try ramps(0, 1, range) }
    if flip() { overlay.transform = .constant(turn()) }
    if flip() { overlay.blendMode = .screen }
    return overlay
  }

  private mutating func export() -> ExportSettings {
    var export = ExportSettings(path: "film.mkv", optimizeForNetworkUse: flip(), metadata: ["title": "A \"day\"\u{1}"])
    switch whole(0...2) {
    case 0:
      export.video = .settings(
        .init(
          codec: .h264, quality: number(10, 40), preset: "fast", level: "4.1", maxBitRate: 9_000_000,
          bufferDuration: flip() ? MediaTime(value: 1, timescale: 3) : nil, keyframeInterval: 48))
    case 1:
      export.video = .settings(
        .init(
          codec: .ffv1, pixelFormat: .yuv444p, title: "A \"cut\"",
          pixelAspect: flip() ? AspectRatio(horizontal: 16, vertical: 15) : nil))
    default:
      export.audio = .settings(
        .init(codec: .flac, sampleRate: 44100, channels: 2, language: flip() ? "deu" : nil, title: "Ton"))
    }
    if flip() { (export.carriedMetadata, export.metadataFilter) = (.first, flip() ? .forSharing : nil) }
    if flip() { export.artwork = ExportSettings.Artwork.none }
    if flip() {
      (export.video, export.audio, export.preset) = (.automatic, .automatic, .encode(.size1280x720))
    } else if flip() {
      export.path = "films"
      export.outputs = (1...whole(1...4)).map { number in
        var output = ExportSettings.Output(name: "rendition-\(number).A_b", container: .mkv)
        if flip() { output.size = .height(2 * whole(20...200)) }
        if flip(), case .settings(let video) = export.video, video.codec == .h264 {
          output.video = .settings(.init(quality: self.number(10, 40)))
        }
        if flip() { output.audio = flip() ? .automatic : .settings(.init(sampleRate: 48000)) }
        if flip() { output.optimizeForNetworkUse = flip() }
        return output
      }
    }
    if case .encode? = export.preset { export.isSmart = flip() }
    return export
  }
}
