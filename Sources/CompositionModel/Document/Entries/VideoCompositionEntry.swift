/// `videoComposition` as written.
struct VideoCompositionEntry: Sendable {
  var renderSize: PixelSize?
  /// More than 0, at most 1.
  var scale: Rational = .one
  var frameDuration: MediaTime?
  var background: Color = .black
  var transitions: [TransitionEntry] = []
  /// Nil where the document leaves them to be derived.
  var instructions: [InstructionEntry]?
  var overlays: [OverlayEntry] = []
  var pointer: JSONPointer
  /// Nothing was wrong with its transitions and instructions.
  var isWhole = true
}

/// A transition as written; all of them are dissolves.
struct TransitionEntry: Sendable {
  var from: TrackID
  var to: TrackID
  var over: WrittenRange
  var pointer: JSONPointer
}

/// An explicit instruction as written.
struct InstructionEntry: Sendable {
  enum Content: Sendable {
    case layers([LayerEntry])
    case passthrough(TrackID)
  }

  var over: WrittenRange
  var background: Color?
  var content: Content
  var wantsOverlays: Bool
  var pointer: JSONPointer
}

/// A layer of an explicit instruction as written.
struct LayerEntry: Sendable {
  var track: TrackID
  /// Nil takes the clip's.
  var fit: Fit?
  var opacity: Double
  /// On composition time.
  var ramps: [RampEntry]
  var pointer: JSONPointer
}

/// An overlay as written.
struct OverlayEntry: Sendable {
  enum Content: Sendable {
    case image(AssetID, width: Int?, height: Int?)
    /// `size` nil follows the frame's height.
    case text(StyledText, size: Double?)
  }

  var content: Content
  /// Nil is the whole film.
  var over: WrittenRange?
  var placement: OverlayPlacement
  var opacity: Double
  /// On the overlay's own time.
  var ramps: [RampEntry]
  var pointer: JSONPointer
}
