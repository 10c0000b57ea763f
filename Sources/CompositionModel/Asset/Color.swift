/// An sRGB colour with straight alpha. Each component is 0…255.
public struct Color: Sendable, Hashable, Codable {
  public var red: UInt8
  public var green: UInt8
  public var blue: UInt8
  public var alpha: UInt8

  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    self.red = red
    self.green = green
    self.blue = blue
    self.alpha = alpha
  }

  public static let black = Color(red: 0, green: 0, blue: 0)
  public static let white = Color(red: 255, green: 255, blue: 255)
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
