package import CompositionModel

extension Document {
  /// A document that is an asset of another one: its film is what clips of it show and play.
  public struct Nested: Hashable, Sendable {
    public var document: Document
    /// The folder that the paths of its files are relative to, itself relative to that of the document around it. Nil:
    /// the same.
    public var folder: String?
    /// Whether its backgrounds are not drawn, so that what is below it is seen where it has no picture.
    public var isTransparent: Bool

    public init(_ document: Document, folder: String? = nil, isTransparent: Bool = false) {
      (self.document, self.folder, self.isTransparent) = (document, folder, isTransparent)
    }
  }
}

extension Document {
  /// The paths of its files, and of those of the documents among its assets, by the names that descriptions of them
  /// have. They are relative to its folder, or absolute.
  package var files: [AssetID: String] {
    var files = assets
    for (id, nested) in documents {
      for (name, path) in nested.document.files { files["\(id)/\(name)"] = nested.path(path) }
    }
    return files
  }
}

extension Document.Nested {
  /// What its film is as an asset.
  /// - Parameter assets: What its files contain, by the names that it has for them.
  package func contents(assets: [AssetID: AssetDescription]) throws(DocumentError) -> AssetDescription {
    let examined = try Document.parse(document.bytes)
    let edit = try examined.lower(assets: assets, output: examined.provisionalOutput)
    do {
      return try NestedEdit(edit, isTransparent: isTransparent).contents
    } catch {
      throw DocumentError(problems: [Problem(pointer: "", message: "\(error)")])
    }
  }

  /// The path of one of its files, as it is from the document around it.
  func path(_ path: String) -> String {
    guard let folder, !path.hasPrefix("/") else { return path }
    return "\(folder)/\(path)"
  }
}

/// An asset of `assets` that is a document.
enum NestedKeys {
  /// The most documents that are each an asset of the one before.
  static let greatestDepth = 8

  static let document = Key(
    required: "document",
    .raw("object, or string", .any(.reference("name"), ["$ref": "#"])),
    "the document itself, or the path of its file, relative to this document's")
  static let values = Key(
    "set",
    .raw(
      "object of values by name",
      ["type": "object", "additionalProperties": ["type": ["string", "number", "boolean"]]]),
    "the values of its [parameters](parameters.md)")
  static let transparent = Key(
    "transparent", .boolean, default: "`false`",
    "whether its backgrounds are not drawn: what is below is seen where it has no picture")
  static let folder = Key(
    "folder", .name("the path of a folder"), default: "that of the document's file, or of this document",
    "the folder that the paths in it are relative to, itself relative to this document's")

  static let properties: [Property<Document.Nested>] = [
    document.written { JSONValue.written($0.document) },
    values.written { _ in nil },
    transparent.of(\.isTransparent, standard: false), folder.of(\.folder),
  ]
  static let table = ObjectTable(
    name: "nested", noun: "a document that is an asset", keys: Array(properties),
    instead: [
      "parameters": "did you mean 'set'?", "values": "did you mean 'set'?", "path": "did you mean 'document'?",
      "alpha": "did you mean 'transparent'?", "timerange": "the clip that shows it says which part: 'use'",
    ])
}

extension Document.Nested: WrittenObject {
  static var properties: [Property<Document.Nested>] { NestedKeys.properties }
}

/// A document that is an asset, as written.
struct NestedEntry: Sendable {
  var id: AssetID
  /// Its places count from its own beginning.
  var document: ExaminedDocument
  var written: Document.Nested
  /// The place of the document in the one around it.
  var pointer: JSONPointer

  /// It has one output: of several the first with pictures, and if that has no sound, with that of another.
  var film: ExaminedDocument {
    guard document.export.hasOutputs else { return document }
    var film = document
    let outputs = document.export.outputs
    if let shown = outputs.first(where: \.hasPictures) ?? outputs.first {
      film.export = shown.export
      if shown.export.audio.isNone, let heard = outputs.first(where: { !$0.export.audio.isNone }) {
        film.export.audio = heard.export.audio
      }
    }
    return film
  }

  /// The name of one of its assets in the document around it.
  func name(of asset: AssetID) -> AssetID { "\(id)/\(asset)" }
}

extension DocumentReader {
  /// Reads a document that is an asset.
  mutating func nested(_ id: AssetID, _ value: JSONValue) -> NestedEntry? {
    guard let fields = fields(value, NestedKeys.table) else { return nil }
    var written = Document.Nested(Document())
    read(fields, NestedKeys.properties, into: &written)
    guard let root = fields[NestedKeys.document.name] else { return nil }
    guard case .object = root.content else {
      if let path = name(root, "the path of a document") {
        problems.add(
          root.pointer, "the document '\(path.shortened)' was not read: where files are not read, put it here itself")
      }
      return nil
    }
    if id.contains("/") {
      problems.add(value.pointer, "the name of a document has no '/': it is before the names of its own assets")
      return nil
    }
    guard depth < NestedKeys.greatestDepth else {
      problems.add(root.pointer, "documents are assets of each other more than \(NestedKeys.greatestDepth) deep")
      return nil
    }
    var reader = DocumentReader(output: nil, preset: nil)
    reader.depth = depth + 1
    let own = setting(fields[NestedKeys.values.name], in: root.rooted())
    let document = reader.document(own)
    problems.add(reader.problems.problems, within: root.pointer)
    problems.shapeCount += reader.problems.shapeCount
    guard let document else { return nil }
    if document.export.isPassthrough {
      problems.add(
        root.pointer.key("export").key("preset"),
        "the preset '\(Passthrough.name)' copies what is stored, and the pictures of a document that is an asset are "
          + "rendered: leave it out")
      return nil
    }
    written.document = document.written
    return NestedEntry(id: id, document: document, written: written, pointer: root.pointer)
  }

