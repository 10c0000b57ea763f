import CompositionModel
import EditDocument

// An edit and a document are two values: an edit has its times in seconds, and AVFoundation's shape. Here and in this
// folder's other files are the parts of the one as those of the other. A part of a document that an edit's own types
// cannot hold is nil, and stays as it is in `Edit.unconverted`.

extension DocumentError {
  init(_ pointer: String, _ message: String) {
    self.init(problems: [Problem(pointer: pointer, message: message)])
  }

  /// The problems of a part of a document, with places in the whole.
  func below(_ pointer: String) -> DocumentError {
    DocumentError(problems: problems.map { Problem(pointer: pointer + $0.pointer, message: $0.message) })
  }
}

/// The result of writing a part, whose problems are below a place.
func below<Value>(_ pointer: String, _ write: () throws(DocumentError) -> Value) throws(DocumentError) -> Value {
  do { return try write() } catch { throw error.below(pointer) }
}

/// The parts of a list, the places of whose problems begin with their numbers.
func written<Part, Value>(
  _ parts: [Part], _ write: (Part) throws(DocumentError) -> Value
) throws(DocumentError) -> [Value] {
  var values: [Value] = []
  for part in parts { values.append(try below("/\(values.count)") { () throws(DocumentError) in try write(part) }) }
  return values
}

extension Sequence {
  /// The values of all elements. Nil if one has none.
  func all<Value>(_ convert: (Element) -> Value?) -> [Value]? {
    var values: [Value] = []
    for element in self {
      guard let value = convert(element) else { return nil }
      values.append(value)
    }
    return values
  }
}

extension Optional {
  /// `.some(nil)` if there is no value, and nil if there is one that cannot be converted.
  func converted<Value>(_ convert: (Wrapped) -> Value?) -> Value?? {
    guard let self else { return .some(nil) }
    return convert(self).map { .some($0) }
  }
}

// MARK: Times

extension Document.Time {
  /// Nil for frames.
  var inSeconds: MediaTime? { if case .seconds(let time) = self { time } else { nil } }
}

extension Document.TimeRange {
  /// Nil if a time is in frames, or the end before the start.
  var inSeconds: MediaTimeRange? {
    guard let start = start.inSeconds, let end = end.inSeconds else { return nil }
    return endIsDuration
      ? try? MediaTimeRange(start: start, duration: end) : try? MediaTimeRange(start: start, end: end)
  }
}

extension Document.When {
  /// A value that is set has an empty range. Nil if a time is in frames.
  var inSeconds: MediaTimeRange? {
    switch self {
    case .over(let range): range.inSeconds
    case .at(let time): time.inSeconds.flatMap { try? MediaTimeRange(start: $0, duration: .zero) }
    }
  }

  init(_ range: MediaTimeRange) {
    self = range.isEmpty ? .at(.seconds(range.start)) : .over(Document.TimeRange(range))
  }
}
