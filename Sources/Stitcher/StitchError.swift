internal import CompositionModel
package import Media

/// Why pieces could not be made into a file: which piece, what is wrong with it, and what would be right.
package struct StitchError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable {
    /// A piece differs from what the task describes. It is never corrected: such a piece must be rendered again.
    case piece
    /// A piece cannot be read, or the container refuses.
    case media(MediaError)
    /// This machine ran out of something, such as room on its disk. Another machine may succeed.
    case infrastructure
    /// The payload contradicts itself or its inputs.
    case task
    /// What was written is not what was planned.
    case output
  }

  package let code: Code
  /// The input's index: the video's pieces in order, then the audio's. Nil if the error is not about one piece.
  package let piece: Int?
  package let message: String

  package init(_ code: Code, piece: Int? = nil, _ message: String) {
    self.code = code
    self.piece = piece
    self.message = message
  }

  package var description: String {
    let text = piece.map { "piece \($0): \(message)" } ?? message
    if case .media(let error) = code { return "\(text): \(error)" }
    if case .output = code { return "the output that was written is not the one that was planned: \(text)" }
    return text
  }
}

extension StitchError {
  /// Makes the error of reading a piece. A truncated or foreign piece must be rendered again, like one with wrong
  /// frames.
  static func reading(_ piece: Int) -> (MediaError) -> StitchError {
    { error in
      switch error.code {
      case .outOfSpace, .io: StitchError(.infrastructure, piece: piece, "\(error)")
      case .invalidPiece: StitchError(.piece, piece: piece, error.message)
      default: StitchError(.media(error), piece: piece, "cannot be read")
      }
    }
  }

  /// The error of reading media that are no piece.
  static func media(_ error: MediaError) -> StitchError {
    switch error.code {
    case .io, .outOfSpace: StitchError(.infrastructure, "\(error)")
    default: StitchError(.media(error), "its media cannot be copied")
    }
  }

  /// The error of writing the output.
  static func writing(_ error: MediaError) -> StitchError {
    switch error.code {
    case .outOfSpace, .io: StitchError(.infrastructure, "\(error)")
    default: StitchError(.media(error), "the output cannot be written")
    }
  }

  /// A time of the output that exact arithmetic cannot hold.
  static func outputTime(_ error: TimeError) -> StitchError {
    StitchError(.task, "the output is too long: \(error)")
  }
}
