import CompositionModel
import EditDocument

/// The text of a document's file. Its name says what it is: JSON, JSON with comments and trailing commas (`.jsonc`), or
/// YAML (`.yaml`, `.yml`).
struct DocumentText: Sendable {
  /// As it is in the file.
  let written: [UInt8]
  let json: [UInt8]
  private let isYAML: Bool

  /// Throws a problem if a text of YAML cannot be read; one of JSON is read by who uses it.
  init(_ written: [UInt8], of path: String) throws(DocumentError) {
    self.written = written
    isYAML = Self.isYAML(path)
    if isYAML {
      json = Array(try Self.yaml(written).formatted(width: .max).utf8)
    } else {
      json = path.lowercased().hasSuffix(".jsonc") ? JSONComments.blanked(written) : written
    }
  }

  static func isYAML(_ path: String) -> Bool {
    let path = path.lowercased()
    return path.hasSuffix(".yaml") || path.hasSuffix(".yml")
  }

  private static func yaml(_ text: [UInt8]) throws(DocumentError) -> JSONValue {
    do throws(YAMLReader.SyntaxError) {
      return try YAMLReader.read(text, limit: JSONReader.greatestByteCount)
    } catch {
      throw DocumentError(problems: [error.problem])
    }
  }

  /// Where values are in the text of the file.
  var places: DocumentPlaces {
    guard isYAML, let root = try? Self.yaml(written) else { return DocumentPlaces(json) }
    return DocumentPlaces(written, root)
  }
}
