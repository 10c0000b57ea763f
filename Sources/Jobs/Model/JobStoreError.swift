/// Why a store did not do what it was asked. Equal when the codes are.
package struct JobStoreError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The database cannot be reached, or its connection was lost: whether the operation took place is not known. Ask
    /// again; every operation may be.
    case unavailable
    /// The database was set up by a newer Sheaf.
    case schemaTooNew
    /// The database's schema is not what its recorded version says.
    case schemaChanged
    /// A job of this id is there already.
    case duplicateJob
    /// What was asked makes no sense: a malformed id, a plan without a stitch, a URL that is none.
    case invalid
    /// The store was closed by this process.
    case closed
    /// The database said something that this version does not expect.
    case `internal`
  }

  package var code: Code
  /// For people: what was wrong, and what would be right.
  package var message: String
  /// PostgreSQL's five-character condition, where it was the one to complain.
  package var condition: String?

  package init(_ code: Code, _ message: String, condition: String? = nil) {
    self.code = code
    self.message = message
    self.condition = condition
  }

  package static func == (left: JobStoreError, right: JobStoreError) -> Bool { left.code == right.code }

  package var description: String {
    guard let condition else { return message }
    return "\(message) (SQLSTATE \(condition))"
  }
}
