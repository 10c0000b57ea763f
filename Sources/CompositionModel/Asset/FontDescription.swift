/// The font of a font file, such as a TrueType or an OpenType font. Of a collection it is the first.
public struct FontDescription: Sendable, Hashable, Codable {
  /// Such as `Noto Sans`.
  public var family: String
  /// Such as `Bold Italic`.
  public var style: String
  /// `TrueType` or `CFF`.
  public var format: String
  /// On fontconfig's scale: 80 is regular, 200 is bold.
  public var weight: Double
  /// On fontconfig's scale: 0 is roman, 100 is italic, 110 is oblique.
  public var slant: Int
  public var isColor: Bool
  /// The size of the glyphs in pixels, of a font that has pictures in place of outlines. Nil: it has outlines.
  public var pictureSize: Double?
  /// The characters that it has glyphs for, rising and apart.
  public var characters: [ClosedRange<UInt32>]

  public init(
    family: String, style: String, format: String, weight: Double, slant: Int, isColor: Bool, pictureSize: Double?,
    characters: [ClosedRange<UInt32>]
  ) {
    self.family = family
    self.style = style
    self.format = format
    self.weight = weight
    self.slant = slant
    self.isColor = isColor
    self.pictureSize = pictureSize
    self.characters = characters
  }

  /// Whether it has a glyph for a character.
  public func has(_ character: UInt32) -> Bool {
    let next = characters.partitionPoint { character < $0.lowerBound }
    return next > 0 && characters[next - 1].contains(character)
  }
}
