import Media
import Renderer
import Stitcher

/// Whose fault an error is.
extension TaskFailure {
  init(_ error: MediaError) {
    let cause: Cause =
      switch error.code {
      case .io, .outOfSpace, .outOfMemory: .infrastructure
      case .unrecognized, .unsupported, .damaged, .noTrack, .tooLarge, .invalidPiece: .media
      case .invalidRequest: .document
      }
    self.init(cause: cause, message: error.description)
  }

  /// What a file was found to be is what it is: no other worker would find otherwise.
  init(describing error: MediaError) {
    self.init(error)
    if cause == .media { cause = .document }
  }

  init(_ error: RenderError) {
    let cause: Cause =
      switch error.code {
      case .media(let error): TaskFailure(error).cause
      case .infrastructure: .infrastructure
      case .task: .document
      }
    self.init(cause: cause, message: error.description)
  }

  init(_ error: StitchError) {
    let cause: Cause =
      switch error.code {
      case .piece: .media
      case .media(let error): TaskFailure(error).cause
      case .infrastructure: .infrastructure
      case .task: .document
      }
    self.init(cause: cause, message: error.description)
  }
}
