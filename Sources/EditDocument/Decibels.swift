import CompositionModel

/// Levels in decibels as documents write them: `"-6dB"`, `"+3 dB"`, and `"-inf dB"` for silence.
package enum Decibels {
  /// For messages.
  static let example = "\"-6dB\""

  /// The number of decibels of a text. Nil: it is not in this notation.
  package static func number(_ text: String) -> Double? {
    guard let unit = text.lowercased().firstRange(of: "db"), unit.upperBound == text.lowercased().endIndex else {
      return nil
    }
    var digits = text.lowercased()[..<unit.lowerBound]
    while digits.last == " " { digits.removeLast() }
    if digits == "-inf" { return -.infinity }
    if digits.first == "+" { digits.removeFirst() }
    let unsigned = digits.first == "-" ? digits.dropFirst() : digits
    guard unsigned.first?.isNumber == true, unsigned.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }) else {
      return nil
    }
    return Double(digits).map { $0 == 0 ? 0 : $0 }
  }

  /// The volume of a level: 10 to the power of a twentieth of the decibels. Computed by additions and multiplications
  /// alone, so that it is the same on every machine.
  package static func volume(_ decibels: Double) -> Double {
    guard decibels > -1000 else { return 0 }
    guard decibels < 1000 else { return .infinity }
    // 20 dB are a factor of ten, which is exact; what remains is at most 10 dB.
    let tens = (decibels / 20).rounded()
    let exponent = (decibels - 20 * tens) / 20 * 2.302585092994045684
    // The series of the exponential function: with an exponent below 1.16, terms of a higher order than 24 are less
    // than the last bit.
    var sum = 1.0
    for order in stride(from: 24.0, through: 1, by: -1) { sum = 1 + exponent / order * sum }
    var power = 1.0
    for _ in 0..<Int(tens.magnitude) { power *= 10 }
    return tens < 0 ? sum / power : sum * power
  }
}

extension DocumentReader {
  /// A volume: a number, or decibels.
  mutating func volume(_ value: JSONValue?, in range: ClosedRange<Double>) -> Double? {
    guard let value, case .string(let text) = value.content else { return number(value, in: range) }
    guard let decibels = Decibels.number(text) else {
      problems.addShape(value.pointer, "\(value.shown) is not a volume: \(Self.volumes(range))")
      return nil
    }
    let volume = Decibels.volume(decibels)
    if range.contains(volume) { return volume }
    problems.add(value.pointer, "\(value.shown) is a volume of \(plain(volume)): \(Self.volumes(range))")
    return nil
  }

  /// What a volume may be, for a message.
  static func volumes(_ range: ClosedRange<Double>) -> String {
    "a volume is a number from \(plain(range.lowerBound)) to \(plain(range.upperBound)), or decibels such as "
      + "\(Decibels.example), up to \"20dB\""
  }

  /// A number of decibels, with or without its unit: `-12` or `"-12dB"`.
  mutating func decibels(_ value: JSONValue?, in range: ClosedRange<Double>) -> Double? {
    guard let value, case .string(let text) = value.content, let number = Decibels.number(text) else {
      return number(value, in: range)
    }
    if range.contains(number) { return number }
    problems.add(
      value.pointer,
      "\(value.shown) should be from \(plain(range.lowerBound)) to \(plain(range.upperBound)) dB")
    return nil
  }
}
