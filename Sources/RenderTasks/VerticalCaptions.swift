import CompositionModel

/// Captions whose lines run from top to bottom, the first line at the right, as of Japanese and Chinese.
///
/// The renderer of ASS turns the letters of a font whose name begins with `@` to the left, and gives punctuation its
/// vertical forms; the whole is turned to the right around its place. Lines are broken here, because it would break
/// them at the frame's width, and captions that are shown at once are one, because it places what is turned by itself.
struct VerticalCaptions: Sendable {
  /// Degrees, to the left.
  static let angle = 270
  /// Before a font's name.
  static let fontMark = "@"
  /// The most captions that are shown at once. Further ones are left out.
  private static let greatestCount = 16

  /// How many characters a line has.
  let length: Int
  /// The tags that place a caption.
  let place: String

  /// Nil: the lines of the style are not vertical.
  init?(_ style: CaptionStyle, _ frame: PixelSize) {
    guard style.isVertical == true else { return nil }
    let (top, bottom) = (style.margin(of: .top), style.margin(of: .bottom))
    // No character is higher than the highest letters with the lowest ones.
    length = max(1, Int(Double(frame.height - top - bottom) / max(1, style.size)))
    let side = style.sideMargin ?? style.margin
    let (left, right) = (style.edges?.left ?? side, frame.width - (style.edges?.right ?? side))
    let x =
      switch style.anchor {
      case .topLeft, .left, .bottomLeft: left
      case .top, .center, .bottom: (left + right) / 2
      case .topRight, .right, .bottomRight: right
      }
    let y =
      switch style.anchor.row {
      case .top: top
      case .middle: frame.height / 2
      case .bottom: frame.height - bottom
      }
    place = "{\\an\(Self.key(of: style.anchor))\\q2\\pos(\(x),\(y))}"
  }

  /// The key of a number pad for a place, before the whole is turned to the right: what is at the top then is at the
  /// left now.
  static func key(of anchor: Anchor) -> Int {
    switch anchor {
    case .topLeft: 1
    case .left: 2
    case .bottomLeft: 3
    case .top: 4
    case .center: 5
    case .bottom: 6
    case .topRight: 7
    case .right: 8
    case .bottomRight: 9
    }
  }

  /// Tags without those that place or turn the whole caption.
  static func unplaced(_ tags: String) -> String {
    guard tags.contains("\\") else { return tags }
    let parts = tags.dropFirst().dropLast().split(separator: "\\", omittingEmptySubsequences: false)
    var depth = 0
    let kept = parts.enumerated().filter { number, part in
      let isOwn = depth == 0 && number > 0
      depth = max(0, depth + part.count { $0 == "(" } - part.count { $0 == ")" })
      let names = ["an", "pos", "move", "org", "fr", "q", "clip", "iclip"]
      let isOldAnchor = part.first == "a" && part.dropFirst().first?.isNumber == true
      return !isOwn || !(isOldAnchor || names.contains(where: part.hasPrefix))
    }
    let text = kept.map(\.element).joined(separator: "\\")
    return text.isEmpty ? "" : "{\(text)}"
  }

  /// Captions of which one is shown at a time: the lines of those that overlap follow each other, the earlier first.
  /// - Parameter events: In order of their start.
  static func joined(_ events: [CaptionScript.Event]) -> [CaptionScript.Event] {
    var joined: [CaptionScript.Event] = []
    var shown: [CaptionScript.Event] = []
    func show(until time: Int64) {
      guard let first = shown.first, let start = shown.map(\.start).max(), start < time else { return }
      var event = first
      event.start = max(start, joined.last?.end ?? start)
      event.end = time
      for other in shown.dropFirst() {
        // The end of a line has the font of that line: libass draws nothing if the style's own is not there.
        event.parts.append(CaptionScript.Part(tags: "\\N{\\r}"))
        event.parts += other.parts.map { part in
          var part = part
          part.said = part.said.map {
            $0.lowerBound + other.origin - first.origin..<$0.upperBound + other.origin - first.origin
          }
          return part
        }
      }
      if event.start < event.end { joined.append(event) }
    }
    func end(before time: Int64) {
      while let next = shown.map(\.end).min(), next <= time {
        show(until: next)
        shown.removeAll { $0.end <= next }
      }
    }
    for event in events {
      end(before: event.start)
      show(until: event.start)
      if shown.count < greatestCount { shown.append(event) }
    }
    end(before: .max)
    return joined
  }
}
