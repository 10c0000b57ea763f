import Foundation
import TestEdits
import TestPrograms
import Testing

@testable import CompositionModel
@testable import EditDocument

/// The JSON Schema, the reader and the reference agree. `jsonschema` of PyPI judges by the schema.
@Suite struct SchemaTests {
  private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  private static let schema = repository.appending(path: "docs/document.schema.json")

  /// Whether the files are written instead of compared.
  private static let isRecording = ProcessInfo.processInfo.environment["SHEAF_RECORD_REFERENCE"] != nil

  @Test func `the published schema is that of the declarations`() throws {
    if Self.isRecording { return try Data(DocumentSchema.text.utf8).write(to: Self.schema) }
    let published = try String(contentsOf: Self.schema, encoding: .utf8)
    #expect(published == DocumentSchema.text, "run 'make reference'")
  }

  @Test func `the tables of the reference are those of the declarations`() throws {
    var names: Set<String> = []
    for page in try PublishedPage.ofDocument() {
      let updated = try DocumentReference.updated(page.text)
      if Self.isRecording {
        try Data(updated.utf8).write(to: Self.repository.appending(path: page.path))
      } else {
        #expect(updated == page.text, "\(page.path): run 'make reference'")
      }
      names.formUnion(DocumentReference.names(in: page.text))
    }
    #expect(names == Set(DocumentReference.tables.map(\.name)))
  }

  @Test func `the reference has every key of every object`() {
    let shown = Set(DocumentReference.sections.flatMap { $0.keys.map { "\($0.name): \($0.summary)" } })
    let filters =
      FilterTables.tables.values.map(\.name) + AudioFilterTables.tables.values.map(\.name)
      + [AudioFilterTables.presetTable.name]
    for table in DocumentSchema.tables where !filters.contains(table.name) {
      for key in table.keys {
        // The keys that ramps of other objects have are those of the one table of ramps.
        let isShown =
          shown.contains("\(key.name): \(key.summary)")
          || table.name.hasSuffix("Ramp")
            && DocumentReference.sections.first { $0.name == "ramp" }?.keys
              .contains { $0.name == key.name } == true
          || table.name == "audioTransition"
          || ["textOverlay", "waveformOverlay"].contains(table.name) && key.name == "ramps"
          || table.name == "numberTrack"
        #expect(isShown, "'\(key.name)' of '\(table.name)'")
      }
    }
  }

  @Test func `every definition is used, and every reference has one`() throws {
    let schema = try JSONReader.read(Array(DocumentSchema.text.utf8)).value
    guard case .object(let members) = schema.content,
      case .object(let definitions)? = members.first(where: { $0.key == "$defs" })?.value.content
    else {
      Issue.record("the schema is no object with definitions")
      return
    }
    var references: Set<String> = []
    for value in schema.all {
      guard case .object(let members) = value.content else { continue }
      for (key, value) in members where key == "$ref" {
        if case .string(let name) = value.content { references.insert(name) }
      }
    }
    // A document may be in a document.
    #expect(references == Set(definitions.map { "#/$defs/\($0.key)" } + ["#"]))
    #expect(definitions.count == Set(definitions.map(\.key)).count)
  }

  // MARK: Documents

  /// The documents of the examples and of the pages, which are valid.
  private func published() throws -> [JSONValue] { try PublishedDocuments.texts().compactMap(document) }

  /// The documents of the tests; many of them are wrong. Nil: an earlier run has kept none.
  private func tested() throws -> [JSONValue]? { try PublishedDocuments.kept()?.compactMap(document) }

  /// Nil: the text is no document.
  private func document(_ text: String) -> JSONValue? {
    guard let value = try? JSONReader.read(Array(text.utf8)).value,  // Pages have other JSON and commands too.
      case .object(let members) = value.content, members.contains(where: { $0.key == "sheaf" })
    else { return nil }
    return value
  }

