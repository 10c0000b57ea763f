/// What is drawn around a layer's picture, and moves with it.
///
/// Radius and width are in pixels of the film as the picture is fitted, before it is transformed: a transform that
/// makes the picture larger makes them larger too. With a matrix, which takes the place of the fit, they are in pixels
/// of the picture.
public struct LayerDecoration: Sendable, Hashable, Codable {
  /// The radius of the rounded corners of what is seen of the picture; at most half of its shorter side has an effect.
  /// Nil: 0.
  public var cornerRadius: Double?
  public var border: LayerBorder?
  /// That of all that is seen of the picture, in pixels of the film: it is not turned or scaled with the picture.
  public var shadow: TextShadow?

  public init(cornerRadius: Double? = nil, border: LayerBorder? = nil, shadow: TextShadow? = nil) {
    self.cornerRadius = cornerRadius
    self.border = border
    self.shadow = shadow
  }

  /// The same for a film that is so many times as large.
  /// - Parameter lengths: What the radius and the width are multiplied with.
  package func scaled(by scale: Double, lengths: Double) -> LayerDecoration {
    var scaled = self
    scaled.cornerRadius = cornerRadius.map { $0 * lengths }
    scaled.border?.width *= lengths
    if let shadow {
      scaled.shadow = TextShadow(
        x: Int((Double(shadow.x) * scale).rounded()), y: Int((Double(shadow.y) * scale).rounded()),
        blur: shadow.blur * scale, color: shadow.color)
    }
    return scaled
  }
}
