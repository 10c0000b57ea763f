import CompositionModel

/// Times that a program has computed with binary fractions and has written as decimals, such as 0.30000000000000004
/// for 0.3: their exact value is not the one that is meant.
enum ComputedTime {
  /// Significant digits of a decimal that the usual binary fractions of 64 bits keep. Digits after them are most likely
  /// an error of a computation.
  private static let keptDigits = 15
  /// A decimal that is a fraction with at most this denominator is exact, however many digits it has.
  private static let exactDenominator: Int128 = 1_000_000_000
  /// A computed time is read as one that is at most so many seconds away.
  static let tolerance = Rational(1, over: 1_000_000_000)
  /// Digits after the point from which on they are left out: far finer than the tolerance.
  private static let decimals = 18

  /// The time that a computed decimal stands for. Nil: it is exact as it is written, or too large for a time.
  ///
  /// It is the simplest fraction that has the same first 15 digits if that is hardly there by accident, as 12347/48000
  /// for 0.25722916666666667; else the simplest one within the tolerance.
  /// - Parameter decimal: In JSON's notation.
  static func meaning(of decimal: some StringProtocol) -> Rational? {
    guard isComputed(decimal), let value = cut(decimal) else { return nil }
    let size = value < .zero ? -value : value
    do throws(TimeError) {
      var found = try simplest(within: tolerance, of: size)
      // A smaller number is zero, or too near to it for its digits to count.
      if tolerance < size, let narrow = try lastDigit(of: size), narrow < tolerance {
        let exact = try simplest(within: narrow, of: size)
        if try isMeant(exact, within: narrow) { found = exact }
      }
      return value < .zero ? -found : found
    } catch {
      return nil  // The caller reports a time that is too large.
    }
  }

  /// Whether a fraction is hardly within such a distance of a number by accident: it is a multiple of a usual frame or
  /// sample duration, or far simpler than others so near. Fractions up to a denominator q are about 1/q^2 apart.
  private static func isMeant(_ fraction: Rational, within distance: Rational) throws(TimeError) -> Bool {
    if Int128(MediaTime.roundingTimescale) % fraction.denominator == 0 { return true }
    let denominator = Rational(fraction.denominator)
    return try Rational(1000) * denominator * denominator * distance <= .one
  }

  private static func simplest(within distance: Rational, of size: Rational) throws(TimeError) -> Rational {
    try .simplest(from: max(.zero, size - distance), to: size + distance)
  }

  /// Whether a text can have a computed decimal. Nearly every one is too short for that.
  static func mayBeComputed(_ text: String) -> Bool {
    keptDigits < text.utf8.count || text.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") }
  }

  /// Whether the digits of a decimal are most likely those of a computation.
  private static func isComputed(_ decimal: some StringProtocol) -> Bool {
    // More digits than a fraction holds.
    guard let exact = (try? exactDecimal(decimal)) ?? nil else { return true }
    if exact.denominator <= exactDenominator { return false }
    if MediaTime.finestDenominator < exact.denominator { return true }
    let digits = decimal.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber)
    let significant = digits.drop { $0 == "0" }.reversed().drop { $0 == "0" }
    return significant.count > keptDigits
  }

  /// One unit of the last digit that binary fractions of a size keep. Nil: it does not fit a fraction.
  private static func lastDigit(of size: Rational) throws(TimeError) -> Rational? {
    let ten = Rational(10)
    var unit = Rational.one
    for _ in 1..<keptDigits { unit = try unit / ten }
    // One unit of the first digit is the greatest power of ten that is not above the number.
    var first = Rational.one
    while size < first { first = try first / ten }
    while try first * ten <= size { first = try first * ten }
    return try unit * first
  }

  /// The value without the decimals that are too far behind the point to count. Nil: it is no decimal, or too large.
  private static func cut(_ decimal: some StringProtocol) -> Rational? {
    let isNegative = decimal.hasPrefix("-")
    let parts = decimal.drop { $0 == "-" }.split(omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
    guard parts.count <= 2, let exponent = parts.count == 2 ? Int(parts[1]) : 0, (-99...99).contains(exponent)
    else { return nil }
    let sides = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    guard sides.count <= 2 else { return nil }
    var digits = sides.joined()
    var place = sides[0].count + exponent
    if place < 0 { (digits, place) = (String(repeating: "0", count: -place) + digits, 0) }
    if digits.count < place { digits += String(repeating: "0", count: place - digits.count) }
    guard let number = Int128(digits.prefix(place + decimals)) else { return nil }
    var value = Rational(number)
    do throws(TimeError) {
      for _ in 0..<min(decimals, digits.count - place) { value = try value / Rational(10) }
    } catch { return nil }
    return isNegative ? -value : value
  }
}

extension ComputedTime {
  /// A text with times, in which each computed decimal is replaced by the time that it stands for. Nil: there is none.
  static func rewritten(_ text: String) -> (text: String, readings: [(written: String, read: String)])? {
    guard mayBeComputed(text) else { return nil }
    var result = ""
    var readings: [(written: String, read: String)] = []
    var rest = text[...]
    var before: Character?
    while let first = rest.first {
      let decimal = leadingDecimal(rest)
      let taken = decimal ?? rest.prefix(1)
      rest = rest.dropFirst(taken.count)
      // Not a part of a clock time, of a fraction or of a name.
      let isAlone = before.map { "+-.".contains($0) } ?? true
      let endsAlone = rest.first.map { "+-.".contains($0) } ?? true
      if decimal != nil, isAlone, endsAlone, let time = meaning(of: taken) {
        let read = Document.Time.written(time)
        readings.append((String(taken), read))
        result += read
      } else {
        result += taken
      }
      before = taken.last ?? first
    }
    return readings.isEmpty ? nil : (result, readings)
  }

  /// The decimal with a point that a text begins with, or digits without one.
  private static func leadingDecimal(_ text: Substring) -> Substring? {
    func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }
    let whole = text.prefix(while: isDigit)
    guard !whole.isEmpty else { return nil }
    let rest = text[whole.endIndex...]
    guard rest.first == ".", let next = rest.dropFirst().first, isDigit(next) else { return whole }
    let fraction = rest.dropFirst().prefix(while: isDigit)
    return text[..<fraction.endIndex]
  }
}

extension Document.Time {
  /// The notation of seconds: a decimal if six digits after the point are enough, else a fraction.
  static func written(_ seconds: Rational) -> String {
    switch JSONValue.exact(seconds).content {
    case .number(let text), .string(let text): text
    default: seconds.description
    }
  }
}

extension DocumentReader {
  /// The text of a time or a range as it is meant, with a warning if that is not what is written.
  mutating func meantTime(_ text: String, at place: JSONPointer) -> String {
    guard let (meant, readings) = ComputedTime.rewritten(text) else { return text }
    for (written, read) in readings { addComputed(written, read, at: place) }
    return meant
  }

  /// The time that a number means. Nil: the number is exact.
  mutating func meantTime(ofNumber text: String, at place: JSONPointer) -> String? {
    guard ComputedTime.mayBeComputed(text), let time = ComputedTime.meaning(of: text) else { return nil }
    let read = Document.Time.written(time)
    addComputed(text, read, at: place)
    return read
  }

  private mutating func addComputed(_ written: String, _ read: String, at place: JSONPointer) {
    warnings.add(
      place,
      "\(written.shortened) was most likely computed with binary fractions, and is read as "
        + (read.contains("/") ? "\"\(read)\"" : read))
  }
}
