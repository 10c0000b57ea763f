import CompositionModel

/// An event of an EDL that is written.
struct EDLEvent {
  /// In frames, from that of the film's first.
  var record: Range<Int>
  /// Nil: black.
  var source: EDLSource?
  /// `D`, `W001`. Nil: a cut.
  var transition: String?
  /// In frames; zero after a cut.
  var length = 0
  /// What a transition is from. Nil: black.
  var outgoing: EDLSource?
  var place: String
}

/// What an event plays, from a frame on.
struct EDLSource {
  var reel: String
  var name: String
  /// Empty: it has none.
  var path: String
  /// The frame of its timecode.
  var start: Int
  /// Seconds of it a second of the film; zero stands still.
  var speed = Rational.one
  var dropsFrames: Bool
  var place: String

  /// How many of its frames some of the film's are.
  func length(of count: Int) throws(TimeError) -> Int {
    try Int(clamping: (Rational(count) * speed.magnitude).rounded)
  }

  /// What comes after so many of the film's frames. Backwards that is before its start.
  func after(_ count: Int) throws(TimeError) -> EDLSource {
    var rest = self
    if .zero < speed { rest.start += try length(of: count) }
    return rest
  }

  /// Without so many of the film's frames at its end.
  func cut(by count: Int) throws(TimeError) -> EDLSource {
    var part = self
    if speed < .zero { part.start += try length(of: count) }
    return part
  }
}

/// The names of an EDL's sources: up to eight letters and digits, each of one file.
struct EDLReels {
  private var names: [String: String] = [:]
  private var used: Set<String> = ["BL", "BLACK", "BLK", "BARS", "AX"]

  mutating func name(of reference: MediaReference) -> String {
    if let known = names[reference.path] { return known }
    let wanted = reference.reel ?? MediaPath.stem(MediaPath.name(of: reference.path))
    var base = String(wanted.uppercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(8))
    if base.isEmpty { base = "REEL" }
    var (name, number) = (base, 2)
    while !used.insert(name).inserted {
      let suffix = String(number)
      name = base.prefix(8 - min(7, suffix.count)) + suffix
      number += 1
    }
    names[reference.path] = name
    return name
  }
}
