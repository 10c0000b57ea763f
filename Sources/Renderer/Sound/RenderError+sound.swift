import CompositionModel
import Media

extension RenderError {
  /// What the payload asks of the sound cannot be done.
  init(soundTask message: String) {
    self.init(.task, message)
  }

  /// A time of the payload that does not fit exact arithmetic.
  init(soundTime error: TimeError) {
    self.init(.task, "a time of the sound's clips or volumes cannot be used: \(error)")
  }

  /// What Media said while doing something; a machine that is full is not the media's fault.
  init(sound error: MediaError, _ doing: String) {
    switch error.code {
    case .outOfSpace, .outOfMemory: self.init(.infrastructure, "\(doing): \(error)")
    default: self.init(.media(error), doing)
    }
  }

  /// The time stretcher is missing or failed; `status` is libav's.
  init(stretching message: String, status: Int32) {
    self.init(.infrastructure, "the speed of a clip's sound cannot be changed: \(message) (status \(status))")
  }
}
