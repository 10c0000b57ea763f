import CompositionModel
import EditDocument
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Pictures that are described and not stored, beside their definitions and the files that show the same.
@Suite struct DrawnPictureTests {
  // MARK: Pixels

  private static func painted(
    _ picture: DrawnPicture, _ size: PixelSize, at shown: PixelSize? = nil
  ) throws -> RGBAPicture {
    let video = try #require(AssetDescription(picture, film: size).defaultTrack(.video)?.video)
    return try #require(PicturePainter(video)).rgba(shown ?? size)
  }

  private static let colours = [
    Color(red: 250, green: 20, blue: 3), Color(red: 10, green: 200, blue: 77, alpha: 40),
    Color(red: 0, green: 0, blue: 255, alpha: 255),
  ]

  /// By its definition in CSS: the line through the centre whose ends have the corners at right angles.
  @Test(arguments: [nil, 0.0, 45, 90, 135, 180, 270, 301.5, -30]) func `a linear gradient is that of CSS`(
    _ angle: Double?
  ) throws {
    let size = PixelSize(width: 61, height: 40)
    let stops = [
      Gradient.Stop(Self.colours[0], at: 0.1), Gradient.Stop(Self.colours[1]), Gradient.Stop(Self.colours[2], at: 0.8),
    ]
    let found = try Self.painted(DrawnPicture(gradient: Gradient(angle: angle, stops: stops)), size)
    let radians = (angle ?? 180) * .pi / 180
    let half = (abs(61 * sin(radians)) + abs(40 * cos(radians))) / 2
    try compare(found, size) { x, y in
      let along = (x - 30.5) * sin(radians) - (y - 20) * cos(radians)
      return Self.colour((along + half) / (2 * half), [0.1, 0.45, 0.8])
    }
  }

  @Test func `a radial gradient ends in the corners, and in an ellipse at its edge`() throws {
    let size = PixelSize(width: 50, height: 30)
    let gradient = Gradient(.radial, stops: Self.colours.map { Gradient.Stop($0) })
    let found = try Self.painted(DrawnPicture(gradient: gradient), size)
    try compare(found, size) { x, y in
      Self.colour(hypot((x - 25) / 25, (y - 15) / 15) / 2.0.squareRoot(), [0, 0.5, 1])
    }
    let ellipse = try Self.painted(DrawnPicture(.ellipse, fill: .gradient(gradient)), size)
    func isInside(_ x: Double, _ y: Double) -> Bool { hypot((abs(x - 25) + 1) / 25, (abs(y - 15) + 1) / 15) < 1 }
    try compare(ellipse, size, where: isInside) { x, y in
      Self.colour(hypot((x - 25) / 25, (y - 15) / 15), [0, 0.5, 1])
    }
  }

  /// Red, green and blue multiplied by alpha, and alpha, in 65535ths.
  private static func colour(_ place: Double, _ places: [Double]) -> [Double] {
    let all = colours.map { colour in
      let alpha = Double(colour.alpha) / 255
      return [colour.red, colour.green, colour.blue].map { Double($0) / 255 * alpha * 65535 } + [alpha * 65535]
    }
    if place <= places[0] { return all[0] }
    if place >= places[2] { return all[2] }
    let index = place < places[1] ? 0 : 1
    let part = (place - places[index]) / (places[index + 1] - places[index])
    return zip(all[index], all[index + 1]).map { $0 * (1 - part) + $1 * part }
  }

  private func compare(
    _ picture: RGBAPicture, _ size: PixelSize, where isCompared: (Double, Double) -> Bool = { _, _ in true },
    _ expected: (Double, Double) -> [Double]
  ) throws {
    var (greatest, count) = (0.0, 0)
    for y in 0..<size.height {
      for x in 0..<size.width where isCompared(Double(x) + 0.5, Double(y) + 0.5) {
        count += 1
        for (plane, value) in expected(Double(x) + 0.5, Double(y) + 0.5).enumerated() {
          let found = Double(picture.plane(plane)[y * picture.stride / 2 + x])
          greatest = max(greatest, abs(found - value))
        }
      }
    }
    #expect(greatest <= 0.51 && count > 100)
  }

  struct Edge: Sendable, CustomTestStringConvertible {
    var picture: DrawnPicture
    var shown = PixelSize(width: 60, height: 44)

    var testDescription: String { "\(picture.shape) \(picture.cornerRadius ?? 0) \(shown)" }
  }

