/// A value that changes from one number to another over a range of time. A ramp with an empty range sets the value at
/// once.
public struct Ramp: Sendable, Hashable, Codable {
  public var over: MediaTimeRange
  /// The value at the start of `over`.
  public var from: Double
  /// The value at the end of `over`, and after it until the next ramp.
  public var to: Double
  /// Nil: linear.
  public var easing: Easing?

  public init(over: MediaTimeRange, from: Double, to: Double, easing: Easing? = nil) {
    self.over = over
    self.from = from
    self.to = to
    self.easing = easing
  }
}

extension MediaTimeRange {
  /// How far a ramp over the range has come at a time within it: 0 at its start, 1 at its end.
  func position(of time: MediaTime, easing: Easing?) throws(TimeError) -> Double {
    let position = try ((time.exact - start.exact) / duration.exact).approximate
    return easing.map { $0(position) } ?? position
  }
}

/// A value over time: ramps in order of start, none overlapping another. The value is 1 before the first ramp, and
/// after each ramp it stays at the ramp's end until the next.
public struct RampList: Sendable, Hashable, Codable {
  public var ramps: [Ramp]

  public init(_ ramps: [Ramp] = []) {
    self.ramps = ramps
  }

  /// Always 1.
  public static let one = RampList()

  /// About 68 years before zero. It is before any film, and small enough that sums with any time of a film are exact.
  package static let earliest = MediaTime(seconds: Int64(Int32.min))

  /// Always `value`.
  public static func constant(_ value: Double) throws(TimeError) -> RampList {
    let start = try MediaTimeRange(start: earliest, duration: .zero)
    return RampList([Ramp(over: start, from: value, to: value)])
  }

  /// The value at a time. The position in the ramp is computed exactly and converted to a float last.
  public func value(at time: MediaTime) throws(TimeError) -> Double {
    guard let ramp = ramps.last(where: { $0.over.start <= time }) else { return 1 }
    guard time < ramp.over.end else { return ramp.to }
    return ramp.from + (ramp.to - ramp.from) * (try ramp.over.position(of: time, easing: ramp.easing))
  }

  /// The same values, `offset` later.
  public func shifted(by offset: MediaTime) throws(TimeError) -> RampList {
    var shifted = self
    for index in ramps.indices { shifted.ramps[index].over = try ramps[index].over.shifted(by: offset) }
    return shifted
  }
}
