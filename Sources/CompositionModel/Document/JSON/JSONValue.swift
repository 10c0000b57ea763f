/// One value of a JSON text, and where it stands. Numbers keep the text they were written as: a time is never a Double.
struct JSONValue: Sendable {
  enum Content: Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    /// In the order in which they are written; keys are unique.
    case object([(key: String, value: JSONValue)])
  }

  let content: Content
  let pointer: JSONPointer

  /// The value as a message shows it: scalars as written, cut short where they are long.
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
  /// Fit for a message: at most 60 characters, none that ends the line.
  var shortened: String {
    let line = map { $0.isNewline ? " " : $0 }
    return line.count <= 60 ? String(line) : String(line.prefix(57)) + "..."
  }
}
