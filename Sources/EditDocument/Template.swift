public import CompositionModel

/// A value that a parameter of a document is given, as text.
package typealias ParameterValue = (name: String, text: String)

/// A document with `parameters`: values that are given when it is rendered, in the place of `{{name}}` in its strings.
///
/// A string that is one placeholder becomes the parameter's value: a number, a flag, or a text. In a longer string the
/// value's text takes the place of the placeholder. `{{{{` means two braces. Values are not looked through for further
/// placeholders. A document without `parameters` has none: its braces are text.
package struct Template: Sendable {
  /// What the values of a parameter are.
  package enum Kind: String, Sendable, CaseIterable {
    case text, number, boolean
    /// A time, or a number of seconds.
    case time
    /// `#rrggbb` or `#rrggbbaa`.
    case color
    /// Of a file.
    case path
  }

  package struct Parameter: Sendable {
    package var name: String
    package var kind: Kind
    /// A scalar. Nil: it has none, and must be given a value.
    var value: JSONValue.Content?
    /// For people.
    package var summary: String
    let pointer: JSONPointer
    /// Where its default is in the text, or can be.
    fileprivate let place: DefaultPlace
  }

  /// In their order in the document.
  package let parameters: [Parameter]
  private let bytes: [UInt8]

  /// Reads the parameters of a document. Nil: it has none, or is no document. Their problems are found by whoever reads
  /// the document.
  package init?(_ bytes: [UInt8]) {
    guard let root = try? JSONReader.read(bytes).value, let section = root.member(DocumentKeys.parameters.name) else {
      return nil
    }
    var reader = DocumentReader(output: nil, preset: nil)
    self.bytes = bytes
    parameters = reader.templateParameters(section)
  }

  /// A document with these values as the defaults of its parameters; a text that is no document is left as it is.
  /// Throws a problem for each value that is of no parameter, or not of its parameter's type.
  /// - Parameter values: By name, as text. If there are none, the document need not have parameters.
  package static func setting(
    _ values: [ParameterValue], in bytes: [UInt8]
  ) throws(DocumentError) -> [UInt8] {
    guard !values.isEmpty else { return bytes }
    if let template = Template(bytes) { return try template.setting(values) }
    guard let root = try? JSONReader.read(bytes).value, case .object = root.content else { return bytes }
    throw DocumentError(problems: [
      Problem(
        pointer: "",
        message: "the document has no 'parameters', so there is no parameter '\(values[0].name.shortened)'")
    ])
  }

  private func setting(_ values: [ParameterValue]) throws(DocumentError) -> [UInt8] {
    var problems: [Problem] = []
    var defaults: [String: JSONValue.Content] = [:]
    for (name, text) in values {
      guard let parameter = parameters.first(where: { $0.name == name }) else {
        problems.append(
          Problem(
            pointer: "/parameters",
            message: "there is no parameter '\(name.shortened)'" + suggestion(for: name, amongDeclared: names)))
        continue
      }
      if let value = parameter.kind.value(text) {
        defaults[name] = value
      } else {
        problems.append(
          Problem(
            pointer: parameter.pointer.text,
            message: "\"\(text.shortened)\" is not \(parameter.kind.noun), which '\(name)' must be"))
      }
    }
    guard problems.isEmpty else { throw DocumentError(problems: problems) }
    return bytes.replacing(
      parameters.compactMap { parameter in
        defaults[parameter.name].map { parameter.place.replacement(JSONValue(content: $0).canonicalText) }
      })
  }

  private var names: [String] { parameters.map(\.name) }

  /// A text with the values of the parameters that it names, such as the path of an output. Nil: it names one that
  /// there is not, or that has no value.
  package static func text(_ text: String, _ values: [String: String]) -> String? {
    PlaceholderText(text).filled { values[$0] }
  }
}

