/// A rectangle in pixels and parts of pixels; origin top left.
public struct Rectangle: Sendable, Hashable, Codable {
  public var x: Double
  public var y: Double
  public var width: Double
  public var height: Double

  public init(x: Double, y: Double, width: Double, height: Double) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  public init(_ size: PixelSize) {
    self.init(x: 0, y: 0, width: Double(size.width), height: Double(size.height))
  }

  public var isEmpty: Bool { !(width > 0 && height > 0) }

  /// The part in both rectangles. It is empty if there is none.
  public func intersection(_ other: Rectangle) -> Rectangle {
    let (left, top) = (max(x, other.x), max(y, other.y))
    let (right, bottom) = (min(x + width, other.x + other.width), min(y + height, other.y + other.height))
    return Rectangle(x: left, y: top, width: max(0, right - left), height: max(0, bottom - top))
  }
}

/// An affine map of the plane: AVFoundation's `CGAffineTransform`. A point (x, y) goes to (a·x + c·y + tx, b·x + d·y +
/// ty). The origin is top left, and y points down.
public struct AffineMatrix: Sendable, Hashable, Codable {
  public var a: Double
  public var b: Double
  public var c: Double
  public var d: Double
  public var tx: Double
  public var ty: Double

  public init(a: Double, b: Double, c: Double, d: Double, tx: Double, ty: Double) {
    self.a = a
    self.b = b
    self.c = c
    self.d = d
    self.tx = tx
    self.ty = ty
  }

  public static let identity = AffineMatrix(a: 1, b: 0, c: 0, d: 1, tx: 0, ty: 0)

  public var determinant: Double { a * d - b * c }

  /// A determinant below this is none: a thousandth of the picture's width times a thousandth of its height.
  public static let leastDeterminant = 1e-6

  /// Whether a picture has no area once it is mapped.
  public var isSingular: Bool { !(abs(determinant) >= AffineMatrix.leastDeterminant) }

  /// The map that applies this one first and then `next`.
  public func then(_ next: AffineMatrix) -> AffineMatrix {
    AffineMatrix(
      a: next.a * a + next.c * b, b: next.b * a + next.d * b, c: next.a * c + next.c * d, d: next.b * c + next.d * d,
      tx: next.a * tx + next.c * ty + next.tx, ty: next.b * tx + next.d * ty + next.ty)
  }

  /// The map back. Nil for a singular one.
  public var inverse: AffineMatrix? {
    let determinant = determinant
    guard !isSingular else { return nil }
    let (a, b, c, d) = (self.d / determinant, -self.b / determinant, -self.c / determinant, self.a / determinant)
    return AffineMatrix(a: a, b: b, c: c, d: d, tx: -(a * tx + c * ty), ty: -(b * tx + d * ty))
  }

  public func map(x: Double, y: Double) -> (x: Double, y: Double) {
    (a * x + c * y + tx, b * x + d * y + ty)
  }
}

/// A change of a fitted picture by its parts: it is scaled and turned about an anchor, then moved.
public struct TransformComponents: Sendable, Hashable, Codable {
  /// Degrees clockwise.
  public var rotation: Double
  /// Negative: mirrored. Not zero.
  public var scaleX: Double
  public var scaleY: Double
  /// In pixels of the film.
  public var x: Double
  public var y: Double
  /// The point that stays in its place, before the picture is moved.
  public var anchorX: Coordinate
  public var anchorY: Coordinate

  /// A place along one side of a layer's rectangle: `pixels` from a `fraction` of the side.
  public struct Coordinate: Sendable, Hashable, Codable {
    public var fraction: Double
    public var pixels: Double

    public init(fraction: Double, pixels: Double) {
      self.fraction = fraction
      self.pixels = pixels
    }

    public static let center = Coordinate(fraction: 0.5, pixels: 0)
  }

  public init(
    rotation: Double = 0, scaleX: Double = 1, scaleY: Double = 1, x: Double = 0, y: Double = 0,
    anchorX: Coordinate = .center, anchorY: Coordinate = .center
  ) {
    self.rotation = rotation
    self.scaleX = scaleX
    self.scaleY = scaleY
    self.x = x
    self.y = y
    self.anchorX = anchorX
    self.anchorY = anchorY
  }
}

/// Where a layer's picture is drawn, over time. Nil is what a picture has without it.
public struct LayerGeometry: Sendable, Hashable, Codable {
  /// The part that is shown, in square pixels of the upright picture. It is cut at the picture's edges.
  public var crop: ValueRampList<Rectangle>?
  /// The rectangle of the film into which the picture is fitted. Nil: the whole frame.
  public var frame: ValueRampList<Rectangle>?
  public var transform: LayerTransform?

