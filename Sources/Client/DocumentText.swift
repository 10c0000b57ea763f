import CompositionModel
import EditDocument

/// The text of a document's file. Its name says what it is: JSON, JSON with comments and trailing commas (`.jsonc`), or
/// YAML (`.yaml`, `.yml`).
struct DocumentText: Sendable {
  /// As it is in the file.
  let written: [UInt8]
  let json: [UInt8]
  /// Nil: it is JSON.
  private let yaml: (value: JSONValue, duplicates: [JSONReader.Duplicate])?

  /// Throws a problem if a text of YAML cannot be read; one of JSON is read by who uses it.
  init(_ written: [UInt8], of path: String) throws(DocumentError) {
    self.written = written
    if Self.isYAML(path) {
      let read = try Self.yaml(written)
      yaml = read
      json = Array(read.value.formatted(width: .max).utf8)
    } else {
      yaml = nil
      json = path.lowercased().hasSuffix(".jsonc") ? JSONComments.blanked(written) : written
    }
  }

  static func isYAML(_ path: String) -> Bool {
    let path = path.lowercased()
    return path.hasSuffix(".yaml") || path.hasSuffix(".yml")
  }

  private static func yaml(
    _ text: [UInt8]
  ) throws(DocumentError) -> (value: JSONValue, duplicates: [JSONReader.Duplicate]) {
    if let offset = JSONReader.firstInvalidByte(text) {
      throw Self.error(YAMLReader.SyntaxError(offset: offset, message: "this is not UTF-8"), in: text)
    }
    do throws(YAMLReader.SyntaxError) {
      return try YAMLReader.read(text, limit: JSONReader.greatestByteCount)
    } catch {
      throw Self.error(error, in: text)
    }
  }

  private static func error(_ error: YAMLReader.SyntaxError, in text: [UInt8]) -> DocumentError {
    let (line, column) = DocumentPlaces.place(of: error.offset, in: text)
    let message = "not YAML at line \(line), column \(column): \(error.message)"
    return DocumentError(problems: [Problem(pointer: "", message: message, line: line, column: column)])
  }

  /// Where values are in the text of the file.
  var places: DocumentPlaces {
    yaml.map { DocumentPlaces(written, $0.value, $0.duplicates) } ?? DocumentPlaces(json)
  }
}
