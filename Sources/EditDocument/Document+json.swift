public import CompositionModel

// A document as JSON, and for Swift's encoders.

extension Document {
  /// Reads a document. Throws every problem that can be found without its media.
  /// - Parameter json: Its text.
  public init(json: String) throws(DocumentError) { try self.init(json: Array(json.utf8)) }

  /// - Parameter json: Its text, in UTF-8.
  public init(json: [UInt8]) throws(DocumentError) { self = try Self.parse(json, output: nil).written }

  /// Reads a document whose assets and tracks need not be there, as of an edit that is not complete.
  package init(ofEdit json: [UInt8]) throws(DocumentError) {
    let root: (value: JSONValue, duplicates: [JSONReader.Duplicate])
    do { root = try JSONReader.read(json) } catch { throw DocumentError(problems: [error.problem]) }
    var reader = DocumentReader(output: nil, preset: nil)
    reader.isOfPart = true
    for duplicate in root.duplicates { reader.problems.add(duplicate.pointer, JSONReader.duplicateKey) }
    let document = reader.document(root.value)?.written
    guard let document, reader.problems.count == 0 else { throw DocumentError(problems: reader.problems.problems) }
    self = document
  }

  /// The document as JSON for people, ending with a newline. What is read of it equals the document, and means the same
  /// film. Throws, with their places, the numbers that JSON cannot have.
  public var json: String {
    get throws(DocumentError) { try value.formatted() + "\n" }
  }

  /// The same in UTF-8, without spaces.
  package var bytes: [UInt8] {
    get throws(DocumentError) { Array(try value.canonicalText.utf8) }
  }

  private var value: JSONValue {
    get throws(DocumentError) {
      let value = JSONValue.written(self)
      try value.checkNumbers()
      return value
    }
  }
}

extension Document: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder, isOfPart: false) { $0.document($1)?.written }
  }

  public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension JSONValue {
  /// Throws with the place of every number that JSON cannot have.
  fileprivate func checkNumbers() throws(DocumentError) {
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
