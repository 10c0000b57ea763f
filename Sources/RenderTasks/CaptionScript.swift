package import CompositionModel

/// Captions taken apart for drawing: the texts for which fonts are found, and the events with these fonts.
///
/// The renderer of ASS looks a font up by its family, and draws a box where that has no glyph. The fonts of each
/// character are found by Pango, as for other texts, and named in the events: before each part of a text that has
/// another font, there is `\fn` with a place for the font's name.
package struct CaptionScript: Sendable {
  /// What decides the fonts of a part of a text.
  fileprivate struct Face: Hashable {
    var font: String
    var isBold: Bool
    var isItalic: Bool
  }

  package struct Event: Sendable {
    package var start: Int64
    package var end: Int64
    /// Where its times of words count from: its start before it was cut.
    fileprivate var origin: Int64
    /// Where a tag places it, if the margin is another one there.
    fileprivate var row: Anchor.Row?
    /// Up to the comma before the text.
    fileprivate var head: String
    fileprivate var parts: [Part]
    /// Whether its place may depend on that of others which are shown with it.
    package var isPlacedFreely: Bool
  }

  fileprivate struct Part: Sendable {
    /// Override tags in braces. Nil: text.
    var tags: String?
    var text = ""
    /// Index in `requests`.
    var face = 0
    /// In bytes of the text of its request.
    var offset = 0
    /// When it is said, in milliseconds since the origin of its event. Nil: at no time.
    var said: Range<Int64>?
    /// The color that tags give it. Nil: that of the style.
    var color: String?
  }

  /// More than a file has captions.
  private static let readOrders = 10_000_000

  /// The head of the script that is drawn.
  package let header: String
  /// In order of their start.
  package private(set) var events: [Event] = []
  /// For each face that is used, all of its text.
  package private(set) var requests: [FontRequest] = []
  private var faces: [Face: Int] = [:]
  private let style: CaptionStyle?
  private let highlight: CaptionHighlight?

  /// - Parameters:
  ///   - style: for a track without styles of its own.
  ///   - frame: the size of the film. The requests do not depend on it.
  package init(_ captions: CaptionsFormat, style: CaptionStyle?, frame: PixelSize) {
    let styles: Styles
    self.style = style
    highlight = CaptionHighlight(style)
    if let style {
      header = CaptionStyle.header([(Self.styleName(0), style)], frame)
      styles = Styles(default: Face(font: style.font, isBold: style.isBold, isItalic: style.isItalic))
    } else {
      header = captions.header
      styles = Styles(captions.header)
    }
    // What tags of files without styles mean by a size is a part of a screen that is 288 high.
    let scale = style == nil ? 1 : Double(frame.height) / 288
    for event in captions.events { add(event, styles, scale: scale) }
  }

  private mutating func add(_ event: CaptionEvent, _ styles: Styles, scale: Double) {
    let fields = event.fields.commaFields()
    guard fields.count == 9 else { return }
    let own = styles.face(fields[2])
    var (face, base) = (own, own)
    var parts: [Part] = []
    var rest = fields[8][...]
    // From the first brace on that nothing closes, all is text.
    var hasTags = true
    var karaoke = KaraokeTimes()
    var row: Anchor.Row?
    while !rest.isEmpty {
      let closing = hasTags && rest.first == "{" ? rest.firstIndex(of: "}") : nil
      if rest.first == "{", closing == nil { hasTags = false }
      if let end = closing {
        var tags = String(rest[...end])
        rest = rest[rest.index(after: end)...]
        if style != nil { tags = karaoke.read(tags) }
        if tags.isEmpty { continue }
        row = row ?? Self.row(in: tags)
        face = styles.face(after: tags, from: face, base: &base, own: own)
        parts.append(Part(tags: scale == 1 ? tags : Self.scaled(tags, by: scale)))
        continue
      }
      let end = (hasTags ? CaptionText.tags(in: rest, after: rest.first == "{" ? 1 : 0) : nil) ?? rest.endIndex
      let text = String(rest[..<end])
      rest = rest[end...]
      let (index, offset) = request(face, text)
      parts.append(
        Part(tags: nil, text: text, face: index, offset: offset, said: karaoke.said, color: karaoke.color))
    }
    let place = row.flatMap { style?.rows.contains($0) == true ? $0 : nil }
    events.append(
      Event(
        start: event.start, end: event.end, origin: event.start, row: place,
        head: fields[..<8].joined(separator: ",") + ",", parts: parts, isPlacedFreely: event.isPlacedFreely))
  }

  /// Adds a text to the request of its face. Returns the face's index and the text's place.
  private mutating func request(_ face: Face, _ text: String) -> (face: Int, offset: Int) {
    let index: Int
    if let known = faces[face] {
      index = known
    } else {
      index = requests.count
      faces[face] = index
      // libass leaves out a whole caption if one of its fonts has no outlines.
      requests.append(
        FontRequest(text: "", font: face.font, isBold: face.isBold, isItalic: face.isItalic, needsOutlines: true))
    }
    let offset = requests[index].text.utf8.count
    for (shown, _) in CaptionText.characters(of: text) { requests[index].text.unicodeScalars.append(shown) }
    requests[index].text += "\n"
    return (index, offset)
  }

  /// The third of the frame in which a tag places a caption: `\an` by the keys of a number pad, or `\a`, which counts
  /// from the bottom by fours. Nil: none does.
  private static func row(in tags: String) -> Anchor.Row? {
    for tag in tags.dropFirst().dropLast().split(separator: "\\") {
      let isPad = tag.hasPrefix("an")
      guard tag.first == "a", let number = Int(tag.dropFirst(isPad ? 2 : 1).prefix { $0.isASCII && $0.isNumber })
      else { continue }
      switch (isPad, number) {
      case (true, 1...3), (false, 1...3): return .bottom
      case (true, 4...6), (false, 9...11): return .middle
      case (true, 7...9), (false, 5...7): return .top
      default: continue
      }
    }
    return nil
  }

  /// Tags with their sizes of letters multiplied.
  private static func scaled(_ tags: String, by factor: Double) -> String {
    var result = ""
    var rest = tags[...]
    while let place = rest.firstRange(of: "\\fs") {
      result += rest[..<place.upperBound]
      rest = rest[place.upperBound...]
      let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      if let size = Double(number) {
        result += "\((size * factor * 100).rounded() / 100)"
        rest = rest[number.endIndex...]
      }
    }
    return result + rest
  }

  /// Cuts the events. The requests stay those of the whole script.
  package mutating func cut(to used: Range<Int64>) {
    var kept: [Event] = []
    for var event in events {
      let range = (event.start..<event.end).clamped(to: used)
      if range.isEmpty { continue }
      (event.start, event.end) = (range.lowerBound, range.upperBound)
      kept.append(event)
    }
    events = kept
  }

  /// The events with their times moved.
  package func events(laterBy shift: Int64) -> [Event] {
    events.map { event in
      var event = event
      // Captions at the ends of all time are never shown.
      event.start = event.start.addingReportingOverflow(shift).overflow ? event.start : event.start + shift
      event.end = event.end.addingReportingOverflow(shift).overflow ? event.end : event.end + shift
      event.origin = event.origin.addingReportingOverflow(shift).overflow ? event.origin : event.origin + shift
      return event
    }
  }

  /// The head of a script with the captions of several files without styles, each with a style of its own.
  package static func header(_ styles: [CaptionStyle], _ frame: PixelSize) -> String {
    CaptionStyle.header(styles.enumerated().map { (styleName($0), $1) }, frame)
  }

  /// The name of the style of one of the files of a script.
  fileprivate static func styleName(_ number: Int) -> String { number == 0 ? "Default" : "Default\(number)" }
  /// That of captions which a tag places elsewhere.
  fileprivate static func styleName(_ name: String, _ row: Anchor.Row) -> String {
    name + (row == .top ? "Top" : "Bottom")
  }

  // MARK: Events with fonts

  /// The place of a font's name in an event's text.
  package static func place(ofFont index: Int) -> String { "\u{1}\(index)\u{1}" }

  /// The fields of an event in which the font of each part of its text is named.
  /// - Parameters:
  ///   - number: The number of the style, among those of the script's head. Those of the first one stay as they are
  ///     written.
  ///   - fonts: The fonts of `requests`. Each that is used is added to `used`.
  package func fields(_ event: Event, ofStyle number: Int = 0, fonts: CaptionFonts, used: inout [PlannedFont]) -> String
  {
    var fields = event.head
    if number > 0 || event.row != nil {
      var own = fields.commaFields()
      // Those of the files before are placed first.
      if number > 0 { own[0] = "\(number * Self.readOrders + (Int(own[0]) ?? 0) % Self.readOrders)" }
      own[2] = event.row.map { Self.styleName(Self.styleName(number), $0) } ?? Self.styleName(number)
      fields = own.joined(separator: ",")
    }
    var current: PlannedFont?
    var said: Range<Int64>?
    let cut = event.start - event.origin
    for part in event.parts {
      if let tags = part.tags {
        fields += tags
        // They may have set another font, and another color.
        (current, said) = (nil, nil)
        continue
      }
      if let highlight, let own = part.said, own != said {
        fields += highlight.tags((own.lowerBound - cut)..<(own.upperBound - cut), own: part.color)
        said = own
      }
      var offset = part.offset
      for (shown, written) in CaptionText.characters(of: part.text) {
        if let font = fonts.font(of: part.face, at: offset), font != current {
          let index = used.firstIndex(of: font) ?? used.count
          if index == used.count { used.append(font) }
          fields += "{\\fn\(Self.place(ofFont: index))}"
          current = font
        }
        fields += written
        offset += UTF8.width(shown)
      }
    }
    return fields
  }
}

