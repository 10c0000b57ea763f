import Media

extension RenderError {
  /// A media error as the task's, on which step it happened: what the machine ran out of is not the media's fault.
  init(_ error: MediaError, _ step: String) {
    switch error.code {
    case .outOfSpace, .outOfMemory: self.init(.infrastructure, "\(step): \(error)")
    default: self.init(.media(error), step)
    }
  }
}

/// Does something with media; `step` says what for, should it fail.
func media<T>(
  _ step: @autoclosure () -> String, _ body: () throws(MediaError) -> T
) throws(RenderError) -> T {
  do { return try body() } catch { throw RenderError(error, step()) }
}
