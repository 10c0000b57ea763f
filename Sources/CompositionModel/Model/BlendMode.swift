/// How the colours of a picture and of what is below it become one colour, as W3C's "Compositing and Blending" defines
/// it, on red, green and blue as they are stored. The raw value is the name in documents. A layer without a mode is
/// drawn over what is below (`normal`).
public enum BlendMode: String, Sendable, Hashable, Codable, CaseIterable {
  case multiply, screen, overlay, darken, lighten, add, difference
  case softLight = "soft-light"
  case hardLight = "hard-light"
  case colorDodge = "color-dodge"
  case colorBurn = "color-burn"
  case exclusion, subtract

  /// The name in documents of the mode that needs none.
  package static let normal = "normal"
}
