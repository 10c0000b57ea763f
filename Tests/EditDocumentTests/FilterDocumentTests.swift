import CompositionModel
import EditDocument
import TestEdits
import Testing

@Suite struct FilterDocumentTests {
  private func clip(_ filters: String, _ others: String = "") -> String {
    documentText(
      tracks: #"[{"id": "A", "clips": [{"asset": "v", "use": "0..10", "at": 2, "filters": "# + filters + "}]}]",
      others)
  }

  private func layer(_ text: String) throws -> TrackLayer {
    let edit = try lowered(text, assets: assets())
    guard case .track(let layer)? = edit.videoComposition.instructions.last?.layers.first else {
      throw TimeError.notNumeric
    }
    return layer
  }

  private func assets() throws -> [AssetID: AssetDescription] {
    var assets = try standardAssets()
    assets["w"] = AssetDescription(
      container: "cube", duration: .zero, tracks: [], colourTable: ColourTableFormat(dimensions: 3, size: 17))
    return assets
  }

  @Test func `every kind is read with its defaults`() throws {
    for kind in FilterKind.allCases {
      var keys = kind.parameters.filter { $0.standard == nil }.map { "\"\($0.key)\": 0.5" }
      if kind == .chromaKey { keys.append(##""color": "#00ff00""##) }
      if kind == .lut { keys.append(#""asset": "w""#) }
      if kind == .colorBalance { keys.append(#""tint": 0.1"#) }
      let text = clip("[{" + (["\"kind\": \"\(kind.rawValue)\""] + keys).joined(separator: ", ") + "}]")
      let filters = try #require(try layer(text).filters)
      #expect(filters.map(\.kind) == [kind])
      let values = try filters[0].at(at("5")).values
      for (parameter, value) in zip(kind.parameters, values) where parameter.key != "tint" {
        #expect(value == parameter.standard ?? 0.5)
      }
    }
  }

  @Test func `curves are read with their points`() throws {
    let filters = try layer(
      clip(#"[{"kind": "curves", "red": [[0, 0.5], [1, 1]], "all": [[0, 0], [0.5, 0.75], [1, 0]], "amount": 0.5}]"#)
    ).filters
    let curves = ToneCurves(
      all: [.init(x: 0, y: 0), .init(x: 0.5, y: 0.75), .init(x: 1, y: 0)],
      red: [.init(x: 0, y: 0.5), .init(x: 1, y: 1)])
    #expect(filters == [.curves(curves, amount: try .constant(0.5))])
  }

  @Test func `grain is on the time of what it is a filter of`() throws {
    func time(_ filters: [Filter<RampList>]?) throws -> MediaTime? {
      try filters?.first?.at(at("5")).extra.time
    }
    let grain = #"[{"kind": "grain"}]"#
    // The clip starts at 2 s.
    #expect(try time(layer(clip(grain)).filters) == at("3"))
    let layers = "[{\"track\": \"A\", \"filters\": \(grain)}]"
    let instructions = "[{\"over\": \"0..12\", \"layers\": \(layers)}]"
    let ofLayer = clip("[]", "\"videoComposition\": {\"instructions\": \(instructions)}")
    #expect(try time(layer(ofLayer).filters) == at("5"))
    let film = try lowered(clip("[]", "\"videoComposition\": {\"filters\": \(grain)}"), assets: assets())
    #expect(try time(film.videoComposition.filters) == at("5"))
  }

  @Test func `ramps are on the clip's time and hold outside`() throws {
    let text = clip(
      #"[{"kind": "blur", "radius": [{"over": "2..4", "value": [10, 20]}, {"at": 6, "value": 1}]}]"#)
    let filter = try #require(try layer(text).filters?.first)
    for (time, radius) in [("2", 10.0), ("3", 10), ("5", 15), ("7", 20), ("8", 1), ("12", 1)] {
      #expect(try filter.at(at(time)) == .blur(radius: radius), "at \(time)")
    }
  }

  @Test func `what changes nothing is left out`() throws {
    #expect(try layer(clip(#"[{"kind": "blur", "radius": 0}, {"kind": "contrast", "amount": 1}]"#)).filters == nil)
    #expect(try layer(clip("[]")).filters == nil)
    #expect(try layer(clip(#"[{"kind": "hue", "degrees": [{"at": 0, "value": 0}]}]"#)).filters == nil)
  }

  @Test func `a layer's filters take the place of the clip's`() throws {
    let blur = #"[{"kind": "blur"}]"#
    func instructions(_ layer: String) -> String {
      clip(blur, "\"videoComposition\": {\"instructions\": [{\"over\": \"0..12\", \"layers\": [\(layer)]}]}")
    }
    #expect(try layer(instructions(#"{"track": "A"}"#)).filters?.map(\.kind) == [.blur])
    #expect(try layer(instructions(#"{"track": "A", "filters": []}"#)).filters == nil)
    let own = try layer(
      instructions(
        #"{"track": "A", "filters": [{"kind": "exposure", "stops": [{"over": "0..12", "value": [0, 6]}]}]}"#))
    #expect(try own.filters?.first?.at(at("4")) == .exposure(stops: 2))
  }

  @Test func `filters of a track follow those of its clips`() throws {
    let exposure = #"[{"kind": "exposure", "stops": [{"over": "2..12", "value": [0, 5]}]}]"#
    let first = #"{"asset": "v", "use": "0..10", "at": 2, "blendMode": "normal", "filters": [{"kind": "blur"}]}"#
    let clips = "[\(first), {\"asset\": \"v\", \"use\": \"0..1\"}]"
    let text = documentText(
      tracks: "[{\"id\": \"A\", \"blendMode\": \"screen\", \"filters\": \(exposure), \"clips\": \(clips)}]")
    let layers = try lowered(text, assets: assets()).videoComposition.instructions.flatMap(\.layers).flatMap(\.tracks)
    #expect(layers.map { $0.filters?.map(\.kind) } == [[.blur, .exposure], [.exposure]])
    #expect(try layers[0].filters?.last?.at(at("4")) == .exposure(stops: 1))
    #expect(layers.map(\.blendMode) == [nil, .screen])
    let audio = #"[{"type": "audio", "mask": {"image": "logo"}, "clips": [{"asset": "s"}]}]"#
    #expect(try problems(documentText(tracks: audio), assets: assets()).map(\.pointer) == ["/tracks/0/mask"])
  }

  @Test func `filters of an instruction are on the film's time`() throws {
    let edit = try lowered(
      documentText(
        tracks: #"[{"id": "A", "clips": [{"asset": "v", "use": "0..10"}]}]"#,
        #""videoComposition": {"instructions": [{"over": "0..4", "passthrough": "A"}, {"over": "4..10", "layers": [{"track": "A"}], "filters": [{"kind": "blur", "radius": [{"over": "4..10", "value": [0, 60]}]}]}]}"#
      ))
    let filters = edit.videoComposition.instructions.map(\.filters)
    #expect(filters[0] == nil)
    #expect(try filters[1]?.first?.at(at("6")) == .blur(radius: 20))
  }

  @Test func `a scale makes the lengths of filters smaller`() throws {
    func radius(_ keys: String) throws -> Filter<Double>? {
      let blur = #"[{"kind": "blur", "radius": 8}]"#
      let clip = "{\"asset\": \"v\", \"use\": \"0..5\", \"filters\": \(blur)\(keys)}"
      return try layer(
        documentText(tracks: "[{\"clips\": [\(clip)]}]", #""videoComposition": {"scale": 0.5}"#)
      ).filters?.first?.at(.zero)
    }
    #expect(try radius("") == .blur(radius: 4))
    #expect(try radius(#", "frame": [0, 0, 100, 100]"#) == .blur(radius: 4))
    // A matrix is scaled itself: lengths are in the picture's own pixels.
    #expect(try radius(#", "transform": [1, 0, 0, 1, 5, 5]"#) == .blur(radius: 8))
  }

  @Test func `filters of the film are on its time`() throws {
    let edit = try lowered(
      documentText(
        tracks: #"[{"clips": [{"asset": "v", "use": "0..10"}]}]"#,
        #""videoComposition": {"filters": [{"kind": "exposure", "stops": [{"over": "5..10", "value": [0, 5]}]}]}"#))
    #expect(try edit.videoComposition.filters?.first?.at(at("7")) == .exposure(stops: 2))
  }

  @Test func `deinterlacing is automatic unless it is set`() throws {
    func clip(_ key: String) throws -> Deinterlacing? {
      try lowered(documentText(tracks: "[{\"clips\": [{\"asset\": \"v\"\(key)}]}]")).composition.tracks[0].clips[0]
        .deinterlace
    }
    #expect(try clip("") == nil)
    #expect(try clip(#", "deinterlace": "auto""#) == nil)
    #expect(try clip(#", "deinterlace": true"#) == .always)
    #expect(try clip(#", "deinterlace": false"#) == .never)
  }

  @Test(arguments: [
    (#"[{"radius": 3}]"#, "/0", "a filter needs 'kind'"),
    (#"[{"kind": "blurr"}]"#, "/0/kind", "did you mean 'blur'?"),
    (#"[{"kind": "blur", "radius": -1}]"#, "/0/radius", "-1 should be a number from 0 to 500"),
    (#"[{"kind": "blur", "radius": 501}]"#, "/0/radius", "from 0 to 500"),
    (#"[{"kind": "blur", "radius": "3"}]"#, "/0/radius", "from 0 to 500"),
    (#"[{"kind": "blur", "radius": []}]"#, "/0/radius", "there is no ramp"),
    (#"[{"kind": "blur", "sigma": 3}]"#, "/0/sigma", "did you mean 'radius'?"),
    (#"[{"kind": "blur", "amount": 3}]"#, "/0/amount", "the keys of a filter 'blur' are kind, radius"),
    (#"[{"kind": "curves", "all": [[0, 1]]}]"#, "/0/all", "2 to 32 points of a curve"),
    (#"[{"kind": "curves", "red": [[0, 1], [1, 2]]}]"#, "/0/red/1/1", "a number from 0 to 1"),
    (#"[{"kind": "curves", "red": [[0, 1], [0.5]]}]"#, "/0/red/1", "two numbers from 0 to 1"),
    (#"[{"kind": "curves", "blue": [[0.5, 1], [0.5, 0]]}]"#, "/0/blue/1/0", "0.5 should be more than 0.5"),
    (#"[{"kind": "exposure"}]"#, "/0", "a filter 'exposure' needs 'stops'"),
    (#"[{"kind": "blur", "radius": [{"over": "0..2", "value": [0, 900]}]}]"#, "/0/radius/0/value/1", "900"),
    (#"[{"kind": "blur", "radius": [{"over": "0..11", "value": [0, 9]}]}]"#, "/0/radius/0", "goes beyond the clip"),
    (
      #"[{"kind": "blur", "radius": [{"over": "0..2", "value": [0, 9]}, {"over": "1..3", "value": [0, 9]}]}]"#,
      "/0/radius/1", "overlaps"
    ),
    (#"[{"kind": "chromaKey"}]"#, "/0", "needs 'color'"),
    (##"[{"kind": "chromaKey", "color": "#00ff0080"}]"##, "/0/color", "is transparent"),
    (#"[{"kind": "lut", "asset": "nothing"}]"#, "/0/asset", "no asset 'nothing'"),
    (#"[{"kind": "lut", "asset": "v"}]"#, "/0/asset", "not a look-up table"),
    (#"{"kind": "blur"}"#, "", "an array of filters"),
    (
      "[" + Array(repeating: #"{"kind": "blur"}"#, count: 17).joined(separator: ",") + "]", "",
      "17 filters; at most 16"
    ),
  ])
  func `a wrong filter is reported at its place`(filters: String, place: String, message: String) throws {
    let found = try problems(clip(filters), assets: assets())
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.pointer == "/tracks/0/clips/0/filters" + place)
    #expect(found.first?.message.contains(message) == true, "\(found)")
  }

  @Test func `what cannot have filters is reported`() throws {
    let audio = #"{"type": "audio", "clips": [{"asset": "s", "filters": []}]}"#
    let film = #"[{"clips": [{"asset": "v", "deinterlace": 1}]}, "# + audio + "]"
    let found = try problems(
      documentText(tracks: film, ##""videoComposition": {"filters": [{"kind": "chromaKey", "color": "#00ff00"}]}"##))
    #expect(
      found.map(\.pointer) == [
        "/tracks/0/clips/0/deinterlace", "/tracks/1/clips/0/filters", "/videoComposition/filters/0/kind",
      ])
  }

  @Test func `a table that a filter uses is used`() throws {
    let text = clip(#"[{"kind": "lut", "asset": "w"}]"#)
    let document = try Document.parse(Array(text.utf8))
    let warnings = try document.lowerWithWarnings(assets: assets(), output: nil).warnings
    #expect(!warnings.contains { $0.pointer == "/assets/w" })
  }
}
