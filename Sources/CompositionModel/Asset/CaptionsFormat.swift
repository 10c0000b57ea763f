/// The captions of a text track, whatever the file's format, as events of Advanced SubStation Alpha (ASS).
public struct CaptionsFormat: Sendable, Hashable, Codable {
  /// The script's head: `[Script Info]`, the styles and the form of events.
  public var header: String
  /// Whether the styles are the author's own, as in a file of ASS or SSA, and not those that a decoder assumes.
  public var hasStyles: Bool
  /// Whether captions of WebVTT state places on the screen, which no other format has. Nil: they do not.
  public var hasCueSettings: Bool?
  /// In order of their start.
  public var events: [CaptionEvent]

  public init(header: String, hasStyles: Bool, events: [CaptionEvent]) {
    self.header = header
    self.hasStyles = hasStyles
    self.events = events
  }

  /// The head of a script without styles.
  package static let plainHeader = "[Script Info]\r\nScriptType: v4.00+\r\n"
  /// The most events of a track.
  package static let greatestCount = 200_000
  /// The most bytes of a track's header and events together.
  package static let greatestSize = 32 << 20
}

/// One caption.
public struct CaptionEvent: Sendable, Hashable, Codable {
  /// In milliseconds of the asset's timeline.
  public var start: Int64
  /// In milliseconds of the asset's timeline; after the start.
  public var end: Int64
  /// The fields `ReadOrder, Layer, Style, Name, MarginL, MarginR, MarginV, Effect, Text`, separated by commas.
  /// In the text of a file without styles `{\=Fred}` is before what Fred says.
  public var fields: String

  public init(start: Int64, end: Int64, fields: String) {
    self.start = start
    self.end = end
    self.fields = fields
  }

  /// Whether its place may depend on that of others that are shown with it: it states none.
  package var isPlacedFreely: Bool { !fields.contains("\\pos(") && !fields.contains("\\move(") }

  public init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    try self.init(
      start: container.decode(Int64.self), end: container.decode(Int64.self), fields: container.decode(String.self))
    guard start < end, [start, end].areTicks else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a caption from \(start) to \(end) ms does not end after its start")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(start)
    try container.encode(end)
    try container.encode(fields)
  }
}

extension String {
  /// An event's fields. The last has the rest, with its commas. A comma counts also where a character after it, such as
  /// a mark without a letter, makes one grapheme with it.
  /// - Parameter most: As many as `CaptionEvent.fields` has, or as those of a script that names others.
  package func commaFields(_ most: Int = 9) -> [String] {
    unicodeScalars.split(separator: ",", maxSplits: most - 1, omittingEmptySubsequences: false).map { String($0) }
  }
}
