/// A script of ASS for pictures of 320 by 180.
package enum CaptionFile {
  /// - Parameters:
  ///   - styles: The values of each, without `Style: `.
  ///   - fonts: The lines of the section `[Fonts]`. Empty: there is no such section.
  ///   - events: The values of each, without `Dialogue: `.
  package static func ass(styles: [String], fonts: String = "", events: [String]) -> String {
    """
    [Script Info]
    ScriptType: v4.00+
    PlayResX: 320
    PlayResY: 180

    [V4+ Styles]
    Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, \
    Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, \
    MarginV, Encoding
    \(styles.map { "Style: \($0)\n" }.joined())
    \(fonts.isEmpty ? "" : "[Fonts]\n\(fonts)\n")[Events]
    Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
    \(events.map { "Dialogue: \($0)\n" }.joined())
    """
  }
}
