package import CompositionModel
import EditDocument

/// The approximate length of segments, as a request writes it.
package enum SegmentDuration {
  /// The length; nil for an empty text, which selects the default. Throws if the text is not a time above zero.
  /// - Parameter frameDuration: The duration of a frame of the film, for a number of frames. Whether the text is a time
  ///   does not depend on it.
  package static func time(_ text: String, frameDuration: MediaTime) throws(DocumentError) -> MediaTime? {
    if text.isEmpty { return nil }
    guard let time = MediaTime(notation: text, frameDuration: frameDuration), time > .zero else {
      throw DocumentError(problems: [
        Problem(
          pointer: "",
          message: "the segment duration \"\(text)\" is not a time above zero, such as 5, 7/30 or 90f")
      ])
    }
    return time
  }
}
