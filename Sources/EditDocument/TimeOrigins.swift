public import CompositionModel

extension Document.Time {
  /// What a time counts from that does not count from 0.
  public enum Origin: Hashable, Sendable {
    /// The end of the film; in `use` and `freeze` that of the asset; in the ramps of a clip or an overlay its own end.
    case end
    case startOfClip(String)
    case endOfClip(String)
    /// A name of the document's markers.
    case marker(String)
  }

  /// How long after its origin a time is; negative: before it.
  public enum Offset: Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// Exact.
    case seconds(MediaTime)
    /// So many frames of the output.
    case frames(Int64)

    public init(integerLiteral seconds: Int64) { self = .seconds(MediaTime(seconds: seconds)) }
  }

  /// `end`, `end-2`.
  public static func end(plus offset: Offset = 0) -> Self { .after(.end, offset) }

  /// `clip:intro.start`, of the clip with this name.
  public static func start(ofClip name: String, plus offset: Offset = 0) -> Self {
    .after(.startOfClip(name), offset)
  }

  /// `clip:intro.end`, of the clip with this name.
  public static func end(ofClip name: String, plus offset: Offset = 0) -> Self { .after(.endOfClip(name), offset) }

  /// `marker:drop`, the time that the document has under this name.
  public static func marker(_ name: String, plus offset: Offset = 0) -> Self { .after(.marker(name), offset) }

  /// Nil: it counts from 0.
  package var origin: Origin? { if case .after(let origin, _) = self { origin } else { nil } }
}

extension Document.TimeRange {
  /// What its times count from other than 0.
  var origins: [Document.Time.Origin] { [start.origin, end.origin].compactMap(\.self) }
}

extension Document.When {
  var origins: [Document.Time.Origin] {
    switch self {
    case .over(let range): range.origins
    case .at(let time): [time.origin].compactMap(\.self)
    }
  }
}

// MARK: Names

/// The names of clips and markers. A time can be written after them with a sign and a digit, so none has that in it.
enum ThingName {
  /// Letters, digits and `_`, the first not a digit; `-` is followed by a letter or `_`.
  static let pattern: String = {
    let first = #"[^\u0000-@\[-^`{-\u007f]"#
    let other = #"[^\u0000-/:-@\[-^`{-\u007f]"#
    return "\(first)\(other)*(-\(first)\(other)*)*"
  }()
  static let rule =
    "letters, digits, '_' and '-'; it begins with a letter or '_', and so does what follows a '-'"

  static func isOne(_ text: some StringProtocol) -> Bool {
    var mayContinue = false
    for scalar in text.unicodeScalars {
      let isDigit = ("0"..."9").contains(scalar)
      let isFirst =
        !scalar.isASCII || scalar == "_" || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
      guard isFirst || mayContinue && (isDigit || scalar == "-") else { return false }
      mayContinue = scalar != "-"
    }
    return mayContinue
  }
}

// MARK: Notation

extension Document.Time.Origin {
  var text: String {
    switch self {
    case .end: "end"
    case .startOfClip(let name): "clip:\(name).start"
    case .endOfClip(let name): "clip:\(name).end"
    case .marker(let name): "marker:\(name)"
    }
  }

  private static let clip = "clip:"
  private static let marker = "marker:"

  /// Reads the origin at the start of a time. Nil: the time counts from 0, or is none.
  static func leading(_ text: Substring) -> (origin: Self, rest: Substring)? {
    if text.hasPrefix(marker) {
      let (name, rest) = split(text.dropFirst(marker.count))
      return ThingName.isOne(name) ? (.marker(String(name)), rest) : nil
    }
    if text.hasPrefix(clip) {
      let (place, rest) = split(text.dropFirst(clip.count))
      guard let dot = place.lastIndex(of: "."), ThingName.isOne(place[..<dot]) else { return nil }
      let name = String(place[..<dot])
      switch place[place.index(after: dot)...] {
      case "start": return (.startOfClip(name), rest)
      case "end": return (.endOfClip(name), rest)
      default: return nil
      }
    }
    let (word, rest) = split(text)
    return word == "end" ? (.end, rest) : nil
  }

  /// What is before the sign of an offset, and the rest from the sign on.
  private static func split(_ text: Substring) -> (Substring, Substring) {
    var index = text.startIndex
    while index < text.endIndex {
      let next = text.index(after: index)
      if text[index] == "+" || text[index] == "-" && next < text.endIndex && "0"..."9" ~= text[next] { break }
      index = next
    }
    return (text[..<index], text[index...])
  }
}

extension Document.Time.Offset {
  /// Reads a sign and a time, or nothing.
  init(text: Substring) throws(TimeNotationError) {
    self = 0
    guard let sign = text.first else { return }
    let time = try Document.Time(counted: text.dropFirst())
    guard sign == "+" || sign == "-", !text.dropFirst().hasPrefix("-") else { throw .notATime }
    switch time {
    case .seconds(let seconds):
      do { self = .seconds(sign == "-" ? try MediaTime.zero - seconds : seconds) } catch { throw .tooPrecise }
    case .frames(let count): self = .frames(sign == "-" ? -count : count)
    case .after: throw .notATime
    }
  }

  /// As it is written after its origin.
  var text: String {
    let time: Document.Time
    switch self {
    case .seconds(let seconds):
      if seconds == .zero { return "" }
      time = .seconds(seconds)
    case .frames(let count): time = .frames(count)
    }
    return (time.isNegative ? "" : "+") + time.text
  }

  func resolved(frameDuration: MediaTime) throws(TimeError) -> MediaTime {
    switch self {
    case .seconds(let time): time
    case .frames(let count): try MediaTime(stored: frameDuration.exact * Rational(count))
    }
  }
}

// MARK: What a key can have

/// The timeline of a key's times, which decides what they may count from.
enum TimeScope: Sendable {
  /// From 0 alone: a duration, or a time that is needed before the film is known.
  case plain
  /// That of a clip, an overlay or an asset, which has an end.
  case own
  /// That of the film, with its end, its clips and its markers.
  case film
  /// The same, with times before 0.
  case signed

  var mayBeNegative: Bool { if case .signed = self { true } else { false } }

  /// The names of the forms in the schema.
  var timeName: String {
    switch self {
    case .plain: "time"
    case .own: "ownTime"
    case .film: "filmTime"
    case .signed: "signedTime"
    }
  }

  var rangeName: String {
    switch self {
    case .plain: "range"
    case .own: "ownRange"
    case .film: "filmRange"
    case .signed: "signedRange"
    }
  }

  func allows(_ origin: Document.Time.Origin) -> Bool {
    switch self {
    case .plain: false
    case .own: origin == .end
    case .film, .signed: true
    }
  }

  /// The patterns of origins, without offsets. Nil: there are none.
  var originPattern: String? {
    switch self {
    case .plain: nil
    case .own: "end"
    case .film, .signed: "(end|clip:\(ThingName.pattern)\\.(start|end)|marker:\(ThingName.pattern))"
    }
  }

  /// After the notations of times that count from 0.
  var notations: String {
    switch self {
    case .plain: ""
    case .own: ", or from the end, such as \"end-2\""
    case .film, .signed:
      ", or from the film's end, a clip or a marker, such as \"end-2\", \"clip:NAME.end+1\" or \"marker:NAME\""
    }
  }

  /// The message for an origin that is not allowed.
  func refusal(of origin: Document.Time.Origin) -> String {
    if case .own = self {
      return "'\(origin.text.shortened)' is on the film's timeline; a time here counts from 0, or from the end with "
        + "\"end\""
    }
    return "here a time counts from 0, and not from '\(origin.text.shortened)'"
  }
}