extension Document {
  /// The document that a template makes: one with `parameters`. Throws every problem of the values and of the document
  /// that can be found without its media.
  /// - Parameters:
  ///   - json: The template's text.
  ///   - values: Of its parameters by name, as text: `"7/2"`, `"true"`, `"#ff8800"`. The others have their defaults.
  public init(template json: String, values: [String: String]) throws(DocumentError) {
    let values = values.sorted { $0.key < $1.key }.map { (name: $0.key, text: $0.value) }
    try self.init(json: Template.setting(values, in: Array(json.utf8)))
  }
}

extension Template.Kind {
  /// With its article.
  var noun: String {
    switch self {
    case .text: "a text"
    case .number: "a number"
    case .boolean: "true or false"
    case .time: "a time in seconds, such as 1.5 or 7/30"
    case .color: "a colour, such as #ff8800"
    case .path: "a path"
    }
  }

  /// The value that a text means. Nil: it means none of this type.
  func value(_ text: String) -> JSONValue.Content? {
    switch self {
    case .text: return .string(text)
    case .path: return text.isEmpty ? nil : .string(text)
    case .boolean: return text == "true" ? .boolean(true) : text == "false" ? .boolean(false) : nil
    case .number:
      guard let read = try? JSONReader.read(Array(text.utf8)).value.content, case .number = read else { return nil }
      return read
    case .time: return Self.number.value(text) ?? written(text, .time(.signed))
    case .color: return written(text, .color)
    }
  }

  /// The text, if the document's form of such a value can be read of it.
  private func written<Value>(_ text: String, _ form: Form<Value>) -> JSONValue.Content? {
    DocumentReader(output: nil, preset: nil).unreported(.text(text), form).map { _ in .string(text) }
  }

  /// Whether a value of the document is of this type.
  func allows(_ value: JSONValue.Content) -> Bool {
    switch value {
    case .string(let text): self != .number && self != .boolean && self.value(text) != nil
    case .number: self == .number || self == .time
    case .boolean: self == .boolean
    case .null, .array, .object: false
    }
  }
}

// MARK: Reading

extension DocumentReader {
  /// The parameters that a document declares, with the problems of their declarations.
  mutating func templateParameters(_ section: JSONValue) -> [Template.Parameter] {
    guard case .object(let members) = section.content else {
      problems.addShape(section.pointer, "\(section.shown) should be an object of parameters by their names")
      return []
    }
    return members.compactMap { name, value in parameter(name, value) }
  }

  private mutating func parameter(_ name: String, _ value: JSONValue) -> Template.Parameter? {
    guard ParameterKeys.isName(name) else {
      problems.addShape(
        value.pointer, "a parameter's name has letters, digits, '_' and '-', and begins with a letter or '_'")
      return nil
    }
    guard let fields = fields(value, ParameterKeys.table) else { return nil }
    let summary = read(fields, ParameterKeys.summary) ?? ""
    guard let kind = read(fields, ParameterKeys.type) else { return nil }
    let standard = fields["default"]
    if let standard, !kind.allows(standard.content) {
      let message = "\(standard.shown) is not \(kind.noun)"
      // The schema says that it is a scalar, and not of which type.
      switch standard.content {
      case .string, .number, .boolean: problems.add(standard.pointer, message)
      case .null, .array, .object: problems.addShape(standard.pointer, message)
      }
      return nil
    }
    return Template.Parameter(
      name: name, kind: kind, value: standard?.content, summary: summary, pointer: value.pointer,
      place: standard.map { .value($0) } ?? .declaration(value))
  }

  /// The document with the values of its parameters in the place of their placeholders, and without `parameters`.
  mutating func expanded(_ root: JSONValue) -> JSONValue {
    guard let section = root.member(DocumentKeys.parameters.name), case .object(let members) = root.content else {
      return root
    }
    let declared = templateParameters(section)
    var names: [String] = []
    if case .object(let members) = section.content { names = members.map(\.key) }
    var filling = TemplateFilling(declared, names: names)
    let filled = members.filter { $0.key != DocumentKeys.parameters.name }.map { key, value in
      let isOfAssets = key == DocumentKeys.assets.name
      return (key: key, value: isOfAssets ? filling.assets(value, &problems) : filling.filled(value, &problems))
    }
    for parameter in filling.unused {
      problems.add(parameter.pointer, "nothing in the document has {{\(parameter.name)}}")
    }
    return JSONValue(content: .object(filled), pointer: root.pointer, offset: root.offset)
  }
}

