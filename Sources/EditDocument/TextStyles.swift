public import CompositionModel

/// The limits of the keys of a text overlay that decide how its letters are drawn, and where its font is.
enum TextStyleKeys {
  /// How many times as far as the font has it lines may be apart.
  static let lineSpacings = 0.25...8.0
  /// Pixels between characters.
  static let letterSpacings = -1000.0...1000.0
  /// The width of an outline, in pixels.
  static let outlines = 0.0...200.0
  /// The distance of a shadow, in pixels.
  static let offsets = -2000...2000
  /// In pixels.
  static let blurs = 0.0...200.0
  /// The padding and the radius of a box, in pixels.
  static let paddings = 0...4096

  /// The ends of the names of font files.
  static let fontFileEnds = [".ttf", ".otf", ".ttc", ".otc"]
}

extension DocumentReader {
  /// The asset of a font that is given by its file: the name of an asset, or a path, which becomes an asset of this
  /// name. Nil for a family.
  mutating func fontFile(_ font: String, at pointer: JSONPointer) -> AssetID? {
    let isPath = font.contains("/") || TextStyleKeys.fontFileEnds.contains { font.lowercased().hasSuffix($0) }
    let isKnown = names.knownAssets.contains(font)
    guard isKnown || isPath else { return nil }
    names.usedAssets.insert(font)
    if isKnown { return font }
    if fontFileNames.insert(font).inserted {
      fontFiles.append(AssetEntry(id: font, path: font, pointer: pointer))
    }
    return font
  }
}

extension Lowering {
  /// Makes the style's lengths smaller with the frame.
  func scaleStyle(of text: inout StyledText) {
    guard scale != .one else { return }
    if let outline = text.outline { text.outline?.width = outline.width * scale.approximate }
    if let shadow = text.shadow {
      text.shadow?.x = scaled(shadow.x)
      text.shadow?.y = scaled(shadow.y)
      text.shadow?.blur = shadow.blur * scale.approximate
    }
    if let box = text.box {
      text.box?.padding = scaled(box.padding)
      text.box?.radius = scaled(box.radius)
    }
    if let spacing = text.letterSpacing { text.letterSpacing = spacing * scale.approximate }
  }

  /// Whether a text's font is an installed one or a file that has one; else a problem.
  mutating func checkFont(of text: StyledText, at pointer: JSONPointer) -> Bool {
    guard let id = text.fontFile else { return true }
    // An asset that cannot be used has its own problem.
    guard let asset = assets[id] else { return false }
    if asset.font != nil { return true }
    problems.add(
      pointer,
      "'\(id.shortened)' is not a font but a file of the kind '\(asset.container)'; a font is a file such as "
        + "Title.ttf or Title.otf")
    return false
  }
}

extension ExaminedDocument {
  /// The warnings about families that are not installed, and characters that no font has.
  ///
  /// - Parameters:
  ///   - findings: what was found for each of `fontRequests`.
  ///   - assets: the descriptions of the files, of which the fonts are used.
  public func fontWarnings(
    _ findings: [FontRequest: FontFindings], assets: [AssetID: AssetDescription]
  ) -> [Problem] {
    var warnings = ProblemList()
    for overlay in videoComposition.overlays {
      var missing: Set<UInt32> = []
      for text in texts(of: overlay) {
        guard let found = findings[text.fontRequest] else { continue }
        if let substitute = found.substitute, text.fontFile == nil {
          warnings.add(
            overlay.pointer.key("font"),
            "the font family '\(text.font.shortened)' is not installed; '\(substitute)' is used instead")
        }
        let own = text.fontFile.flatMap { assets[$0]?.font }
        missing.formUnion(found.missing.filter { own?.has($0) != true })
      }
      guard !missing.isEmpty else { continue }
      warnings.add(
        overlay.pointer.key("text"),
        "no font has \(Self.list(characters: missing.sorted())); a box with its number is shown instead")
    }
    return warnings.problems
  }

  /// The warnings about the fonts of captions that are drawn.
  /// - Parameter findings: what was found for the texts of each entry of `captions`; empty for one that is not drawn.
  package func captionWarnings(_ findings: [[FontRequest: FontFindings]]) -> [Problem] {
    var warnings = ProblemList()
    for (entry, found) in zip(captions, findings) {
      for (request, own) in found.sorted(by: { $0.key.font < $1.key.font }) {
        guard let substitute = own.substitute else { continue }
        warnings.add(
          entry.pointer.key(entry.font != nil ? "font" : entry.isList ? "cues" : "asset"),
          "the font family '\(request.font.shortened)' is not installed; '\(substitute)' is used instead")
      }
      let missing = Set(found.values.flatMap(\.missing)).sorted()
      guard !missing.isEmpty else { continue }
      warnings.add(
        entry.pointer.key(entry.isList ? "cues" : "asset"),
        "no font has \(Self.list(characters: missing)); boxes are shown instead")
    }
    return warnings.problems
  }

  private static func list(characters: [UInt32]) -> String {
    let scalars = characters.compactMap(Unicode.Scalar.init)
    let shown = scalars.prefix(8).map { scalar in
      let code = String(scalar.value, radix: 16, uppercase: true)
      return "'\(scalar)' (U+\(String(repeating: "0", count: max(0, 4 - code.count)))\(code))"
    }
    let others = scalars.count > shown.count ? " and \(scalars.count - shown.count) more" : ""
    return shown.joined(separator: ", ") + others
  }
}
