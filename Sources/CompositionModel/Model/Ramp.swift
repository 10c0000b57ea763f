/// A value that goes in a straight line from one number to another over a range of composition time; a set value is a
/// ramp with no duration.
public struct Ramp: Sendable, Hashable, Codable {
  public var over: MediaTimeRange
  public var from: Double
  public var to: Double

  public init(over: MediaTimeRange, from: Double, to: Double) {
    self.over = over
    self.from = from
    self.to = to
  }
}

/// Ramps in order of start, none overlapping another. 1 before the first; the last value holds after each
/// (FEATURES F23, F35).
public struct RampList: Sendable, Hashable, Codable {
  public var ramps: [Ramp]

  public init(_ ramps: [Ramp] = []) {
    self.ramps = ramps
  }

  /// Always 1.
  public static let one = RampList()

  /// Before any film, yet far enough from `Int64`'s end that every sum with a time of a film is exact: about -68 years.
  private static let earliest = Int64(Int32.min)

  /// Always `value`.
  public static func constant(_ value: Double) throws(TimeError) -> RampList {
    let start = try MediaTimeRange(start: MediaTime(seconds: earliest), duration: .zero)
    return RampList([Ramp(over: start, from: value, to: value)])
  }

  /// The value at a time: the position in the ramp is computed exactly and made a float last (DESIGN 5).
  public func value(at time: MediaTime) throws(TimeError) -> Double {
    guard let ramp = ramps.last(where: { $0.over.start <= time }) else { return 1 }
    guard time < ramp.over.end else { return ramp.to }
    let position = try ((time.exact - ramp.over.start.exact) / ramp.over.duration.exact).approximate
    return ramp.from + (ramp.to - ramp.from) * position
  }

  public func shifted(by offset: MediaTime) throws(TimeError) -> RampList {
    var shifted = self
    for index in ramps.indices { shifted.ramps[index].over = try ramps[index].over.shifted(by: offset) }
    return shifted
  }
}
