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

  /// Throws `.damaged` if events of the script could not be read.
  /// - Parameter name: The file's.
  init(_ header: String, name: String) throws(MediaError) {
    var lines = header.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
    var isEvents = false
    var format: Int?
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("[") { isEvents = line.lowercased().hasPrefix("[events]") }
      if isEvents, format == nil, line.lowercased().hasPrefix("format:") { format = index }
      // What libavformat cannot read as an event, it leaves in the head.
      guard !line.hasPrefix("Dialogue:") else {
        throw Self.refusal(
          name,
          "it has an event whose layer, start and end cannot be read at the beginning, such as in "
            + "\"Dialogue: 0,0:00:01.00,0:00:03.00,…\": \"\(line.prefix(60))\"")
      }
    }
    guard let format else {
      (self.header, places, count) = (header, nil, 0)
      return
    }
    var names = lines[format].dropFirst("Format:".count).split(separator: ",").map {
      let name = $0.filter { !$0.isWhitespace }.lowercased()
      return name == "actor" ? "name" : name
    }
    guard let text = names.firstIndex(of: "text") else {
      throw Self.refusal(name, "its events have no field \"Text\": \"\(lines[format].prefix(80))\"")
    }
    // It has all that is left of the event.
    names = Array(names[...text].dropFirst(3))
    count = names.count
    if names == Self.usual {
      (self.header, places) = (header, nil)
      return
    }
    places = Self.usual.map { names.firstIndex(of: $0) }
    lines[format] = Self.usualLine
    self.header = lines.joined(separator: "\n")
  }

  /// An event's fields, from the number of its place in the file and the layer on, in the usual order.
  func usual(_ fields: String) -> String {
    guard let places else { return fields }
    let found = fields.split(separator: ",", maxSplits: 1 + count, omittingEmptySubsequences: false)
    let rest = zip(Self.usual, places).map { field, place in
      let value = place.flatMap { $0 + 2 < found.count ? found[$0 + 2] : nil }
      return value.map(String.init) ?? (field == "style" ? "Default" : field.hasPrefix("margin") ? "0" : "")
    }
    return (found.prefix(2).map(String.init) + rest).joined(separator: ",")
  }

  private static func refusal(_ name: String, _ message: String) -> MediaError {
    MediaError(.damaged, operation: "reading captions", subject: name, message: message)
  }
}