  public init(
    crop: ValueRampList<Rectangle>? = nil, frame: ValueRampList<Rectangle>? = nil, transform: LayerTransform? = nil
  ) {
    self.crop = crop
    self.frame = frame
    self.transform = transform
  }
}

/// How a layer's picture is transformed, over time.
public enum LayerTransform: Sendable, Hashable, Codable {
  /// From square pixels of the upright picture, before its crop, to pixels of the film, in place of fit and frame. The
  /// numbers of matrices are interpolated one by one.
  case matrix(ValueRampList<AffineMatrix>)
  /// A change of the fitted picture.
  case turn(ValueRampList<TransformComponents>)
}

/// A value between two of which a ramp goes.
public protocol Interpolatable: Sendable, Hashable, Codable {
  /// The value at a position from this one, at 0, to another, at 1.
  func interpolated(to other: Self, at position: Double) -> Self
}

/// A value that changes over a range of time, or that is set at a time if the range is empty.
public struct ValueRamp<Value: Interpolatable>: Sendable, Hashable, Codable {
  public var over: MediaTimeRange
  /// The value at the start of `over`.
  public var from: Value
  /// The value at the end of `over`, and after it until the next ramp.
  public var to: Value
  /// Nil: linear.
  public var easing: Easing?

  public init(over: MediaTimeRange, from: Value, to: Value, easing: Easing? = nil) {
    self.over = over
    self.from = from
    self.to = to
    self.easing = easing
  }
}

/// A value over time: ramps in order of start, none overlapping another. There is no value before the first.
public struct ValueRampList<Value: Interpolatable>: Sendable, Hashable, Codable {
  public var ramps: [ValueRamp<Value>]

  public init(_ ramps: [ValueRamp<Value>]) {
    self.ramps = ramps
  }

  /// A value that is set before any film.
  public static func constant(_ value: Value) -> ValueRampList {
    ValueRampList([ValueRamp(over: MediaTimeRange(emptyAt: RampList.earliest), from: value, to: value)])
  }

  /// The value at a time. Nil before the first ramp. The position in the ramp is computed exactly and converted to a
  /// float last.
  public func value(at time: MediaTime) throws(TimeError) -> Value? {
    guard let ramp = ramps.last(where: { $0.over.start <= time }) else { return nil }
    guard time < ramp.over.end else { return ramp.to }
    return ramp.from.interpolated(to: ramp.to, at: try ramp.over.position(of: time, easing: ramp.easing))
  }

  /// The same values, `offset` later.
  public func shifted(by offset: MediaTime) throws(TimeError) -> ValueRampList {
    var shifted = self
    for index in ramps.indices { shifted.ramps[index].over = try ramps[index].over.shifted(by: offset) }
    return shifted
  }
}

private func mixed(_ from: Double, _ to: Double, _ position: Double) -> Double { from + (to - from) * position }

extension Rectangle: Interpolatable {
  public func interpolated(to other: Rectangle, at position: Double) -> Rectangle {
    Rectangle(
      x: mixed(x, other.x, position), y: mixed(y, other.y, position), width: mixed(width, other.width, position),
      height: mixed(height, other.height, position))
  }
}

extension AffineMatrix: Interpolatable {
  public func interpolated(to other: AffineMatrix, at position: Double) -> AffineMatrix {
    AffineMatrix(
      a: mixed(a, other.a, position), b: mixed(b, other.b, position), c: mixed(c, other.c, position),
      d: mixed(d, other.d, position), tx: mixed(tx, other.tx, position), ty: mixed(ty, other.ty, position))
  }
}

extension TransformComponents: Interpolatable {
  public func interpolated(to other: TransformComponents, at position: Double) -> TransformComponents {
    func mixed(_ from: Coordinate, _ to: Coordinate) -> Coordinate {
      Coordinate(
        fraction: CompositionModel.mixed(from.fraction, to.fraction, position),
        pixels: CompositionModel.mixed(from.pixels, to.pixels, position))
    }
    return TransformComponents(
      rotation: CompositionModel.mixed(rotation, other.rotation, position),
      scaleX: CompositionModel.mixed(scaleX, other.scaleX, position),
      scaleY: CompositionModel.mixed(scaleY, other.scaleY, position), x: CompositionModel.mixed(x, other.x, position),
      y: CompositionModel.mixed(y, other.y, position), anchorX: mixed(anchorX, other.anchorX),
      anchorY: mixed(anchorY, other.anchorY))
  }
}
