/// An element of an XML document, which is written the same every time.
struct XMLElement: Sendable, Hashable {
  struct Attribute: Sendable, Hashable {
    var name: String
    var value: String
  }

  var name: String
  /// In the order in which they are written.
  var attributes: [Attribute] = []
  var children: [XMLElement] = []
  /// In place of children.
  var text: String?

  /// - Parameter attributes: Those without a value are left out.
  init(_ name: String, _ attributes: [(String, String?)] = [], text: String? = nil, _ children: [XMLElement] = []) {
    (self.name, self.text, self.children) = (name, text, children)
    self.attributes = attributes.compactMap { name, value in value.map { Attribute(name: name, value: $0) } }
  }

  /// The document whose root it is, in UTF-8.
  var document: String { "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + lines(indentation: "") }

  private func lines(indentation: String) -> String {
    let head = attributes.reduce("\(indentation)<\(name)") { text, attribute in
      "\(text) \(attribute.name)=\"\(Self.escaped(attribute.value))\""
    }
    if let text { return "\(head)>\(Self.escaped(text))</\(name)>\n" }
    if children.isEmpty { return "\(head)/>\n" }
    return "\(head)>\n" + children.map { $0.lines(indentation: indentation + "  ") }.joined()
      + "\(indentation)</\(name)>\n"
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "\t", "\n", "\r": escaped += "&#\(scalar.value);"
      // What XML 1.0 has no character for.
      case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
