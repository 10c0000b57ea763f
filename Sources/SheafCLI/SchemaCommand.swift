import ArgumentParser
import EditDocument

struct SchemaCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema", abstract: "Print the JSON Schema of documents.",
    discussion: """
      The schema (draft 2020-12) has every key of a document with its type, range and meaning. An editor that is given \
      it completes and checks documents: by "$schema" in the document, or by the editor's settings. What depends on \
      media or on other parts of a document is reported by 'sheaf check' alone.
      """)

  func run() async throws {
    try await reporting { try Console.print(whole: DocumentSchema.text) }
  }
}