/// The fonts of a script's requests.
package struct CaptionFonts: Sendable {
  private let fonts: [TextFonts]
  /// Where each run ends, in bytes of its request's text.
  private let ends: [[Int]]

  package init(_ fonts: [TextFonts]) {
    self.fonts = fonts
    ends = fonts.map { fonts in
      var end = 0
      return fonts.runs.map { run in
        end += run.length
        return end
      }
    }
  }

  func font(of request: Int, at offset: Int) -> PlannedFont? {
    let run = ends[request].partitionPoint { offset < $0 }
    return run < ends[request].count ? fonts[request].fonts[fonts[request].runs[run].font] : nil
  }
}

// MARK: Styles

/// The faces of a script's styles.
private struct Styles {
  private var faces: [String: CaptionScript.Face] = [:]
  private let standard: CaptionScript.Face

  init(default face: CaptionScript.Face) {
    standard = face
  }

  /// Reads the styles of a script's head.
  init(_ header: String) {
    var names: [String] = []
    var isStyles = false
    var first: CaptionScript.Face?
    for line in header.split(whereSeparator: \.isNewline) {
      let line = line.trimming
      if line.hasPrefix("[") { isStyles = line.lowercased().hasPrefix("[v4") }
      guard isStyles, let colon = line.firstIndex(of: ":") else { continue }
      let values = line[line.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false).map {
        String($0.trimming)
      }
      switch line[..<colon].lowercased() {
      case "format": names = values.map { $0.lowercased() }
      case "style":
        func value(_ name: String) -> String? {
          names.firstIndex(of: name).flatMap { values.indices.contains($0) ? values[$0] : nil }
        }
        guard let name = value("name"), let font = value("fontname") else { continue }
        let face = CaptionScript.Face(
          font: font.isEmpty ? "sans-serif" : font, isBold: (Int(value("bold") ?? "") ?? 0) != 0,
          isItalic: (Int(value("italic") ?? "") ?? 0) != 0)
        first = first ?? face
        faces[Self.key(name)] = face
      default: break
      }
    }
    standard =
      faces[Self.key("Default")] ?? first ?? CaptionScript.Face(font: "sans-serif", isBold: false, isItalic: false)
  }

