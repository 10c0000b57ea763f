/// A text and its style.
public struct StyledText: Sendable, Hashable, Codable {
  public var text: String
  /// A font family, found by fontconfig. With `fontFile` it is for the characters that the file's font does not have.
  public var font: String
  /// A font's file. Nil: the font is an installed one.
  public var fontFile: AssetID?
  public var isBold: Bool
  public var isItalic: Bool
  /// The height of the font's em square in pixels of the frame.
  public var size: Double
  public var color: Color
  public var alignment: Alignment
  /// The width in pixels at which lines are wrapped. Nil: the frame's width less the insets.
  public var width: Int?
  /// How many times as far as the font has it a line's baseline is from the one before. Nil: once.
  public var lineSpacing: Double?
  /// Pixels that are added between two characters; may be negative. Nil: none.
  public var letterSpacing: Double?
  public var outline: TextOutline?
  public var shadow: TextShadow?
  public var box: TextBox?
  /// What its value is in each frame; `text` has every character that may be shown then. Nil: `text` throughout.
  public var counting: CountingText?
  /// How many bytes of `text` in UTF-8 are seen; the others have their places. Nil: all.
  package var seenBytes: Int?

  /// How the lines of a text are placed in the block that they make up.
  public enum Alignment: String, Sendable, Hashable, Codable, CaseIterable {
    case left, center, right
    /// Lines that were wrapped are as wide as the text may be; the last line of a paragraph begins where its script
    /// does.
    case justify
  }

  public init(
    text: String, font: String = "sans-serif", fontFile: AssetID? = nil, isBold: Bool = false, isItalic: Bool = false,
    size: Double, color: Color = .white, alignment: Alignment = .center, width: Int? = nil,
    lineSpacing: Double? = nil, letterSpacing: Double? = nil, outline: TextOutline? = nil, shadow: TextShadow? = nil,
    box: TextBox? = nil
  ) {
    self.text = text
    self.font = font
    self.fontFile = fontFile
    self.isBold = isBold
    self.isItalic = isItalic
    self.size = size
    self.color = color
    self.alignment = alignment
    self.width = width
    self.lineSpacing = lineSpacing
    self.letterSpacing = letterSpacing
    self.outline = outline
    self.shadow = shadow
    self.box = box
  }

  /// The same style with a text that does not count.
  package func showing(_ text: String) -> StyledText {
    var shown = self
    shown.counting = nil
    if case .revealed? = counting?.count { shown.seenBytes = text.utf8.count } else { shown.text = text }
    return shown
  }

  /// Whether more is drawn than the letters.
  package var isDecorated: Bool { outline != nil || shadow != nil || box != nil }
}

/// A line around the letters of a text.
public struct TextOutline: Sendable, Hashable, Codable {
  /// Pixels outside of the letters.
  public var width: Double
  public var color: Color

  public init(width: Double, color: Color = .black) {
    self.width = width
    self.color = color
  }
}

/// A shadow of a text's letters and their outline, or of a picture.
public struct TextShadow: Sendable, Hashable, Codable {
  /// Pixels to the right of the letters.
  public var x: Int
  /// Pixels below the letters.
  public var y: Int
  /// Twice the standard deviation, in pixels, of the Gaussian that makes the shadow soft; 0 is sharp.
  public var blur: Double
  public var color: Color

  public init(x: Int = 2, y: Int = 2, blur: Double = 4, color: Color = Color(red: 0, green: 0, blue: 0, alpha: 192)) {
    self.x = x
    self.y = y
    self.blur = blur
    self.color = color
  }
}

/// A rectangle behind a text.
public struct TextBox: Sendable, Hashable, Codable {
  public var color: Color
  /// Pixels between the block of lines and the rectangle's edges.
  public var padding: Int
  /// The radius of the rectangle's rounded corners, in pixels.
  public var radius: Int

  public init(color: Color = Color(red: 0, green: 0, blue: 0, alpha: 128), padding: Int = 16, radius: Int = 0) {
    self.color = color
    self.padding = padding
    self.radius = radius
  }
}

/// What decides the fonts of a text: its characters, and the family and style that it asks for.
public struct FontRequest: Sendable, Hashable, Codable {
  public var text: String
  /// A font family, found by fontconfig.
  public var font: String
  public var isBold: Bool
  public var isItalic: Bool
  /// Whether fonts of pictures, such as those of coloured emoji, cannot be used. Nil: they can.
  public var needsOutlines: Bool?

  public init(text: String, font: String, isBold: Bool, isItalic: Bool, needsOutlines: Bool? = nil) {
    self.text = text
    self.font = font
    self.isBold = isBold
    self.isItalic = isItalic
    self.needsOutlines = needsOutlines
  }
}

extension StyledText {
  public var fontRequest: FontRequest {
    FontRequest(text: text, font: font, isBold: isBold, isItalic: isItalic)
  }
}
