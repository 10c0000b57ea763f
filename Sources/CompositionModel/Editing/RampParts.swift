extension RampList {
  /// The values before and after a time, as two clips have them into which one is cut there: a ramp over the time is
  /// split, and goes on in the second part where it ends in the first.
  func parts(before time: MediaTime) throws(TimeError) -> (before: RampList, after: RampList) {
    let value = try value(at: time)
    var before = ramps.filter { $0.over.end <= time }
    var after = ramps.filter { time <= $0.over.start && !($0.over.isEmpty && $0.over.end <= time) }
    if let cut = ramps.first(where: { $0.over.start < time && time < $0.over.end }) {
      let parts = try cut.parts(before: time, value: value)
      before += parts.before
      after = parts.after + after
    }
    if before.isEmpty { before = try RampList.constant(try self.value(at: Self.earliest)).ramps }
    if let first = after.first, first.from != value, time < first.over.start {
      after.insert(Ramp(over: MediaTimeRange(emptyAt: time), from: value, to: value), at: 0)
    }
    return (RampList(before), RampList(try RampList.constant(after.first?.from ?? value).ramps + after))
  }
}

extension Ramp {
  /// The parts before and after a time within the ramp.
  /// - Parameter value: at that time.
  fileprivate func parts(before time: MediaTime, value: Double) throws(TimeError) -> (before: [Ramp], after: [Ramp]) {
    let (first, second) = (
      try MediaTimeRange(start: over.start, end: time), try MediaTimeRange(start: time, end: over.end)
    )
    if easing == .hold {
      return ([Ramp(over: first, from: from, to: from)], [Ramp(over: second, from: from, to: to, easing: .hold)])
    }
    guard let easing, let curve = EasingCurve(easing) else {
      return ([Ramp(over: first, from: from, to: value)], [Ramp(over: second, from: value, to: to)])
    }
    let parts = curve.parts(before: try over.position(of: time, easing: nil))
    return (try ramps(parts.before, over: first), try ramps(parts.after, over: second))
  }

  /// A part of the ramp, as curves one after the other.
  /// - Parameter part: The part of `over` that the curves fill.
  private func ramps(_ curves: [EasingCurve], over part: MediaTimeRange) throws(TimeError) -> [Ramp] {
    func value(_ done: Double) -> Double { done == 1 ? to : from + (to - from) * done }
    var ramps: [Ramp] = []
    var start = part.start
    for (index, curve) in curves.enumerated() {
      let position = try Rational(Int128((curve.x.3 * 0x1p30).rounded()), 1 << 30)
      let next = try MediaTime(stored: over.start.exact + over.duration.exact * position)
      let end = index == curves.count - 1 ? part.end : min(next, part.end)
      guard start < end else { continue }
      ramps.append(
        Ramp(
          over: try MediaTimeRange(start: start, end: end), from: value(curve.y.0), to: value(curve.y.3),
          easing: curve.easing))
      start = end
    }
    return ramps
  }
}

/// A part of the curve of an easing: positions and the parts of the change that are done there.
private struct EasingCurve {
  /// The horizontal coordinates of the ends and, between them, of the control points.
  var x: (Double, Double, Double, Double)
  var y: (Double, Double, Double, Double)

  /// Nil if the easing is no curve.
  init?(_ easing: Easing) {
    guard let (x1, y1, x2, y2) = easing.controlPoints else { return nil }
    (x, y) = ((0, x1, x2, 1), (0, y1, y2, 1))
  }

  /// The parts before and after a position, as curves of which each is an easing.
  func parts(before position: Double) -> (before: [EasingCurve], after: [EasingCurve]) {
    let (before, after) = split(at: Easing.parameter(at: position, x.1, x.2))
    return (before.allowed(depth: 0), after.allowed(depth: 0))
  }

  /// The easing of this part alone. Nil if it would have a control point that is not allowed.
  var easing: Easing? {
    let (width, height) = (x.3 - x.0, y.3 - y.0)
    let (x1, x2) = ((x.1 - x.0) / width, (x.2 - x.0) / width)
    let (y1, y2) = ((y.1 - y.0) / height, (y.2 - y.0) / height)
    guard 0 <= x1, x1 <= 1, 0 <= x2, x2 <= 1, y1.isFinite, y2.isFinite else { return nil }
    return .cubicBezier(x1: x1, y1: y1, x2: x2, y2: y2)
  }

  private static let greatestDepth = 6

  /// The curve, cut until each part is an easing. What is still none is so short that it is straight.
  private func allowed(depth: Int) -> [EasingCurve] {
    if easing != nil || depth == Self.greatestDepth { return [self] }
    let (first, second) = split(at: 0.5)
    return first.allowed(depth: depth + 1) + second.allowed(depth: depth + 1)
  }

  /// De Casteljau's construction.
  private func split(at t: Double) -> (EasingCurve, EasingCurve) {
    func mix(_ a: Double, _ b: Double) -> Double { a + (b - a) * t }
    func split(_ p: (Double, Double, Double, Double)) -> [Double] {
      let (a, b, c) = (mix(p.0, p.1), mix(p.1, p.2), mix(p.2, p.3))
      let (d, e) = (mix(a, b), mix(b, c))
      return [p.0, a, d, mix(d, e), e, c, p.3]
    }
    let (horizontal, vertical) = (split(x), split(y))
    var (first, second) = (self, self)
    first.x = (horizontal[0], horizontal[1], horizontal[2], horizontal[3])
    first.y = (vertical[0], vertical[1], vertical[2], vertical[3])
    second.x = (horizontal[3], horizontal[4], horizontal[5], horizontal[6])
    second.y = (vertical[3], vertical[4], vertical[5], vertical[6])
    return (first, second)
  }
}
