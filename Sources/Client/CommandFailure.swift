import CompositionModel
import Jobs
import Wire

/// How a command ends when it does not do what it was asked (DESIGN 7).
struct CommandFailure: Error, Sendable, Hashable, CustomStringConvertible {
  enum Code: Int32, Sendable {
    /// The work failed.
    case work = 1
    /// The command line is wrong.
    case usage = 64
    /// The document or its media are wrong.
    case document = 65
    /// The coordinator or database cannot be reached.
    case unavailable = 69
  }

  var code: Code
  /// A sentence for a person; empty where `problems` say it.
  var message: String
  var problems: [Problem] = []

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  init(problems: [Problem]) {
    code = .document
    message = ""
    self.problems = problems
  }

  var description: String {
    ([message] + problems.map(\.description)).filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// What any error means for whoever typed the command.
  init(_ error: any Error) {
    switch error {
    case let error as CommandFailure: self = error
    case let error as DocumentError: self.init(problems: error.problems)
    case let error as WireError: self.init(error.code == .content ? .work : .unavailable, error.message)
    case let error as JobStoreError: self.init(error.code == .unavailable ? .unavailable : .work, "\(error)")
    case is CancellationError: self.init(.work, "cancelled")
    default: self.init(.work, "\(error)")
    }
  }
}
