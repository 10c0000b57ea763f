/// The place of a value in a document (RFC 6901). It is a chain, so that a value costs one link at any depth. The text
/// is made only for a problem.
package indirect enum JSONPointer: Sendable, Hashable {
  case root
  case key(String, in: JSONPointer)
  case index(Int, in: JSONPointer)

  package func key(_ key: String) -> JSONPointer { .key(key, in: self) }
  package func index(_ index: Int) -> JSONPointer { .index(index, in: self) }

  /// Such as `/tracks/0/clips/2/use`. Empty for the whole document.
  package var text: String {
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
