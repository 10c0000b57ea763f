package import Media

/// Why a task could not be rendered, and so whose fault it is: the media's, the machine's, or the task's.
package struct RenderError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable {
    /// A source that can't be read or decoded, or a codec that refuses. Another worker would most likely say the same.
    case media(MediaError)
    /// This machine ran out of something (disk, memory, a font engine that won't start); another may well succeed.
    case infrastructure
    /// The payload asks for what no worker can do, such as an index of no source.
    case task
  }

  package let code: Code
  /// What was wrong and where; for `media`, which source or step it happened in.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String {
    if case .media(let error) = code { "\(message): \(error)" } else { message }
  }
}
