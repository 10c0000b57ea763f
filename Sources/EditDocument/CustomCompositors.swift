public import CompositionModel

/// The use of a compositor of the author's own, with its place in the document.
public struct CompositorUse: Sendable, Hashable {
  public var compositor: CustomCompositor
  /// The JSON pointer to the object that has the compositor's name.
  public var pointer: String

  public init(compositor: CustomCompositor, pointer: String) {
    self.compositor = compositor
    self.pointer = pointer
  }
}

/// What a document says of a compositor: in an instruction, or in a transition of the kind `custom`.
enum CompositorEntry {
  /// The most bytes of a compositor's parameters. Every segment's task has them.
  static let greatestParameters = 16 << 10
}

extension ExaminedDocument {
  /// The compositors that the document names, in its order: those of transitions between clips, of transitions between
  /// tracks, and of instructions. Then those of the documents among its assets.
  public var compositors: [CompositorUse] {
    ownCompositors
      + nested.flatMap { entry in
        entry.document.compositors.map {
          CompositorUse(compositor: $0.compositor, pointer: entry.pointer.text + $0.pointer)
        }
      }
  }

  /// Those that the document itself names.
  var ownCompositors: [CompositorUse] {
    func use(_ style: Document.TransitionStyle, _ pointer: JSONPointer) -> CompositorUse? {
      guard case .custom(let compositor) = style.style.kind else { return nil }
      return CompositorUse(compositor: compositor, pointer: pointer.text)
    }
    return tracks.flatMap(\.clips).flatMap { clip in
      [clip.written.in, clip.transition, clip.written.out].compactMap(\.self).compactMap { use($0.style, $0.pointer) }
    }
      + videoComposition.transitions.compactMap { use($0.style, $0.pointer) }
      + (videoComposition.instructions ?? []).compactMap { instruction in
        instruction.compositor.map {
          CompositorUse(compositor: $0, pointer: instruction.pointer.key("compositor").text)
        }
      }
  }
}

extension DocumentReader {
  /// The compositor of an instruction. Nil and a problem if it cannot be used.
  mutating func compositor(_ value: JSONValue) -> Document.Compositor? {
    guard let fields = fields(value, CompositorKeys.table) else { return nil }
    var compositor = Document.Compositor("")
    read(fields, CompositorKeys.properties, into: &compositor)
    let isReadable = compositor.parameters != nil || !fields.has("parameters")
    return isReadable && !compositor.name.isEmpty ? compositor : nil
  }

  mutating func compositorName(_ value: JSONValue) -> String? {
    guard let name = string(value) else { return nil }
    if CustomCompositor.isName(name) { return name }
    problems.addShape(
      value.pointer, "\(value.shown) is not the name of a compositor: 1 to 40 ASCII letters, digits and '-', '_', '.'")
    return nil
  }

  mutating func parameters(_ value: JSONValue) -> String? {
    guard case .object = value.content else {
      problems.addShape(value.pointer, "\(value.shown) should be an object: the parameters of the compositor")
      return nil
    }
    let text = value.canonicalText
    if text.utf8.count <= CompositorEntry.greatestParameters { return text }
    problems.add(
      value.pointer,
      "the parameters of a compositor have \(text.utf8.count) bytes; at most \(CompositorEntry.greatestParameters) are "
        + "allowed")
    return nil
  }
}

extension JSONValue {
  /// The value as JSON without spaces, the keys of objects sorted. Numbers are as they were written.
  package var canonicalText: String {
    switch content {
    case .null: "null"
    case .boolean(let value): value ? "true" : "false"
    case .number(let text): text
    case .string(let text): Self.quoted(text)
    case .array(let items): "[" + items.map(\.canonicalText).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { Self.quoted($0.key) + ":" + $0.value.canonicalText }
        .joined(separator: ",") + "}"
    }
  }

  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