/// Fills in the placeholders of a document.
private struct TemplateFilling {
  /// The most bytes of all values that are filled in.
  private static let greatestByteCount = JSONReader.greatestByteCount

  /// Where a value is a part of a name, and names no other folder than the document does.
  private static let filmPath = JSONPointer.root.key(DocumentKeys.export.name).key(ExportKeys.to.name)

  private let parameters: [String: Template.Parameter]
  private let names: [String]
  private var used: Set<String> = []
  private var byteCount = 0

  /// - Parameter names: Also of parameters that are not as they should be.
  init(_ parameters: [Template.Parameter], names: [String]) {
    self.names = names
    self.parameters = Dictionary(parameters.map { ($0.name, $0) }) { first, _ in first }
  }

  var unused: [Template.Parameter] { names.filter { !used.contains($0) }.compactMap { parameters[$0] } }

  /// `assets`, without what is in a document among them: that has parameters of its own.
  mutating func assets(_ value: JSONValue, _ problems: inout ProblemList) -> JSONValue {
    guard case .object(let assets) = value.content else { return filled(value, &problems) }
    let filled = assets.map { id, asset -> (key: String, value: JSONValue) in
      guard case .object(let members) = asset.content else { return (id, self.filled(asset, &problems)) }
      let filled = members.map { key, member in
        let isDocument = key == NestedKeys.document.name && member.isObject
        return (key: key, value: isDocument ? member : self.filled(member, &problems))
      }
      return (id, JSONValue(content: .object(filled), pointer: asset.pointer, offset: asset.offset))
    }
    return JSONValue(content: .object(filled), pointer: value.pointer, offset: value.offset)
  }

  mutating func filled(_ value: JSONValue, _ problems: inout ProblemList) -> JSONValue {
    switch value.content {
    case .null, .boolean, .number: return value
    case .string(let text): return filled(text, value, &problems)
    case .array(let items):
      let filled = items.map { self.filled($0, &problems) }
      return JSONValue(content: .array(filled), pointer: value.pointer, offset: value.offset)
    case .object(let members):
      let filled = members.map { (key: $0.key, value: self.filled($0.value, &problems)) }
      return JSONValue(content: .object(filled), pointer: value.pointer, offset: value.offset)
    }
  }

  private mutating func filled(_ text: String, _ value: JSONValue, _ problems: inout ProblemList) -> JSONValue {
    let written = PlaceholderText(text)
    guard written.hasBraces else { return value }
    if let name = written.only {
      guard let content = content(of: name, at: value.pointer, &problems) else {
        problems.passOver(value.pointer)
        return value
      }
      return JSONValue(content: content, pointer: value.pointer, offset: value.offset)
    }
    let filled = written.filled { name in
      let text = content(of: name, at: value.pointer, &problems)?.text
      if let text, value.pointer == Self.filmPath, text.contains("/") || [".", ".."].contains(text) {
        problems.add(
          value.pointer,
          "\"\(text.shortened)\", the value of '\(name.shortened)', is no part of a file's name, because of its slash or "
            + "its dots; the whole path may be a value")
        return nil
      }
      return text
    }
    if filled == nil { problems.passOver(value.pointer) }
    return JSONValue(content: .string(filled ?? text), pointer: value.pointer, offset: value.offset)
  }

  private mutating func content(
    of name: String, at pointer: JSONPointer, _ problems: inout ProblemList
  ) -> JSONValue.Content? {
    guard let parameter = parameters[name] else {
      // What is wrong with its declaration is reported there.
      guard !names.contains(name) else { return nil }
      problems.add(
        pointer,
        "there is no parameter '\(name.shortened)'" + suggestion(for: name, amongDeclared: names)
          + "; write {{{{ for two braces")
      return nil
    }
    let isFirst = used.insert(name).inserted
    guard let value = parameter.value else {
      if isFirst { problems.add(parameter.pointer, "'\(name)' has no value: give it one, or a 'default'") }
      return nil
    }
    if let text = value.text { byteCount += text.utf8.count }
    guard byteCount <= Self.greatestByteCount else {
      problems.add(.root, "the values of the parameters make the document too long")
      return nil
    }
    return value
  }
}

