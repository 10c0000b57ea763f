import CompositionModel

/// An element of an XML file that is written.
struct XMLNode {
  var name: String
  var attributes: [(name: String, value: String)]
  var children: [XMLNode]
  /// In place of children.
  var text: String?

  /// - Parameter attributes: One that is nil is left out.
  init(
    _ name: String, _ attributes: KeyValuePairs<String, String?> = [:], _ children: [XMLNode] = [], text: String? = nil
  ) {
    self.name = name
    self.attributes = attributes.compactMap { name, value in value.map { (name, $0) } }
    (self.children, self.text) = (children, text)
  }

  /// The whole file.
  /// - Parameter type: That of a document type declaration.
  func document(type: String? = nil) -> [UInt8] {
    var output = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    if let type { output += "<!DOCTYPE \(type)>\n" }
    write(to: &output, indent: "")
    return Array(output.utf8)
  }

  private func write(to output: inout String, indent: String) {
    output += "\(indent)<\(name)"
    for (name, value) in attributes { output += " \(name)=\"\(Self.escaped(value))\"" }
    if let text {
      output += ">\(Self.escaped(text))</\(name)>\n"
    } else if children.isEmpty {
      output += "/>\n"
    } else {
      output += ">\n"
      for child in children { child.write(to: &output, indent: indent + "  ") }
      output += "\(indent)</\(name)>\n"
    }
  }

  /// Characters that XML 1.0 cannot have become U+FFFD.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "\n", "\t", "\r": escaped += "&#\(scalar.value);"
      case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": escaped.unicodeScalars.append("\u{FFFD}")
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
