import CompositionModel

/// Texts of a document in which a template's placeholder was not filled in.
struct Placeholder: Sendable {
  /// Such as `{{name}}`.
  var text: String
  var pointer: JSONPointer

  /// The most that are reported.
  private static let greatestCount = 20

  /// Those of a document. The parameters of compositors are their author's, and are left out.
  static func list(in root: JSONValue) -> [Placeholder] {
    var found: [Placeholder] = []
    func search(_ value: JSONValue) {
      guard found.count < greatestCount else { return }
      switch value.content {
      case .string(let text):
        if let placeholder = placeholder(in: text) { found.append(.init(text: placeholder, pointer: value.pointer)) }
      case .array(let items): for item in items { search(item) }
      case .object(let members):
        // A document that is an asset has placeholders of its own.
        for (key, member) in members where key != "parameters" && !(key == "document" && member.isObject) {
          search(member)
        }
      case .null, .boolean, .number: break
      }
    }
    search(root)
    return found
  }

  /// The first placeholder in a text: `{{name}}`, `${name}` or `<%= name %>`.
  private static func placeholder(in text: String) -> String? {
    for (opening, closing) in [("{{", "}}"), ("${", "}"), ("<%", "%>")] {
      guard let start = text.firstRange(of: opening), let end = text[start.upperBound...].firstRange(of: closing)
      else { continue }
      let name = text[start.upperBound..<end.lowerBound]
      // Braces around more than a name may be meant.
      guard name.count <= 80, name.contains(where: \.isLetter), !name.contains(where: \.isNewline) else { continue }
      return String(text[start.lowerBound..<end.upperBound])
    }
    return nil
  }
}

extension Lowering {
  func addPlaceholders(to warnings: inout ProblemList) {
    for placeholder in document.placeholders {
      warnings.add(
        placeholder.pointer, "'\(placeholder.text.shortened)' looks like a placeholder that was not filled in")
    }
  }

  /// Outputs between which players cannot change, because each has keyframes where its encoder finds a new scene.
  func addUnalignedKeyframes(_ edit: Edit, to warnings: inout ProblemList) {
    let spaced = document.export.siblings.filter { output in
      guard output.hasPictures else { return false }
      let codec = output.export.video.settings?.codec ?? .standard(in: output.container)
      return !codec.definition.isIntraOnly
    }
    guard spaced.count > 1, let video = edit.export.video, !video.codec.definition.isIntraOnly,
      video.sceneCuts != false, let settings = document.export.video.settings
    else { return }
    warnings.add(
      settings.pointer.key("sceneCuts"),
      "the keyframes of the outputs do not align: each has some of its own where the picture changes, so players cannot "
        + "change from one to another there; with \"sceneCuts\": false they do")
  }
}
