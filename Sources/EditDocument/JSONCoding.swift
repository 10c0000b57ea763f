import CompositionModel

// Values of a document for Swift's encoders: as the JSON that the document has for them, whatever the encoder's format.

extension JSONValue: Codable {
  private struct MemberName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  package init(from decoder: any Decoder) throws { self = try Self.value(decoder, at: .root) }

  private static func value(_ decoder: any Decoder, at pointer: JSONPointer) throws -> JSONValue {
    if let members = try? decoder.container(keyedBy: MemberName.self) {
      let keys = members.allKeys.map(\.stringValue).sorted()
      return JSONValue(
        content: .object(
          try keys.map { key in
            (key, try value(members.superDecoder(forKey: MemberName(stringValue: key)), at: pointer.key(key)))
          }), pointer: pointer)
    }
    if var items = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !items.isAtEnd { values.append(try value(items.superDecoder(), at: pointer.index(values.count))) }
      return JSONValue(content: .array(values), pointer: pointer)
    }
    let single = try decoder.singleValueContainer()
    return JSONValue(content: try scalar(single), pointer: pointer)
  }

  private static func scalar(_ value: any SingleValueDecodingContainer) throws -> Content {
    if value.decodeNil() { return .null }
    if let flag = try? value.decode(Bool.self) { return .boolean(flag) }
    if let number = try? value.decode(Int64.self) { return .number("\(number)") }
    if let number = try? value.decode(Double.self) { return .number(plain(number)) }
    return .string(try value.decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    switch content {
    case .null:
      var value = encoder.singleValueContainer()
      try value.encodeNil()
    case .boolean(let flag):
      var value = encoder.singleValueContainer()
      try value.encode(flag)
    case .number(let text):
      var value = encoder.singleValueContainer()
      if let number = Int64(text) { try value.encode(number) } else { try value.encode(Double(text) ?? .nan) }
    case .string(let text):
      var value = encoder.singleValueContainer()
      try value.encode(text)
    case .array(let items):
      var list = encoder.unkeyedContainer()
      for item in items { try list.encode(item) }
    case .object(let members):
      var object = encoder.container(keyedBy: MemberName.self)
      for (key, value) in members { try object.encode(value, forKey: MemberName(stringValue: key)) }
    }
  }
}

extension JSONValue {
  /// A document, or a part of one whose names of assets and tracks are those of any document, that was decoded.
  /// - Throws: A `DecodingError` with the part's problems.
  static func decoded<Part>(
    _ decoder: any Decoder, isOfPart: Bool = true, _ read: (inout DocumentReader, JSONValue) -> Part?
  ) throws -> Part {
    let value = try JSONValue(from: decoder)
    var reader = DocumentReader(output: nil, preset: nil)
    reader.isOfPart = isOfPart
    if let part = read(&reader, value), reader.problems.count == 0 { return part }
    throw DecodingError.dataCorrupted(
      DecodingError.Context(
        codingPath: decoder.codingPath, debugDescription: "\(DocumentError(problems: reader.problems.problems))"))
  }
}
