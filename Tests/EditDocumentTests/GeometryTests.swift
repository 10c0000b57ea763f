import CompositionModel
import EditDocument
import TestEdits
import Testing

/// What the geometry of a document becomes.
@Suite struct GeometryTests {
  private static let second = MediaTime(seconds: 1)

  private func geometries(_ clip: String, composition: String = #"{"renderSize": [640, 360]}"#) throws
    -> [LayerGeometry?]
  {
    let edit = try lowered(
      documentText(tracks: "[{\"id\": \"A\", \"clips\": [\(clip)]}]", #""videoComposition": \#(composition)"#))
    return edit.videoComposition.instructions.flatMap(\.layers).map { layer in
      if case .track(let layer) = layer { layer.geometry } else { nil }
    }
  }

  @Test func `pixels and per cent`() throws {
    #expect(try geometries(#"{"asset": "v", "use": "0..5"}"#) == [nil])
    let geometry = try #require(
      try geometries(
        #"{"asset": "v", "use": "0..5", "crop": ["25%", 10, "50%", 100], "frame": [-8, "50%", 320.5, "50%"]}"#)[0])
    #expect(try geometry.crop?.value(at: .zero) == Rectangle(x: 320, y: 10, width: 640, height: 100))
    #expect(try geometry.frame?.value(at: .zero) == Rectangle(x: -8, y: 180, width: 320.5, height: 180))
    #expect(geometry.transform == nil)
  }

  @Test func `a scale makes lengths of the film smaller and those of the picture not`() throws {
    let half = #"{"renderSize": [640, 360], "scale": 0.5}"#
    let clip =
      #"{"asset": "v", "use": "0..5", "crop": [0, 0, 64, 36], "frame": [10, 20, 100, "50%"], "transform": {"translate": [8, "10%"], "anchor": [6, "50%"], "scale": 3}}"#
    let geometry = try #require(try geometries(clip, composition: half)[0])
    #expect(try geometry.crop?.value(at: .zero) == Rectangle(x: 0, y: 0, width: 64, height: 36))
    #expect(try geometry.frame?.value(at: .zero) == Rectangle(x: 5, y: 10, width: 50, height: 90))
    guard case .turn(let turns)? = geometry.transform, let turn = try turns.value(at: .zero) else {
      Issue.record("\(geometry)")
      return
    }
    #expect([turn.x, turn.y, turn.scaleX, turn.scaleY] == [4, 18, 3, 3])
    #expect(turn.anchorX == TransformComponents.Coordinate(fraction: 0, pixels: 3))
    #expect(turn.anchorY == TransformComponents.Coordinate(fraction: 0.5, pixels: 0))
    let matrix = try #require(
      try geometries(#"{"asset": "v", "use": "0..5", "transform": [1, 2, -3, 4, 50, 60]}"#, composition: half)[0])
    #expect(
      matrix.transform == .matrix(.constant(AffineMatrix(a: 0.5, b: 1, c: -1.5, d: 2, tx: 25, ty: 30))))
  }

  @Test func `ramps of a clip count from its start and follow its constant`() throws {
    let clip =
      #"{"asset": "v", "use": "0..5", "at": 3, "opacity": 0.5, "frame": [0, 0, 10, 10], "ramps": [{"over": "1..2", "frame": [[0, 0, 20, 20], [10, 10, 40, 40]], "opacity": [1, 0], "easing": "hold"}]}"#
    let geometry = try #require(try geometries(clip).compactMap(\.self).first)
    let widths = try ["3", "39/10", "4", "9/2", "5", "7"].map { try geometry.frame?.value(at: at($0))?.width }
    #expect(widths == [10, 10, 20, 20, 40, 40])
  }

  @Test func `explicit layers have their own`() throws {
    let edit = try lowered(
      documentText(
        tracks: #"[{"id": "A", "clips": [{"asset": "v", "use": "0..2"}, {"asset": "logo", "use": "0..2"}]}]"#,
        #""videoComposition": {"renderSize": [640, 360], "instructions": [{"over": "0..4", "layers": [{"track": "A", "crop": [0, 0, "50%", "50%"], "blendMode": "screen", "ramps": [{"over": "1..3", "transform": [{}, {"rotate": 90}]}]}]}]}"#
      ))
    let layers = edit.videoComposition.instructions.flatMap(\.layers).compactMap { layer in
      if case .track(let layer) = layer { layer } else { nil as TrackLayer? }
    }
    #expect(layers.map(\.blendMode) == [.screen, .screen])
    // Per cent of each clip's own picture.
    #expect(try layers.map { try $0.geometry?.crop?.value(at: .zero)?.width } == [640, 320])
    guard case .turn(let turns)? = layers[1].geometry?.transform else {
      Issue.record("\(layers)")
      return
    }
    #expect(try ["0", "1", "2", "3"].map { try turns.value(at: at($0))?.rotation } == [nil, 0, 45, 90])
  }

  private static let placements: [(String, [Double])] = [
    // a, b, c, d, tx, ty of a 1280x720 picture in a film of 640x480.
    (#""fit": "contain", "crop": [0, 0, "100%", "100%"]"#, [0.5, 0, 0, 0.5, 0, 60]),
    (#""frame": [100, 0, 320, 320], "fit": "cover""#, [320.0 / 720, 0, 0, 320.0 / 720, 260 - 640 * 320.0 / 720, 0]),
    (#""frame": [100, 50, 320, 320], "fit": "fill""#, [0.25, 0, 0, 320.0 / 720, 100, 50]),
    (#""frame": [0, 0, 641, 321], "fit": "none""#, [1, 0, 0, 1, -320, -200]),
    (#""crop": [640, 360, 640, 360], "frame": [0, 0, 320, 180]"#, [0.5, 0, 0, 0.5, -320, -180]),
    (#""transform": {"rotate": 90}"#, [0, 0.5, -0.5, 0, 500, -80]),
    (#""transform": {"rotate": -90, "anchor": [0, 0], "translate": [10, 20]}"#, [0, -0.5, 0.5, 0, 70, 20]),
    (#""transform": {"scale": [-1, 2], "anchor": ["100%", "50%"]}"#, [-0.5, 0, 0, 1, 1280, -120]),
    (#""transform": [1, 2, 3, 4, 5, 6]"#, [1, 2, 3, 4, 5, 6]),
  ]

  @Test(arguments: placements)
  func `a picture is where its geometry puts it`(_ keys: String, _ expected: [Double]) throws {
    let clip = "{\"asset\": \"v\", \"use\": \"0..5\", \(keys)}"
    let edit = try lowered(
      documentText(tracks: "[{\"clips\": [\(clip)]}]", #""videoComposition": {"renderSize": [640, 480]}"#))
    guard case .track(let layer)? = edit.videoComposition.instructions.first?.layers.first else { return }
    let placement = try #require(
      try layer.geometry?.placement(
        at: .zero, picture: PixelSize(width: 1280, height: 720), fit: layer.fit,
        frame: PixelSize(width: 640, height: 480), cell: ChromaCell(.yuv420p)))
    let matrix = placement.matrix
    let numbers = [matrix.a, matrix.b, matrix.c, matrix.d, matrix.tx, matrix.ty]
    #expect(zip(numbers, expected).allSatisfy { abs($0 - $1) < 1e-9 }, "\(numbers)")
  }

  // MARK: Overlays

  private func overlay(_ keys: String) -> String {
    documentText(
      tracks: #"[{"clips": [{"asset": "v", "use": "0..10"}]}]"#,
      "\"videoComposition\": {\"renderSize\": [640, 360], \"overlays\": [{\(keys)}]}")
  }

  @Test func `overlays have transforms and crops on their own time`() throws {
    let text = overlay(
      #""image": "logo", "over": "2..8", "rotate": 10, "crop": [0, 0, "50%", "100%"], "alpha": "premultiplied", "#
        + #""ramps": [{"over": "1..3", "transform": [{"translate": ["-25%", 0]}, {"scale": 2}], "#
        + #""opacity": [0, 1]}], "#
        + #""filters": [{"kind": "blur", "radius": [{"over": "4..6", "value": [0, 8]}]}]"#)
    let made = try #require(try lowered(text).videoComposition.overlays.first)
    guard case .turn(let turns)? = made.geometry?.transform else {
      Issue.record("\(made)")
      return
    }
    #expect(try turns.value(at: at("2")) == TransformComponents(rotation: 10))
    #expect(try turns.value(at: at("3")) == TransformComponents(x: -160))
    #expect(try turns.value(at: at("5")) == TransformComponents(scaleX: 2, scaleY: 2))
    #expect(try made.geometry?.crop?.value(at: .zero) == Rectangle(x: 0, y: 0, width: 320, height: 480))
    #expect(try made.filters?.first?.at(at("7")) == .blur(radius: 4))
    #expect(made.alpha == .premultiplied)
    #expect(try lowered(overlay(#""image": "logo""#)).videoComposition.overlays[0].geometry == nil)
  }

  @Test(arguments: [
    (#""image": "logo", "transform": [1, 0, 0, 1, 0, 0]"#, "/transform", "not a matrix"),
    (#""image": "logo", "rotate": 5, "transform": {"scale": 2}"#, "/rotate", "a part of 'transform'"),
    (#""image": "logo", "rotate": 36001"#, "/rotate", "from -36000 to 36000"),
    (#""text": "a", "crop": [0, 0, 9, 9]"#, "/crop", "crop"),
    (#""text": "a", "ramps": [{"at": 0, "opacity": 1, "crop": [0, 0, 9, 9]}]"#, "/ramps/0/crop", "crop"),
    (#""image": "logo", "ramps": [{"over": "0..1"}]"#, "/ramps/0", "'opacity', 'crop' or 'transform'"),
    (#""image": "logo", "crop": [640, 0, 9, 9]"#, "/crop", "outside 'logo'"),
    (#""image": "logo", "over": "0..2", "ramps": [{"over": "1..3", "transform": [{}, {}]}]"#, "/ramps/0", "overlay"),
    (#""text": "a", "alpha": "straight""#, "/alpha", "alpha"),
    (#""video": "v", "alpha": "premultiplied""#, "/alpha", "no transparency"),
    (#""image": "logo", "alpha": "multiplied""#, "/alpha", "premultiplied"),
    (#""image": "logo", "scale": 2"#, "/scale", "'transform' with 'scale'"),
  ])
  func `a wrong overlay is reported at its place`(keys: String, place: String, message: String) throws {
    let found = try problems(overlay(keys))
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.pointer.hasPrefix("/videoComposition/overlays/0" + place) == true, "\(found)")
    #expect(found.first?.message.contains(message) == true, "\(found)")
  }

  // MARK: Masks

  private func masked(_ mask: String, matte: String = "", clip: String = "") -> String {
    documentText(
      tracks:
        "[{\"id\": \"A\", \"mask\": \(mask), \"clips\": [{\"asset\": \"v\", \"use\": \"0..5\"}]}, "
        + "{\"id\": \"M\"\(matte), \"clips\": [{\"asset\": \"w\", \"use\": \"0..5\"\(clip)}]}]")
  }

  @Test func `a track that is a mask is not shown`() throws {
    let text = masked(#"{"track": "M", "channel": "luma", "invert": true}"#)
    let layers = try lowered(text).videoComposition.instructions.flatMap(\.layers).flatMap(\.tracks)
    #expect(layers.map(\.track) == ["A"])
    #expect(layers.first?.mask == LayerMask(.track("M"), channel: .luma, isInverted: true))
    let warnings = try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: standardAssets(), output: nil)
      .warnings
    #expect(!warnings.contains { $0.message.contains("is never visible") }, "\(warnings)")
  }

  /// A mask that is larger, faster, of high dynamic range and of more colour than what is shown.
  @Test func `a track that is only a mask decides nothing of the film`() throws {
    var assets = try standardAssets()
    assets["w"] = try SyntheticAssets.video(
      size: PixelSize(width: 3840, height: 2160), rate: MediaTime(seconds: 60), pixelFormat: "yuv444p10le",
      bitDepth: 10,
      colour: ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc"))
    func film(_ text: String) throws -> (Edit, [Problem]) {
      try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil)
    }
    // It starts first, too.
    let text = masked(#"{"track": "M", "channel": "luma"}"#)
      .replacing(#""asset": "v", "use": "0..5""#, with: #""asset": "v", "use": "0..5", "at": "1""#)
    let (edit, warnings) = try film(text)
    #expect(edit.videoComposition.renderSize == PixelSize(width: 1280, height: 720))
    #expect(edit.videoComposition.frameDuration == MediaTime(value: 1, timescale: 30))
    #expect(edit.export.video?.colour.transfer == "bt709" && edit.export.video?.pixelFormat == .yuv420p)
    #expect(!warnings.contains { $0.message.contains("colours of") }, "\(warnings)")

    // An explicit layer shows it after all.
    let shown = text.replacing(
      #""export":"#,
      with: #"""
        "videoComposition": {"instructions": [{"over": "0..6", "layers": [
          {"track": "A", "mask": {"track": "M", "channel": "luma"}}, {"track": "M"}]}]}, "export":
        """#
    ).replacing(#""mask": {"track": "M", "channel": "luma"}, "clips""#, with: #""clips""#)
      .replacing(#""to": ""#, with: #""video": {"codec": "hevc"}, "to": ""#)
    let (both, _) = try film(shown)
    #expect(both.videoComposition.renderSize == PixelSize(width: 3840, height: 2160))
    #expect(both.videoComposition.frameDuration == MediaTime(value: 1, timescale: 60))
    #expect(both.export.video?.colour.transfer == "smpte2084")
  }

  @Test(arguments: [
    (#"{"track": "N", "channel": "luma"}"#, "", "", "/tracks/0/mask/track", "no video track 'N'"),
    (#"{"track": "A", "channel": "luma"}"#, "", "", "/tracks/0/mask/track", "its own clips"),
    (#"{"track": "M"}"#, "", "", "/tracks/0/mask", "\"channel\": \"luma\""),
    (#"{"track": "M", "image": "logo", "channel": "luma"}"#, "", "", "/tracks/0/mask/image", "not both"),
    (#"{"channel": "luma"}"#, "", "", "/tracks/0/mask", "needs 'image'"),
    (
      #"{"track": "M", "channel": "luma"}"#, "", #", "opacity": 0.5, "fit": "cover", "filters": [{"kind": "blur"}]"#,
      "/tracks/1/clips/0", "opacity, fit, filters of a clip"
    ),
    (
      #"{"track": "M", "channel": "luma"}"#, #", "mask": {"track": "A", "channel": "luma"}"#, "", "/tracks/0",
      "mask of track 'A'"
    ),
  ])
  func `a wrong mask is reported at its place`(
    mask: String, matte: String, clip: String, place: String, message: String
  ) throws {
    let found = try problems(masked(mask, matte: matte, clip: clip))
    #expect(found.contains { $0.pointer == place && $0.message.contains(message) }, "\(found)")
  }

  @Test func `warnings know where a picture is`() throws {
    func warnings(_ clip: String) throws -> [String] {
      try Document.parse(
        Array(
          documentText(
            tracks: "[{\"clips\": [\(clip)]}, {\"clips\": [{\"asset\": \"w\", \"use\": \"0..5\"}]}]",
            #""videoComposition": {"renderSize": [640, 360]}"#
          ).utf8)
      ).lowerWithWarnings(assets: standardAssets(), output: nil).warnings
        .filter { !$0.message.contains("nothing uses") }.map(\.description)
    }
    let inset = #""frame": [0, 0, 320, 180]"#
    #expect(try warnings(#"{"asset": "v", "use": "0..5", \#(inset)}"#) == [])
    // All of the frame is covered, by a rectangle or a turned picture.
    #expect(try warnings(#"{"asset": "v", "use": "0..5", "frame": [-10, -10, 700, 400], "fit": "fill"}"#).count == 1)
    let turned = #"{"asset": "v", "use": "0..5", "transform": {"rotate": 45, "scale": 4}}"#
    #expect(try warnings(turned).contains { $0.hasPrefix("/tracks/1/clips/0: the clip of 'w'") })
    let outside = try warnings(#"{"asset": "v", "use": "0..5", "frame": [640, 0, 320, 180]}"#)
    #expect(outside.count == 1 && outside[0].hasPrefix("/tracks/0/clips/0: the clip of 'v'"), "\(outside)")
    let enlarged = try warnings(
      #"{"asset": "v", "use": "0..5", \#(inset), "ramps": [{"over": "0..4", "crop": [[0, 0, 1280, 720], [0, 0, 128, 72]]}]}"#
    )
    #expect(enlarged.count == 1 && enlarged[0].contains("is enlarged 2.5 times"), "\(enlarged)")
  }
}
