internal import CompositionModel
package import Media

/// Why a task could not be rendered. The code names the cause: the media, the machine or the task.
package struct RenderError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable {
    /// A source that cannot be read or decoded, or a codec that refuses. Another worker would most likely fail too. If
    /// the error's code is `outOfMemory`, the process reached its limit.
    case media(MediaError)
    /// This machine's disk is full, or its text engine or time stretcher does not start. Another
    /// machine may succeed.
    case infrastructure
    /// The payload is invalid, such as one that refers to a source that it does not list.
    case task
  }

  package let code: Code
  /// What was wrong and where; for `media`, in which source or step.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String {
    if case .media(let error) = code { "\(message): \(error)" } else { message }
  }
}

extension RenderError {
  /// Makes the error of a step, such as `encoding frame 7`, from a media error. If the disk is full, the media is not
  /// the cause.
  static func during(_ step: String) -> (MediaError) -> RenderError {
    { error in
      switch error.code {
      case .outOfSpace: RenderError(.infrastructure, "\(step): \(error)")
      default: RenderError(.media(error), step)
      }
    }
  }

  /// Makes an error whose message ends with its cause.
  static func caused<Cause: Error>(_ code: Code, _ message: String) -> (Cause) -> RenderError {
    { RenderError(code, "\(message): \($0)") }
  }

  /// A time of an audio task that exact arithmetic cannot hold.
  static func audioTime(_ error: TimeError) -> RenderError {
    RenderError(.task, "a time of the audio's clips or volumes is out of range: \(error)")
  }
}
