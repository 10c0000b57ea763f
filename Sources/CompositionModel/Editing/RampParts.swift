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
    guard let easing, easing != .linear else {
      return ([Ramp(over: first, from: from, to: value)], [Ramp(over: second, from: value, to: to)])
    }
    if case .hold = easing {
      return ([Ramp(over: first, from: from, to: from)], [Ramp(over: second, from: from, to: to, easing: .hold)])
    }
    let position = try over.position(of: time, easing: nil)
    if let parts = easing.parts(before: position) {
      return (
        [Ramp(over: first, from: from, to: value, easing: parts.before)],
        [Ramp(over: second, from: value, to: to, easing: parts.after)]
      )
    }
    return (try straight(over: first), try straight(over: second))
  }

  /// A part of the ramp as straight pieces, for a curve of which no part is one with allowed control points.
  private func straight(over part: MediaTimeRange) throws(TimeError) -> [Ramp] {
    let count: Int32 = 64
    let list = RampList([self])
    let times = try (0...count).map { (number) throws(TimeError) in
      try MediaTime(stored: part.start.exact + part.duration.exact * Rational(number, over: count))
    }
    return try zip(times, times.dropFirst()).map { (start, end) throws(TimeError) in
      Ramp(
        over: try MediaTimeRange(start: start, end: end), from: try list.value(at: start), to: try list.value(at: end))
    }
  }
}

extension Easing {
  /// The easings of the parts of a curve before and after a position. Nil if one of them would have a control point
  /// that is not allowed.
  fileprivate func parts(before position: Double) -> (before: Easing, after: Easing)? {
    guard let (x1, y1, x2, y2) = controlPoints else { return nil }
    let t = Self.parameter(at: position, x1, x2)
    func mix(_ a: Double, _ b: Double) -> Double { a + (b - a) * t }
    func split(_ p1: Double, _ p2: Double) -> (first: Double, second: Double, cut: Double, third: Double, last: Double) {
      let (a, b, c) = (mix(0, p1), mix(p1, p2), mix(p2, 1))
      let (d, e) = (mix(a, b), mix(b, c))
      return (a, d, mix(d, e), e, c)
    }
    let (x, y) = (split(x1, x2), split(y1, y2))
    guard 0 < x.cut, x.cut < 1, y.cut != 0, y.cut != 1 else { return nil }
    func rest(_ value: Double, from cut: Double) -> Double { (value - cut) / (1 - cut) }
    let before = (x.first / x.cut, y.first / y.cut, x.second / x.cut, y.second / y.cut)
    let after = (
      rest(x.third, from: x.cut), rest(y.third, from: y.cut), rest(x.last, from: x.cut), rest(y.last, from: y.cut)
    )
    let range = 0.0...1.0
    guard [before.0, before.2, after.0, after.2].allSatisfy(range.contains),
      [before.1, before.3, after.1, after.3].allSatisfy(\.isFinite)
    else { return nil }
    return (
      .cubicBezier(x1: before.0, y1: before.1, x2: before.2, y2: before.3),
      .cubicBezier(x1: after.0, y1: after.1, x2: after.2, y2: after.3)
    )
  }
}
