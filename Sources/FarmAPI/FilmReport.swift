/// The film of one job, as far as its segments and its warnings need it. Its JSON is stable: keys may be added, but are
/// never changed.
package struct FilmReport: Sendable, Hashable, Codable {
  /// Frames that a place of the document is about.
  package struct Place: Sendable, Hashable, Codable {
    /// As the pointer of a warning has it.
    package var pointer: String
    package var firstFrame: Int
    /// The frame after the last.
    package var endFrame: Int

    package init(pointer: String, frames: Range<Int>) {
      self.pointer = pointer
      (firstFrame, endFrame) = (frames.lowerBound, frames.upperBound)
    }
  }

  /// The duration of a frame, in seconds.
  package var frameSeconds: Double
  /// Where the film shows what its warnings are about, as far as that has a place. By pointers, then by frames.
  package var places: [Place]
  /// Nil: the film has no smart rendering.
  package var smart: SmartReport?

  package init(frameSeconds: Double, places: [Place]) {
    self.frameSeconds = frameSeconds
    self.places = places
  }
}
