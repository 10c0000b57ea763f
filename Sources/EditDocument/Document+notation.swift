public import CompositionModel

extension Document {
  /// A length in pixels, or in hundredths of a side: of the picture for a crop, of the film for all else.
  public enum Length: Hashable, Sendable {
    case pixels(Double)
    case percent(Double)

    var pixels: Double { if case .pixels(let pixels) = self { pixels } else { 0 } }
    var fraction: Double { if case .percent(let percent) = self { percent / 100 } else { 0 } }

    /// - Parameters:
    ///   - side: What the fraction is of, in pixels.
    ///   - scale: What the pixels are multiplied with.
    func resolved(_ side: Double, scale: Double) -> Double { pixels * scale + fraction * side }
  }

  /// A point, or a distance across and down.
  public struct Point: Hashable, Sendable {
    public var x: Length
    public var y: Length

    public init(x: Length, y: Length) {
      self.x = x
      self.y = y
    }
  }

  /// `crop` or `frame`: the corner at the top left and the sides, which are above 0.
  public struct Rectangle: Hashable, Sendable {
    public var x: Length
    public var y: Length
    public var width: Length
    public var height: Length

    public init(x: Length, y: Length, width: Length, height: Length) {
      self.x = x
      self.y = y
      self.width = width
      self.height = height
    }

    func resolved(in size: PixelSize, scale: Double) -> CompositionModel.Rectangle {
      let (across, down) = (Double(size.width), Double(size.height))
      return CompositionModel.Rectangle(
        x: x.resolved(across, scale: scale), y: y.resolved(down, scale: scale),
        width: width.resolved(across, scale: scale), height: height.resolved(down, scale: scale))
    }
  }

  /// How a picture is turned, scaled and moved.
  public enum Transform: Hashable, Sendable {
    /// From square pixels of the picture to pixels of the film. Not for overlays.
    case matrix(AffineMatrix)
    case parts(TransformParts)
  }

  /// A transform by its parts.
  public struct TransformParts: Hashable, Sendable {
    /// Degrees clockwise, -36000 to 36000. Nil: 0.
    public var rotate: Double?
    /// Nil: 1.
    public var scale: Scale?
    /// In pixels of the film, or per cent of its sides. Nil: no distance.
    public var translate: Point?
    /// The point that stays, from the corner of the layer's rectangle. Nil: its centre.
    public var anchor: Point?

    public init(rotate: Double? = nil, scale: Scale? = nil, translate: Point? = nil, anchor: Point? = nil) {
      self.rotate = rotate
      self.scale = scale
      self.translate = translate
      self.anchor = anchor
    }

    /// How many times as large a picture becomes, 0.001 to 100; a negative number mirrors it as well.
    public struct Scale: Hashable, Sendable {
      public var x: Double
      public var y: Double

      public init(x: Double, y: Double) {
        self.x = x
        self.y = y
      }

      /// The same in both directions.
      public init(_ factor: Double) { self.init(x: factor, y: factor) }
    }

    func resolved(in frame: PixelSize, scale: Double) -> TransformComponents {
      let (x, y) = (translate?.x ?? .pixels(0), translate?.y ?? .pixels(0))
      let (anchorX, anchorY) = (anchor?.x ?? .percent(50), anchor?.y ?? .percent(50))
      return TransformComponents(
        rotation: rotate ?? 0, scaleX: self.scale?.x ?? 1, scaleY: self.scale?.y ?? 1,
        x: x.resolved(Double(frame.width), scale: scale), y: y.resolved(Double(frame.height), scale: scale),
        anchorX: TransformComponents.Coordinate(fraction: anchorX.fraction, pixels: anchorX.pixels * scale),
        anchorY: TransformComponents.Coordinate(fraction: anchorY.fraction, pixels: anchorY.pixels * scale))
    }
  }

  /// How the colours of a layer and those below become one.
  public enum Blending: Hashable, Sendable {
    /// It is drawn over them. A clip with this has not the mode of its track.
    case normal
    case mode(BlendMode)

    /// Nil for `normal`.
    package var mode: BlendMode? { if case .mode(let mode) = self { mode } else { nil } }
  }

  /// Which pictures of a clip of two fields become progressive.
  public enum Deinterlace: Hashable, Sendable {
    /// Those that are flagged as interlaced.
    case auto
    /// All: `true`.
    case always
    /// None: `false`.
    case never

    /// Nil for `auto`.
    var mode: Deinterlacing? {
      switch self {
      case .auto: nil
      case .always: .always
      case .never: .never
      }
    }
  }
}
