import CompositionModel
import EditDocument
import TestEdits
import Testing

/// What overlays of texts, videos and animated pictures mean.
@Suite struct OverlayTests {
  private func text(_ overlays: String, _ composition: String = "") -> String {
    documentText(
      tracks: #"[{"clips": [{"asset": "v", "use": "0..10"}]}]"#,
      #""videoComposition": {"renderSize": [1280, 720]\#(composition), "overlays": [\#(overlays)]}"#)
  }

  private func assets() throws -> [AssetID: AssetDescription] {
    var assets = try standardAssets()
    var sticker = try SyntheticAssets.video(seconds: MediaTime(value: 3, timescale: 2), hasSound: false)
    sticker.container = "gif"
    assets["w"] = sticker
    let font = FontDescription(
      family: "Title", style: "Bold", format: "CFF", weight: 200, slant: 0, isColor: false, pictureSize: nil,
      characters: [0x20...0x7E, 0x378...0x378])
    assets["s"] = AssetDescription(container: "CFF", duration: .zero, tracks: [], font: font)
    assets["fonts/Title.otf"] = assets["s"]
    return assets
  }

  private func overlays(_ overlays: String, _ composition: String = "") throws -> [Overlay] {
    try lowered(text(overlays, composition), assets: assets()).videoComposition.overlays
  }

  @Test func `an animated picture repeats as long as it is shown, unless it says how often`() throws {
    let found = try overlays(
      #"{"image": "w"}, {"image": "w", "loop": 3, "over": "1..9"}, {"image": "w", "loop": false, "width": 50}"#)
    let whole = try spanning("0", "3/2")
    #expect(found[0].content == .video(OverlayVideo(asset: "w", sourceTrack: 0, source: whole, turns: nil)))
    #expect(try found[0].over == spanning("0", "10"))
    #expect(found[1].content == .video(OverlayVideo(asset: "w", sourceTrack: 0, source: whole, turns: 3)))
    #expect(try found[1].over == spanning("1", "9"))
    #expect(found[2].content == .video(OverlayVideo(asset: "w", sourceTrack: 0, source: whole, turns: 1, width: 50)))
  }

  @Test func `a video is shown once, for as long as it plays, unless it says otherwise`() throws {
    let found = try overlays(
      #"{"video": "v", "use": "2..5"}, {"video": "w", "loop": 4}, {"video": "w", "loop": true}, {"video": "v", "over": "3..4"}"#
    )
    #expect(try found[0].content == .video(OverlayVideo(asset: "v", sourceTrack: 0, source: spanning("2", "5"))))
    #expect(try found.map(\.over) == [spanning("0", "3"), spanning("0", "6"), spanning("0", "10"), spanning("3", "4")])
    guard case .video(let looped) = found[2].content else { return }
    #expect(looped.turns == nil)
  }

  @Test func `percentages are of the frame`() throws {
    let found = try overlays(
      #"{"image": "logo", "width": "25%", "x": "50%", "y": "-10%"}, {"image": "logo", "height": "12.5%", "inset": "5%"}"#
    )
    #expect(found[0].content == .image(asset: "logo", width: 320, height: nil))
    #expect(found[0].placement == .point(x: 640, y: -72))
    #expect(found[1].content == .image(asset: "logo", width: nil, height: 90))
    #expect(found[1].placement == .anchor(.center, inset: 36))
    let small = try overlays(#"{"image": "logo", "width": "25%", "x": 100}"#, #", "scale": 0.5"#)
    #expect(small[0].content == .image(asset: "logo", width: 160, height: nil))
    #expect(small[0].placement == .point(x: 50, y: 0))
  }

  @Test func `an inset of two lengths is across and down`() throws {
    let found = try overlays(
      #"{"image": "logo", "anchor": "bottom-right", "inset": [96, "5%"]}, {"text": "a", "inset": ["10%", 0]}"#)
    #expect(found[0].placement == .anchorInsets(.bottomRight, x: 96, y: 36))
    #expect(found[1].placement == .anchorInsets(.center, x: 128, y: 0))
    let small = try overlays(#"{"image": "logo", "anchor": "top", "inset": ["10%", 40]}"#, #", "scale": 0.5"#)
    #expect(small[0].placement == .anchorInsets(.top, x: 64, y: 20))
    for (inset, place) in [
      ("[4]", ""), ("[4, 4, 4]", ""), ("[-1, 0]", "/0"), (#"[0, "-5%"]"#, "/1"), ("[0, true]", "/1"),
    ] {
      let problems = try problems(
        documentText(
          tracks: #"[{"clips": [{"asset": "v", "use": "0..4"}]}]"#,
          #""videoComposition": {"overlays": [{"image": "logo", "inset": \#(inset)}]}"#))
      #expect(problems.map(\.pointer) == ["/videoComposition/overlays/0/inset\(place)"], "\(inset)")
    }
  }

  @Test func `an overlay is anchored within a rectangle`() throws {
    let found = try overlays(
      #"""
      {"image": "logo", "anchor": "bottom-right", "inset": 10, "in": ["50%", 20, 300, "25%"]},
      {"text": "a", "in": [-10, 0, "10%", 60]}, {"shape": "ellipse", "border": {"width": 2}, "in": [100, 50, 40, 30]}
      """#)
    func rect(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelRect {
      PixelRect(x: x, y: y, size: PixelSize(width: width, height: height))
    }
    #expect(found[0].placement == .within(rect(640, 20, 300, 180), .bottomRight, x: 10, y: 10))
    #expect(found[1].placement == .within(rect(-10, 0, 128, 60), .center, x: 0, y: 0))
    guard case .image(_, let width, let height) = found[2].content else { return }
    #expect(width == 40 && height == 30 && found[2].placement == .within(rect(100, 50, 40, 30), .center, x: 0, y: 0))
    let small = try overlays(#"{"image": "logo", "in": [100, 50, "50%", 31]}"#, #", "scale": 0.5"#)
    #expect(small[0].placement == .within(rect(50, 25, 320, 16), .center, x: 0, y: 0))
    for (place, pointer) in [
      (#""in": [0, 0, 10]"#, "/in"), (#""in": [0, 0, 0, 10]"#, "/in/2"), (#""in": [0, 0, 9, 9], "x": 3"#, "/in"),
    ] {
      let problems = try problems(text(#"{"image": "logo", \#(place)}"#))
      #expect(problems.map(\.pointer) == ["/videoComposition/overlays/0\(pointer)"], "\(place)")
    }
  }

  @Test func `a text's style is lowered, and scaled with the frame`() throws {
    let styled = #"""
      {"text": "x", "align": "justify", "lineSpacing": 1.5, "letterSpacing": 4, "outline": {"width": 3, "color": "#ff0000"},
       "shadow": {"x": 8, "y": 0}, "box": {"padding": 10, "radius": 4, "color": "#00000040"}}
      """#
    for (scale, factor) in [("", 1.0), (#", "scale": 0.5"#, 0.5)] {
      guard case .text(let text)? = try overlays(styled, scale).first?.content else { continue }
      #expect(text.alignment == .justify && text.lineSpacing == 1.5 && text.letterSpacing == 4 * factor)
      #expect(text.outline == TextOutline(width: 3 * factor, color: Color(red: 255, green: 0, blue: 0)))
      let shadow = try #require(text.shadow)
      #expect(shadow.x == Int(8 * factor) && shadow.y == 0 && shadow.blur == 4 * factor && shadow.color.alpha == 192)
      let color = Color(red: 0, green: 0, blue: 0, alpha: 64)
      #expect(text.box == TextBox(color: color, padding: Int(10 * factor), radius: Int(4 * factor)))
    }
  }

  @Test func `a font is a family, an asset or a path`() throws {
    let text = text(
      #"{"text": "a", "font": "Noto Sans"}, {"text": "b", "font": "s"}, {"text": "c", "font": "fonts/Title.otf"}, {"text": "d", "font": "fonts/Title.otf"}"#
    )
    let document = try Document.parse(Array(text.utf8))
    #expect(document.assetPaths.map(\.path) == ["v.mov", "w.mov", "mute.mov", "s.m4a", "logo.png", "fonts/Title.otf"])
    #expect(document.assetPaths.last?.pointer == "/videoComposition/overlays/2/font")
    let files = try lowered(text, assets: assets()).videoComposition.overlays.map { overlay -> AssetID? in
      if case .text(let text) = overlay.content { text.fontFile } else { nil }
    }
    #expect(files == [nil, "s", "fonts/Title.otf", "fonts/Title.otf"])
    let warnings = try document.lowerWithWarnings(assets: assets(), output: nil).warnings.map(\.pointer)
    #expect(!warnings.contains("/assets/s") && warnings.contains("/assets/w"))
  }

  @Test func `what is not there of fonts is a warning`() throws {
    let document = try Document.parse(
      Array(
        text(
          #"{"text": "a\u0378", "font": "Helvetica Neue"}, {"text": "a\u0378", "font": "s"}, {"text": "\u{13000}"}"#
            .replacing("\\u{13000}", with: "\u{13000}")
        ).utf8))
    var findings: [FontRequest: FontFindings] = [:]
    for request in document.fontRequests {
      findings[request] = FontFindings(
        substitute: request.font == "sans-serif" ? nil : "DejaVu Sans",
        missing: request.text.unicodeScalars.map(\.value).filter { $0 > 0x100 })
    }
    #expect(
      try document.fontWarnings(findings, assets: assets()).map(\.description) == [
        "/videoComposition/overlays/0/font: the font family 'Helvetica Neue' is not installed; 'DejaVu Sans' is used instead",
        "/videoComposition/overlays/0/text: no font has '\u{378}' (U+0378); a box with its number is shown instead",
        "/videoComposition/overlays/2/text: no font has '\u{13000}' (U+13000); a box with its number is shown instead",
      ])
  }
}