  private static let fill = DrawnPicture.Fill.color(Color(red: 255, green: 0, blue: 0))
  private static let line = LayerBorder(width: 4.5, color: Color(red: 0, green: 0, blue: 255, alpha: 128))
  private static let own = PixelSize(width: 60, height: 44)
  private static let edges = [
    Edge(picture: DrawnPicture(.ellipse, fill: fill)),
    Edge(picture: DrawnPicture(.ellipse, fill: fill, border: line)),
    Edge(picture: DrawnPicture(fill: fill, cornerRadius: 13.4)),
    Edge(picture: DrawnPicture(fill: fill, cornerRadius: 100, border: line)),
    Edge(picture: DrawnPicture(fill: nil, cornerRadius: 6, border: line)),
    Edge(picture: DrawnPicture(.ellipse, fill: fill, border: line), shown: PixelSize(width: 23, height: 31)),
    Edge(picture: DrawnPicture(fill: fill, cornerRadius: 9, border: line), shown: PixelSize(width: 150, height: 70)),
  ]

  /// Each pixel is looked at in 32 x 32 points.
  @Test(arguments: edges) func `edges are the area that is covered`(_ edge: Edge) throws {
    let (own, shown) = (Self.own, edge.shown)
    let found = try Self.painted(edge.picture, own, at: shown)
    let (width, height) = (Double(own.width), Double(own.height))
    func isInside(_ x: Double, _ y: Double, _ inset: Double) -> Bool {
      let (u, v) = (abs(x - width / 2), abs(y - height / 2))
      let (a, b) = (width / 2 - inset, height / 2 - inset)
      if edge.picture.shape == .ellipse { return u * u / (a * a) + v * v / (b * b) <= 1 }
      let radius = max(0, min(min(edge.picture.cornerRadius ?? 0, 1e9) - inset, a, b))
      let (across, down) = (u - (a - radius), v - (b - radius))
      return across > 0 && down > 0 ? across * across + down * down <= radius * radius : u <= a && v <= b
    }
    let border = edge.picture.border
    let alphaOfLine = border.map { Double($0.color.alpha) / 255 } ?? 0
    var greatest = 0.0
    for y in 0..<shown.height {
      for x in 0..<shown.width {
        var (inner, ring) = (0.0, 0.0)
        for row in 0..<32 {
          for column in 0..<32 {
            let (u, v) = (
              (Double(x) + (Double(column) + 0.5) / 32) * width / Double(shown.width),
              (Double(y) + (Double(row) + 0.5) / 32) * height / Double(shown.height)
            )
            if isInside(u, v, border?.width ?? 0) { inner += 1 } else if isInside(u, v, 0) { ring += 1 }
          }
        }
        let (filled, lined) = (inner / 1024, ring / 1024)
        let isFilled = edge.picture.fill == nil ? 0.0 : 1.0
        let expected = [
          filled * isFilled + lined * isFilled * (1 - alphaOfLine), 0, lined * alphaOfLine,
          filled * isFilled + lined * (alphaOfLine + isFilled * (1 - alphaOfLine)),
        ]
        for (plane, value) in expected.enumerated() {
          let sample = Double(found.plane(plane)[y * found.stride / 2 + x]) / 65535
          greatest = max(greatest, abs(sample - value))
        }
      }
    }
    // The points of a pixel give its area to about a hundredth.
    #expect(greatest < 0.02)
  }

  // MARK: Films

