import EditDocument
import TestEdits
import Testing

@testable import CompositionModel

@Suite struct FilmColourTests {
  private static let bt709 = ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709")
  private static let pq = ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc")
  private static let hlg = ColourTags(primaries: "bt2020", transfer: "arib-std-b67", matrix: "bt2020nc")

  private func lowered(
    _ first: ColourTags, _ second: ColourTags, _ composition: String = "{}", video: String = "{}"
  ) throws -> (edit: Edit, warnings: [Problem]) {
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(colour: first)
    assets["w"] = try SyntheticAssets.video(colour: second)
    let clips = #"{"asset": "v", "use": "0..2"}, {"asset": "w", "use": "0..2"}, {"asset": "w", "use": "4..5"}"#
    let text = documentText(
      tracks: #"[{"clips": [\#(clips)]}]"#, #""videoComposition": \#(composition)"#,
      export: #"{"to": "a.mkv", "video": \#(video)}"#)
    let (edit, warnings) = try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil)
    return (edit, warnings.filter { !$0.message.contains("nothing uses") })
  }

  @Test func `the film has the first clip's colour, and others are converted`() throws {
    let (edit, warnings) = try lowered(Self.bt709, Self.hlg)
    #expect(edit.export.video?.colour == Self.bt709 && edit.export.video?.pixelFormat == .yuv420p)
    #expect(edit.videoComposition.toneMapping == nil)
    #expect(
      warnings.map(\.description) == [
        "/tracks/0/clips/1: the colours of 'w' are converted from BT.2020 HLG to BT.709 SDR, in which its highlights "
          + "are compressed (\"toneMapping\": \"bt2390\")"
      ])
    let (_, ofHDR) = try lowered(Self.pq, Self.bt709, video: #"{"codec": "hevc"}"#)
    #expect(ofHDR.count == 2 && ofHDR[0].message.contains("stored with 10 bits"))
    #expect(ofHDR[1].message.hasSuffix("from BT.709 SDR to BT.2020 PQ, in which its white is 203 cd/m2"))
    #expect(try lowered(Self.bt709, Self.bt709).warnings.isEmpty)
    // Another matrix or range alone is no change of colours.
    let old = ColourTags(primaries: "bt709", transfer: "bt709", matrix: "smpte170m", isFullRange: true)
    #expect(try lowered(Self.bt709, old).warnings.isEmpty)
  }