  private static func key(_ name: some StringProtocol) -> String { String(name.drop { $0 == "*" }) }

  func face(_ style: some StringProtocol) -> CaptionScript.Face { faces[Self.key(style)] ?? standard }

  /// The number after a tag's letter. What follows it is no matter.
  private func number(_ tag: Substring) -> Int? {
    Int(tag.dropFirst().drop(while: \.isWhitespace).prefix { $0.isASCII && ($0.isNumber || $0 == "-") })
  }

  /// The face after override tags.
  /// - Parameters:
  ///   - base: that of the latest `\r`, to which a tag without a value returns.
  ///   - own: that of the event's style.
  func face(
    after tags: String, from face: CaptionScript.Face, base: inout CaptionScript.Face, own: CaptionScript.Face
  ) -> CaptionScript.Face {
    var face = face
    for tag in tags.dropFirst().dropLast().split(separator: "\\") {
      let tag = tag.trimming
      if tag.hasPrefix("fn") {
        let name = tag.dropFirst(2).trimming
        face.font = name.isEmpty ? base.font : String(name)
      } else if tag.hasPrefix("r") {
        base = faces[Self.key(tag.dropFirst().trimming)] ?? own
        face = base
      } else if tag == "b" || tag == "i" {
        if tag == "b" { face.isBold = base.isBold } else { face.isItalic = base.isItalic }
      } else if tag.hasPrefix("b"), let weight = number(tag) {
        face.isBold = weight == 1 || weight >= 600
      } else if tag.hasPrefix("i"), let value = number(tag) {
        face.isItalic = value != 0
      }
    }
    return face
  }
}