/// A text with placeholders: `{{name}}`, with spaces around the name or without, and `{{{{` for two braces.
struct PlaceholderText {
  private enum Part {
    case text(Substring)
    case name(String)
  }

  private var parts: [Part] = []
  let hasBraces: Bool

  init(_ text: String) {
    hasBraces = text.contains("{{")
    var rest = text[...]
    while let start = rest.firstRange(of: "{{") {
      parts.append(.text(rest[..<start.lowerBound]))
      let after = rest[start.upperBound...]
      if after.hasPrefix("{{") {
        parts.append(.text(rest[start]))
        rest = after.dropFirst(2)
      } else if let end = after.firstRange(of: "}}") {
        parts.append(.name(String(after[..<end.lowerBound].trimmingSpaces)))
        rest = after[end.upperBound...]
      } else {
        parts.append(.text(rest[start]))
        rest = after
      }
    }
    parts.append(.text(rest))
  }

  /// The name, if the text is one placeholder and nothing else.
  var only: String? {
    let written = parts.filter { if case .text(let text) = $0 { !text.isEmpty } else { true } }
    guard written.count == 1, case .name(let name) = written[0] else { return nil }
    return name
  }

  /// The text with the values of its placeholders. Nil: one has none.
  func filled(_ value: (String) -> String?) -> String? {
    var filled = ""
    var isWhole = true
    for part in parts {
      switch part {
      case .text(let text): filled += text
      case .name(let name):
        if let value = value(name) { filled += value } else { isWhole = false }
      }
    }
    return isWhole ? filled : nil
  }
}

extension Substring {
  fileprivate var trimmingSpaces: Substring {
    var text = drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return text
  }
}

extension JSONValue.Content {
  /// Of a scalar in a text. Nil: it is none.
  fileprivate var text: String? {
    switch self {
    case .string(let text), .number(let text): text
    case .boolean(let flag): flag ? "true" : "false"
    case .null, .array, .object: nil
    }
  }
}

extension JSONValue {
  func member(_ name: String) -> JSONValue? {
    guard case .object(let members) = content else { return nil }
    return members.first { $0.key == name }?.value
  }
}

/// Where a parameter's default is written.
private enum DefaultPlace {
  /// It is this scalar.
  case value(JSONValue)
  /// There is none in this object.
  case declaration(JSONValue)

  /// What another default replaces in the document's text. The lines of the text stay as they are.
  func replacement(_ text: String) -> (offset: Int, isValue: Bool, text: String) {
    switch self {
    case .value(let value): (value.offset, true, text)
    case .declaration(let object): (object.offset + 1, false, "\"default\": \(text)" + (object.isEmpty ? "" : ", "))
    }
  }
}

extension JSONValue {
  fileprivate var isEmpty: Bool { if case .object(let members) = content { members.isEmpty } else { true } }
}

extension [UInt8] {
  /// The text with other values, which are in the order of the text, or further ones.
  fileprivate func replacing(_ replacements: [(offset: Int, isValue: Bool, text: String)]) -> [UInt8] {
    var result: [UInt8] = []
    var rest = 0
    for replacement in replacements {
      result += self[rest..<replacement.offset] + replacement.text.utf8
      rest = replacement.isValue ? endOfScalar(at: replacement.offset) : replacement.offset
    }
    return result + self[rest...]
  }

  /// Where a string, a number or a word of JSON ends.
  func endOfScalar(at start: Int) -> Int {
    let quote = UInt8(ascii: "\"")
    guard self[start] == quote else {
      let ends = self[start...].firstIndex { byte in byte <= 0x20 || [0x2C, 0x5D, 0x7D].contains(byte) }
      return ends ?? count
    }
    var index = start + 1
    while index < count, self[index] != quote { index += self[index] == UInt8(ascii: "\\") ? 2 : 1 }
    return Swift.min(index + 1, count)
  }
}