  @Test(arguments: [
    (#""bt709""#, ["bt709", "bt709", "bt709"], PixelFormat.yuv420p),
    (#""bt601""#, ["smpte170m", "smpte170m", "smpte170m"], .yuv420p),
    (#""bt601-625""#, ["bt470bg", "smpte170m", "bt470bg"], .yuv420p),
    (#""bt2020""#, ["bt2020", "bt2020-10", "bt2020nc"], .yuv420p),
    (#""displayP3""#, ["smpte432", "bt709", "bt709"], .yuv420p),
    (#""hdr10""#, ["bt2020", "smpte2084", "bt2020nc"], .yuv420p10),
    (#""hlg""#, ["bt2020", "arib-std-b67", "bt2020nc"], .yuv420p10),
    (
      #"{"primaries": "smpte432", "transfer": "smpte2084", "matrix": "bt709"}"#, ["smpte432", "smpte2084", "bt709"],
      .yuv420p10
    ),
  ])
  func `a document names the film's colour`(_ color: String, _ tags: [String], _ format: PixelFormat) throws {
    let video = try #require(
      try lowered(Self.bt709, Self.pq, #"{"color": \#(color), "toneMapping": "clip"}"#).edit.export.video)
    #expect(video.colour == ColourTags(primaries: tags[0], transfer: tags[1], matrix: tags[2]))
    #expect(video.pixelFormat == format)
  }

  @Test(arguments: [("", false), (#", "range": "limited""#, false), (#", "range": "full""#, true)])
  func `a colour has the limited range unless it names the full one`(_ range: String, _ isFull: Bool) throws {
    let color = #"{"primaries": "bt470bg", "transfer": "smpte170m", "matrix": "bt470bg"\#(range)}"#
    // That of the clips has no say in it.
    var phone = Self.bt709
    phone.isFullRange = !isFull
    let video = try #require(try lowered(phone, phone, #"{"color": \#(color)}"#).edit.export.video)
    #expect(video.colour.isFullRange == isFull)
  }

  @Test(arguments: ["yuvj420p", "yuv420p"])
  func `a film of still pictures alone has the limited range, whatever a JPEG has`(format: String) throws {
    var assets = try standardAssets()
    var still = try SyntheticAssets.still(pixelFormat: format)
    still.tracks[0].video?.hasAlpha = false
    still.tracks[0].video?.colour = ColourTags(matrix: "bt470bg", isFullRange: true)
    assets["logo"] = still
    let text = documentText(tracks: #"[{"clips": [{"asset": "logo", "duration": 3}]}]"#)
    let colour = try #require(try TestEdits.lowered(text, assets: assets).export.video?.colour)
    #expect(colour == ColourTags(matrix: "bt470bg", isFullRange: false))
  }

  @Test func `the depth of a film follows its colour and not the clips'`() throws {
    #expect(try lowered(Self.pq, Self.hlg, #"{"color": "bt709"}"#).edit.export.video?.pixelFormat == .yuv420p)
    let lossless = try lowered(Self.bt709, Self.bt709, #"{"color": "hlg"}"#, video: #"{"codec": "ffv1"}"#)
    #expect(lossless.edit.export.video?.pixelFormat == .yuv420p10)
    let eight = try lowered(Self.bt709, Self.bt709, #"{"color": "hdr10"}"#, video: #"{"pixelFormat": "yuv420p"}"#)
    #expect(eight.warnings.contains { $0.message.contains("8 bits") })
  }

  // MARK: What players show

  @Test(arguments: [
    ("a.mp4", "{}", hlg, true), ("a.mkv", #"{"codec": "h264"}"#, pq, true),
    ("a.mov", #"{"quality": 18, "profile": "high10"}"#, hlg, true), ("a.mp4", #"{"codec": "hevc"}"#, hlg, false),
    ("a.mp4", #"{"codec": "av1"}"#, pq, false), ("a.webm", #"{"codec": "vp9"}"#, hlg, false),
    ("a.mov", #"{"codec": "prores422"}"#, pq, false), ("a.mkv", #"{"codec": "ffv1"}"#, hlg, false),
  ])
  func `a film in H.264 is not HDR unless its colour is`(to: String, video: String, first: ColourTags, isMadeSDR: Bool)
    throws
  {
    func lowered(_ composition: String) throws -> (video: VideoSettings?, warnings: [String]) {
      var assets = try standardAssets()
      assets["v"] = try SyntheticAssets.video(pixelFormat: "yuv420p10le", bitDepth: 10, colour: first)
      let text = documentText(
        tracks: #"[{"clips": [{"asset": "v", "use": "0..2"}]}]"#, #""videoComposition": \#(composition)"#,
        export: #"{"to": "\#(to)", "video": \#(video)}"#)
      let (edit, warnings) = try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil)
      return (edit.export.video, warnings.filter { $0.pointer == "/export/video" }.map(\.message))
    }
    let byDefault = try lowered("{}")
    #expect(byDefault.video?.colour == (isMadeSDR ? Self.bt709 : first))
    #expect(byDefault.video?.pixelFormat.bitDepth == (isMadeSDR ? 8 : 10))
    let (name, range) = first == Self.pq ? ("hdr10", "HDR (PQ)") : ("hlg", "HDR (HLG)")
    #expect(byDefault.warnings.count == 1)
    if isMadeSDR {
      let message = byDefault.warnings.first ?? ""
      #expect(message.hasPrefix("the film is SDR with 8 bits although its first clip is \(range), because few players"))
      #expect(message.contains("\"color\": \"\(name)\" in 'videoComposition' makes it HDR with 10 bits"))
      #expect(message.contains("and so does \"codec\": "))
    } else {
      #expect(byDefault.warnings.first?.hasPrefix("the film is \(range), as its first clip") == true)
      #expect(byDefault.warnings.first?.contains(#""color": "bt709""#) == true)
    }
    // A colour that is stated is that of every codec.
    let stated = try lowered(#"{"color": "\#(name)"}"#)
    #expect(stated.video?.colour == first && stated.video?.pixelFormat.bitDepth == 10)
    #expect(!stated.warnings.contains { $0.contains("SDR") })
    let standard = try lowered(#"{"color": "bt709"}"#)
    #expect(standard.video?.colour == Self.bt709 && standard.warnings.isEmpty)
  }

  @Test(arguments: ExportPreset.allCases.filter { $0.video != nil })
  func `the presets of H.264 are not HDR`(preset: ExportPreset) throws {
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(
      size: PixelSize(width: 3840, height: 2160), pixelFormat: "yuv420p10le", bitDepth: 10, colour: Self.hlg)
    let text = documentText(
      tracks: #"[{"clips": [{"asset": "v", "use": "0..2"}]}]"#,
      export: #"{"to": "a.mov", "preset": "\#(preset.rawValue)"}"#)
    let video = try #require(try TestEdits.lowered(text, assets: assets).export.video)
    #expect(video.colour == (video.codec == .h264 ? Self.bt709 : Self.hlg))
    #expect(video.pixelFormat.bitDepth == (video.codec == .h264 ? 8 : 10))
  }

  @Test func `several outputs are not HDR if one of them is in H.264`() throws {
    func lowered(_ codecs: [String]) throws -> (edit: Edit, warnings: [Problem]) {
      var assets = try standardAssets()
      assets["v"] = try SyntheticAssets.video(pixelFormat: "yuv420p10le", bitDepth: 10, colour: Self.hlg)
      let outputs = codecs.enumerated().map { index, codec in
        #"{"name": "o\#(index)", "container": "mp4", "video": {"codec": "\#(codec)"}}"#
      }
      let text = documentText(
        tracks: #"[{"clips": [{"asset": "v", "use": "0..2"}]}]"#,
        export: #"{"outputs": [\#(outputs.joined(separator: ", "))]}"#)
      return try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil)
    }
    let mixed = try lowered(["hevc", "h264"])
    #expect(mixed.edit.outputs?.map(\.export.video?.colour) == [Self.bt709, Self.bt709])
    #expect(mixed.edit.outputs?.map(\.export.video?.pixelFormat) == [.yuv420p, .yuv420p])
    let warnings = mixed.warnings.filter { $0.pointer == "/export/video" }
    #expect(warnings.count == 1 && warnings[0].message.contains("few players show HDR in the H.264 of the output 'o1'"))
    let deep = try lowered(["hevc", "av1"])
    #expect(deep.edit.outputs?.map(\.export.video?.colour) == [Self.hlg, Self.hlg])
    #expect(deep.edit.outputs?.map(\.export.video?.pixelFormat) == [.yuv420p10, .yuv420p10])
  }

  @Test(arguments: [
    (ColourTags(primaries: "smpte170m", transfer: "smpte170m", matrix: "smpte170m"), true),
    (ColourTags(primaries: "bt470bg", transfer: "smpte170m", matrix: "bt470bg", isFullRange: true), true),
    (ColourTags(matrix: "bt470bg", isFullRange: true), true),
    (ColourTags(primaries: "bt709", matrix: "smpte170m"), true),
    (ColourTags(primaries: "smpte240m", transfer: "smpte240m", matrix: "smpte240m"), true), (ColourTags(), true),
    (bt709, false), (ColourTags(matrix: "bt709", isFullRange: true), false),
    (ColourTags(primaries: "smpte432", transfer: "bt709", matrix: "smpte170m"), false),
    (ColourTags(primaries: "bt2020", transfer: "bt2020-10", matrix: "bt2020nc"), false),
  ])
  func `a film of high definition is not in BT.601`(first: ColourTags, isInBT601: Bool) throws {
    for (size, shown, isHigh) in [
      (PixelSize(width: 720, height: 576), "[1280, 720]", true),
      (PixelSize(width: 720, height: 576), "[1280, 718]", false),
      (PixelSize(width: 1920, height: 1080), "[640, 360]", false), (PixelSize(width: 720, height: 576), nil, false),
      (PixelSize(width: 1920, height: 1080), nil, true),
    ] {
      var assets = try standardAssets()
      var tags = first
      tags.chromaLocation = "topleft"
      assets["v"] = try SyntheticAssets.video(size: size, colour: tags)
      let text = documentText(
        tracks: #"[{"clips": [{"asset": "v", "use": "0..2"}]}]"#,
        #""videoComposition": {\#(shown.map { "\"renderSize\": \($0)" } ?? "")}"#)
      let video = try #require(try TestEdits.lowered(text, assets: assets).export.video)
      // A video without tags is in BT.601 by its lines.
      let isUntaggedHD = first == ColourTags() && size.height >= 720
      var right = isHigh && isInBT601 && !isUntaggedHD || isUntaggedHD && !isHigh ? Self.bt709 : first
      right.chromaLocation = "topleft"
      #expect(video.colour == right, "\(size) in \(shown ?? "its size")")
    }
  }

  // MARK: Mastering

  @Test func `a film in PQ states the brightness of its clips`() throws {
    let display = MasteringDisplay(
      red: .init(x: 35400, y: 14600), green: .init(x: 8500, y: 39850), blue: .init(x: 6550, y: 2300),
      white: .init(x: 15635, y: 16450), maximumLuminance: 10_000_000, minimumLuminance: 1)
    func stated(_ first: HDRMetadata?, _ second: HDRMetadata?, _ composition: String) throws -> HDRMetadata? {
      var assets = try standardAssets()
      for (id, hdr) in [("v", first), ("w", second)] {
        var asset = try SyntheticAssets.video(colour: Self.pq)
        asset.tracks[0].video?.hdr = hdr
        assets[id] = asset
      }
      let text = documentText(
        tracks: #"[{"clips": [{"asset": "v", "use": "0..2"}, {"asset": "w", "use": "0..2"}]}]"#,
        #""videoComposition": \#(composition)"#, export: #"{"to": "a.mkv", "video": {"codec": "hevc"}}"#)
      return try Document.parse(Array(text.utf8)).lower(assets: assets, output: nil).export.video?.hdr
    }
    let bright = HDRMetadata(display: display, light: ContentLightLevel(maximum: 900, maximumAverage: 100))
    let brighter = HDRMetadata(light: ContentLightLevel(maximum: 950, maximumAverage: 90))
    #expect(
      try stated(bright, brighter, "{}")
        == HDRMetadata(display: display, light: ContentLightLevel(maximum: 950, maximumAverage: 100)))
    // One of them may be brighter than the other states.
    #expect(try stated(bright, nil, "{}") == HDRMetadata(display: display))
    #expect(try stated(nil, nil, "{}") == nil)
    #expect(try stated(bright, bright, #"{"color": "bt709"}"#) == nil)
    #expect(try stated(bright, bright, #"{"color": "hlg"}"#) == nil)
  }

  // MARK: Missing tags

  struct Missing: Sendable {
    var tags: ColourTags
    var height = 1080
    var isStill = false
    var film: ColourTags
    var source: (ColourPrimaries, TransferFunction)
    var shown: (ColourPrimaries, TransferFunction)
  }

  static let missing = [
    // Of an untagged source in a film of standard television.
    Missing(tags: ColourTags(), film: bt709, source: (.bt709, .display), shown: (.bt709, .display)),
    Missing(
      tags: ColourTags(matrix: "smpte170m"), height: 480,
      film: ColourTags(primaries: "bt470bg", transfer: "bt470bg", matrix: "bt470bg"), source: (.bt470bg, .gamma28),
      shown: (.bt470bg, .gamma28)),
    // A small one in a film of high definition.
    Missing(tags: ColourTags(), height: 480, film: bt709, source: (.smpte170m, .display), shown: (.bt709, .display)),
    Missing(tags: ColourTags(), height: 288, film: bt709, source: (.bt470bg, .display), shown: (.bt709, .display)),
    Missing(
      tags: ColourTags(matrix: "smpte170m"), height: 576, film: bt709, source: (.bt470bg, .display),
      shown: (.bt709, .display)),
    Missing(
      tags: ColourTags(matrix: "bt709"), height: 576, film: bt709, source: (.bt709, .display),
      shown: (.bt709, .display)),
    Missing(
      tags: ColourTags(), height: 576, isStill: true, film: bt709, source: (.bt709, .display),
      shown: (.bt709, .display)),
    // In a wide one.
    Missing(tags: ColourTags(), film: pq, source: (.bt709, .display), shown: (.bt2020, .pq)),
    Missing(tags: ColourTags(), height: 480, film: pq, source: (.smpte170m, .display), shown: (.bt2020, .pq)),
    Missing(tags: ColourTags(), height: 576, film: hlg, source: (.bt470bg, .display), shown: (.bt2020, .hlg)),
    Missing(
      tags: ColourTags(), height: 576, isStill: true, film: hlg, source: (.bt709, .display), shown: (.bt2020, .hlg)),
    Missing(tags: ColourTags(matrix: "bt2020nc"), film: pq, source: (.bt2020, .display), shown: (.bt2020, .pq)),
    Missing(tags: ColourTags(transfer: "smpte2084"), film: bt709, source: (.bt2020, .pq), shown: (.bt709, .display)),
    // In an untagged film.
    Missing(tags: ColourTags(), film: ColourTags(), source: (.bt709, .display), shown: (.bt709, .display)),
    Missing(
      tags: ColourTags(primaries: "smpte170m", transfer: "smpte170m"), film: ColourTags(),
      source: (.smpte170m, .display), shown: (.smpte170m, .display)),
    Missing(tags: pq, film: ColourTags(), source: (.bt2020, .pq), shown: (.bt709, .display)),
    // sRGB and BT.709 are shown on the same displays.
    Missing(
      tags: ColourTags(primaries: "bt709", transfer: "iec61966-2-1"), isStill: true, film: bt709,
      source: (.bt709, .display), shown: (.bt709, .display)),
  ]

  @Test(arguments: missing)
  func `missing tags are filled in`(_ example: Missing) throws {
    let video = VideoFormat(
      size: PixelSize(width: 720, height: example.height), pixelFormat: "yuv420p", colour: example.tags,
      nominalFrameRate: .zero, frames: FrameTimes([0]), keyframes: [], isStill: example.isStill)
    let path = ColourPath(video, film: example.film, size: PixelSize(width: 1920, height: 1080))
    #expect(path.source == ColourEncoding(primaries: example.source.0, transfer: example.source.1))
    #expect(path.film == ColourEncoding(primaries: example.shown.0, transfer: example.shown.1))
  }
}
