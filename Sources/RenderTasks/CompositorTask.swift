package import CompositionModel

/// Makes compositors of an author's own from their parameters, to find those that refuse them. There are no inputs; the
/// result is a `CompositorFindings` as JSON.
package struct CompositorTask: Sendable, Hashable, Codable {
  /// Each once.
  package var compositors: [CustomCompositor]
  /// The size of the film's frames, in pixels.
  package var size: PixelSize

  package init(compositors: [CustomCompositor], size: PixelSize) {
    self.compositors = compositors
    self.size = size
  }
}

/// The result of a `CompositorTask`.
package struct CompositorFindings: Sendable, Hashable, Codable {
  /// By index in `CompositorTask.compositors`: why it cannot be made, nil if it can.
  package var problems: [String?]

  package init(problems: [String?]) {
    self.problems = problems
  }
}
