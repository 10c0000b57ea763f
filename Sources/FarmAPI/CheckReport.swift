package import CompositionModel

/// What `sheaf check --json` prints. Its JSON is stable: keys may be added, but are never changed.
package struct CheckReport: Sendable, Hashable, Codable {
  package var problems: [Problem]
  /// What can be rendered but is most likely not meant, and what is wrong with the media: a message each.
  package private(set) var warnings: [String]
  /// The warnings as problems are written.
  package private(set) var notes: [Problem]
  package var losses: [LossReport]
  /// Nil: the document has no smart rendering, or it has problems, or the rows of a document differ in it.
  package var smart: SmartReport?

  package init(problems: [Problem], warnings: [Problem], losses: [LossReport], smart: SmartReport? = nil) {
    self.smart = smart
    self.problems = problems
    self.warnings = warnings.map { Problem(pointer: $0.pointer, message: $0.message).description }
    notes = warnings
    self.losses = losses
  }
}
