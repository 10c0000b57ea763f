import CompositionModel

// How numbers, times and colours are written. What is read of them again is equal, and never merely near.

extension JSONValue {
  /// A number with the fewest digits of which the same number is read.
  static func decimal(_ number: Double) -> JSONValue { JSONValue(content: .number(plain(number))) }

  /// A whole number, or a fraction such as `"1/3"`.
  static func rational(_ number: Rational) -> JSONValue {
    number.denominator == 1 ? JSONValue(content: .number("\(number)")) : .text("\(number)")
  }

  /// A decimal number. Of one that has no end as a decimal, the fraction.
  static func exact(_ number: Rational) -> JSONValue {
    number.decimalText.map { JSONValue(content: .number($0)) } ?? .text("\(number)")
  }

  static func color(_ color: Color) -> JSONValue {
    let parts =
      color.alpha == 255 ? [color.red, color.green, color.blue] : [color.red, color.green, color.blue, color.alpha]
    return .text("#" + parts.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
  }

  /// Texts by name.
  static func texts(_ texts: [String: String]) -> JSONValue {
    .object(texts.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })
  }

  /// The parameters of a compositor. A text that is no JSON is written as it is, and refused when it is read.
  static func parameters(_ text: String) -> JSONValue {
    (try? JSONReader.read(Array(text.utf8)).value) ?? .text(text)
  }

  /// Per cent, such as `"12.5%"`.
  static func percent(_ number: Double) -> JSONValue {
    .text(number.textWithoutExponent + "%")
  }
}

extension Rational {
  /// The decimals of a number that has at most six of them. Nil for others.
  fileprivate var decimalText: String? {
    guard let scaled = try? self * Rational(1_000_000), scaled.denominator == 1,
      scaled.numerator.magnitude < 1_000_000_000_000_000
    else { return nil }
    let (whole, rest) = scaled.numerator.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
    let sign = scaled.numerator < 0 ? "-" : ""
    guard rest != 0 else { return "\(sign)\(whole)" }
    let digits = "\(1_000_000 + rest)".dropFirst()
    return "\(sign)\(whole)." + String(digits.reversed().drop { $0 == "0" }.reversed())
  }
}

extension Double {
  /// The shortest decimals of the number.
  fileprivate var textWithoutExponent: String {
    let text = plain(self)
    guard let mark = text.firstIndex(of: "e"), let exponent = Int(text[text.index(after: mark)...]) else { return text }
    let mantissa = text[..<mark]
    let digits = mantissa.filter(\.isNumber)
    let sign = mantissa.hasPrefix("-") ? "-" : ""
    guard exponent < 0 else {
      let places = exponent - (digits.count - 1)
      return sign + digits + String(repeating: "0", count: max(0, places))
    }
    return sign + "0." + String(repeating: "0", count: -exponent - 1) + digits
  }
}

extension Document.Time {
  /// The exact time: seconds as a number if they have at most six decimals, else as a fraction.
  var json: JSONValue {
    switch self {
    // A time of a document is numeric.
    case .seconds(let time): (try? time.exact).map { .exact($0) } ?? .text("\(time)")
    case .frames(let count): .text("\(count)f")
    case .after(let origin, let offset): .text(origin.text + offset.text)
    }
  }

  /// The same in a string.
  var text: String {
    switch json.content {
    case .number(let text), .string(let text): text
    default: ""
    }
  }
}

extension Document.TimeRange {
  var json: JSONValue { .text(text) }
  var text: String { start.text + (endIsDuration ? "+" : "..") + end.text }
}
