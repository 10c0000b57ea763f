/// What becomes of the texts of captions without styles of their own before they are drawn, or stored in a track.
public struct CaptionWording: Sendable, Hashable, Codable {
  /// The most characters of a line; longer lines are broken. Nil: lines are as they are written.
  public var lineLength: Int?
  /// By the name that the captions have for them. Nil: no speaker is shown in a way of their own.
  public var speakers: [String: CaptionSpeaker]?
  /// Whether the name of the speaker is before the words. Nil: it is not.
  public var showsSpeakers: Bool?

  public init(lineLength: Int? = nil, speakers: [String: CaptionSpeaker]? = nil, showsSpeakers: Bool? = nil) {
    self.lineLength = lineLength
    self.speakers = speakers
    self.showsSpeakers = showsSpeakers
  }

  /// The lengths that a line may have at most.
  package static let lineLengths = 8...200
}

extension CaptionWording {
  /// A text with the names of those who speak, and without marks of voices.
  /// - Parameter color: That of what nobody says, among colors of speakers. Nil: none are written, as in tracks.
  package func spoken(_ text: String, color: Color?) -> String {
    guard showsSpeakers == true || speakers?.isEmpty == false else { return CaptionVoices.removed(from: text) }
    var spoken = SpokenText(self, color: color)
    for part in CaptionText.parts(of: text) { spoken.add(part) }
    return spoken.text
  }

  /// A caption as a track has it.
  package func written(_ event: CaptionEvent) -> CaptionEvent {
    event.with { text in
      let text = spoken(text, color: nil)
      return lineLength.map { CaptionText.wrapped(text, CaptionWrapping($0)) } ?? text
    }
  }

  /// The same without what the fonts do not depend on. Nil: nothing is left.
  package var ofFonts: CaptionWording? {
    var wording = self
    wording.lineLength = nil
    return wording == CaptionWording() ? nil : wording
  }
}

extension CaptionUse {
  /// What becomes of the texts. Nil: they are as they are written.
  public var wording: CaptionWording? {
    switch self {
    case .drawn(let style): style?.wording
    case .track(let track): track.wording
    }
  }
}

extension CaptionEvent {
  /// The event with its text changed.
  package func with(_ text: (String) -> String) -> CaptionEvent {
    var fields = fields.commaFields()
    guard fields.count == 9 else { return self }
    fields[8] = text(fields[8])
    return CaptionEvent(start: start, end: end, fields: fields.joined(separator: ","))
  }

  /// How many lines its text has.
  package var lineCount: Int {
    let parts = CaptionText.parts(of: text ?? "").filter { !$0.isTags }
    return 1 + parts.reduce(0) { $0 + CaptionText.characters(of: $1.text).count { $0.written == "\\N" } }
  }

  /// The text, with its tags. Nil: it has none.
  package var text: String? {
    let fields = fields.commaFields()
    return fields.count == 9 ? fields[8] : nil
  }
}
