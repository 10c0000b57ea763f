import CYAML

/// The events of a text of YAML, in the order of the text: libyaml's parser.
final class YAMLEvents {
  struct Event {
    enum Kind {
      case scalar(String, isPlain: Bool)
      case alias(String)
      case sequence, mapping
      /// Of a sequence or a mapping.
      case end
      case document, other
      case streamEnd
    }

    var kind: Kind
    var anchor: String?
    /// As it is resolved. Nil: none is written.
    var tag: String?
    /// Where it starts, in bytes of the text.
    var offset: Int
  }

  private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
  private let text: UnsafeMutableBufferPointer<UInt8>
  /// Where each character of the text starts, in bytes. Nil: each is a byte.
  private let offsets: [Int32]?

  /// - Parameter text: In UTF-8.
  init(_ text: [UInt8]) {
    self.text = .allocate(capacity: max(1, text.count))
    _ = self.text.initialize(from: text)
    offsets =
      text.allSatisfy { $0 < 0x80 } ? nil : text.indices.filter { text[$0] & 0xC0 != 0x80 }.map(Int32.init)
    // It fails only without memory.
    precondition(yaml_parser_initialize(parser) == 1)
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, UnsafePointer(self.text.baseAddress), text.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
    text.deallocate()
  }

  func next() throws(YAMLReader.SyntaxError) -> Event {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw failure }
    defer { yaml_event_delete(&event) }
    let start = offset(event.start_mark)
    let data = event.data
    switch event.type {
    case YAML_SCALAR_EVENT:
      let bytes = UnsafeBufferPointer(start: data.scalar.value, count: data.scalar.length)
      return Event(
        kind: .scalar(String(decoding: bytes, as: UTF8.self), isPlain: data.scalar.style == YAML_PLAIN_SCALAR_STYLE),
        anchor: string(data.scalar.anchor), tag: string(data.scalar.tag), offset: start)
    case YAML_ALIAS_EVENT:
      return Event(kind: .alias(string(data.alias.anchor) ?? ""), offset: start)
    case YAML_SEQUENCE_START_EVENT:
      return Event(
        kind: .sequence, anchor: string(data.sequence_start.anchor), tag: string(data.sequence_start.tag),
        offset: start)
    case YAML_MAPPING_START_EVENT:
      return Event(
        kind: .mapping, anchor: string(data.mapping_start.anchor), tag: string(data.mapping_start.tag), offset: start)
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return Event(kind: .end, offset: start)
    case YAML_DOCUMENT_START_EVENT: return Event(kind: .document, offset: start)
    case YAML_STREAM_END_EVENT, YAML_NO_EVENT: return Event(kind: .streamEnd, offset: start)
    default: return Event(kind: .other, offset: start)
    }
  }

  private func string(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    pointer.map { String(cString: $0) }
  }

  /// libyaml counts characters.
  private func offset(_ mark: yaml_mark_t) -> Int {
    guard let offsets else { return min(mark.index, text.count) }
    return mark.index < offsets.count ? Int(offsets[mark.index]) : text.count
  }

  private var failure: YAMLReader.SyntaxError {
    let problem = parser.pointee.problem.map { String(cString: $0) } ?? "there is no memory for it"
    switch parser.pointee.error {
    case YAML_SCANNER_ERROR, YAML_PARSER_ERROR:
      let context = parser.pointee.context.map { String(cString: $0) + ": " } ?? ""
      return YAMLReader.SyntaxError(offset: offset(parser.pointee.problem_mark), message: context + problem)
    default:
      // Its place is one in bytes.
      return YAMLReader.SyntaxError(offset: min(parser.pointee.problem_offset, text.count), message: problem)
    }
  }
}
