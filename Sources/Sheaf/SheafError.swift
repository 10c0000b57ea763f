import Client
public import CompositionModel

/// Why an operation of the library failed.
public struct SheafError: Error, Sendable, Hashable {
  public enum Code: Sendable, Hashable {
    /// The edit or its media are wrong. `problems` has every reason.
    case invalidEdit
    /// A file cannot be read, or is not media.
    case invalidMedia
    /// The asset has no such property: a font has no duration.
    case noSuchProperty
    /// The work failed.
    case failed
    /// The coordinator of a farm cannot be reached.
    case unavailable
    case cancelled
    /// A method was called that cannot be called then, such as an append after the end.
    case misuse
  }

  public var code: Code
  /// A sentence for a person.
  public var message: String
  /// Each with its place in the edit's document.
  public var problems: [Problem]

  public init(_ code: Code, _ message: String, problems: [Problem] = []) {
    self.code = code
    self.message = message
    self.problems = problems
  }
}

extension SheafError: CustomStringConvertible {
  public var description: String {
    ([message] + problems.map(\.description)).filter { !$0.isEmpty }.joined(separator: "\n")
  }
}

extension SheafError {
  /// Any error of the inner modules.
  init(_ error: any Error) {
    if let error = error as? SheafError {
      self = error
      return
    }
    if error is CancellationError {
      self.init(.cancelled, "cancelled")
      return
    }
    let failure = CommandFailure(error)
    switch failure.code {
    case .document: self.init(.invalidEdit, failure.message, problems: failure.problems)
    case .unavailable: self.init(.unavailable, failure.message)
    case .work, .difference, .untrusted, .interrupted, .terminated:
      self.init(.failed, failure.message, problems: failure.problems)
    }
  }
}

/// Runs an operation of the inner modules, whose errors are of several types.
func sheafErrors<Value>(_ body: () async throws -> Value) async throws(SheafError) -> Value {
  do {
    return try await body()
  } catch {
    // A connection of a task that is cancelled is closed, which is another error.
    throw Task.isCancelled ? SheafError(.cancelled, "cancelled") : SheafError(error)
  }
}
