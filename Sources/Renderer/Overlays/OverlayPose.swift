import CompositionModel

/// How an overlay is changed in its place.
struct OverlayPose: Hashable {
  /// In square pixels of the upright picture; the rest is not seen.
  var crop: Rectangle?
  var turn: TransformComponents?
  /// Before it is turned, in order.
  var filters: [Filter<Double>]
}
