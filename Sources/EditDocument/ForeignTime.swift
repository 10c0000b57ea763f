import CompositionModel

/// Hints for times and ranges in notations that people know from elsewhere.
enum ForeignTime {
  /// Before the explanation of what a time is. Empty: the value is like nothing that is known.
  static func hint(_ value: JSONValue) -> String {
    guard case .string(let text) = value.content else { return "" }
    return hint(text).map { "\($0); " } ?? ""
  }

  private static func hint(_ text: String) -> String? {
    let text = text.filter { !$0.isWhitespace }
    return approximate(text) ?? withoutSide(text) ?? timecode(text) ?? withComma(text) ?? withUnit(text)
  }

  /// `clip:intro`, `intro.end`, `start`.
  private static func withoutSide(_ text: String) -> String? {
    if text == "start" || text.hasPrefix("start+") { return "a timeline starts at 0" }
    if let name = clipName(text) { return "write \"clip:\(name).start\" or \"clip:\(name).end\"" }
    let written = "clip:\(text)"
    return Document.Time(written) == nil ? nil : "write \"\(written)\""
  }

  /// The name in `clip:intro`.
  private static func clipName(_ text: String) -> Substring? {
    guard text.hasPrefix("clip:") else { return nil }
    let name = text.dropFirst("clip:".count)
    return ThingName.isOne(name) ? name : nil
  }

  /// `~5`, `≈ 5`.
  private static func approximate(_ text: String) -> String? {
    guard let first = text.first, "~≈".contains(first) else { return nil }
    let rest = String(text.dropFirst())
    guard (try? Document.Time(text: rest)) != nil else { return "a time is exact, without '\(first)'" }
    return "a time is exact: write \(rest.allSatisfy(\.isASCIIDigit) ? rest : "\"\(rest)\"")"
  }

  /// `hours:minutes:seconds:frames`, with a semicolon where frames are dropped.
  private static func timecode(_ text: String) -> String? {
    let parts = text.split(omittingEmptySubsequences: false) { ":;".contains($0) }
    guard parts.count == 4, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit) }),
      parts.allSatisfy({ $0.count <= 4 })
    else { return nil }
    let numbers = parts.compactMap { Int64($0) }
    let (seconds, frames) = ((numbers[0] * 60 + numbers[1]) * 60 + numbers[2], numbers[3])
    let example = "\"\(seconds * 25 + frames)f\" at 25 frames a second"
    return "it looks like a SMPTE timecode; here its frames are counted from 0, such as \(example)"
  }

  /// A decimal comma.
  private static func withComma(_ text: String) -> String? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[1].first?.isASCIIDigit == true else { return nil }
    let written = "\(parts[0]).\(parts[1])"
    return (try? Document.Time(text: written)) == nil ? nil : "decimals have a point: \"\(written)\""
  }

  /// `500ms`, `5s`, `2min`, `1h`, `90frames`.
  private static func withUnit(_ text: String) -> String? {
    let units: [(name: String, factor: Rational)] = [
      ("ms", Rational(1, over: 1000)), ("seconds", .one), ("sec", .one), ("s", .one), ("minutes", Rational(60)),
      ("min", Rational(60)), ("m", Rational(60)), ("hours", Rational(3600)), ("h", Rational(3600)),
    ]
    let lower = text.lowercased()
    for unit in ["frames", "frame", "fr"] where lower.hasSuffix(unit) {
      let count = lower.dropLast(unit.count)
      if (try? Document.Time(text: "\(count)f")) != nil { return "frames are written \"\(count)f\"" }
    }
    for (name, factor) in units where lower.hasSuffix(name) {
      // What does not fit a time is no time with a unit either.
      guard let number = try? exactDecimal(lower.dropLast(name.count)), let seconds = try? number * factor else {
        continue
      }
      return "a time has no unit, and is in seconds: \(seconds.denominator == 1 ? "\(seconds)" : "\"\(seconds)\"")"
    }
    return nil
  }

  /// The same for a range.
  static func rangeHint(_ value: JSONValue) -> String {
    func written(_ value: JSONValue) -> String? {
      switch value.content {
      case .number(let text), .string(let text): (try? Document.Time(text: text)) == nil ? nil : text
      default: nil
      }
    }
    switch value.content {
    case .array(let items):
      guard items.count == 2, let start = written(items[0]), let end = written(items[1]) else { return "" }
      return "it is a string, \"\(start)..\(end)\"; "
    case .object(let members):
      func member(_ names: [String]) -> String? {
        members.first { names.contains($0.key.lowercased()) }.flatMap { written($0.value) }
      }
      guard let start = member(["start", "from", "in"]) else { return "" }
      if let end = member(["end", "to", "out"]) { return "it is a string, \"\(start)..\(end)\"; " }
      return member(["duration", "length"]).map { "it is a string, \"\(start)+\($0)\"; " } ?? ""
    case .string(let text):
      if let name = clipName(text) { return "write \"clip:\(name).start..clip:\(name).end\"; " }
      if text.hasSuffix("..") || text.hasPrefix("..") { return "a range has a start and an end; " }
      for separator in ["...", "--", "-", "–", "→", " to ", ","] {
        guard let place = text.firstRange(of: separator) else { continue }
        let sides = [text[..<place.lowerBound], text[place.upperBound...]].map { String($0.filter { $0 != " " }) }
        if sides.allSatisfy({ (try? Document.Time(text: $0)) != nil }) { return "write \"\(sides[0])..\(sides[1])\"; " }
      }
      let parts = text.firstRange(of: "..").map { [text[..<$0.lowerBound], text[$0.upperBound...]] } ?? [text[...]]
      return parts.lazy.compactMap { part in (try? Document.Time(text: part)) == nil ? hint(String(part)) : nil }.first
        .map { "\($0); " } ?? ""
    default: return ""
    }
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