  /// A document with values of its parameters.
  private mutating func setting(_ values: JSONValue?, in root: JSONValue) -> JSONValue {
    guard let values, case .object(let given) = values.content else {
      if let values { problems.addShape(values.pointer, "\(values.shown) should be an object of values by name") }
      return root
    }
    guard case .object(var members) = root.content,
      let place = members.firstIndex(where: { $0.key == DocumentKeys.parameters.name })
    else {
      if let first = given.first {
        problems.add(
          first.value.pointer,
          "the document has no 'parameters', so there is no parameter '\(first.key.shortened)'")
      }
      return root
    }
    var silent = self
    let declared = silent.templateParameters(members[place].value)
    var section = members[place].value
    for (name, value) in given {
      switch value.content {
      case .string, .number, .boolean: break
      case .null, .array, .object:
        problems.addShape(value.pointer, "\(value.shown) should be a text, a number, true or false")
        continue
      }
      guard let parameter = declared.first(where: { $0.name == name }) else {
        let names = declared.map(\.name)
        problems.add(
          value.pointer,
          "there is no parameter '\(name.shortened)'" + suggestion(for: name, amongDeclared: names))
        continue
      }
      guard parameter.kind.allows(value.content) else {
        problems.add(value.pointer, "\(value.shown) is not \(parameter.kind.noun), which '\(name)' must be")
        continue
      }
      section = section.setting(name) { $0.setting("default") { _ in JSONValue(content: value.content) } }
    }
    members[place].value = section
    return JSONValue(content: .object(members), pointer: root.pointer, offset: root.offset)
  }
}

extension JSONValue {
  /// The same value with places that count from it.
  fileprivate func rooted(at pointer: JSONPointer = .root) -> JSONValue {
    let rooted: Content
    switch content {
    case .array(let items): rooted = .array(items.enumerated().map { $1.rooted(at: pointer.index($0)) })
    case .object(let members):
      rooted = .object(members.map { ($0.key, $0.value.rooted(at: pointer.key($0.key))) })
    case .null, .boolean, .number, .string: rooted = content
    }
    return JSONValue(content: rooted, pointer: pointer, offset: offset)
  }

  /// An object with another value of a key.
  fileprivate func setting(_ key: String, to change: (JSONValue) -> JSONValue) -> JSONValue {
    guard case .object(var members) = content else { return self }
    if let index = members.firstIndex(where: { $0.key == key }) {
      members[index].value = change(members[index].value)
    } else {
      members.append((key, change(JSONValue(content: .null))))
    }
    return JSONValue(content: .object(members), pointer: pointer, offset: offset)
  }
}

extension ProblemList {
  /// The problems of a part with places of its own.
  mutating func add(_ problems: [Problem], within pointer: JSONPointer) {
    for problem in problems { add(problem.within(pointer)) }
  }
}

extension Problem {
  /// The problem of a part with places of its own, as one of the whole.
  fileprivate func within(_ pointer: JSONPointer) -> Problem {
    var problem = self
    problem.pointer = pointer.text + self.pointer
    return problem
  }
}

extension ExaminedDocument {
  /// The files that the documents among its assets name.
  var nestedPaths: [(id: AssetID, path: String, pointer: String)] {
    nested.flatMap { entry in
      entry.document.assetPaths.map {
        (entry.name(of: $0.id), entry.written.path($0.path), entry.pointer.text + $0.pointer)
      }
    }
  }
}

extension Lowering {
  /// Makes the edits of the documents that are assets.
  mutating func lowerNested(unreadable: [AssetID: String]) {
    for entry in document.nested {
      let prefix = entry.name(of: "")
      do {
        let film = entry.film
        let (edit, warnings) = try film.lowerWithWarnings(
          assets: assets.below(prefix), output: film.provisionalOutput, unreadable: unreadable.below(prefix))
        nestedWarnings += warnings.map { $0.within(entry.pointer) }
        guard
          let made = exact(
            at: entry.pointer,
            { () throws(TimeError) in
              try NestedEdit(edit, isTransparent: entry.written.isTransparent)
            })
        else { continue }
        nested[entry.id] = made
        assets[entry.id] = made.contents
        if edit.export.chapters?.isEmpty == false {
          nestedWarnings.append(
            Problem(
              pointer: entry.pointer.key("export").key("chapters").text,
              message: "the chapters of a film are those that its own document states: it has none of these"))
        }
        if edit.audioMix.loudness != nil {
          nestedWarnings.append(
            Problem(
              pointer: entry.pointer.key("audioMix").key("loudness").text,
              message: "the loudness of a film is that which its own document states: this one is not brought to it"))
        }
      } catch {
        problems.add(error.problems, within: entry.pointer)
      }
    }
  }
}

extension [AssetID: AssetDescription] {
  /// What the files of a document that is an asset contain, by the names that it has for them.
  /// - Parameter id: The name of the document.
  package func ofDocument(_ id: AssetID) -> [AssetID: AssetDescription] { below("\(id)/") }
}

extension Dictionary where Key == AssetID {
  /// Those whose names begin with a text, without it.
  fileprivate func below(_ prefix: String) -> [AssetID: Value] {
    Dictionary(
      uniqueKeysWithValues: filter { $0.key.hasPrefix(prefix) }.map {
        (String($0.key.dropFirst(prefix.count)), $0.value)
      })
  }
}
