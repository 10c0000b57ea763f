import CompositionModel

/// The fields of the events of a script of Advanced SubStation Alpha. Its head names them, and may leave some out or
/// have them in another order. What is kept of a script has the usual ones.
///
/// libavformat reads the layer and the times, which begin an event, at their usual places alone.
struct ScriptEventFormat {
  private static let usual = ["style", "name", "marginl", "marginr", "marginv", "effect", "text"]
  private static let usualLine = "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text"

  /// With the usual fields.
  let header: String
  /// For each of the usual fields after the times, its place in the script's events; nil if they do not have it. Nil:
  /// they are as usual.
  private let places: [Int?]?
  private let count: Int
  /// Whether an event may have the usual fields whatever the head names. Matroska demands it of its blocks, and
  /// libavformat copies those of a file as they are.
  private let mayBeUsual: Bool
  private let name: String

  /// The usual fields, without a head.
  init(name: String) {
    (header, places, count, mayBeUsual, self.name) = ("", nil, 0, true, name)
  }

  /// Throws `.damaged` if events of the script could not be read.
  /// - Parameters:
  ///   - container: libavformat's name of the file's format.
  ///   - name: The file's.
  init(_ header: String, container: String, name: String) throws(MediaError) {
    self.name = name
    mayBeUsual = container != "ass"
    if header.unicodeScalars.contains("\r"), !header.unicodeScalars.contains("\n") {
      throw Self.refusal(name, "its lines end in a carriage return alone; store it with line feeds")
    }
    var lines = header.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
    // A script may begin with events, without the name of their section.
    var isEvents = true
    var format: Int?
    for (index, written) in lines.enumerated() {
      let line = written.drop(while: \.isWhitespace)
      if line.hasPrefix("[") { isEvents = line.lowercased().hasPrefix("[events]") }
      guard isEvents else { continue }
      if line.lowercased().hasPrefix("format:") {
        guard format.map({ lines[$0] == written }) ?? true else {
          throw Self.refusal(name, "its events have several formats: \"\(written.prefix(80))\" is the second")
        }
        format = index
      }
      // What libavformat cannot read as an event, it leaves in the head.
      guard !line.lowercased().hasPrefix("dialogue:") else {
        throw Self.refusal(
          name,
          "it has an event whose layer, start and end cannot be read at the beginning, as in "
            + "\"Dialogue: 0,0:00:01.00,0:00:03.00,…\": \"\(written.prefix(60))\"")
      }
    }
    guard let format, let colon = lines[format].firstIndex(of: ":") else {
      (self.header, places, count) = (header, nil, 0)
      return
    }
    var names = lines[format][colon...].dropFirst().split(separator: ",").map {
      let name = $0.filter { !$0.isWhitespace }.lowercased()
      return name == "actor" ? "name" : name
    }
    let text = names.firstIndex(of: "text")
    guard text != nil || mayBeUsual else {
      throw Self.refusal(name, "its events have no field \"Text\": \"\(lines[format].prefix(80))\"")
    }
    // It has all that is left of the event.
    names = Array(names[...(text ?? names.count - 1)].dropFirst(3))
    count = names.count
    if names == Self.usual {
      (self.header, places) = (header, nil)
      return
    }
    places = Self.usual.map { names.firstIndex(of: $0) }
    lines[format] = Self.usualLine
    self.header = lines.joined(separator: "\n")
  }

  /// An event's fields, from the number of its place in the file and the layer on, in the usual order. Throws
  /// `.damaged` if it does not have the fields that its script names.
  func usual(_ fields: String) throws(MediaError) -> String {
    let asUsual = fields.commaFields()
    guard let places else {
      guard asUsual.count == 9 else { throw incomplete(fields) }
      return fields
    }
    if mayBeUsual, asUsual.count == 9, asUsual[4...6].allSatisfy({ Int($0.filter { $0 != " " }) != nil }) {
      return fields
    }
    let found = fields.commaFields(2 + count)
    guard found.count == 2 + count else { throw incomplete(fields) }
    let rest = zip(Self.usual, places).map { field, place in
      place.map { found[$0 + 2] } ?? (field == "style" ? "Default" : field.hasPrefix("margin") ? "0" : "")
    }
    return (found.prefix(2) + rest).joined(separator: ",")
  }

  private func incomplete(_ fields: String) -> MediaError {
    Self.refusal(name, "an event has fewer fields than its script's format names: \"\(fields.prefix(60))\"")
  }

  private static func refusal(_ name: String, _ message: String) -> MediaError {
    MediaError(.damaged, operation: "reading captions", subject: name, message: message)
  }
}
