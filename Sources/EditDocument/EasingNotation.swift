import CompositionModel

extension DocumentReader {
  /// The heights of a curve's points.
  static let easingHeights = -10.0...10

  /// The name of an easing, or the four numbers of a cubic Bézier curve.
  mutating func easing(_ value: JSONValue?) -> Easing? {
    guard let value else { return nil }
    if case .string = value.content {
      let name = choice(value, "easing", among: Easing.named.map(\.name))
      return Easing.named.first { $0.name == name }?.easing
    }
    guard case .array(let items) = value.content, items.count == 4 else {
      problems.addShape(
        value.pointer,
        "\(value.shown) is not an easing: allowed are \(list(Easing.named.map(\.name))), or the four numbers of a "
          + "cubic Bézier curve, such as [0.25, 0.1, 0.25, 1]")
      return nil
    }
    let numbers = items.enumerated().map { index, item in number(item, in: index % 2 == 0 ? 0...1 : Self.easingHeights)
    }
    guard let x1 = numbers[0], let y1 = numbers[1], let x2 = numbers[2], let y2 = numbers[3] else { return nil }
    return .cubicBezier(x1: x1, y1: y1, x2: x2, y2: y2)
  }
}
