package import CompositionModel
import Wire

/// Why a command did not do what it was started for, with its exit code (`docs/operations/options.md`).
package struct CommandFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The raw value is the exit code. Code 64, a wrong command line, is a `ValidationError` of the commands themselves.
  package enum Code: Int32, Sendable {
    /// The work failed.
    case work = 1
    /// A film is not the one that it should be.
    case difference = 3
    /// A statement is not signed by the key.
    case untrusted = 4
    /// The document or its media are wrong.
    case document = 65
    /// The coordinator or the database cannot be reached.
    case unavailable = 69
    /// Ended by SIGINT: 128 and the signal's number, as in a shell.
    case interrupted = 130
    /// Ended by SIGTERM.
    case terminated = 143
  }

  package var code: Code
  /// A sentence for a person; empty if `problems` has the reasons.
  package var message: String
  package var problems: [Problem] = []
  /// What the user can do about it, such as the command that goes on: a line each.
  package var advice: [String] = []
  /// The job that the failure is about; nil if there is none.
  package var job: String?

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The document or its media are wrong.
  package init(problems: [Problem]) {
    code = .document
    message = ""
    self.problems = problems
  }

  package var description: String {
    ([message] + problems.map(\.description)).filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// Any error, as the failure of a command.
  package init(_ error: any Error) {
    switch error {
    case let error as CommandFailure: self = error
    case let error as DocumentError: self.init(problems: error.problems)
    case let error as LostFilm: self.init(error)
    case let error as WireError: self.init(error.isAboutRequest ? .work : .unavailable, error.message)
    case is CancellationError: self.init(.work, "cancelled")
    default: self.init(.work, "\(error)")
    }
  }
}

extension WireError {
  /// Whether the coordinator answers, and what was asked for is wrong or not there.
  fileprivate var isAboutRequest: Bool {
    [.content, .temporary, .refused(.notFound), .refused(.forbidden)].contains(code)
  }
}
