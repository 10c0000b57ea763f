/// Why a store did not carry out an operation. Equal when the codes are.
package struct JobStoreError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The database cannot be reached, or its connection was lost. Whether the operation took place is not known. It can
    /// be repeated, as every operation can.
    case unavailable
    /// The database was set up by a newer Sheaf.
    case schemaTooNew
    /// The database's schema is not what its recorded version says.
    case schemaChanged
    /// There is a job of this id already.
    case duplicateJob
    /// The call has no meaning: a malformed id, a plan without a stitch task, a malformed database URL.
    case invalid
    /// This process closed the store.
    case closed
    /// The database answered with something that this version does not expect.
    case `internal`
  }

  package var code: Code
  /// For a person: what was wrong, and what would be right.
  package var message: String
  /// PostgreSQL's five-character condition, where PostgreSQL reported the error.
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
