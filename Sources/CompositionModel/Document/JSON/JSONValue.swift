/// One value of a JSON text and its place. Numbers keep their text, so that a time never becomes a `Double`.
struct JSONValue: Sendable {
  enum Content: Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    /// In the order of the text. Keys are unique.
    case object([(key: String, value: JSONValue)])
  }

  let content: Content
  let pointer: JSONPointer

  /// The value for a message: scalars as they are written, long ones cut.
  var shown: String {
    switch content {
    case .null: "null"
    case .boolean(let value): value ? "true" : "false"
    case .number(let text): text.shortened
    case .string(let text): "\"\(text.shortened)\""
    case .array(let items): items.count == 1 ? "an array of 1 value" : "an array of \(items.count) values"
    case .object: "an object"
    }
  }
}

extension String {
  /// For a message: at most 60 characters on one line.
  var shortened: String {
    let line = map { $0.isNewline ? " " : $0 }
    return line.count <= 60 ? String(line) : String(line.prefix(57)) + "..."
  }
}

/// The place of a value in a document (RFC 6901). It is a chain, so that a value costs one link at any depth. The text
/// is made only for a problem.
indirect enum JSONPointer: Sendable, Hashable {
  case root
  case key(String, in: JSONPointer)
  case index(Int, in: JSONPointer)

  func key(_ key: String) -> JSONPointer { .key(key, in: self) }
  func index(_ index: Int) -> JSONPointer { .index(index, in: self) }

  /// Such as `/tracks/0/clips/2/use`. Empty for the whole document.
  var text: String {
    var parts: [String] = []
    var place = self
    while true {
      switch place {
      case .root: return parts.reversed().joined()
      case .key(let key, let parent):
        parts.append("/" + Self.escaped(key))
        place = parent
      case .index(let index, let parent):
        parts.append("/\(index)")
        place = parent
      }
    }
  }

  private static func escaped(_ key: String) -> String {
    var text = ""
    for character in key.unicodeScalars {
      switch character {
      case "~": text += "~0"
      case "/": text += "~1"
      default: text.unicodeScalars.append(character)
      }
    }
    return text
  }
}
