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

/// Colours that follow each other. Between two of them each number of the colour, multiplied by its alpha, changes
/// evenly.
public struct Gradient: Sendable, Hashable, Codable {
  /// The raw value is the name in documents.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// From one side to the other, at an angle. The first and the last colour are those of opposite corners.
    case linear
    /// From the centre to the corners of a rectangle, or to the edge of an ellipse.
    case radial
  }

  public struct Stop: Sendable, Hashable, Codable {
    public var color: Color
    /// 0 to 1. Nil: of the first 0, of the last 1, and of others evenly between those that have one.
    public var at: Double?

    public init(_ color: Color, at: Double? = nil) {
      self.color = color
      self.at = at
    }
  }

  public var kind: Kind
  /// Where a linear one goes to, in degrees clockwise from the top: at 90 its last colour is at the right. Nil: 180, to
  /// the bottom.
  public var angle: Double?
  /// At least two, whose places do not decrease.
  public var stops: [Stop]

  public init(_ kind: Kind = .linear, angle: Double? = nil, stops: [Stop]) {
    self.kind = kind
    self.angle = angle
    self.stops = stops
  }

  public static let standardAngle = 180.0

  /// The places of all stops. Those between two that are written are evenly apart.
  package var places: [Double] {
    var places = stops.map(\.at)
    guard !places.isEmpty else { return [] }
    places[0] = places[0] ?? 0
    places[places.count - 1] = places[places.count - 1] ?? 1
    var known = 0
    for index in places.indices {
      guard let place = places[index] else { continue }
      let (from, count) = (places[known] ?? 0, Double(index - known))
      for between in known..<index where between > known {
        places[between] = from + (place - from) * Double(between - known) / count
      }
      known = index
    }
    return places.map { $0 ?? 1 }
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
  /// - Parameter film: The size of the film's frame, which a picture without a size has.
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