extension Substring {
  fileprivate var trimming: Substring {
    let rest = drop(while: \.isWhitespace)
    return rest.lastIndex { !$0.isWhitespace }.map { rest[...$0] } ?? ""
  }
}

extension CaptionStyle {
  /// The head of a script with these styles. Lengths are pixels of the frame.
  fileprivate static func header(_ styles: [(name: String, style: CaptionStyle)], _ frame: PixelSize) -> String {
    """
    [Script Info]
    ScriptType: v4.00+
    PlayResX: \(frame.width)
    PlayResY: \(frame.height)
    ScaledBorderAndShadow: yes
    WrapStyle: 0

    [V4+ Styles]
    Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, \
    Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, \
    MarginV, Encoding
    \(styles.enumerated().map { $1.style.lines(named: $1.name, number: $0) }.joined(separator: "\n"))

    [Events]
    Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text

    """
  }

  /// Where else than by its anchor captions of the style have another margin.
  fileprivate var rows: [Anchor.Row] {
    [Anchor.Row.top, .bottom].filter { $0 != anchor.row && margin(of: $0) != margin(of: anchor.row) }
  }

  /// The line of a style, and those for captions that tags place where the margin is another one.
  private func lines(named name: String, number: Int) -> String {
    let others = rows.map { line(named: CaptionScript.styleName(name, $0), number, margin: margin(of: $0)) }
    return ([line(named: name, number, margin: margin(of: anchor.row))] + others).joined(separator: "\n")
  }

  /// The encoding -1 lets each line run from the side where its script begins.
  private func line(named name: String, _ number: Int, margin vertical: Int) -> String {
    func written(_ color: Color) -> String {
      let parts = [255 - color.alpha, color.blue, color.green, color.red]
      return "&H" + parts.map(\.hexadecimal).joined()
    }
    let place =
      switch anchor {
      case .bottomLeft: 1
      case .bottom: 2
      case .bottomRight: 3
      case .left: 4
      case .center: 5
      case .right: 6
      case .topLeft: 7
      case .top: 8
      case .topRight: 9
      }
    let (bold, italic, side, padding) = (isBold ? -1 : 0, isItalic ? -1 : 0, sideMargin ?? margin, box?.padding ?? 0)
    // libass has a rectangle behind a caption as a kind of its shadow.
    let (back, kind) = box == nil ? (written(outlineColor), 1) : (PlannedCaptions.Box.mark(number), 4)
    let margins = [edges?.left ?? side, edges?.right ?? side, vertical].map { "\($0 + padding)" }
    return """
      Style: \(name),sans-serif,\(size),\(written(color)),\(written(color)),\(written(outlineColor)),\
      \(back),\(bold),\(italic),0,0,100,100,0,0,\(kind),\(outline),\(padding),\(place),\
      \(margins.joined(separator: ",")),-1
      """
  }
}
