import Foundation
import TestEdits
import Testing

@testable import CompositionModel
@testable import EditDocument

/// `docs/gallery.md` has a picture of everything that the language has a name for, and all its documents are valid.
@Suite struct GalleryTests {
  @Test func `every transition has a picture`() throws {
    let shown = try fragments("Transitions").compactMap { $0 as? [String: Any] }
    // A custom transition's picture is its author's.
    expect(names(in: shown, "kind"), contain: TransitionKind.Name.allCases.filter { $0 != .custom })
    expect(names(in: shown.filter { $0["kind"] as? String == "wipe" }, "direction"), contain: WipeDirection.allCases)
    for kind in ["slide", "push"] {
      expect(names(in: shown.filter { $0["kind"] as? String == kind }, "direction"), contain: SlideDirection.allCases)
    }
    for key in TransitionKeys.style.map(\.name) where !["name", "parameters", "metadata"].contains(key) {
      #expect(shown.contains { $0[key] != nil }, "no picture of '\(key)'")
    }
  }

  @Test func `every blend mode has a picture`() throws {
    let shown = names(in: try fragments("Blend modes"), "blendMode")
    expect(shown, contain: BlendMode.allCases)
    #expect(shown.contains(BlendMode.normal))
  }

  @Test func `every filter has a picture`() throws {
    let lists = try fragments("Filters") + fragments("Chroma key")
    let shown = lists.compactMap { $0 as? [Any] }.joined().compactMap { $0 as? [String: Any] }
    expect(names(in: shown, "kind"), contain: FilterKind.allCases)
    for (key, _) in FilterTables.curves {
      #expect(shown.contains { $0[key.name] != nil }, "no picture of '\(key.name)' of 'curves'")
    }
    for kind in FilterKind.allCases {
      for parameter in kind.parameters {
        #expect(
          shown.contains { $0["kind"] as? String == kind.rawValue && $0[parameter.key] != nil },
          "no picture of '\(parameter.key)' of '\(kind.rawValue)'")
      }
    }
  }

  @Test func `every fit, mask and easing has a picture`() throws {
    expect(names(in: try fragments("Fits"), "fit"), contain: Fit.allCases)
    let geometry = try fragments("Geometry").compactMap { $0 as? [String: Any] }
    for key in ["crop", "frame", "transform", "opacity", "mask"] {
      #expect(geometry.contains { $0[key] != nil }, "no picture of '\(key)'")
    }
    let masks = geometry.compactMap { $0["mask"] as? [String: Any] }
    for channel in LayerMask.Channel.allCases {
      let ofChannel = masks.filter { ($0["channel"] as? String ?? "alpha") == channel.rawValue }
      #expect(ofChannel.contains { $0["invert"] as? Bool == true } && ofChannel.contains { $0["invert"] == nil })
    }
    let ofTracks = try fragments("Masks").compactMap { ($0 as? [String: Any])?["mask"] as? [String: Any] }
      .filter { $0["track"] != nil }
    expect(Set(ofTracks.map { $0["channel"] as? String ?? "alpha" }), contain: LayerMask.Channel.allCases)
    #expect(ofTracks.contains { $0["invert"] as? Bool == true })
    let around = try fragments("Borders and shadows").compactMap { $0 as? [String: Any] }
    for key in ["cornerRadius", "border", "shadow", "fadeIn", "in"] {
      #expect(around.contains { $0[key] != nil }, "no picture of '\(key)'")
    }
    let easings = try fragments("Easing").compactMap { ($0 as? [String: Any])?["easing"] }
    for (name, _) in Easing.named {
      #expect(easings.contains { $0 as? String == name }, "no picture of '\(name)'")
    }
    #expect(easings.contains { $0 is [Any] })
  }

  @Test func `every style of text has a picture`() throws {
    let shown = try fragments("Texts").compactMap { $0 as? [String: Any] }
    for key in OverlayKeys.ofTexts.map(\.name) { #expect(shown.contains { $0[key] != nil }, "no picture of '\(key)'") }
    expect(names(in: shown, "align"), contain: StyledText.Alignment.allCases)
    let overlays = try fragments("Overlays").compactMap { $0 as? [Any] }.joined().compactMap { $0 as? [String: Any] }
    expect(names(in: overlays, "anchor"), contain: Anchor.allCases)
  }

  @Test func `every style of captions and of waveforms has a picture`() throws {
    let captions = try fragments("Captions").compactMap { $0 as? [String: Any] }
    let keys = [
      "box", "highlightColor", "spokenColor", "leftMargin", "rightMargin", "topMargin", "bottomMargin", "vertical",
    ]
    for key in keys + CaptionKeys.texts {
      #expect(captions.contains { $0[key] != nil }, "no picture of '\(key)'")
    }
    let waveforms = try fragments("Waveforms").compactMap { ($0 as? [String: Any])?["waveform"] as? [String: Any] }
    for key in WaveformKeys.table.keyNames {
      #expect(waveforms.contains { $0[key] != nil } || key == "style", "no picture of '\(key)'")
    }
    let styles = Set(waveforms.map { $0["style"] as? String ?? "bars" })
    expect(styles, contain: Waveform.Style.allCases)
  }

  @Test func `every way to place an overlay has a picture`() throws {
    let overlays = try fragments("Overlays").compactMap { $0 as? [Any] }.joined().compactMap { $0 as? [String: Any] }
    for kind in ["image", "video", "text"] {
      let ofKind = overlays.filter { $0[kind] != nil }
      #expect(ofKind.contains { $0["rotate"] != nil || $0["transform"] != nil }, "no turned \(kind)")
    }
    for key in ["x", "y", "width", "height", "rotate", "transform", "crop", "filters", "opacity", "blendMode", "ramps"]
    {
      #expect(overlays.contains { $0[key] != nil }, "no picture of '\(key)'")
    }
    let ramps = overlays.compactMap { $0["ramps"] as? [[String: Any]] }.joined()
    for key in ["opacity", "transform", "crop"] {
      #expect(ramps.contains { $0[key] != nil }, "no picture of a ramp of '\(key)'")
    }
  }

  @Test func `every picture is of a valid document`() throws {
    let sections = try Self.sections()
    #expect(sections.count >= 10)
    for section in sections {
      #expect(
        FileManager.default.fileExists(atPath: Self.docs.appending(path: section.sheet).path), "run 'make gallery'")
      for fragment in section.fragments {
        var whole = section.document as Any
        try add(fragment, to: &whole, at: section.place[...])
        let document = try Document.parse(Array(JSONSerialization.data(withJSONObject: whole)))
        let edit = try document.lower(assets: try assets(of: document), output: "gallery.mkv")
        #expect(try edit.frameCount > 0)
      }
    }
  }

  // MARK: - The page

  private struct Section {
    var title: String
    var sheet: String
    var document: [String: Any]
    var place: [String]
    var fragments: [Any]
  }

  private static var docs: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "docs")
  }

  /// The sections of the page that have pictures.
  private static func sections() throws -> [Section] {
    let page = try String(contentsOf: docs.appending(path: "gallery.md"), encoding: .utf8)
    return try page.components(separatedBy: "\n## ").dropFirst().map { text in
      let document = try #require(text.between("\n```json\n", "\n```\n"))
      let fragments = try #require(text.between("\n```jsonl\n", "\n```"))
      return Section(
        title: text.components(separatedBy: "\n")[0], sheet: try #require(text.between("](", ")")),
        document: try #require(JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any]),
        place: try #require(text.between("\nAt `/", "`")).components(separatedBy: "/"),
        fragments: try fragments.components(separatedBy: "\n").map {
          try JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed)
        })
    }
  }

  private func fragments(_ title: String) throws -> [Any] {
    try #require(try Self.sections().first { $0.title == title }).fragments
  }

  /// The strings that objects have under a key.
  private func names(in objects: [Any], _ key: String) -> Set<String> {
    Set(objects.compactMap { ($0 as? [String: Any])?[key] as? String })
  }

  private func expect<Name: RawRepresentable<String>>(_ shown: Set<String>, contain names: [Name]) {
    for name in names { #expect(shown.contains(name.rawValue), "no picture of '\(name.rawValue)' in docs/gallery.md") }
  }

  /// Puts a fragment at a place of a document. The keys of an object are added to an object that is there.
  private func add(_ fragment: Any, to value: inout Any, at path: ArraySlice<String>) throws {
    guard let key = path.first else {
      if let old = value as? [String: Any], let new = fragment as? [String: Any] {
        value = old.merging(new) { $1 }
      } else {
        value = fragment
      }
      return
    }
    if var list = value as? [Any] {
      try add(fragment, to: &list[try #require(Int(key))], at: path.dropFirst())
      value = list
    } else {
      var object = try #require(value as? [String: Any])
      var inner = object[key] ?? NSNull()
      try add(fragment, to: &inner, at: path.dropFirst())
      object[key] = inner
      value = object
    }
  }

  private func assets(of document: ExaminedDocument) throws -> [AssetID: AssetDescription] {
    var assets: [AssetID: AssetDescription] = [:]
    for (id, path, _) in document.assetPaths {
      switch path.split(separator: ".").last {
      case "png", "gif": assets[id] = try SyntheticAssets.still()
      case "vtt": assets[id] = try SyntheticAssets.captions(hasStyles: false)
      case "cube":
        assets[id] = AssetDescription(
          container: "cube", duration: .zero, tracks: [], colourTable: ColourTableFormat(dimensions: 3, size: 17))
      default: assets[id] = try SyntheticAssets.video()
      }
    }
    return assets
  }
}

extension String {
  /// What is between the first occurrence of one text and the next of another.
  fileprivate func between(_ start: String, _ end: String) -> String? {
    let parts = components(separatedBy: start)
    return parts.count > 1 ? parts[1...].joined(separator: start).components(separatedBy: end)[0] : nil
  }
}
