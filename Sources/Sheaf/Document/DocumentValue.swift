import CompositionModel
import EditDocument

// A part of an edit is written as a value of a document, and read from one. What a document has beyond an edit is an
// error, never left out: an edit that is read and written again renders to the same film.

extension DocumentError {
  /// The problems of a part of a document, with places in the whole.
  func below(_ pointer: String) -> DocumentError {
    DocumentError(problems: problems.map { Problem(pointer: pointer + $0.pointer, message: $0.message) })
  }
}

/// A part of an edit that is one value of a document.
protocol DocumentValue: WritableValue {
  init(_ value: JSONValue) throws(DocumentError)
}

/// A part of an edit that is one value of a document. Reading it needs more than the value.
protocol WritableValue {
  /// The places of problems are below that of the value.
  func written() throws(DocumentError) -> JSONValue
}

// MARK: Reading

extension JSONValue {
  func problem(_ message: String) -> DocumentError {
    DocumentError(problems: [Problem(pointer: pointer.text, message: message)])
  }

  var text: String {
    get throws(DocumentError) {
      guard case .string(let text) = content else { throw problem("\(shown) should be a string") }
      return text
    }
  }

  var flag: Bool {
    get throws(DocumentError) {
      guard case .boolean(let flag) = content else { throw problem("\(shown) should be true or false") }
      return flag
    }
  }

  var number: Double {
    get throws(DocumentError) {
      guard case .number(let text) = content, let number = Double(text), number.isFinite else {
        throw problem("\(shown) should be a number")
      }
      return number == 0 ? 0 : number
    }
  }

  /// A volume: a number, or decibels such as `"-6dB"`.
  var volume: Double {
    get throws(DocumentError) {
      guard case .string(let text) = content else { return try number }
      guard let decibels = Decibels.number(text), decibels < 1000 else {
        throw problem("\(shown) should be a number, or decibels such as \"-6dB\"")
      }
      return Decibels.volume(decibels)
    }
  }

  /// A number of decibels, with or without its unit.
  var decibels: Double {
    get throws(DocumentError) {
      guard case .string(let text) = content, let decibels = Decibels.number(text), decibels.isFinite else {
        return try number
      }
      return decibels
    }
  }

  var integer: Int {
    get throws(DocumentError) {
      guard case .number(let text) = content, let number = Int(text) else {
        throw problem("\(shown) should be a whole number")
      }
      return number
    }
  }

  /// An array of as many whole numbers.
  func integers(count: Int) throws(DocumentError) -> [Int] {
    let items = try items
    guard items.count == count else { throw problem("\(shown) should be an array of \(count) whole numbers") }
    return try items.map { item throws(DocumentError) in try item.integer }
  }

  var items: [JSONValue] {
    get throws(DocumentError) {
      guard case .array(let items) = content else { throw problem("\(shown) should be an array") }
      return items
    }
  }

  /// An array of so many values.
  func items(_ count: Int, _ noun: String) throws(DocumentError) -> [JSONValue] {
    let items = try items
    if items.count == count { return items }
    throw problem("\(shown) should be \(noun)")
  }

  var members: [(key: String, value: JSONValue)] {
    get throws(DocumentError) {
      guard case .object(let members) = content else { throw problem("\(shown) should be an object") }
      return members
    }
  }

  /// A time in seconds. Times in frames have no meaning without the film's frame rate.
  var time: MediaTime {
    get throws(DocumentError) {
      switch content {
      case .number(let text), .string(let text): if let time = MediaTime(notation: text) { return time }
      default: break
      }
      throw problem("\(shown) should be a time in seconds, such as \"7/30\" or 1.5")
    }
  }

  /// A range such as `"4..9"`, in seconds.
  var range: MediaTimeRange {
    get throws(DocumentError) {
      let text = try text
      if let dots = text.firstRange(of: ".."), let start = MediaTime(notation: String(text[..<dots.lowerBound])),
        let end = MediaTime(notation: String(text[dots.upperBound...])),
        let range = try? MediaTimeRange(start: start, end: end)
      {
        return range
      }
      if let plus = text.firstIndex(of: "+"), let start = MediaTime(notation: String(text[..<plus])),
        let duration = MediaTime(notation: String(text[text.index(after: plus)...])),
        let range = try? MediaTimeRange(start: start, duration: duration)
      {
        return range
      }
      throw problem("\(shown) should be a range in seconds, such as \"4..9\" or \"4+5\"")
    }
  }

  func choice<Choice: RawRepresentable & CaseIterable>(
    _ noun: String
  ) throws(DocumentError) -> Choice where Choice.RawValue == String {
    let text = try text
    if let choice = Choice(rawValue: text) { return choice }
    let allowed = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    throw problem("\(shown) is not a \(noun); allowed are \(allowed)")
  }

  func list<Element>(_ read: (JSONValue) throws(DocumentError) -> Element) throws(DocumentError) -> [Element] {
    var list: [Element] = []
    for item in try items { list.append(try read(item)) }
    return list
  }

  func list<Element: DocumentValue>() throws(DocumentError) -> [Element] {
    try list { (item) throws(DocumentError) in try Element(item) }
  }

