package import CompositionModel

/// Captions taken apart for drawing: the texts for which fonts are found, and the events with these fonts.
///
/// The renderer of ASS looks a font up by its family, and draws a box where that has no glyph. The fonts of each
/// character are found by Pango, as for other texts, and named in the events: before each part of a text that has
/// another font, there is `\fn` with a place for the font's name.
package struct CaptionScript: Sendable {
  package struct Event: Sendable {
    package var start: Int64
    package var end: Int64
    /// Where its times of words count from: its start before it was cut.
    var origin: Int64
    /// Where a tag places it, if the margin is another one there.
    var row: Anchor.Row?
    /// Up to the comma before the text.
    var head: String
    var parts: [Part]
    /// Whether its place may depend on that of others which are shown with it.
    package var isPlacedFreely: Bool
  }

  struct Part: Sendable {
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
    /// Whether a line ends here that does not in the file.
    var isBreak = false
  }

  /// More than a file has captions.
  private static let readOrders = 10_000_000

  /// The head of the script that is drawn.
  package let header: String
  /// In order of their start.
  package private(set) var events: [Event] = []
  /// For each face that is used, all of its text.
  package private(set) var requests: [FontRequest] = []
  private var faces: [CaptionFace: Int] = [:]
  private let style: CaptionStyle?
  private let highlight: CaptionHighlight?
  /// Nil: lines are as they are written. It has no effect on the requests.
  private let wrapping: CaptionWrapping?
  /// Nil: lines run from left to right, or from right to left.
  private let vertical: VerticalCaptions?

  /// - Parameters:
  ///   - style: for a track without styles of its own.
  ///   - frame: the size of the film. The requests do not depend on it.
  package init(_ captions: CaptionsFormat, style: CaptionStyle?, frame: PixelSize) {
    let styles: CaptionFaces
    self.style = style
    highlight = CaptionHighlight(style)
    vertical = style.flatMap { VerticalCaptions($0, frame) }
    wrapping = (style?.wording?.lineLength ?? vertical?.length).map(CaptionWrapping.init)
    if let style {
      header = CaptionStyle.header([(Self.styleName(0), style)], frame)
      styles = CaptionFaces(default: CaptionFace(font: style.font, isBold: style.isBold, isItalic: style.isItalic))
    } else {
      header = captions.header
      styles = CaptionFaces(captions.header)
    }
    // What tags of files without styles mean by a size is a part of a screen that is 288 high.
    let scale = style == nil ? 1 : Double(frame.height) / 288
    for event in captions.events { add(event, styles, scale: scale) }
    if vertical != nil { events = VerticalCaptions.joined(events) }
  }

  private mutating func add(_ event: CaptionEvent, _ styles: CaptionFaces, scale: Double) {
    let fields = event.fields.commaFields()
    guard fields.count == 9 else { return }
    let own = styles.face(fields[2])
    var (face, base) = (own, own)
    var parts: [Part] = []
    var karaoke = KaraokeTimes()
    var row: Anchor.Row?
    for part in CaptionText.parts(of: shown(fields[8])) {
      guard part.isTags else {
        let (index, offset) = request(face, part.text)
        parts.append(
          Part(tags: nil, text: part.text, face: index, offset: offset, said: karaoke.said, color: karaoke.color))
        continue
      }
      var tags = style == nil ? part.text : karaoke.read(part.text)
      if vertical != nil { tags = VerticalCaptions.unplaced(tags) }
      if tags.isEmpty { continue }
      row = row ?? Self.row(in: tags)
      face = styles.face(after: tags, from: face, base: &base, own: own)
      parts.append(Part(tags: scale == 1 ? tags : Self.scaled(tags, by: scale)))
    }
    if let wrapping { parts = Self.wrapped(parts, wrapping) }
    let place = row.flatMap { style?.rows.contains($0) == true ? $0 : nil }
    events.append(
      Event(
        start: event.start, end: event.end, origin: event.start, row: place,
        head: fields[..<8].joined(separator: ",") + ",", parts: parts,
        isPlacedFreely: vertical == nil && event.isPlacedFreely))
  }

  /// A text with the names and the colors of its speakers. A file with styles has its own way to say who speaks.
  private func shown(_ text: String) -> String {
    guard let style else { return text }
    return style.wording?.spoken(text, color: style.color) ?? CaptionVoices.removed(from: text)
  }

  /// Adds a text to the request of its face. Returns the face's index and the text's place.
  private mutating func request(_ face: CaptionFace, _ text: String) -> (face: Int, offset: Int) {
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

  /// The parts of an event with its lines broken. The places of texts in their requests stay.
  private static func wrapped(_ parts: [Part], _ wrapping: CaptionWrapping) -> [Part] {
    let characters = parts.map { CaptionText.characters(of: $0.text) }
    var places = CaptionBreaks(characters.joined().map { CaptionText.wrapped($0.shown, $0.written) }, wrapping)
    var wrapped: [Part] = []
    for (part, characters) in zip(parts, characters) {
      if part.tags != nil { wrapped.append(part) }
      var run = part
      run.text = ""
      func end(at offset: Int) {
        if !run.text.isEmpty { wrapped.append(run) }
        (run.text, run.offset) = ("", offset)
      }
      var offset = part.offset
      for (shown, written) in characters {
        let (breaks, isKept) = places.next()
        if breaks || !isKept { end(at: offset) }
        if breaks { wrapped.append(Part(isBreak: true)) }
        offset += UTF8.width(shown)
        if isKept { run.text += written } else { run.offset = offset }
      }
      if part.tags == nil { end(at: offset) }
    }
    return wrapped
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
  static func styleName(_ number: Int) -> String { number == 0 ? "Default" : "Default\(number)" }
  /// That of captions which a tag places elsewhere.
  static func styleName(_ name: String, _ row: Anchor.Row) -> String {
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
    if let vertical { fields += vertical.place }
    for part in event.parts {
      if part.isBreak {
        fields += "\\N"
        continue
      }
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
          fields += "{\\fn\(vertical == nil ? "" : VerticalCaptions.fontMark)\(Self.place(ofFont: index))}"
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
