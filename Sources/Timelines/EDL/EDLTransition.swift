import CompositionModel
import EditDocument

/// How an event of an EDL comes after the one before it.
enum EDLTransition: Equatable {
  case cut
  /// Frames.
  case dissolve(Int)
  /// Its code of SMPTE, its equal in a document if it has one, and frames.
  case wipe(Int, Document.TransitionStyle?, Int)

  /// `C`, `D`, `W001`. Nil: it is none of them.
  init?(_ word: String, length: Int?) {
    let word = word.uppercased()
    switch word.first {
    case "C" where word == "C": self = .cut
    case "D" where word == "D": self = .dissolve(length ?? 0)
    case "W":
      guard let code = Int(word.dropFirst()) else { return nil }
      self = .wipe(code, Self.style(ofWipe: code), length ?? 0)
    default: return nil
    }
  }

  var length: Int {
    switch self {
    case .cut: 0
    case .dissolve(let length), .wipe(_, _, let length): length
    }
  }

  var style: Document.TransitionStyle {
    if case .wipe(_, let style?, _) = self { style } else { Document.TransitionStyle() }
  }

  /// The wipes of SMPTE 258M that a document has.
  private static let wipes: [(code: Int, kind: Document.TransitionStyle.Kind, WipeDirection?, IrisShape?)] = [
    (1, .wipe, .right, nil), (2, .wipe, .down, nil), (41, .wipe, .downRight, nil), (42, .wipe, .downLeft, nil),
    (101, .iris, nil, nil), (102, .iris, nil, .diamond), (119, .circle, nil, nil), (201, .clock, nil, nil),
  ]

  private static func style(ofWipe code: Int) -> Document.TransitionStyle? {
    guard let (_, kind, direction, shape) = wipes.first(where: { $0.code == code }) else { return nil }
    var style = Document.TransitionStyle(kind)
    (style.direction, style.shape) = (direction, shape)
    return style
  }

  /// The word of an event for a transition of a document. Nil: an EDL has none for it.
  static func word(_ style: Document.TransitionStyle) -> String? {
    if style == Document.TransitionStyle() || style == Document.TransitionStyle(.dissolve) { return "D" }
    guard let code = wipes.first(where: { Self.style(ofWipe: $0.code) == style })?.code else { return nil }
    return "W" + String("00\(code)".suffix(3))
  }
}
