/// One thing that is wrong in a document, in words that a person can act on.
public struct Problem: Sendable, Hashable, Codable {
  /// Where, as a JSON pointer (RFC 6901) such as `/tracks/0/clips/2/use`; empty for the document as a whole.
  public var pointer: String
  /// The value that is there, and what is allowed.
  public var message: String

  public init(pointer: String, message: String) {
    self.pointer = pointer
    self.message = message
  }
}

extension Problem: CustomStringConvertible {
  public var description: String { pointer.isEmpty ? message : "\(pointer): \(message)" }
}

/// Everything that is wrong with a document: all of it at once (FEATURES F46).
public struct DocumentError: Error, Sendable, Hashable {
  /// Never empty.
  public var problems: [Problem]

  public init(problems: [Problem]) {
    self.problems = problems
  }
}

extension DocumentError: CustomStringConvertible {
  /// One problem a line.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Problems as they are found.
struct ProblemList: Sendable {
  /// A hostile document could have a problem in every byte; after so many the rest are only counted.
  static let limit = 500

  private var kept: [Problem] = []
  private var seen: Set<Problem> = []
  private(set) var count = 0

  /// The message is made only if it is kept. The same words at the same place are one problem.
  mutating func add(_ pointer: JSONPointer, _ message: @autoclosure () -> String) {
    count += 1
    guard kept.count < Self.limit else { return }
    let problem = Problem(pointer: pointer.text, message: message())
    if seen.insert(problem).inserted { kept.append(problem) } else { count -= 1 }
  }

  /// All of them, and a last one that tells how many are not shown.
  var problems: [Problem] {
    let hidden = count - kept.count
    return hidden == 0 ? kept : kept + [Problem(pointer: "", message: "and \(hidden) more problems, not shown")]
  }
}
