package import Media

/// Why pieces could not be made into a file: which piece, what is wrong with it, and what would be right.
package struct StitchError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable {
    /// A piece is not what the task says it is. The stitcher never guesses (DESIGN 5): such a piece is rendered again.
    case piece
    /// A piece cannot be read, or the container refuses.
    case media(MediaError)
    /// This machine ran out of something, such as room on its disk; another may well succeed.
    case infrastructure
    /// The payload contradicts itself or its inputs.
    case task
  }

  package let code: Code
  /// The input's index: picture pieces in order, then the sound's. Nil where no single piece is to blame.
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
    return text
  }
}