  private func frames(
    _ document: String, segment: MediaTime = MediaTime(seconds: 100), files: [AssetID: String] = [:]
  ) throws -> (segments: Int, frames: [[UInt8]]) {
    let parsed = try Document.parse(Array(document.utf8))
    var (descriptions, assets, inputs) = (
      [AssetID: AssetDescription](), [AssetID: PlannedAsset](), [String: any ByteSource]()
    )
    for (id, path) in files {
      descriptions[id] = try AssetProbe.probe(openSource(path), name: path)
      assets[id] = PlannedAsset(description: try #require(descriptions[id]), digest: "digest of \(id)")
      inputs["digest of \(id)"] = try openSource(path)
    }
    let edit = try parsed.lower(assets: descriptions, output: nil)
    let plan = try RenderPlanner.plan(edit, assets: assets, segmentDuration: segment)
    var frames: [[UInt8]] = []
    for segment in plan.segments {
      try segment.task.check()
      // What is not in its JSON is not in its fingerprint.
      let task = try JSONDecoder().decode(VideoTask.self, from: JSONEncoder().encode(segment.task))
      #expect(task == segment.task)
      let maker = try FrameMaker(task, inputs: inputs)
      for index in 0..<segment.task.frameCount { frames.append(try maker.frame(index).packed) }
    }
    return (plan.segments.count, frames)
  }

  private func document(
    _ assets: String, clips: String, composition: String = "", format: String = "yuv420p", tracks: String = ""
  ) -> String {
    """
    { "sheaf": 1, "assets": { \(assets) }, "tracks": [ { "clips": [ \(clips) ] }\(tracks) ],
      "videoComposition": { "renderSize": [90, 62], "frameDuration": "1/25"\(composition) },
      "export": { "to": "out.mkv", "video": { "codec": "ffv1", "pixelFormat": "\(format)" } } }
    """
  }

  @Test(arguments: [
    ("#3579bd", "yuv420p", "bt709"), ("#ff0000", "yuv422p10", "bt2020"), ("#10ef07", "yuv444p", "bt601"),
    ("#2060ff", "yuv420p10", "hdr10"),
  ])
  func `one colour is that of a background`(_ color: String, _ format: String, _ film: String) throws {
    let shown = try frames(
      document(
        #""c": { "color": "\#(color)" }"#, clips: #"{ "asset": "c", "duration": "2f" }"#,
        composition: #", "color": "\#(film)""#, format: format))
    let behind = try frames(
      document(
        ##""c": { "color": "#808080" }"##, clips: #"{ "asset": "c", "duration": "2f", "opacity": 0 }"#,
        composition: #", "color": "\#(film)", "background": "\#(color)""#, format: format))
    #expect(shown.frames.count == 2 && shown.frames == behind.frames)
  }

  /// The shapes of overlays and pictures of files: a box of one colour is the same in both.
  @Test(arguments: [("#c04020", "0xc04020"), ("#c0402080", "0xc0402080")])
  func `a box is the picture of a file with the same pixels`(_ color: String, _ ofFFmpeg: String) throws {
    let folder = try TemporaryFolder()
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "color=\(ofFFmpeg):size=31x17,format=rgba", "-frames:v", "1", folder.path("box.png"),
    ])
    let clips = ##"{ "asset": "back", "duration": "1f" }"##
    let back = ##""back": { "gradient": ["#102040", "#e0d080"] }"##
    func film(_ assets: String, _ overlay: String, _ files: [AssetID: String] = [:]) throws -> [[UInt8]] {
      try frames(
        document(
          assets, clips: clips,
          composition: #", "overlays": [ { \#(overlay), "x": 11, "y": 7, "blendMode": "screen" } ]"#),
        files: files
      ).frames
    }
    let shape = try film(back, #""shape": "rectangle", "color": "\#(color)", "width": 31, "height": 17"#)
    let named = try film(
      back + #", "box": { "color": "\#(color)", "size": [31, 17] }"#, #""image": "box""#)
    let file = try film(back + #", "box": "box.png""#, #""image": "box""#, ["box": folder.path("box.png")])
    #expect(shape == file && named == file)
    let without = try frames(document(back, clips: clips)).frames
    #expect(shape != without)
  }

  @Test func `any cut into segments gives the same pictures`() throws {
    let assets = ##"""
      "sky": { "gradient": ["#16324f", "#2a628f", "#f4a259"] },
      "disc": { "shape": "ellipse", "size": [40, 30], "color": "#ffb703c0", "border": { "width": 2 } },
      "matte": { "gradient": { "stops": ["#000000", "#ffffff"], "angle": 45 } },
      "window": { "color": "#ffffff", "cornerRadius": 20 }, "red": { "color": "#a01010" }
      """##
    let clips = ##"""
      { "asset": "sky", "duration": "20f", "mask": { "image": "window" } },
      { "asset": "red", "duration": "20f", "transition": { "kind": "luma", "matte": "matte", "duration": "8f" } },
      { "asset": "disc", "duration": "20f", "fit": "none", "fadeIn": "5f",
        "ramps": [ { "over": "0..end", "transform": [ { "rotate": 0 }, { "rotate": 90 } ] } ] }
      """##
    let text = document(
      assets, clips: clips,
      composition: ##"""
        , "overlays": [ { "image": "disc", "anchor": "top-left", "inset": 3, "width": 21 },
          { "shape": "ellipse", "gradient": { "kind": "radial", "stops": ["#ffffff", "#ffffff00"] }, "over": "9f..50f",
            "width": "30%", "height": 20, "anchor": "bottom", "rotate": 20, "opacity": 0.7 } ]
        """##)
    let whole = try frames(text)
    let cut = try frames(text, segment: MediaTime(value: 5, timescale: 25))
    #expect(whole.segments == 1 && cut.segments >= 8 && whole.frames.count == 52)
    #expect(whole.frames == cut.frames)
    #expect(Set(whole.frames).count > 25)
  }
}
