import CompositionModel
import EditDocument
import TestEdits
import Testing

/// What pictures that are drawn mean in a document.
@Suite struct PictureDocumentTests {
  private func text(_ assets: String, _ clips: String, _ composition: String = "", export: String = "") -> String {
    """
    { "sheaf": 1, "assets": { "v": "v.mov", \(assets) }, "tracks": [ { "clips": [ \(clips) ] } ],
      "videoComposition": { \(composition) }, "export": { "to": "out.mkv"\(export) } }
    """
  }

  private func found(_ assets: String, _ clips: String, _ composition: String = "") throws -> [Problem] {
    try problems(text(assets, clips, composition))
  }

  private func drawn(_ edit: Edit, _ id: AssetID) throws -> VideoFormat {
    try #require(edit.drawn?[id]?.defaultTrack(.video)?.video)
  }

  @Test func `a picture is a still of the film's size, or of its own`() throws {
    let edit = try lowered(
      text(
        ##""a": { "color": "#102030" }, "b": { "shape": "ellipse", "color": "#ff0000", "size": [20, 10] }"##,
        #"{ "asset": "a", "duration": 2 }, { "asset": "b", "duration": 1 }, { "asset": "v", "use": "0..1" }"#,
        #""renderSize": [1280, 720]"#))
    #expect(try drawn(edit, "a").size == PixelSize(width: 1280, height: 720))
    #expect(try drawn(edit, "b").size == PixelSize(width: 20, height: 10))
    #expect(try drawn(edit, "a").hasAlpha == false && drawn(edit, "b").hasAlpha)
    #expect(try drawn(edit, "b").drawn?.shape == .ellipse && drawn(edit, "b").isStill)
    #expect(edit.drawn?.count == 2)
    #expect(try edit.composition.duration == at("4"))
  }

  @Test func `the size of a film is that of what has one`() throws {
    let picture = ##""a": { "color": "#102030" }, "b": { "color": "#ff0000", "size": [640, 480] }"##
    func size(_ clips: String, _ composition: String = "") throws -> (film: PixelSize, a: PixelSize) {
      let edit = try lowered(text(picture, clips, composition))
      return (edit.videoComposition.renderSize, try drawn(edit, "a").size)
    }
    let (a, b, v) = (
      #"{ "asset": "a", "duration": 2 }"#, #"{ "asset": "b", "duration": 2 }"#, #"{ "asset": "v", "use": "0..1" }"#
    )
    let of = try [size(a), size("\(a), \(b)"), size("\(a), \(v)"), size(a, #""scale": 0.5"#)]
    let video = try lowered(text(picture, v)).videoComposition.renderSize
    let sizes = [(1920, 1080), (640, 480), (video.width, video.height), (960, 540)]
    #expect(of.map(\.film) == sizes.map { PixelSize(width: $0, height: $1) })
    #expect(of.allSatisfy { $0.film == $0.a })
  }

  @Test func `lengths become smaller with the film, unless the picture has a size`() throws {
    let edit = try lowered(
      text(
        ##""a": { "color": "#fff000", "cornerRadius": 20, "border": { "width": 4 } }, "b": { "color": "#ffffff", "size": [9, 9], "cornerRadius": 2 }"##,
        #"{ "asset": "a", "duration": 1 }, { "asset": "b", "duration": 1 }"#,
        ##""renderSize": [800, 600], "scale": 0.5, "overlays": [ { "shape": "rectangle", "color": "#ffffff", "cornerRadius": 8, "width": 100, "height": "10%" } ]"##
      ))
    #expect(try drawn(edit, "a").drawn?.cornerRadius == 10 && drawn(edit, "a").drawn?.border?.width == 2)
    #expect(try drawn(edit, "b").drawn?.cornerRadius == 2)
    guard case .image(let shape, let width, let height)? = edit.videoComposition.overlays.first?.content else {
      Issue.record("no shape")
      return
    }
    #expect(width == 50 && height == 30)
    #expect(try drawn(edit, shape).drawn?.cornerRadius == 4)
    #expect(try drawn(edit, shape).size == PixelSize(width: 50, height: 30))
  }

  @Test func `a shape is as large as the frame, and says nothing of media`() throws {
    let document = text(
      ##""a": { "color": "#102030" }"##, #"{ "asset": "a", "duration": 2 }"#,
      ##""renderSize": [320, 240], "overlays": [ { "shape": "ellipse", "gradient": ["#ff0000", "#00ff00"], "over": "0..1" }, { "image": "a", "width": 10 } ]"##
    )
    let edit = try lowered(document)
    let contents = edit.videoComposition.overlays.map(\.content)
    guard case .image(let id, let width, let height)? = contents.first else { return }
    #expect(width == 320 && height == 240 && contents.last == .image(asset: "a", width: 10, height: nil))
    let stops = [Color(red: 255, green: 0, blue: 0), Color(red: 0, green: 255, blue: 0)].map { Gradient.Stop($0) }
    #expect(try drawn(edit, id).drawn?.fill == .gradient(Gradient(stops: stops)))
    let parsed = try Document.parse(Array(document.utf8))
    #expect(parsed.assetPaths.map(\.id) == ["v"])
    let warnings = try parsed.lowerWithWarnings(assets: standardAssets(), output: nil).warnings
    #expect(warnings.map(\.pointer) == ["/assets/v"])
  }

  @Test func `what cannot be drawn is a problem in its place`() throws {
    let clip = #"{ "asset": "a", "duration": 1 }"#
    for (picture, place) in [
      (#"{}"#, ""), (#"{ "shape": "ellipse" }"#, ""),
      (##"{ "color": "#000000", "gradient": ["#000000", "#ffffff"] }"##, "/color"),
      (##"{ "gradient": ["#000000"] }"##, "/gradient"), (##"{ "gradient": { "angle": 3 } }"##, "/gradient"),
      (##"{ "gradient": { "kind": "radial", "angle": 3, "stops": ["#000000", "#ffffff"] } }"##, "/gradient/angle"),
      (
        ##"{ "gradient": [ { "color": "#000000", "at": 0.5 }, { "color": "#ffffff", "at": 0.4 } ] }"##, "/gradient/1/at"
      ),
      (##"{ "color": "#000000", "shape": "ellipse", "cornerRadius": 4 }"##, "/cornerRadius"),
      (##"{ "color": "#000000", "shape": "star" }"##, "/shape"),
      (##"{ "color": "#000000", "size": [0, 4] }"##, "/size/0"),
      (##"{ "color": "#000000", "size": [16384, 16384] }"##, "/size"),
      (##"{ "colour": "#000000", "border": {"width": 2} }"##, "/colour"),
      (#"12"#, ""),
    ] {
      let pointers = try found("\"a\": \(picture)", clip, #""renderSize": [64, 36]"#).map(\.pointer)
      #expect(pointers == ["/assets/a\(place)"], "\(picture)")
    }
    for (overlay, place) in [
      (#""shape": "ellipse""#, ""), (##""shape": "ellipse", "color": "#000000", "text": "a""##, ""),
      (##""shape": "ellipse", "color": "#000000", "cornerRadius": 4"##, "/cornerRadius"),
      (##""shape": "rectangle", "color": "#000000", "size": 4"##, "/size"),
      (##""shape": "rectangle", "color": "#000000", "width": 0"##, "/width"),
    ] {
      let problems = try found(
        ##""a": { "color": "#000000" }"##, clip, #""overlays": [ { \#(overlay) } ]"#)
      #expect(problems.map(\.pointer) == ["/videoComposition/overlays/0\(place)"], "\(overlay)")
    }
    // It has no sound, no time, and is no file.
    for others in [
      #""captions": [ { "asset": "a" } ], "export": { "to": "o.mp4" }"#,
      #""export": { "to": "o.mp4", "artwork": "a" }"#,
    ] {
      let document = """
        { "sheaf": 1, "assets": { "a": { "color": "#000000" } }, "tracks": [ { "clips": [ \(clip) ] } ], \(others) }
        """
      #expect(try problems(document).count == 1, "\(others)")
    }
    #expect(try found(##""a": { "color": "#000000" }"##, #"{ "asset": "a" }"#).count == 1)
  }
}
