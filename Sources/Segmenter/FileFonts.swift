package import CompositionModel
package import RenderTasks

extension TextFonts {
  /// The fonts of a text that asks for the font of a file: what that font has is set in it, and the rest in the fonts
  /// that were found, which are these. What belongs together (a letter with its accents, the parts of an emoji) is set
  /// in one font. An emoji is set in the colour font that was found for it.
  package func preferring(_ own: FontDescription, digest: String, in text: String) -> TextFonts {
    var parts: [(length: Int, font: Int?)] = []
    var (index, used) = (0, 0)
    for cluster in text {
      var rest = cluster.utf8.count
      let isColor = runs.indices.contains(index) && fonts[runs[index].font].isColor
      let needed = cluster.unicodeScalars.filter(\.needsGlyph)
      let isOwn = needed.allSatisfy { own.has($0.value) } && !(isColor && cluster.isEmoji)
      // What needs no glyph, such as the end of a line, is of the part before it.
      let follows = needed.isEmpty && !parts.isEmpty
      while rest > 0, index < runs.count {
        let run = runs[index]
        let length = min(rest, run.length - used)
        rest -= length
        used += length
        if used >= run.length { (index, used) = (index + 1, 0) }
        let font = follows ? parts[parts.count - 1].font : isOwn ? nil : run.font
        if let last = parts.last, last.font == font {
          parts[parts.count - 1].length += length
        } else {
          parts.append((length, font))
        }
      }
    }
    // Only the fonts that are used, in order of first appearance.
    var result = TextFonts(fonts: [], runs: [])
    var indices: [Int?: Int] = [:]
    for part in parts {
      let index = indices[part.font] ?? result.fonts.count
      if index == result.fonts.count {
        indices[part.font] = index
        result.fonts.append(part.font.map { fonts[$0] } ?? PlannedFont(own, digest: digest))
      }
      result.runs.append(FontRun(length: part.length, font: index))
    }
    return result
  }
}

extension PlannedFont {
  fileprivate init(_ font: FontDescription, digest: String) {
    self.init(
      digest: digest, index: 0, format: font.format, weight: font.weight, slant: font.slant, variations: "",
      isColor: font.isColor, pictureSize: font.pictureSize)
  }
}

extension Unicode.Scalar {
  /// Whether it is shown, if only as a space.
  fileprivate var needsGlyph: Bool {
    properties.generalCategory != .control && !properties.isDefaultIgnorableCodePoint
  }
}

extension Character {
  fileprivate var isEmoji: Bool {
    unicodeScalars.contains { $0.properties.isEmojiPresentation || $0.value == 0xFE0F }
  }
}
