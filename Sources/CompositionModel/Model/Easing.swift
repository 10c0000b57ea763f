/// How a change is distributed over its time: a function from a position in it, 0 at its start and 1 at its end, to the
/// part of the change that is done.
///
/// The arithmetic is that of IEEE 754 doubles in a fixed order, without functions whose results depend on the machine,
/// so that the same position gives the same value everywhere.
public enum Easing: Sendable, Hashable {
  /// The part is the position.
  case linear
  /// Begins slowly: `cubic-bezier(0.42, 0, 1, 1)` of CSS.
  case easeIn
  /// Ends slowly: `cubic-bezier(0, 0, 0.58, 1)` of CSS.
  case easeOut
  /// Begins and ends slowly: `cubic-bezier(0.42, 0, 0.58, 1)` of CSS.
  case easeInOut
  /// Nothing changes before the end, where everything does.
  case hold
  /// The curve from (0, 0) to (1, 1) with these control points, as in CSS. `x1` and `x2` are 0…1, so that there is one
  /// value at each position. With `y1` and `y2` beyond 0…1 the value may go beyond 0…1 too.
  case cubicBezier(x1: Double, y1: Double, x2: Double, y2: Double)

  /// The part of the change that is done at a position. It is 0 at 0 and before, and 1 at 1 and after.
  public func callAsFunction(_ position: Double) -> Double {
    guard position > 0 else { return 0 }
    guard position < 1 else { return 1 }
    if let (x1, y1, x2, y2) = controlPoints {
      return Self.coordinate(Self.parameter(at: position, x1, x2), y1, y2)
    }
    return self == .hold ? 0 : position
  }

  /// Nil if it is no curve.
  var controlPoints: (x1: Double, y1: Double, x2: Double, y2: Double)? {
    switch self {
    case .linear, .hold: nil
    case .easeIn: (0.42, 0, 1, 1)
    case .easeOut: (0, 0, 0.58, 1)
    case .easeInOut: (0.42, 0, 0.58, 1)
    case .cubicBezier(let x1, let y1, let x2, let y2): (x1, y1, x2, y2)
    }
  }

  /// The parameter of the curve where its horizontal coordinate is `x`. That coordinate never falls, so the parameter
  /// is found by halving an interval until no number lies between its ends.
  static func parameter(at x: Double, _ x1: Double, _ x2: Double) -> Double {
    var (low, high) = (0.0, 1.0)
    while true {
      let middle = (low + high) / 2
      guard low < middle, middle < high else { break }
      if coordinate(middle, x1, x2) <= x { low = middle } else { high = middle }
    }
    return low
  }

  /// A coordinate of the curve from 0 to 1 at parameter `t`: 3(1-t)²t·p1 + 3(1-t)t²·p2 + t³.
  private static func coordinate(_ t: Double, _ p1: Double, _ p2: Double) -> Double {
    let rest = 1 - t
    return 3 * rest * rest * t * p1 + 3 * rest * t * t * p2 + t * t * t
  }
}

extension Easing {
  /// How a sound that fades in rises if one that fades out with `equalPowerFall` at the same time has, together with
  /// it, the same power throughout: a quarter of a sine, from which the curve differs by less than 0.0001.
  package static let equalPowerRise = cubicBezier(x1: 0.326132, y1: 0.512287, x2: 0.638093, y2: 1)
  /// How a sound falls for which another rises with `equalPowerRise`: the same curve backwards.
  package static let equalPowerFall = cubicBezier(x1: 0.361907, y1: 0, x2: 0.673868, y2: 0.487713)

  /// The names in documents of those that have one.
  package static let named: [(name: String, easing: Easing)] = [
    ("linear", .linear), ("ease-in", .easeIn), ("ease-out", .easeOut), ("ease-in-out", .easeInOut), ("hold", .hold),
  ]
}

extension Easing: Codable {
  /// Reads a name, or the four numbers of a curve, as documents have them.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let name = try? container.decode(String.self), let named = Self.named.first(where: { $0.name == name }) {
      self = named.easing
    } else if let numbers = try? container.decode([Double].self), numbers.count == 4 {
      self = .cubicBezier(x1: numbers[0], y1: numbers[1], x2: numbers[2], y2: numbers[3])
    } else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "neither a name nor four numbers")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if case .cubicBezier(let x1, let y1, let x2, let y2) = self {
      try container.encode([x1, y1, x2, y2])
    } else {
      try container.encode(Self.named.first { $0.easing == self }?.name)
    }
  }
}