  /// Of each document, why the schema does not allow it. Nil: it does.
  private func refusals(of documents: [JSONValue]) throws -> [String?] {
    let folder = try TemporaryFolder()
    let lines = documents.map { $0.canonicalText + "\n" }.joined()
    try Data(lines.utf8).write(to: folder.url.appending(path: "documents"))
    try Data(DocumentSchema.text.utf8).write(to: folder.url.appending(path: "schema"))
    let python = Self.repository.appending(path: ".build/http-tools/bin/python").path
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "validate-documents").path
    let result = try Tool.result(of: python, [script, folder.path("schema"), folder.path("documents")])
    try #require(result.status == 0, "scripts/http-tools installs it: \(result.log)")
    let verdicts = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
    try #require(verdicts.count == documents.count)
    return verdicts.map { $0 == "valid" ? nil : String($0) }
  }

  /// What the reader and the schema do not agree on.
  private func disagreements(_ documents: [JSONValue], _ refusals: [String?]) throws -> [String] {
    try zip(documents, refusals).compactMap { document, refusal in
      let bytes = Array(document.canonicalText.utf8)
      guard try DocumentSchema.accepts(bytes) != (refusal == nil) else { return nil }
      var problems: [Problem] = []
      do throws(DocumentError) {
        problems = try Document.examine(bytes).problems
      } catch {
        problems = error.problems
      }
      return "\(document.canonicalText)\n  the schema: \(refusal ?? "valid")\n  the reader: "
        + "\(problems.isEmpty ? "valid" : problems.prefix(6).map(\.description).joined(separator: "\n    "))"
    }
  }

  @Test(.enabled(if: !QuickTests.areRun))
  func `the schema allows every document that is published`() throws {
    let documents = try published()
    #expect(documents.count >= 30)
    for (document, refusal) in zip(documents, try refusals(of: documents)) {
      #expect(refusal == nil, "\(document.canonicalText)")
    }
  }

  /// `make exactness` runs the tests before, and keeps their documents.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["SHEAF_KEPT_DOCUMENTS"] != nil))
  func `the schema and the reader agree on the documents of the tests`() throws {
    let documents = try #require(try tested())
    #expect(documents.count >= 1000)
    let found = try disagreements(documents, try refusals(of: documents))
    #expect(found.isEmpty, "\(found.count) documents:\n\(found.prefix(10).joined(separator: "\n"))")
  }

  @Test(.enabled(if: !QuickTests.areRun))
  func `the schema and the reader agree on documents that are changed at random`() throws {
    let settings = ProcessInfo.processInfo.environment
    let count = settings["SHEAF_MUTANTS"].flatMap(Int.init) ?? 400
    let seed = settings["SHEAF_SEED"].flatMap(UInt64.init) ?? 1
    let published = try published()
    var mutator = DocumentMutator(seed: seed, published)
    let mutants = (0..<count).map { mutator.mutated(published[$0 % published.count]) }
    let refusals = try refusals(of: mutants.map(\.document))
    let found = try disagreements(mutants.map(\.document), refusals)
    #expect(found.isEmpty, "\(found.count) of \(count):\n\(found.prefix(12).joined(separator: "\n"))")
    // Every kind of change makes some documents wrong, and some are allowed.
    var table = "change           refused  allowed  of these with other problems\n"
    for change in DocumentMutator.Change.allCases {
      let ofChange = zip(mutants, refusals).filter { $0.0.change == change }
      let allowed = ofChange.filter { $0.1 == nil }
      #expect(allowed.count < ofChange.count, "\(change)")
      let others = allowed.count { mutant, _ in
        (try? Document.parse(Array(mutant.document.canonicalText.utf8))) == nil  // It has problems.
      }
      let numbers = [ofChange.count - allowed.count, allowed.count, others].map { "\($0)" }
      table += change.rawValue.padding(toLength: 14, withPad: " ", startingAt: 0)
      table += numbers.map { String(repeating: " ", count: 10 - $0.count) + $0 }.joined() + "\n"
    }
    if settings["SHEAF_MUTANTS"] != nil { print(table) }
    #expect(refusals.count { $0 == nil } > count / 20)
  }
}
