import CPango
package import CompositionModel
package import Media

/// Describes font files. They are parsed by FreeType, so this is done in a task's process only.
package enum FontProbe {
  private static let largestSize: Int64 = 256 << 20

  /// The description of a file, by its first bytes; nil if it is not a TrueType or OpenType font or a collection of
  /// them.
  /// - Throws: `.media` if it is damaged.
  package static func probe(_ source: any ByteSource, name: String) throws(RenderError) -> AssetDescription? {
    let head = try mapErrors(to: RenderError.during("reading \(name)")) { () throws(MediaError) in
      try source.bytes(count: 4)
    }
    guard [[0, 1, 0, 0], Array("OTTO".utf8), Array("ttcf".utf8), Array("true".utf8)].contains(head) else {
      return nil
    }
    func refusal(_ message: String) -> RenderError {
      RenderError(
        .media(MediaError(.damaged, operation: "opening", subject: name, message: message)), "a font")
    }
    guard source.byteCount <= largestSize else {
      throw refusal("a font of \(source.byteCount) bytes; at most \(largestSize) are allowed")
    }
    TextEngine.lock()
    defer { TextEngine.unlock() }
    let font = try FontFiles.withPath(source) { path throws(RenderError) in
      var faces: Int32 = 0
      guard let pattern = FcFreeTypeQuery(path, 0, nil, &faces) else {
        throw refusal("it begins like a font, but it is not one, or it is damaged")
      }
      defer { FcPatternDestroy(pattern) }
      return describe(pattern)
    }
    guard !font.characters.isEmpty else { throw refusal("a font without characters") }
    return AssetDescription(container: font.format, duration: .zero, tracks: [], font: font)
  }

  private static func describe(_ pattern: OpaquePointer) -> FontDescription {
    var characters: OpaquePointer?
    let hasCharacters = FcPatternGetCharSet(pattern, FC_CHARSET, 0, &characters) == FcResultMatch
    let hasOutlines = pattern.boolean(FC_OUTLINE) ?? true
    return FontDescription(
      family: pattern.string(FC_FAMILY) ?? "", style: pattern.string(FC_STYLE) ?? "",
      format: pattern.string(FC_FONTFORMAT) ?? "TrueType", weight: pattern.number(FC_WEIGHT) ?? 80,
      slant: Int(pattern.integer(FC_SLANT) ?? 0), isColor: pattern.boolean(FC_COLOR) ?? false,
      pictureSize: hasOutlines ? nil : pattern.number(FC_PIXEL_SIZE),
      characters: hasCharacters ? characters.map(ranges) ?? [] : [])
  }

  /// The characters of a set as ranges.
  private static func ranges(_ set: OpaquePointer) -> [ClosedRange<UInt32>] {
    var ranges: [ClosedRange<UInt32>] = []
    let words = 8
    var map = [FcChar32](repeating: 0, count: words)
    var next: FcChar32 = 0
    var page = FcCharSetFirstPage(set, &map, &next)
    // FC_CHARSET_DONE.
    while page != FcChar32.max {
      for bit in 0..<(words * 32) where map[bit / 32] >> UInt32(bit % 32) & 1 != 0 {
        let character = page + UInt32(bit)
        if let last = ranges.last, last.upperBound + 1 == character {
          ranges[ranges.count - 1] = last.lowerBound...character
        } else {
          ranges.append(character...character)
        }
      }
      page = FcCharSetNextPage(set, &map, &next)
    }
    return ranges
  }
}