  /// The members of an object that has no other keys than `keys`.
  func fields(_ noun: String, _ keys: [String]) throws(DocumentError) -> DocumentFields {
    var fields: [String: JSONValue] = [:]
    for (key, value) in try members {
      guard keys.contains(key) else {
        throw value.problem("an edit has no '\(key)' in \(noun); it has \(keys.joined(separator: ", "))")
      }
      fields[key] = value
    }
    return DocumentFields(owner: self, noun: noun, fields: fields)
  }
}

/// The members of an object.
struct DocumentFields {
  let owner: JSONValue
  let noun: String
  fileprivate let fields: [String: JSONValue]

  subscript(_ key: String) -> JSONValue? { fields[key] }

  func required(_ key: String) throws(DocumentError) -> JSONValue {
    if let value = fields[key] { return value }
    throw owner.problem("\(noun) of an edit needs '\(key)'")
  }

  /// The value of a key that may be absent.
  func read<Value>(
    _ key: String, _ read: (JSONValue) throws(DocumentError) -> Value
  ) throws(DocumentError) -> Value? {
    guard let value = fields[key] else { return nil }
    return try read(value)
  }

  func text(_ key: String) throws(DocumentError) -> String? {
    try read(key) { (value) throws(DocumentError) in try value.text }
  }
  func flag(_ key: String) throws(DocumentError) -> Bool? {
    try read(key) { (value) throws(DocumentError) in try value.flag }
  }
  func number(_ key: String) throws(DocumentError) -> Double? {
    try read(key) { (value) throws(DocumentError) in try value.number }
  }
  func decibels(_ key: String) throws(DocumentError) -> Double? {
    try read(key) { (value) throws(DocumentError) in try value.decibels }
  }
  func integer(_ key: String) throws(DocumentError) -> Int? {
    try read(key) { (value) throws(DocumentError) in try value.integer }
  }
  func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String, _ noun: String
  ) throws(DocumentError) -> Choice? where Choice.RawValue == String {
    try read(key) { (value) throws(DocumentError) -> Choice in try value.choice(noun) }
  }
  func list<Element: DocumentValue>(_ key: String) throws(DocumentError) -> [Element] {
    try read(key) { (value) throws(DocumentError) -> [Element] in try value.list() } ?? []
  }
}

// MARK: Writing

extension JSONValue {
  /// An object of the members that are not nil.
  static func object(_ members: [(String, JSONValue?)]) -> JSONValue {
    JSONValue(content: .object(members.compactMap { key, value in value.map { (key: key, value: $0) } }))
  }

  static func array(_ items: [JSONValue]) -> JSONValue { JSONValue(content: .array(items)) }
  static func text(_ text: String) -> JSONValue { JSONValue(content: .string(text)) }
  static func flag(_ flag: Bool) -> JSONValue { JSONValue(content: .boolean(flag)) }
  static func integer(_ number: Int) -> JSONValue { JSONValue(content: .number("\(number)")) }
  static func time(_ time: MediaTime) -> JSONValue { .text(time.description) }
  /// With its end, or with its duration if the end is more finely divided than a document can write.
  static func range(_ range: MediaTimeRange) -> JSONValue {
    MediaTime(notation: range.end.description) == nil ? .text("\(range.start)+\(range.duration)") : .text("\(range)")
  }

  /// `checkNumbers` of the whole document finds a number that is not finite, with its place.
  static func number(_ number: Double) -> JSONValue { JSONValue(content: .number("\(number)")) }

  static func numbers(_ numbers: [Double]) -> JSONValue { .array(numbers.map { .number($0) }) }

  /// A member of an object. The places of its problems begin with its key.
  static func member(
    _ key: String, _ write: () throws(DocumentError) -> JSONValue?
  ) throws(DocumentError) -> (String, JSONValue?) {
    do { return (key, try write()) } catch { throw error.below("/\(key)") }
  }

  /// A member that is an array of parts; nil if there are none.
  static func member(_ key: String, _ parts: [some DocumentValue]) throws(DocumentError) -> (String, JSONValue?) {
    try member(key) { () throws(DocumentError) in parts.isEmpty ? nil : .array(try written(parts)) }
  }

  static func written(_ parts: [some WritableValue]) throws(DocumentError) -> [JSONValue] {
    var values: [JSONValue] = []
    for part in parts {
      do {
        values.append(try part.written())
      } catch {
        throw error.below("/\(values.count)")
      }
    }
    return values
  }
}

extension JSONValue {
  /// Throws with the place of every number that JSON cannot have.
  func checkNumbers() throws(DocumentError) {
    var problems: [Problem] = []
    func check(_ value: JSONValue, at pointer: JSONPointer) {
      switch value.content {
      case .number(let text):
        guard ["nan", "inf", "-inf"].contains(text) else { return }
        problems.append(Problem(pointer: pointer.text, message: "\(text) cannot be written; numbers must be finite"))
      case .array(let items): for (index, item) in items.enumerated() { check(item, at: pointer.index(index)) }
      case .object(let members): for (key, member) in members { check(member, at: pointer.key(key)) }
      case .null, .boolean, .string: break
      }
    }
    check(self, at: .root)
    if !problems.isEmpty { throw DocumentError(problems: problems) }
  }
}

extension Optional {
  func written(_ write: (Wrapped) throws(DocumentError) -> JSONValue) throws(DocumentError) -> JSONValue? {
    guard let self else { return nil }
    return try write(self)
  }
}
