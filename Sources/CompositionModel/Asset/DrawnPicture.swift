/// A picture that is described and not stored: a shape with what it is filled with and its border. Around the shape it
/// is transparent. Its lengths are in its own pixels.
public struct DrawnPicture: Sendable, Hashable, Codable {
  public typealias Border = LayerBorder
  public typealias Color = CompositionModel.Color
  public typealias Gradient = CompositionModel.Gradient

  /// The raw value is the name in documents.
  public enum Shape: String, Sendable, Hashable, Codable, CaseIterable {
    case rectangle
    /// It touches the middles of the picture's sides.
    case ellipse
  }

  public enum Fill: Sendable, Hashable, Codable {
    case color(Color)
    case gradient(Gradient)
  }

  /// As large as the picture.
  public var shape: Shape
  /// Nil: inside of its border it is transparent.
  public var fill: Fill?
  /// The radius of the round corners of a rectangle; at most half of its shorter side has an effect. Nil: 0.
  public var cornerRadius: Double?
  /// Inside of the shape's edge, over what the shape is filled with.
  public var border: LayerBorder?
  /// Nil: the size of the film's frame.
  public var size: PixelSize?

  public init(
    _ shape: Shape = .rectangle, fill: Fill?, cornerRadius: Double? = nil, border: LayerBorder? = nil,
    size: PixelSize? = nil
  ) {
    self.shape = shape
    self.fill = fill
    self.cornerRadius = cornerRadius
    self.border = border
    self.size = size
  }

  /// One colour from edge to edge.
  public init(color: Color, size: PixelSize? = nil) { self.init(fill: .color(color), size: size) }

  public init(gradient: Gradient, size: PixelSize? = nil) { self.init(fill: .gradient(gradient), size: size) }

  /// Whether it is solid from edge to edge.
  package var isOpaque: Bool {
    shape == .rectangle && (cornerRadius ?? 0) == 0
      && fill.map { fill in
        switch fill {
        case .color(let color): color.alpha == 255
        case .gradient(let gradient): gradient.stops.allSatisfy { $0.color.alpha == 255 }
        }
      } ?? false
  }

  /// The same with lengths that are so many times as long.
  package func scaled(by scale: Double) -> DrawnPicture {
    var scaled = self
    scaled.cornerRadius = cornerRadius.map { $0 * scale }
    scaled.border?.width *= scale
    return scaled
  }
}

/// A line along the edges of a picture, inside of them.
public struct LayerBorder: Sendable, Hashable, Codable {
  /// Above 0.
  public var width: Double
  public var color: Color

  public init(width: Double, color: Color = .white) {
    self.width = width
    self.color = color
  }
}

extension AssetDescription {
  /// What a picture that is drawn is as an asset: a still picture.
  /// - Parameters:
  ///   - picture: The picture as it is described.
  ///   - film: The size of the film's frame, which a picture without a size has.
  public init(_ picture: DrawnPicture, film: PixelSize) {
    var format = VideoFormat(
      size: picture.size ?? film, pixelFormat: picture.isOpaque ? "rgb24" : "rgba", hasAlpha: !picture.isOpaque,
      colour: ColourTags(isFullRange: true), nominalFrameRate: .zero, frames: FrameTimes([0]), keyframes: [],
      isStill: true)
    format.drawn = picture
    self.init(
      container: "drawn", duration: .zero,
      tracks: [
        TrackDescription(
          index: 0, type: .video, codec: "drawn", timebase: MediaTime(seconds: 1),
          range: MediaTimeRange(emptyAt: .zero), video: format)
      ])
  }
}
